/**
 * Reads the lines of a session file that a list shows, and the search for an id compares: both ends, and the newest
 * session_info before the end.
 */

import { decodeUtf8 } from "../../core/bytes.js";
import { type FileStat, type OpenFile, readFully, readFullySync } from "../../core/node/file-system.js";
import { decodeParts, decodeUsualHeader, defaultLimits, formatVersion } from "../../log/internal.js";
import type { LinePlace, SessionHeader } from "../../session/index.js";
import { lastInfo, maxHeadLines } from "../../session/internal.js";
import { linesBackwards } from "./read-lines.js";

const headBytes = 16 * 1024;
const tailBytes = 64 * 1024;
/** A file of at most this is read at once: faster than both ends and a search between them. */
const smallFileBytes = 256 * 1024;
/** The size of the buffer that {@link readHeadTail} reads into. */
export const headTailBytes: number = smallFileBytes;
/** A list does not show a header or a first message beyond this. */
const maxHeadBytes = 1024 * 1024;

/** Whole lines from both ends of a file, as a list needs them. */
export interface HeadTail {
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
export interface InfoSearch {
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
