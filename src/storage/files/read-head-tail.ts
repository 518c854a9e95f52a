/** Reads both ends of a session file, as lists and the search for an id need them. */

import { decodeUtf8 } from "../../core/bytes.js";
import type { OpenFile } from "../../core/node/file-system.js";
import { readFullySync } from "../../core/node/read-write-fully.js";
import type { SessionHeader } from "../../session/index.js";
import {
  decodeParts,
  decodeUsualHeader,
  defaultLimits,
  formatVersion,
  maxHeadLines,
} from "../../session/internal.js";

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

/** The lines at the beginning, at least up to a wanted one. */
export function readHead(
  file: OpenFile,
  size: number,
  isWanted: (line: Uint8Array, index: number) => boolean,
): readonly Uint8Array[] {
  return headLines(file, size, readRange(file, 0, Math.min(headBytes, size)), isWanted);
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
  // A message that contains the name matches too; the list decodes each line and ignores it.
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

/**
 * The next offset of the name. It searches from the underscore on, which is rare in text: ten times as fast.
 */
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
