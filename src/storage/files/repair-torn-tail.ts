/** Repair of a torn tail: the line feed that a crash left out. */

import { type OpenFile, readFully } from "../../core/node/file-system.js";
import { isRecord } from "../../core/shape.js";
import { decodeParts, defaultLimits, parseLine, stripBom, tornLineTerminator } from "../../log/internal.js";

const stepBytes = 64 * 1024;

/**
 * Repair of a torn tail: the bytes that end a log's last line. A line feed, preceded by a tab unless the line
 * is whole; undefined if the log needs none. Never truncates: another program may still be writing that line.
 * If it completes the line, this ending becomes a blank line.
 */
export async function tornTailEnding(file: OpenFile, maxLineBytes: number): Promise<Uint8Array | undefined> {
  const { size } = file.stat();
  if (size === 0) return undefined;
  const last = new Uint8Array(1);
  if (file.readSync(last, size - 1) === 1 && last[0] === 10) return undefined;
  const line = await lastLine(file, size, maxLineBytes);
  if (line === undefined) return tornLineTerminator;
  const content = line.length === size ? stripBom(line) : line;
  const parsed = parseLine(content, defaultLimits.maxDepth, { unchecked: true });
  // An object of any version is a whole line, also one that was written after half a line.
  const isWhole = parsed.ok ? isRecord(parsed.value) : endsWithEntry(content);
  return isWhole ? tornLineTerminator.subarray(1) : tornLineTerminator;
}

function endsWithEntry(line: Uint8Array): boolean {
  const context = { version: undefined, ordinal: 0, maxDepth: defaultLimits.maxDepth };
  return decodeParts(line, context, { unchecked: true }).at(-1)?.decoded.kind === "entry";
}

/**
 * The bytes after the last line feed; undefined if they exceed the reader's maximum, or do not end as an
 * object does.
 */
async function lastLine(file: OpenFile, size: number, maxBytes: number): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  for (let end = size; end > 0; ) {
    const bytes = Buffer.alloc(Math.min(stepBytes, end));
    const count = await readFully(file, bytes, end - bytes.length);
    if (count < bytes.length || (end === size && !endsAnObject(bytes))) return undefined;
    const feed = bytes.lastIndexOf(10);
    pieces.push(bytes.subarray(feed + 1));
    if (feed >= 0) break;
    end -= bytes.length;
    if (size - end > maxBytes) return undefined;
  }
  const line = Buffer.concat(pieces.reverse());
  return line.length > maxBytes ? undefined : line;
}

/** Distinguishes most torn lines from whole ones without reading megabytes. */
function endsAnObject(bytes: Uint8Array): boolean {
  const last = bytes.findLast((byte) => byte !== 0x20 && byte !== 0x0d && byte !== 0x09);
  // A step of white space decides nothing.
  return last === undefined || last === 0x7d;
}
