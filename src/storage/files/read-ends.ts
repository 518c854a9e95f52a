/** Reads of the ends of a session's file: its head and tail for a list, and its entries backwards. */

import { resolve } from "node:path";
import { describe, integerOption, stringArgument } from "../../core/arguments.js";
import { decodeUtf8 } from "../../core/bytes.js";
import { SessileError } from "../../core/errors/index.js";
import {
  type FileStat,
  type FileSystem,
  type OpenFile,
  readFully,
  readFullySync,
} from "../../core/node/file-system.js";
import { nodeFileSystem } from "../../core/node/node-file-system.js";
import {
  decodeParts,
  decodeUsualHeader,
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
import type {
  Diagnostic,
  LinePlace,
  LogPosition,
  SessionEntry,
  SessionHeader,
  UnknownEntry,
} from "../../session/index.js";
import { eachLine, lastInfo, maxHeadLines } from "../../session/internal.js";
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

const headBytes = 16 * 1024;
const tailBytes = 64 * 1024;
/** A file of at most this is read at once: faster than both ends and a search between them. */
const smallFileBytes = 256 * 1024;
/** The size of the buffer that {@link readHeadTail} reads into. */
export const headTailBytes: number = smallFileBytes;
/** A list does not show a header or a first message beyond this. */
const maxHeadBytes = 1024 * 1024;

/** Whole lines from both ends of a file, as a list needs them. */
interface HeadTail {
  readonly head: readonly Uint8Array[];
  /** The lines of the tail that may be a session_info. */
  readonly tail: readonly Uint8Array[];
  /** The offset of the first whole line of the tail; 0 for a small file, the size if there is none. */
  readonly tailAt: number;
}

/**
 * Reads both ends synchronously: for bytes in the page cache, a thread of the pool takes ten times as long.
 *
 * @param buffer of {@link headTailBytes}. A list reuses one, and the lines are valid until its next use.
 */
export function readHeadTail(
  file: OpenFile,
  size: number,
  buffer: Uint8Array = new Uint8Array(headTailBytes),
): HeadTail {
  const tailStart = size <= smallFileBytes ? 0 : size - tailBytes;
  const last = readRange(file, tailStart, size, buffer);
  // The tail holds the whole of a small file.
  const first =
    tailStart === 0 ? last.subarray(0, headBytes) : readRange(file, 0, headBytes, buffer.subarray(tailBytes));
  return {
    head: headLines(file, size, first, isUserMessage),
    tail: infoLines(last, tailStart === 0),
    tailAt: tailStart === 0 ? 0 : tailStart + (last.indexOf(10) + 1 || last.length),
  };
}

/** The header at the beginning of a file. */
export function headerOfFile(file: OpenFile, size: number): SessionHeader | undefined {
  const buffer = new Uint8Array(Math.min(headBytes, size));
  const bytes = buffer.subarray(0, readFullySync(file, buffer, 0));
  const end = bytes.indexOf(10);
  let header = decodeUsualHeader(end < 0 ? undefined : decodeUtf8(bytes.subarray(0, end)))?.header;
  if (header !== undefined) return header;
  headLines(file, size, bytes, (line, index) => {
    header = headerOfLine(line, index === 0);
    return header !== undefined;
  });
  return header;
}

/** @param bytes the first {@link headBytes} of the file; if no line of them is wanted, it reads more */
function headLines(
  file: OpenFile,
  size: number,
  bytes: Uint8Array,
  isWanted: (line: Uint8Array, index: number) => boolean,
): readonly Uint8Array[] {
  for (let length = headBytes; ; ) {
    const { lines, isFull } = splitLines(bytes, bytes.length >= size);
    if (isFull || lines.some(isWanted) || length >= size || length >= maxHeadBytes) return lines;
    length *= 8;
    bytes = readRange(file, 0, Math.min(length, size));
  }
}

/** The bytes of a range; fewer if the file was truncated. */
function readRange(file: OpenFile, start: number, end: number, into?: Uint8Array): Uint8Array {
  const bytes = into?.subarray(0, end - start) ?? new Uint8Array(end - start);
  return bytes.subarray(0, readFullySync(file, bytes, start));
}

/** The lines that may be a session_info. A list needs no other lines of the tail. */
function infoLines(bytes: Uint8Array, fromStart: boolean): readonly Uint8Array[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const lines: Uint8Array[] = [];
  let end = 0;
  for (const at of namesIn(buffer)) {
    if (at < end) continue;
    const start = buffer.lastIndexOf(10, at) + 1;
    const feed = buffer.indexOf(10, at);
    end = feed < 0 ? bytes.length : feed;
    if (start > 0 || fromStart) lines.push(bytes.subarray(start, end));
  }
  return lines;
}

/** Whole lines, at most {@link maxHeadLines}. A line without a line feed is whole if it ends the file. */
function splitLines(
  bytes: Uint8Array,
  toEnd: boolean,
): { readonly lines: readonly Uint8Array[]; readonly isFull: boolean } {
  const lines: Uint8Array[] = [];
  for (let start = 0, count = 0; count < maxHeadLines; count++) {
    const end = bytes.indexOf(10, start);
    if (end < 0) {
      if (toEnd && start < bytes.length) lines.push(bytes.subarray(start));
      return { lines, isFull: false };
    }
    // Keeps a blank first line: only the first line may begin with a byte order mark (BOM).
    if (end > start || start === 0) lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return { lines, isFull: true };
}

/** A substring test is enough: the list decodes the lines that it shows. */
function isUserMessage(line: Uint8Array): boolean {
  return Buffer.from(line.buffer, line.byteOffset, line.length).includes('"role":"user"');
}

const headerContext = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };

/** The header, if the line is one. */
export function headerOfLine(line: Uint8Array, isFirst: boolean): SessionHeader | undefined {
  const usual = decodeUsualHeader(decodeUtf8(line));
  if (usual !== undefined) return usual.header;
  for (const { decoded } of decodeParts(line, { ...headerContext, isFirst }))
    if (decoded.kind === "header") return decoded.header;
  return undefined;
}

const stepBytes = 256 * 1024;
/** The number of files whose places are cached, of about 300 bytes each. */
const maxPlaces = 20_000;

/** A search in a file: the bytes before `end`, which is the start of a line. */
interface InfoSearch {
  readonly file: OpenFile;
  readonly path: string;
  readonly stat: FileStat;
  readonly end: number;
  /** The version in the header. */
  readonly version: number;
  readonly signal?: AbortSignal | undefined;
  /** Of {@link infoSearchBytes}. A list reuses one. */
  readonly buffer: Buffer;
}

/** The newest session_info before an offset. Never its text: an erasure need not look here. */
interface Place {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  /** Other than the time of the bytes, a program cannot set it back. */
  readonly ctimeMs: number;
  /** All before it was searched. */
  readonly end: number;
  readonly at?: number;
  readonly length?: number;
}

/**
 * The newest session_info of files, searched backwards from an offset. Reads each byte once, in memory of one
 * step and one line. A file that has grown is searched from where the last search began.
 */
export class InfoPlaces {
  /** By path, the least recently used first. */
  readonly #places = new Map<string, Place>();

  /** The line, as it is stored; undefined if there is none. */
  async find(search: InfoSearch): Promise<Uint8Array | undefined> {
    const { path, stat, end, file, version } = search;
    const known = this.#knownPlace(search);
    const found =
      (await findBetween(search, known?.end ?? 0, end)) ??
      (known?.at === undefined ? undefined : { at: known.at, length: known.length as number });
    const { dev, ino, size, mtimeMs, ctimeMs } = stat;
    this.#places.set(path, { dev, ino, size, mtimeMs, ctimeMs, end, ...found });
    const [oldest = ""] = this.#places.keys();
    if (this.#places.size > maxPlaces) this.#places.delete(oldest);
    if (found === undefined) return undefined;
    const line = await bytesAt(file, found.at, found.length);
    if (lastInfo([line], version) !== undefined) return line;
    // Another program changed the file in place and kept its size.
    this.#places.delete(path);
    return known === undefined ? undefined : this.find(search);
  }

  /** The place of an earlier search, unless the file may have changed before it. */
  #knownPlace({ path, stat, end }: InfoSearch): Place | undefined {
    const known = this.#places.get(path);
    this.#places.delete(path);
    if (known === undefined || known.dev !== stat.dev || known.ino !== stat.ino) return undefined;
    const isSame =
      known.size === stat.size && known.mtimeMs === stat.mtimeMs && known.ctimeMs === stat.ctimeMs;
    return isSame || (known.size < stat.size && known.end <= end) ? known : undefined;
  }
}

/** The last session_info of a range that begins and ends at a line. */
async function findBetween(
  { file, version, signal, buffer }: InfoSearch,
  start: number,
  end: number,
): Promise<LinePlace | undefined> {
  const { maxLineBytes } = defaultLimits;
  /** The start of the line that was looked at last: a line is looked at once. */
  let seen = end;
  for (let stop = end; stop > start; ) {
    signal?.throwIfAborted();
    const from = Math.max(start, stop - stepBytes);
    // A name may begin in this step and end in the one behind it.
    const into = buffer.subarray(0, Math.min(stop + name.length, end) - from);
    // As the ends of a file: a thread of the pool would take ten times as long for a short one.
    const count = stop === end ? readFullySync(file, into, from) : await readFully(file, into, from);
    stop = from;
    const last = namesIn(into.subarray(0, count)).findLast((found) => from + found < seen);
    if (last === undefined) continue;
    const feed = into.subarray(0, count).indexOf(10, last);
    if (feed >= 0) seen = from + feed + 1;
    for await (const { at, length, bytes } of linesBackwards(
      file,
      { start, end: seen },
      { maxLineBytes, signal },
    )) {
      if (bytes !== undefined && lastInfo([bytes], version) !== undefined) return { at, length };
      seen = at;
      if (at <= from) break;
    }
    stop = Math.min(stop, seen);
  }
  return undefined;
}

async function bytesAt(file: OpenFile, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, await readFully(file, bytes, at));
}

const name = Buffer.from('"session_info"');
/** The size of the buffer of an {@link InfoSearch}. */
export const infoSearchBytes: number = stepBytes + name.length;
/** The search is for the underscore first, which is rare in text: ten times as fast. */
const rare = Buffer.from("_info");
const rareAt = name.indexOf(rare);
const backslash = 0x5c;

/** The offsets of the name as a string of its own; in a text its quotes are escaped. */
function namesIn(bytes: Buffer): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(rare); at >= 0; at = bytes.indexOf(rare, at + 1)) {
    const start = at - rareAt;
    if (start < 0 || bytes[start - 1] === backslash) continue;
    if (name.equals(bytes.subarray(start, start + name.length))) found.push(start);
  }
  return found;
}

// Reads the entries of a session file in pages, newest first.

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
