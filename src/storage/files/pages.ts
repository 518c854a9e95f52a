/** Reads the entries of a session file in pages, newest first. */

import { resolve } from "node:path";
import { describe, integerOption, stringArgument } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import type { FileStat, FileSystem, OpenFile } from "../../core/node/file-system.js";
import { nodeFileSystem } from "../../core/node/node-file-system.js";
import {
  decodeParts,
  defaultLimits,
  entryKeyOfPart,
  extraHeader,
  formatVersion,
  headerVersion,
  isNewer,
  isTerminatedTornLine,
  LineDecoder,
  type LineDiagnostic,
  type LinePart,
  linesBeforeHeader,
  lineTooLong,
  missingHeaderError,
  newerVersion,
  toEntryId,
  tornLine,
  tornTail,
} from "../../log/internal.js";
import type { Diagnostic, LinePlace, LogPosition, SessionEntry, UnknownEntry } from "../../session/index.js";
import { eachLine } from "../../session/internal.js";
import { withRegularFile } from "./file-descriptors.js";
import {
  type BackwardLine,
  fileOffset,
  linesBackwards,
  parsePosition,
  printPosition,
  type ReadLineOptions,
  readFingerprint,
  readLines,
} from "./read-lines.js";

/** Options of {@link readEntriesBackwards}. */
export interface EntriesBackwardsOptions {
  /** The `before` of the page after the wanted one. Default: the newest page. */
  readonly before?: string;
  /** The maximum number of entries. Minimum 1, default 100. */
  readonly limit?: number;
  /**
   * A page ends after this many bytes of lines, with fewer entries than `limit`, or without entries if all of
   * these lines are damaged. Minimum 1, default 4 MiB.
   */
  readonly maxBytes?: number;
  /** The maximum bytes of a line. Longer lines are not read. Minimum 1024, default 64 MiB. */
  readonly maxLineBytes?: number;
  /** Rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A page of a session file's entries. */
export interface EntriesPage {
  /** In file order: the newest is the last. */
  readonly entries: readonly (SessionEntry | UnknownEntry)[];
  /** Problems of single lines of this page, in file order. Offsets are in bytes. */
  readonly diagnostics: readonly Omit<Diagnostic, "line">[];
  /**
   * The cursor of the page before this one; absent on the oldest page. Text that can be stored and sent:
   * device and inode of the file, an offset, and a checksum of the line before it.
   */
  readonly before?: string;
}

/**
 * Reads a session file from its end, a page at a time: the newest entries of a large session at once, older
 * ones on demand. It reads the page and the header, not the rest of the file.
 *
 * All pages together have the entries of `parseSession` in the same order, and also lines with a duplicate
 * id, which a page cannot detect. Orphans, cycles, the leaf and labels need the whole file and are not in a
 * page. Appends by others do not change the pages. For a version 1 file, whose ids are line numbers, each
 * page reads from the start.
 *
 * `session.location` and `SessionSummary.location` are the paths of a store's sessions.
 *
 * @throws SessileError LOG_CHANGED if the file was truncated below `before`, or replaced: start at the newest
 *   page
 * @throws SessileError SESSION_NOT_FOUND, EMPTY, NO_HEADER, NOT_A_FILE, STORAGE_FAILED
 * @throws TypeError, RangeError for invalid arguments
 * @example
 * ```ts
 * const newest = await readEntriesBackwards("session.jsonl", { limit: 50 });
 * const { before } = newest;
 * if (before !== undefined) {
 *   const older = await readEntriesBackwards("session.jsonl", { limit: 50, before });
 *   console.log([...older.entries, ...newest.entries].length);
 * }
 * ```
 */
export function readEntriesBackwards(
  path: string,
  options: EntriesBackwardsOptions = {},
): Promise<EntriesPage> {
  return readEntriesBackwardsOn(nodeFileSystem, path, options);
}

/** {@link readEntriesBackwards} on any file system. */
export async function readEntriesBackwardsOn(
  fs: FileSystem,
  path: string,
  options: EntriesBackwardsOptions = {},
): Promise<EntriesPage> {
  const absolute = resolve(stringArgument("path", path));
  const cursor = options.before === undefined ? undefined : cursorArgument(options.before);
  const bounds = {
    limit: integerOption("limit", options.limit, 100, 1),
    maxBytes: integerOption("maxBytes", options.maxBytes, 4 * 1024 * 1024, 1),
  };
  const maxLineBytes = integerOption("maxLineBytes", options.maxLineBytes, defaultLimits.maxLineBytes, 1024);
  const reading = { maxLineBytes, signal: options.signal };
  return withRegularFile(fs, absolute, "read", async (file, stat) => {
    const header = await readHeader(file, stat, absolute, reading);
    const end = cursor === undefined ? stat.size : fileOffset(file, stat, cursor);
    // A header on the first line, the usual case, is in no page: the oldest page begins after it.
    const isAlone = header.at === 0 && !header.isJoined;
    const start = isAlone ? Math.min(header.length + 1, stat.size) : 0;
    const lines =
      end === undefined ? undefined : await pageLines(file, { start, end }, header, bounds, reading);
    if (lines === undefined) {
      const message = `${absolute} was truncated or replaced since the last page: start at the newest page`;
      throw new SessileError("LOG_CHANGED", message, { details: { id: absolute } });
    }
    const from = lines[0]?.at ?? start;
    if (header.version < 2) await numberLines(lines, file, { ...stat, size: from }, reading);
    const entries = lines.flatMap(({ parts = [] }) =>
      parts.flatMap(({ decoded }) => (decoded.kind === "entry" && decoded.entry) || []),
    );
    const found = lines.map((line) => [line.at, pageLineDiagnostics(line, header, stat.size)] as const);
    if (isAlone && from === start) found.unshift([header.at, header.diagnostics]);
    const diagnostics = found.flatMap(([offset, notes]) =>
      notes.map(({ message, ...note }) => ({ ...note, offset, message: SessileError.printable(message) })),
    );
    if (from === start) return { entries, diagnostics };
    const { dev, ino } = stat;
    const fingerprint = await readFingerprint(file, from);
    return { entries, diagnostics, before: printPosition({ dev, ino, size: from, fingerprint }) };
  });
}

function cursorArgument(value: unknown): LogPosition {
  if (typeof value === "string" && parsePosition(value) !== undefined) return value as LogPosition;
  throw new TypeError(`before: expected the "before" of a page, got ${describe(value)}`);
}

/** A line of a page, decoded unless it is too long. */
interface PageLine extends BackwardLine {
  parts?: readonly LinePart[];
}

const { maxDepth } = defaultLimits;

/**
 * The last lines of a range of a file, in file order, up to `limit` entries or `maxBytes`. Undefined if the
 * file is shorter than the range.
 */
async function pageLines(
  file: OpenFile,
  range: { readonly start: number; readonly end: number },
  header: FirstHeader,
  { limit, maxBytes }: { readonly limit: number; readonly maxBytes: number },
  options: ReadLineOptions,
): Promise<readonly PageLine[] | undefined> {
  const lines: PageLine[] = [];
  let entries = 0;
  let bytes = 0;
  for await (const line of linesBackwards(file, range, options)) {
    // Lines before the header are decoded as the current version.
    const version = line.at < header.at ? undefined : header.version;
    const context = { isFirst: line.at === 0, version, ordinal: 0, maxDepth };
    const parts = line.bytes && decodeParts(line.bytes, context);
    lines.push(parts === undefined ? line : { ...line, parts });
    bytes += line.length + 1;
    for (const { decoded } of parts ?? []) if (decoded.kind === "entry") entries++;
    if (entries >= limit || bytes >= maxBytes || line.at <= range.start) return lines.reverse();
  }
  return range.start >= range.end ? [] : undefined;
}

/** Decodes lines as version 1, whose ids are line numbers: all lines up to the size in `before` are counted. */
async function numberLines(
  lines: readonly PageLine[],
  file: OpenFile,
  before: FileStat,
  options: ReadLineOptions,
): Promise<void> {
  const decoder = new LineDecoder(maxDepth);
  const tooLong = () => decoder.skip();
  for await (const batch of readLines(file, before, undefined, options))
    eachLine(batch, { line: (bytes, _, start, end) => decoder.decode(bytes.subarray(start, end)), tooLong });
  for (const line of lines) {
    if (line.bytes === undefined) tooLong();
    else line.parts = decoder.decode(line.bytes);
  }
}

/** The diagnostics of a line's parts, each with the id of its entry. */
function pageLineDiagnostics(
  { at, length, bytes, parts }: PageLine,
  header: FirstHeader,
  size: number,
): readonly (LineDiagnostic & { readonly entryId?: string })[] {
  if (bytes === undefined || parts === undefined) return [lineTooLong(length)];
  return parts.flatMap((part) => {
    const { start, end, decoded } = part;
    if (decoded.kind === "blank") return [];
    if (decoded.kind === "header") {
      const isFirst = at === header.at && start === header.start;
      return isFirst ? header.diagnostics : [...decoded.diagnostics, extraHeader];
    }
    if (decoded.kind === "bad" && end === length) {
      if (at + length === size) return [tornTail(end - start)];
      if (isTerminatedTornLine(bytes)) return [tornLine(end - start - 1)];
    }
    const key = entryKeyOfPart(part);
    if (key === undefined) return decoded.diagnostics;
    return decoded.diagnostics.map((note) => ({ ...note, entryId: toEntryId(key) }));
  });
}

/** The header of a file and its position, nearly always 0. */
interface FirstHeader extends LinePlace {
  readonly version: number;
  /** Its start in its line. */
  readonly start: number;
  /** Whether entries are in its line. */
  readonly isJoined: boolean;
  readonly diagnostics: readonly LineDiagnostic[];
}

/** Small, because a header is short and nearly always the first line. */
const chunkBytes = 16 * 1024;

/**
 * Reads a file up to its header.
 *
 * @throws SessileError EMPTY, NO_HEADER
 */
async function readHeader(
  file: OpenFile,
  stat: FileStat,
  path: string,
  options: ReadLineOptions,
): Promise<FirstHeader> {
  let before = 0;
  for await (const batch of readLines(file, stat, undefined, { ...options, chunkBytes })) {
    const { tail } = batch;
    const lines: { readonly bytes?: Uint8Array; readonly at: number }[] = [];
    eachLine(batch, {
      line: (bytes, at, start, end) => lines.push({ bytes: bytes.subarray(start, end), at }),
      tooLong: (at) => lines.push({ at }),
    });
    if (tail !== undefined) lines.push(tail);
    for (const line of lines) {
      const { bytes = new Uint8Array(), at } = line;
      const context = { version: formatVersion, ordinal: 0, maxDepth, isFirst: at === 0 };
      const parts = decodeParts(bytes, context);
      for (const { start, decoded } of parts) {
        if (decoded.kind !== "header") continue;
        const diagnostics = [...decoded.diagnostics];
        if (before > 0) diagnostics.push(linesBeforeHeader(before));
        if (isNewer(decoded.header)) diagnostics.push(newerVersion);
        const version = headerVersion(decoded.header);
        return { at, length: bytes.length, version, start, isJoined: parts.length > 1, diagnostics };
      }
      if (line !== tail || parts[0]?.decoded.kind !== "blank") before++;
    }
  }
  throw missingHeaderError(path, before);
}
