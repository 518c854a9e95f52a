/**
 * The position of a log file's end, which the compare-and-swap of an append compares: the file's identity,
 * its size, and a fingerprint of its last line. Also the checks of a file's end without its size and times.
 */

import { crc32 } from "node:zlib";
import { hex8 } from "../../core/bytes.js";
import type { FileStat, OpenFile } from "../../core/node/file-system.js";
import type { LogPosition } from "../../session/index.js";

/** A position as its parts. */
export interface FilePosition {
  readonly dev: number;
  readonly ino: number;
  /** Bytes, including the last line feed. */
  readonly size: number;
  /** A checksum of the last line, so that a file rewritten to the same size has another position. */
  readonly fingerprint: string;
}

/** The position of a file that does not exist. */
export const absentPosition = "absent" as LogPosition;

/** The number of bytes of the last line that the fingerprint covers. */
export const fingerprintBytes = 64;
/**
 * The bytes before an end that are read: the fingerprinted part of the last line, and the line feed before
 * it.
 */
const endingBytes = 2 * fingerprintBytes;

/** The fingerprint of bytes that end with a log's last line feed. */
export function fingerprintOf(bytes: Uint8Array): string {
  const end = bytes.length - 1;
  if (end < 0) return "start";
  const feed = end === 0 ? -1 : bytes.lastIndexOf(10, end - 1);
  return hex8(crc32(bytes.subarray(Math.max(feed + 1, end - fingerprintBytes), end)));
}

/** The position as opaque text. */
export function printPosition({ dev, ino, size, fingerprint }: FilePosition): LogPosition {
  return `${dev}-${ino}-${size}-${fingerprint}` as LogPosition;
}

/** The inverse of {@link printPosition}; undefined for other text. */
export function parsePosition(position: string): FilePosition | undefined {
  const [, dev, ino, size, fingerprint] =
    /^(\d{1,20})-(\d{1,20})-(\d{1,20})-(\w{1,64})$/.exec(position) ?? [];
  if (dev === undefined || ino === undefined || size === undefined || fingerprint === undefined)
    return undefined;
  return { dev: Number(dev), ino: Number(ino), size: Number(size), fingerprint };
}

/** Whether two stats, or a position and a stat, are of one file. */
export function isSameFile(
  a: Pick<FileStat, "dev" | "ino"> | undefined,
  b: Pick<FileStat, "dev" | "ino"> | undefined,
): boolean {
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

/** Whether a file has the identity, size and time of modification of an earlier stat. */
export function isUnchanged(before: FileStat | undefined, now: FileStat | undefined): boolean {
  return isSameFile(before, now) && before?.size === now?.size && before?.mtimeMs === now?.mtimeMs;
}

/** The offset of a position in a file; undefined if the file was truncated, rewritten or replaced since. */
export function offsetOf(file: OpenFile, stat: FileStat, position: LogPosition): number | undefined {
  const parsed = parsePosition(position);
  if (parsed === undefined || !isSameFile(parsed, stat) || parsed.size > stat.size) return undefined;
  return fingerprintOf(readEnding(file, parsed.size)) === parsed.fingerprint ? parsed.size : undefined;
}

/** The fingerprint of the line that ends with a line feed at `size`. */
export async function readFingerprint(file: OpenFile, size: number): Promise<string> {
  const before = new Uint8Array(Math.min(size, endingBytes));
  const count = await file.read(before, size - before.length);
  return fingerprintOf(before.subarray(0, count));
}

/** The bytes before an offset that a fingerprint is made of; fewer if the file is shorter. */
export function readEnding(file: OpenFile, size: number): Uint8Array {
  const before = new Uint8Array(Math.min(size, endingBytes));
  return before.subarray(0, file.readSync(before, size - before.length));
}

/** The last bytes of lines, as {@link readEnding} reads them after the lines are written. */
export function endingOf(lines: Uint8Array): Uint8Array {
  // A copy takes longer than the view, and keeps less.
  return lines.length > maxKeptBytes ? lines.slice(-endingBytes) : lines.subarray(-endingBytes);
}

/** The bytes of a batch that may stay in memory for its ending. */
const maxKeptBytes = 16 * 1024;

/** One byte more than an ending, to detect bytes after it. */
const buffer = Buffer.alloc(endingBytes + 1);
const whole = buffer.subarray(0, endingBytes);

/**
 * Whether a file ends with these bytes at `size`; false if it cannot be read. It reads the bytes at the end
 * and not the size: on Linux 6.13 and newer, a stat makes the next write record its time, which doubles the
 * cost of that write.
 *
 * @see https://docs.kernel.org/filesystems/multigrain-ts.html (its source in the kernel's tree read
 *   2026-11-22)
 */
export function endsWith(file: OpenFile, size: number, ending: Uint8Array): boolean {
  try {
    const count = file.readSync(buffer, size - ending.length);
    if (count !== ending.length) return false;
    // Without the checks of five arguments: most endings have the same length.
    return Buffer.compare(count === endingBytes ? whole : buffer.subarray(0, count), ending) === 0;
  } catch {
    // The caller then reads the position, and gets the error.
    return false;
  }
}

/**
 * The offset of whole lines in a region of a file that another program wrote to at the same moment; undefined
 * if they are absent, or joined to a partial line.
 */
export function findBatch(
  lines: Uint8Array,
  file: OpenFile,
  start: number,
  size: number,
): number | undefined {
  const region = Buffer.alloc(Math.max(0, size - start));
  const at = region.subarray(0, file.readSync(region, start)).indexOf(lines);
  return at < 0 || (at > 0 && region[at - 1] !== 10) ? undefined : start + at;
}

/** The other program's change, for people. */
export function changeBetween(expected: LogPosition, actual: LogPosition, path: string): string {
  const [before, now] = [parsePosition(expected), parsePosition(actual)];
  if (before === undefined || now === undefined || !isSameFile(before, now))
    return `another program replaced ${path}`;
  const bytes = now.size - before.size;
  if (bytes > 0) return `another program appended ${bytes} bytes to ${path}`;
  return `another program ${bytes < 0 ? "truncated" : "rewrote"} ${path}`;
}
