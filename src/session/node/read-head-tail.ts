import type { OpenFile } from "../../internal/node/file-system.js";
import { readFullySync } from "../../internal/node/read-write-fully.js";
import { formatVersion, type SessionHeader } from "../api/entries.js";
import { decodeHead } from "../format/decode.js";
import { defaultLimits } from "../format/line-splitter.js";
import { maxHeadLines } from "../store/list.js";

const headBytes = 16 * 1024;
const tailBytes = 64 * 1024;
/** Bytes that {@link readEnds} reads into a block. */
export const endsBytes: number = tailBytes + headBytes;
/** A header, or a first message, that is longer than this is not shown in a list. */
const maxHeadBytes = 1024 * 1024;

/** Whole lines from the two ends of a file, enough for a list. */
export interface Ends {
  readonly head: readonly Uint8Array[];
  readonly tail: readonly Uint8Array[];
}

/**
 * Reads both ends synchronously: a thread of the pool takes ten times as long for bytes that the system has in memory.
 *
 * @param block of {@link endsBytes}, to read into: a list reuses one, and the lines hold until its next use
 */
export function readEnds(file: OpenFile, size: number, block: Uint8Array = new Uint8Array(endsBytes)): Ends {
  const tailStart = Math.max(0, size - tailBytes);
  const last = readRange(file, tailStart, size, block);
  // A small file is all in its tail.
  const first =
    tailStart === 0 ? last.subarray(0, headBytes) : readRange(file, 0, headBytes, block.subarray(tailBytes));
  return { head: headLines(file, size, first, isUserMessage), tail: infoLines(last, tailStart === 0) };
}

/** The lines at the beginning, up to one that is wanted, and as many more as a block of the file has. */
export function readHeadNow(
  file: OpenFile,
  size: number,
  isWanted: (line: Uint8Array, index: number) => boolean,
): readonly Uint8Array[] {
  return headLines(file, size, readRange(file, 0, Math.min(headBytes, size)), isWanted);
}

/** @param bytes the first {@link headBytes} of the file; more are read if no line of them is wanted */
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

/** The bytes of a range; fewer if the file is shorter by now. */
function readRange(file: OpenFile, start: number, end: number, into?: Uint8Array): Uint8Array {
  const bytes = into?.subarray(0, end - start) ?? new Uint8Array(end - start);
  return bytes.subarray(0, readFullySync(file, bytes, start));
}

/** The lines that may be a session_info: of all others a list shows nothing. */
function infoLines(bytes: Uint8Array, fromStart: boolean): readonly Uint8Array[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const lines: Uint8Array[] = [];
  // A line that another line's text speaks of is looked at too, and is none.
  for (let at = infoAt(buffer, 0); at >= 0; ) {
    const start = buffer.lastIndexOf(10, at) + 1;
    const end = buffer.indexOf(10, at);
    if (start > 0 || fromStart) lines.push(bytes.subarray(start, end < 0 ? bytes.length : end));
    at = end < 0 ? -1 : infoAt(buffer, end);
  }
  return lines;
}

const infoName = "session_info";
const underscoreAt = infoName.indexOf("_");

/** Where the name stands next. An underscore is rare in text, and a search that begins with one is ten times as quick. */
function infoAt(buffer: Buffer, from: number): number {
  for (let at = from; ; ) {
    const found = buffer.indexOf(infoName.slice(underscoreAt), at);
    if (found < 0) return -1;
    const start = found - underscoreAt;
    if (start >= from && buffer.toString("latin1", start, found) === infoName.slice(0, underscoreAt))
      return start;
    at = found + 1;
  }
}

/** Lines that are whole, at most {@link maxHeadLines}: the last one where it ends the file or has its line feed. */
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
    // A first line that is blank stays: a byte order mark behind it is none of the log's.
    if (end > start || start === 0) lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return { lines, isFull: true };
}

/** A cheap look: the list decodes what it shows. */
function isUserMessage(line: Uint8Array): boolean {
  return Buffer.from(line.buffer, line.byteOffset, line.length).includes('"role":"user"');
}

const headerContext = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };

/** Decodes a line that may be a header. */
export function headerOfLine(line: Uint8Array, isFirst: boolean): SessionHeader | undefined {
  const decoded = decodeHead(line, { ...headerContext, isFirst });
  return decoded.kind === "header" ? decoded.header : undefined;
}
