import { basename, dirname, join } from "node:path";
import type { BlobRef } from "../../../content/index.js";
import { SessileError } from "../../../errors/index.js";
import type { FileSystem } from "../../../internal/node/file-system.js";
import type { DiagnosticCode } from "../../api/diagnostics.js";
import { remoteLeaseMs } from "../file-lock.js";
import { readLockFile, staleReason } from "../lock-file.js";

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

type Beside = Omit<SessionFinding, "severity">;

/**
 * What lies beside a session file and belongs to it: its lock, and what writers have left or put aside. Nothing is made or
 * taken to find out, so that the age of another machine's lock is told by this machine's clock.
 */
export async function sidecarFindings(fs: FileSystem, path: string, now: number): Promise<readonly Beside[]> {
  const directory = dirname(path);
  const name = basename(path);
  const found: Beside[] = [];
  for (const { name: other, kind } of await fs.list(directory)) {
    if (!other.startsWith(`${name}.`) || kind !== "file") continue;
    const beside = join(directory, other);
    const stat = fs.stat(beside);
    // Another process has removed it in this moment, as it does with its own.
    if (stat === undefined) continue;
    const suffix = other.slice(name.length);
    const finding =
      suffix === ".lock" ? lockFinding(fs, beside, now - stat.mtimeMs) : leftoverFinding(suffix);
    if (finding !== undefined) found.push({ ...finding, path: beside, bytes: stat.size });
  }
  return found.sort((a, b) => ((a.path ?? "") < (b.path ?? "") ? -1 : 1));
}

const leftovers: readonly (readonly [RegExp, SessionFindingCode, string])[] = [
  [/^\.torn-/, "TORN_FILE", "an end that was cut off when the file was opened for writing"],
  [/^\.old-/, "OLD_FILE", "the file before its migration"],
  [/^\.tmp-/, "LEFTOVER_FILE", "a copy that was not finished"],
  [/^\.lock\.wait$/, "LEFTOVER_FILE", "a writer waits for the lock, or ended while it did"],
  [
    /^\.lock\.stale-/,
    "LEFTOVER_FILE",
    "made by a writer that took a stale lock over, and ended before it was done",
  ],
  [
    /^\.lock\.[0-9a-f-]{36}$/,
    "LEFTOVER_FILE",
    "made by a writer to tell the time, which ended before it was done",
  ],
];

function leftoverFinding(suffix: string): Beside | undefined {
  const [, code, message] = leftovers.find(([pattern]) => pattern.test(suffix)) ?? [];
  return code === undefined || message === undefined ? undefined : { code, message };
}

function lockFinding(fs: FileSystem, path: string, ageMs: number): Beside | undefined {
  const file = readLockFile(fs, path);
  if (file === undefined) return undefined;
  if (file.holder === undefined) return { code: "LOCK_UNREADABLE", message: "the lock file names no holder" };
  const { pid, host, since } = file.holder;
  const holder = { pid, host, since };
  const gone = staleReason(file.holder, () => ageMs, remoteLeaseMs);
  if (gone === undefined) {
    return { code: "LOCK_LIVE", message: `process ${pid} on ${host} holds the lock`, holder };
  }
  const message = `process ${pid} on ${host} held the lock, and ${gone}; the next writer takes it over`;
  return { code: "LOCK_STALE", message, holder };
}
