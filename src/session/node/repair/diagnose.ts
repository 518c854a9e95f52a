import { resolve } from "node:path";
import type { BlobRef } from "../../../content/index.js";
import { integerOption, stringArgument } from "../../../internal/arguments.js";
import type { FileSystem } from "../../../internal/node/file-system.js";
import { nodeFileSystem } from "../../../internal/node/node-file-system.js";
import type { SessionHeader } from "../../api/entries.js";
import { defaultLimits } from "../../format/line-splitter.js";
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
  /** Says what became of a blob; asked once for each that a readable entry names, up to eight at a time. Default: not asked. */
  readonly blobs?: (ref: BlobRef) => Promise<BlobState> | BlobState;
  /** How many findings to list, half of them the first and half of them the last; all are counted. Minimum 0, default 2000. */
  readonly maxFindings?: number;
  /** Bytes of one line; longer ones are not read. Minimum 1024, default 64 MiB. */
  readonly maxLineBytes?: number;
  /** Ends the reading with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * What {@link diagnoseSession} has found, as plain JSON.
 *
 * - `sound`: every line is as it was written.
 * - `usable`: it opens, and what is wrong costs nothing that was acknowledged.
 * - `damaged`: it opens, and something in it, or that it names, is lost. {@link salvageSession} makes a clean file.
 * - `unopenable`: it has no header.
 */
export interface SessionDiagnosis {
  readonly path: string;
  readonly verdict: "sound" | "usable" | "damaged" | "unopenable";
  /** The verdict in a sentence, for people. */
  readonly summary: string;
  /** Bytes. */
  readonly size: number;
  /** Lines, blank ones too. */
  readonly lines: number;
  /** Entries that have a place in the tree, and how many of those have a body that can be read. */
  readonly entries: { readonly total: number; readonly readable: number };
  /** Absent where no line is one. */
  readonly header?: SessionHeader;
  /** The leaf on loading. */
  readonly leafId: string | null;
  /** How many findings there are of each code that was found. */
  readonly counts: Readonly<Partial<Record<SessionFindingCode, number>>>;
  /** All, or the first and the last of `maxFindings`: those of lines in the order of the file, then those of the whole and of files beside it. */
  readonly findings: readonly SessionFinding[];
  /** How many findings are not listed. */
  readonly omitted: number;
  /** Blobs that are named, by what became of them; absent where none was asked for. */
  readonly blobs?: Readonly<Record<BlobState, number>>;
}

/**
 * Reads a session file in whole and says what is wrong with it, with its lock, with files beside it and with blobs that it
 * names. Changes nothing, takes no lock and needs no header. Memory is bounded by the tree and the longest line, and time is
 * in proportion to the file.
 *
 * @throws SessileError SESSION_NOT_FOUND, NOT_A_FILE, STORAGE_FAILED; whatever the probe of the blobs throws
 * @throws TypeError, RangeError for arguments that are none
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

/** {@link diagnoseSession} on any disk. */
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
    // First, so that a line of a writer that ends in the meantime is not taken for torn.
    const beside = await sidecarFindings(fs, absolute, Date.now());
    const isLive = beside.some(({ code }) => code === "LOCK_LIVE");
    const { blobs: probe } = options;
    const named =
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
        ...(named === undefined
          ? {}
          : {
              entry: (entryId, line, place) => named.look(line, place, entryId),
              pause: () => named.probe(signal),
            }),
      },
    );
    const { reader, rows, damaged } = scan;
    for (const finding of beside) findings.add(finding);
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
      ...(named === undefined ? {} : { blobs: named.counts() }),
    };
  });
}

const verdicts = { error: "damaged", warning: "usable", info: "sound" } as const;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A problem of a line as a finding. */
export function findingOf(problem: ScanProblem, isLive = false): SessionFinding {
  const { code, line, offset, message, entryId, bytes, repeated, joined } = problem;
  // While another process writes, a last line without an end is on its way.
  const isNothing = repeated || (code === "TORN_TAIL" && isLive);
  const more = repeated
    ? "; it has the same bytes"
    : joined > 0
      ? `; ${joined} bytes of it are whole lines`
      : "";
  const severity = isNothing ? "info" : severityOf(code);
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
    ...of("CYCLE", "entry would close a circle", "entries would close a circle"),
    ...of("BLOB_MISSING", "entry names a blob that is missing", "entries name a blob that is missing"),
    ...of("BLOB_CORRUPT", "entry names a blob that is corrupt", "entries name a blob that is corrupt"),
    ...of("DUPLICATE_ID", "line has the id of an earlier one", "lines have the id of an earlier one"),
    ...of("MODIFIED", "line was changed after it was written", "lines were changed after they were written"),
    ...of("TORN_TAIL", "last line is incomplete", "last lines are incomplete"),
    ...of("TORN_LINE", "line was torn, never acknowledged", "lines were torn, never acknowledged"),
    ...of("NEWER_VERSION", "newer version wrote it", "newer versions wrote it"),
    ...of("LOCK_LIVE", "process is at work on it", "processes are at work on it"),
  ];
  return parts.length === 0 ? `${verdict}: ${lines} lines` : `${verdict}: ${parts.join(", ")}`;
}
