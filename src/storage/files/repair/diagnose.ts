/** Diagnoses a session file: every problem of its lines, sidecar files and blobs, read-only. */

import { basename, dirname, join, resolve } from "node:path";
import type { BlobRef } from "../../../content/index.js";
import { integerOption, stringArgument } from "../../../core/arguments.js";
import { decodeUtf8 } from "../../../core/bytes.js";
import { mapConcurrent } from "../../../core/concurrency.js";
import { SessileError } from "../../../core/errors/index.js";
import { blobRefsIn } from "../../../core/ids.js";
import type { FileSystem } from "../../../core/node/file-system.js";
import { BothEnds, defaultLimits } from "../../../log/internal.js";
import type { DiagnosticCode, SessionHeader } from "../../../session/index.js";
import { withRegularFile } from "../file-descriptors.js";
import { readLockFile, remoteLeaseMs, staleReason } from "../file-lock.js";
import { type ScanProblem, SessionScan } from "./scan.js";

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
function severityByCode(code: SessionFindingCode): FindingSeverity {
  return infos.has(code) ? "info" : warnings.has(code) ? "warning" : "error";
}

/** Options of {@link diagnoseSession}. */
export interface DiagnoseOptions {
  /**
   * Returns the state of a blob. Called once for each blob that a readable entry names, up to eight at a
   * time. Default: blobs are not checked.
   */
  readonly blobs?: (ref: BlobRef) => Promise<BlobState> | BlobState;
  /**
   * The maximum number of findings listed, half from the start and half from the end. All count. Minimum 0,
   * default 2000.
   */
  readonly maxFindings?: number;
  /** The maximum bytes of a line. Longer lines are not read. Minimum 1024, default 64 MiB. */
  readonly maxLineBytes?: number;
  /** Rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * The result of {@link diagnoseSession}, as plain JSON. The verdicts:
 *
 * - `sound`: every line is as it was written.
 * - `usable`: it opens, and no acknowledged entry is lost.
 * - `damaged`: it opens, and an entry or a blob that it names is lost. {@link salvageSession} makes a clean
 *   file.
 * - `unopenable`: it has no header.
 */
export interface SessionDiagnosis {
  readonly path: string;
  readonly verdict: "sound" | "usable" | "damaged" | "unopenable";
  /** The verdict in a sentence, for people. */
  readonly summary: string;
  /** Bytes. */
  readonly size: number;
  /** The number of lines, including blank ones. */
  readonly lines: number;
  /** Entries in the tree, and those of them with a readable body. */
  readonly entries: { readonly total: number; readonly readable: number };
  /** Absent if no line is a header. */
  readonly header?: SessionHeader;
  /** The leaf after opening. */
  readonly leafId: string | null;
  /** The number of findings by code. */
  readonly counts: Readonly<Partial<Record<SessionFindingCode, number>>>;
  /**
   * At most `maxFindings`, the first and the last: those of lines in file order, then those of the whole file
   * and of sidecar files.
   */
  readonly findings: readonly SessionFinding[];
  /** The number of findings that are not listed. */
  readonly omitted: number;
  /** The number of blobRefs blobs by state; absent unless `blobs` was given. */
  readonly blobs?: Readonly<Record<BlobState, number>>;
}

/** {@link diagnoseSession} on any file system. */
export async function diagnoseSessionOn(
  fs: FileSystem,
  path: string,
  options: DiagnoseOptions = {},
): Promise<SessionDiagnosis> {
  const absolute = resolve(stringArgument("path", path));
  const maxLineBytes = integerOption("maxLineBytes", options.maxLineBytes, defaultLimits.maxLineBytes, 1024);
  const findings = new Findings(integerOption("maxFindings", options.maxFindings, 2000, 0));
  const { signal } = options;
  return withRegularFile(fs, absolute, "read", async (file, stat) => {
    // Before the lines, so that the line of a writer that finishes in the meantime does not count as torn.
    const sidecars = await sidecarFindings(fs, absolute, Date.now());
    const isLive = sidecars.some(({ code }) => code === "LOCK_LIVE");
    const { blobs: probe } = options;
    const blobRefs = probe && new BlobRefCheck(probe, findings);
    const lost = { lines: 0, bytes: 0 };
    const problem = (found: ScanProblem) => {
      const finding = problemFinding(found, isLive);
      findings.add(finding);
      if (!found.lost || finding.severity !== "error") return;
      lost.lines++;
      lost.bytes += found.bytes ?? 0;
    };
    const scan = await SessionScan.of(
      file,
      stat,
      { maxLineBytes, signal },
      {
        problem,
        entry: blobRefs && ((...found) => blobRefs.collect(...found)),
        pause: blobRefs && (() => blobRefs.probe(signal)),
      },
    );
    const { reader, rows, damaged } = scan;
    for (const finding of sidecars) findings.add(finding);
    const { header } = reader;
    const verdict = header === undefined ? "unopenable" : verdicts[findings.worst];
    return {
      path: absolute,
      verdict,
      summary: verdictSummary(verdict, reader.lines, lost, findings),
      size: stat.size,
      lines: reader.lines,
      entries: { total: rows.size, readable: rows.size - damaged.size },
      ...(header === undefined ? {} : { header }),
      leafId: reader.leafId,
      counts: findings.counts,
      findings: findings.list,
      omitted: findings.omitted,
      ...(blobRefs === undefined ? {} : { blobs: blobRefs.counts() }),
    };
  });
}

const verdicts = { error: "damaged", warning: "usable", info: "sound" } as const;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A problem of a line as a finding. */
export function problemFinding(problem: ScanProblem, isLive = false): SessionFinding {
  const { code, line, offset, message, entryId, bytes, repeated } = problem;
  // While another process holds the lock, a last line without a line feed is being written.
  const isHarmless = repeated || (code === "TORN_TAIL" && isLive);
  const more = repeated ? "; it has the same bytes" : "";
  const severity = isHarmless ? "info" : severityByCode(code);
  const finding: Writable<SessionFinding> = { code, severity, message: message + more };
  if (line !== 0) {
    finding.line = line;
    finding.offset = offset;
  }
  if (bytes !== undefined) finding.bytes = bytes;
  if (entryId !== undefined) finding.entryId = entryId;
  return finding;
}

function verdictSummary(
  verdict: SessionDiagnosis["verdict"],
  lines: number,
  lost: { readonly lines: number; readonly bytes: number },
  findings: Findings,
): string {
  const { counts } = findings;
  const of = (code: SessionFindingCode, one: string, many: string) => {
    const count = counts[code] ?? 0;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  };
  const parts = [
    ...(counts.EMPTY === undefined ? [] : ["the file is empty"]),
    ...(counts.NO_HEADER === undefined ? [] : ["no line is a header"]),
    ...(lost.lines === 0 ? [] : [`${lost.lines} of ${lines} lines (${lost.bytes} bytes) cannot be read`]),
    ...of("ORPHAN", "entry has lost its parent", "entries have lost their parent"),
    ...of("CYCLE", "entry would close a cycle", "entries would close a cycle"),
    ...of("BLOB_MISSING", "entry names a blob that is missing", "entries name a blob that is missing"),
    ...of("BLOB_CORRUPT", "entry names a blob that is corrupt", "entries name a blob that is corrupt"),
    ...of("DUPLICATE_ID", "line has the id of an earlier one", "lines have the id of an earlier one"),
    ...of("JOINED_LINE", "line has several lines in it", "lines have several lines in them"),
    ...of("NUL_BYTES", "line has NULs in it", "lines have NULs in them"),
    ...of("BYTE_ORDER_MARK", "line has a byte order mark in it", "lines have a byte order mark in them"),
    ...of("MODIFIED", "line was changed after it was written", "lines were changed after they were written"),
    ...of("TORN_TAIL", "last line is incomplete", "last lines are incomplete"),
    ...of("TORN_LINE", "line was torn, never acknowledged", "lines were torn, never acknowledged"),
    ...of("NEWER_VERSION", "newer version wrote it", "newer versions wrote it"),
    ...of("LOCK_LIVE", "process holds its lock", "processes hold its lock"),
  ];
  return parts.length === 0 ? `${verdict}: ${lines} lines` : `${verdict}: ${parts.join(", ")}`;
}

/** A bounded list of findings, half from the start and half from the end. Counts all by code. */
export class Findings {
  readonly #kept: BothEnds<SessionFinding>;
  readonly counts: Partial<Record<SessionFindingCode, number>> = {};
  /** The worst so far. */
  worst: FindingSeverity = "info";

  constructor(max: number) {
    this.#kept = new BothEnds(Math.ceil(max / 2), Math.floor(max / 2));
  }

  get list(): readonly SessionFinding[] {
    return this.#kept.list;
  }

  /** The number of findings that were not kept. */
  get omitted(): number {
    return this.#kept.total - this.list.length;
  }

  add(finding: Omit<SessionFinding, "severity"> & { readonly severity?: FindingSeverity }): void {
    const { code, severity = severityByCode(code) } = finding;
    this.counts[code] = (this.counts[code] ?? 0) + 1;
    if (severity === "error" || (severity === "warning" && this.worst === "info")) this.worst = severity;
    const message = SessileError.printable(finding.message);
    const isWhole = finding.severity !== undefined && message === finding.message;
    this.#kept.add(isWhole ? (finding as SessionFinding) : { ...finding, severity, message });
  }
}

type SidecarFinding = Omit<SessionFinding, "severity">;

/**
 * The findings of sidecar files: the lock of a session file, and files that writers left beside it.
 * Read-only, so that the age of another machine's lock is measured by this machine's clock.
 */
async function sidecarFindings(
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

/** The state of a blob. */
export type BlobState = "ok" | "missing" | "corrupt";

interface BlobReference {
  readonly blob: BlobRef;
  readonly line: number;
  readonly offset: number;
  readonly entryId: string;
}

const maxConcurrentProbes = 8;
const algorithms = ["sha256:", "blake3:"].map((prefix) => Buffer.from(prefix));

/** Checks the state of each blob that entries name, once. Keeps only the references. */
class BlobRefCheck {
  readonly #probe: NonNullable<DiagnoseOptions["blobs"]>;
  readonly #findings: Findings;
  readonly #states = new Map<BlobRef, BlobState>();
  #references: BlobReference[] = [];

  constructor(probe: NonNullable<DiagnoseOptions["blobs"]>, findings: Findings) {
    this.#probe = probe;
    this.#findings = findings;
  }

  /** The number of blobs in each state. */
  counts(): Readonly<Record<BlobState, number>> {
    const counts = { ok: 0, missing: 0, corrupt: 0 };
    for (const state of this.#states.values()) counts[state]++;
    return counts;
  }

  /** Collects the references in an entry's line. */
  collect(entryId: string, line: Uint8Array, place: { readonly line: number; readonly at: number }): void {
    const bytes = Buffer.from(line.buffer, line.byteOffset, line.length);
    // Few lines have a reference; the others are not decoded.
    if (!algorithms.some((prefix) => bytes.includes(prefix))) return;
    for (const blob of blobRefsIn(decodeUtf8(line) ?? ""))
      this.#references.push({ blob, line: place.line, offset: place.at, entryId });
  }

  /** Checks the references collected since the last call, some at once. */
  async probe(signal: AbortSignal | undefined): Promise<void> {
    const references = this.#references;
    this.#references = [];
    const blobs = [...new Set(references.map(({ blob }) => blob))];
    const unknown = blobs.filter((blob) => !this.#states.has(blob));
    const probe = async (blob: BlobRef) => {
      signal?.throwIfAborted();
      return [blob, await this.#probe(blob)] as const;
    };
    for await (const [blob, state] of mapConcurrent(unknown, maxConcurrentProbes, probe))
      this.#states.set(blob, state);
    for (const { blob, ...place } of references) {
      const state = this.#states.get(blob);
      if (state === undefined || state === "ok") continue;
      const code = state === "missing" ? "BLOB_MISSING" : "BLOB_CORRUPT";
      this.#findings.add({ code, message: `blob ${blob} is ${state}`, blob, ...place });
    }
  }
}
