import type { BlobRef } from "../../../content/index.js";
import { SessileError } from "../../../errors/index.js";
import type { DiagnosticCode } from "../../api/diagnostics.js";

/** What can be found wrong with a session file, or beside it: a {@link DiagnosticCode}, or one of these. */
export type SessionFindingCode =
  | DiagnosticCode
  /** A process holds the lock. */
  | "LOCK_LIVE"
  /** The lock of a process that ended; the next writer takes it over. */
  | "LOCK_STALE"
  /** A lock file that names no holder. */
  | "LOCK_UNREADABLE"
  /** What a writer left that ended in the middle. */
  | "LEFTOVER_FILE"
  /** An end that was cut off when the file was opened for writing. */
  | "TORN_FILE"
  /** The file before a migration. */
  | "OLD_FILE"
  /** A blob that an entry names is not there. */
  | "BLOB_MISSING"
  /** The bytes of a blob that an entry names are not what its name says. */
  | "BLOB_CORRUPT";

/**
 * `error`: something cannot be read, or is not where it was. `warning`: it reads, otherwise than it was written or
 * meant. `info`: nothing is wrong.
 */
export type FindingSeverity = "error" | "warning" | "info";

/** One thing that was found. */
export interface SessionFinding {
  readonly code: SessionFindingCode;
  readonly severity: FindingSeverity;
  /** For people; may change. */
  readonly message: string;
  /** The line's number, from 1; absent where it is of the whole file, or of another one. */
  readonly line?: number;
  /** Where the line begins, in bytes. */
  readonly offset?: number;
  /** How long the line is without its line feed, or the other file is. */
  readonly bytes?: number;
  readonly entryId?: string;
  /** The other file. */
  readonly path?: string;
  readonly blob?: BlobRef;
  /** Of a lock. `since` is in milliseconds since 1970. */
  readonly holder?: { readonly pid: number; readonly host: string; readonly since: number };
}

const warnings: ReadonlySet<SessionFindingCode> = new Set([
  "EXTRA_HEADER",
  "BEFORE_HEADER",
  "NEWER_VERSION",
  "UNSAFE_KEY",
  "INVALID_FIELDS",
  "DUPLICATE_ID",
  "MODIFIED",
  "TORN_TAIL",
  "TORN_LINE",
  "INVALID_INDEX",
]);
const infos: ReadonlySet<SessionFindingCode> = new Set([
  "LOCK_LIVE",
  "LOCK_STALE",
  "LOCK_UNREADABLE",
  "LEFTOVER_FILE",
  "TORN_FILE",
  "OLD_FILE",
]);

/** How bad a finding of this code is by itself. */
export function severityOf(code: SessionFindingCode): FindingSeverity {
  return infos.has(code) ? "info" : warnings.has(code) ? "warning" : "error";
}

/** The first findings and the last ones, and how many there were of each code. */
export class Findings {
  readonly #first: SessionFinding[] = [];
  /** The last ones, a ring once it is full. */
  readonly #last: SessionFinding[] = [];
  readonly #keptFirst: number;
  readonly #keptLast: number;
  #total = 0;
  readonly counts: Partial<Record<SessionFindingCode, number>> = {};
  /** The worst so far. */
  worst: FindingSeverity = "info";

  /** @param max how many to keep: half of them the first, half of them the last */
  constructor(max: number) {
    this.#keptFirst = Math.ceil(max / 2);
    this.#keptLast = Math.floor(max / 2);
  }

  /** Those that were kept, in order. */
  get list(): readonly SessionFinding[] {
    const oldest = Math.max(0, this.#total - this.#keptFirst) % Math.max(1, this.#keptLast);
    const isFull = this.#last.length === this.#keptLast;
    const last = isFull ? [...this.#last.slice(oldest), ...this.#last.slice(0, oldest)] : this.#last;
    return [...this.#first, ...last];
  }

  /** How many were counted and not kept. */
  get omitted(): number {
    return this.#total - this.#first.length - this.#last.length;
  }

  add(finding: Omit<SessionFinding, "severity"> & { readonly severity?: FindingSeverity }): void {
    const { code, severity = severityOf(code) } = finding;
    this.counts[code] = (this.counts[code] ?? 0) + 1;
    if (severity === "error" || (severity === "warning" && this.worst === "info")) this.worst = severity;
    const behind = this.#total++ - this.#keptFirst;
    const message = SessileError.printable(finding.message);
    const isWhole = finding.severity !== undefined && message === finding.message;
    const kept = isWhole ? (finding as SessionFinding) : { ...finding, severity, message };
    if (behind < 0) this.#first.push(kept);
    else if (this.#keptLast > 0) this.#last[behind % this.#keptLast] = kept;
  }
}
