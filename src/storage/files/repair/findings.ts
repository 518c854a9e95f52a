/** The findings of a diagnosis: their codes and severities, and those of sidecar files. */

import { basename, dirname, join } from "node:path";
import type { BlobRef } from "../../../content/index.js";
import { SessileError } from "../../../core/errors/index.js";
import type { FileSystem } from "../../../core/node/file-system.js";
import type { DiagnosticCode } from "../../../session/index.js";
import { remoteLeaseMs } from "../file-lock.js";
import { readLockFile, staleReason } from "../lock-file.js";

/** The code of a finding: a {@link DiagnosticCode} of the file, or one of its sidecar files and blobs. */
export type SessionFindingCode =
  | DiagnosticCode
  /** A process holds the lock. */
  | "LOCK_LIVE"
  /** The lock of a dead process. The next writer takes it over. */
  | "LOCK_STALE"
  /** A lock file that names no holder. */
  | "LOCK_UNREADABLE"
  /** A leftover of a writer that crashed. */
  | "LEFTOVER_FILE"
  /** A torn tail that an earlier version moved here. */
  | "TORN_FILE"
  /** The file before a migration. */
  | "OLD_FILE"
  /** A blob that an entry names does not exist. */
  | "BLOB_MISSING"
  /** The bytes of a blob that an entry names do not match its digest. */
  | "BLOB_CORRUPT";

/**
 * `error`: something cannot be read, or lost its place in the tree. `warning`: it is readable, but not as it
 * was written or meant. `info`: nothing is wrong.
 */
export type FindingSeverity = "error" | "warning" | "info";

/** One finding. */
export interface SessionFinding {
  readonly code: SessionFindingCode;
  readonly severity: FindingSeverity;
  /** For people; may change. */
  readonly message: string;
  /** The line number, from 1; absent for a finding of the whole file or of a sidecar file. */
  readonly line?: number;
  /** The offset of the line, in bytes. */
  readonly offset?: number;
  /** The length of the line without its line feed, or of the sidecar file. */
  readonly bytes?: number;
  readonly entryId?: string;
  /** The sidecar file. */
  readonly path?: string;
  readonly blob?: BlobRef;
  /** The holder of a lock. `since` is in milliseconds since 1970. */
  readonly holder?: { readonly pid: number; readonly host: string; readonly since: number };
}

const warnings: ReadonlySet<SessionFindingCode> = new Set([
  "EXTRA_HEADER",
  "BEFORE_HEADER",
  "NEWER_VERSION",
  "JOINED_LINE",
  "NUL_BYTES",
  "BYTE_ORDER_MARK",
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

/** The default severity of a code. */
export function severityOf(code: SessionFindingCode): FindingSeverity {
  return infos.has(code) ? "info" : warnings.has(code) ? "warning" : "error";
}

/** A bounded list of findings: keeps the first and the last ones, and counts all by code. */
export class Findings {
  readonly #first: SessionFinding[] = [];
  /** The last ones: a ring buffer once it is full. */
  readonly #last: SessionFinding[] = [];
  readonly #keptFirst: number;
  readonly #keptLast: number;
  #total = 0;
  readonly counts: Partial<Record<SessionFindingCode, number>> = {};
  /** The worst so far. */
  worst: FindingSeverity = "info";

  /** @param max the number to keep: half from the start, half from the end */
  constructor(max: number) {
    this.#keptFirst = Math.ceil(max / 2);
    this.#keptLast = Math.floor(max / 2);
  }

  /** The kept ones, in order. */
  get list(): readonly SessionFinding[] {
    const oldest = Math.max(0, this.#total - this.#keptFirst) % Math.max(1, this.#keptLast);
    const isFull = this.#last.length === this.#keptLast;
    const last = isFull ? [...this.#last.slice(oldest), ...this.#last.slice(0, oldest)] : this.#last;
    return [...this.#first, ...last];
  }

  /** The number of findings that were not kept. */
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

type SidecarFinding = Omit<SessionFinding, "severity">;

/**
 * The findings of sidecar files: the lock of a session file, and files that writers left beside it.
 * Read-only, so that the age of another machine's lock is measured by this machine's clock.
 */
export async function sidecarFindings(
  fs: FileSystem,
  path: string,
  now: number,
): Promise<readonly SidecarFinding[]> {
  const directory = dirname(path);
  const name = basename(path);
  const found: SidecarFinding[] = [];
  for (const { name: other, kind } of await fs.list(directory)) {
    if (!other.startsWith(`${name}.`) || kind !== "file") continue;
    const beside = join(directory, other);
    const stat = fs.stat(beside);
    // Another process removed its own file in the meantime.
    if (stat === undefined) continue;
    const suffix = other.slice(name.length);
    const finding =
      suffix === ".lock" ? lockFinding(fs, beside, now - stat.mtimeMs) : leftoverFinding(suffix);
    if (finding !== undefined) found.push({ ...finding, path: beside, bytes: stat.size });
  }
  return found.sort((a, b) => ((a.path ?? "") < (b.path ?? "") ? -1 : 1));
}

const leftovers: readonly (readonly [RegExp, SessionFindingCode, string])[] = [
  [/^\.torn-/, "TORN_FILE", "a torn tail that a writer moved out of the file"],
  [/^\.old-/, "OLD_FILE", "the file before its migration"],
  [/^\.tmp-/, "LEFTOVER_FILE", "an unfinished temp file of a copy or a migration"],
  [/^\.lock\.wait$/, "LEFTOVER_FILE", "a writer waits for the lock, or crashed while it waited"],
  [/^\.lock\.stale-/, "LEFTOVER_FILE", "a writer crashed while it took over a stale lock"],
  [/^\.lock\.[0-9a-f-]{36}$/, "LEFTOVER_FILE", "a writer crashed while it measured the age of a lock"],
];

function leftoverFinding(suffix: string): SidecarFinding | undefined {
  const [, code, message] = leftovers.find(([pattern]) => pattern.test(suffix)) ?? [];
  return code === undefined || message === undefined ? undefined : { code, message };
}

function lockFinding(fs: FileSystem, path: string, ageMs: number): SidecarFinding | undefined {
  const file = readLockFile(fs, path);
  if (file === undefined) return undefined;
  if (file.holder === undefined) return { code: "LOCK_UNREADABLE", message: "the lock file names no holder" };
  const { pid, host, since } = file.holder;
  const holder = { pid, host, since };
  const reason = staleReason(file.holder, () => ageMs, remoteLeaseMs);
  if (reason === undefined) {
    return { code: "LOCK_LIVE", message: `process ${pid} on ${host} holds the lock`, holder };
  }
  const message = `process ${pid} on ${host} held the lock, and ${reason}; the next writer takes it over`;
  return { code: "LOCK_STALE", message, holder };
}
