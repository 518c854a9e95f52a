/** Diagnoses a session file: every problem of its lines, sidecar files and blobs, read-only. */

import { resolve } from "node:path";
import type { BlobRef } from "../../../content/index.js";
import { integerOption, stringArgument } from "../../../core/arguments.js";
import type { FileSystem } from "../../../core/node/file-system.js";
import { nodeFileSystem } from "../../../core/node/node-file-system.js";
import type { SessionHeader } from "../../../session/index.js";
import { defaultLimits } from "../../../session/internal.js";
import { withRegularFile } from "../file-descriptors.js";
import { BlobRefCheck, type BlobState } from "./check-blob-refs.js";
import {
  Findings,
  type SessionFinding,
  type SessionFindingCode,
  severityOf,
  sidecarFindings,
} from "./findings.js";
import { type ScanProblem, SessionScan } from "./scan.js";

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

/**
 * Reads a whole session file and lists every problem of it, of its lock, of its sidecar files and of the
 * blobs that it names. Read-only; takes no lock and needs no header. Memory is bounded by the tree and the
 * longest line, time is linear in the file.
 *
 * @throws SessileError SESSION_NOT_FOUND, NOT_A_FILE, STORAGE_FAILED, and errors that `blobs` throws
 * @throws TypeError, RangeError for invalid arguments
 * @example
 * ```ts
 * const { verdict, summary, findings } = await diagnoseSession("session.jsonl");
 * console.log(verdict, summary);
 * for (const { severity, line, message } of findings) console.log(severity, line, message);
 * ```
 */
export function diagnoseSession(path: string, options: DiagnoseOptions = {}): Promise<SessionDiagnosis> {
  return diagnoseSessionOn(nodeFileSystem, path, options);
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
    const blobRefs =
      probe &&
      new BlobRefCheck(probe, ({ state, blob, ...place }) => {
        const code = state === "missing" ? "BLOB_MISSING" : "BLOB_CORRUPT";
        findings.add({ code, message: `blob ${blob} is ${state}`, blob, ...place });
      });
    const lost = { lines: 0, bytes: 0 };
    const scan = await SessionScan.of(
      file,
      stat,
      { maxLineBytes, signal },
      {
        problem: (problem) => {
          const finding = findingOf(problem, isLive);
          if (problem.lost && finding.severity === "error") {
            lost.lines++;
            lost.bytes += problem.bytes ?? 0;
          }
          findings.add(finding);
        },
        entry: blobRefs && ((entryId, line, place) => blobRefs.collect(line, place, entryId)),
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
      summary: summaryOf(verdict, reader.lines, lost, findings),
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
export function findingOf(problem: ScanProblem, isLive = false): SessionFinding {
  const { code, line, offset, message, entryId, bytes, repeated } = problem;
  // While another process holds the lock, a last line without a line feed is being written.
  const isHarmless = repeated || (code === "TORN_TAIL" && isLive);
  const more = repeated ? "; it has the same bytes" : "";
  const severity = isHarmless ? "info" : severityOf(code);
  const finding: Writable<SessionFinding> = { code, severity, message: message + more };
  if (line !== 0) {
    finding.line = line;
    finding.offset = offset;
  }
  if (bytes !== undefined) finding.bytes = bytes;
  if (entryId !== undefined) finding.entryId = entryId;
  return finding;
}

function summaryOf(
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
