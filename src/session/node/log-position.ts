import { crc32Hex } from "../../internal/crc32.js";
import type { FileStat, OpenFile } from "../../internal/node/file-system.js";
import type { LogPosition } from "../api/backend.js";

/** Where a log file ends: which file it is, how long, and a mark of its last line. */
export interface FilePosition {
  readonly dev: number;
  readonly ino: number;
  /** Bytes, up to and with the last line feed. */
  readonly size: number;
  /** Of the last line, so that a file that was rewritten to the same length is not taken for the same. */
  readonly mark: string;
}

/** The position of a file that does not exist. */
export const absentPosition = "absent" as LogPosition;

/** How many bytes of the last line the mark is made of. */
export const markedBytes = 64;

/** The mark of bytes that end with a log's last line feed. */
export function markOf(bytes: Uint8Array): string {
  const end = bytes.length - 1;
  if (end < 0) return "start";
  const first = Math.max(0, end - markedBytes);
  let start = end;
  while (start > first && bytes[start - 1] !== 10) start--;
  return crc32Hex(bytes, start, end);
}

/** The position as the port has it. */
export function printPosition({ dev, ino, size, mark }: FilePosition): LogPosition {
  return positionIn(positionPrefix(dev, ino), size, mark);
}

/** What the positions of a file begin with. */
export function positionPrefix(dev: number, ino: number): string {
  return `${dev}-${ino}-`;
}

/** {@link printPosition} of a file whose prefix is known. */
export function positionIn(prefix: string, size: number, mark: string): LogPosition {
  return `${prefix}${size}-${mark}` as LogPosition;
}

/** The inverse of {@link printPosition}; undefined for anything else. */
export function parsePosition(position: string): FilePosition | undefined {
  const [, dev, ino, size, mark] = /^(\d+)-(\d+)-(\d+)-(\w+)$/.exec(position) ?? [];
  if (dev === undefined || ino === undefined || size === undefined || mark === undefined) return undefined;
  return { dev: Number(dev), ino: Number(ino), size: Number(size), mark };
}

/** Whether a stat is of the file that a position is in. */
export function isSameFile(position: FilePosition, stat: FileStat): boolean {
  return position.dev === stat.dev && position.ino === stat.ino;
}

/** The offset of a position of this file; undefined where it was cut, rewritten or replaced since. */
export function offsetOf(file: OpenFile, stat: FileStat, position: LogPosition): number | undefined {
  const parsed = parsePosition(position);
  if (parsed === undefined || !isSameFile(parsed, stat) || parsed.size > stat.size) return undefined;
  const before = new Uint8Array(Math.min(parsed.size, 2 * markedBytes));
  const count = file.readSync(before, parsed.size - before.length);
  return markOf(before.subarray(0, count)) === parsed.mark ? parsed.size : undefined;
}

/** The mark of the line that ends with a line feed at `size`. */
export async function markAt(file: OpenFile, size: number): Promise<string> {
  const before = new Uint8Array(Math.min(size, 2 * markedBytes));
  const count = await file.read(before, size - before.length);
  return markOf(before.subarray(0, count));
}

/**
 * How a log file ends. Where it can be told by the file's bytes, its size is not asked for: whoever asks for that asks for its
 * times too, and on Linux 6.13 and newer the next write then records its own, which takes as long again as the write.
 *
 * @see https://docs.kernel.org/filesystems/multigrain-ts.html (its source in the kernel's tree read 2026-11-22)
 */

/** Whether a file ends with a line feed at `size`. False where that cannot be seen. */
export function endsAt(file: OpenFile, size: number): boolean {
  return readEnding(file, size, 1);
}

/** The mark of the last line of a file that ends with a line feed at `size`; undefined for any other. */
export function markOfEnd(file: OpenFile, size: number): string | undefined {
  const length = Math.min(size, 2 * markedBytes);
  return readEnding(file, size, length) ? markOf(ending.subarray(0, length)) : undefined;
}

/** One byte more than is ever asked for, to see whether there is one. */
const ending = new Uint8Array(2 * markedBytes + 1);

function readEnding(file: OpenFile, size: number, length: number): boolean {
  try {
    return size > 0 && file.readSync(ending, size - length) === length && ending[length - 1] === 10;
  } catch {
    // Whoever has to know looks again.
    return false;
  }
}

/** The position of a file that ends with a line feed. */
export function positionAt(file: OpenFile, { dev, ino, size }: FileStat): LogPosition {
  if (size === 0) return absentPosition;
  const tail = new Uint8Array(Math.min(size, 2 * markedBytes));
  const count = file.readSync(tail, size - tail.length);
  return printPosition({ dev, ino, size, mark: markOf(tail.subarray(0, count)) });
}

/** Whether a file ends with a line feed, or is empty. */
export function endsWhole(file: OpenFile): boolean {
  const { size } = file.stat();
  const last = new Uint8Array(1);
  return size === 0 || (file.readSync(last, size - 1) === 1 && last[0] === 10);
}

/** Where whole lines lie in a file that another program wrote to at the same moment; undefined where they do not. */
export function placeOf(lines: Uint8Array, file: OpenFile, start: number, size: number): number | undefined {
  const region = Buffer.alloc(Math.max(0, size - start));
  const at = region.subarray(0, file.readSync(region, start)).indexOf(lines);
  return at < 0 || (at > 0 && region[at - 1] !== 10) ? undefined : start + at;
}

/** Whether a file is the one that was seen, of the same size, not written to since. */
export function isUnchanged(seen: FileStat | undefined, now: FileStat | undefined): boolean {
  if (seen === undefined || now === undefined || seen.dev !== now.dev || seen.ino !== now.ino) return false;
  return seen.size === now.size && seen.mtimeMs === now.mtimeMs;
}
