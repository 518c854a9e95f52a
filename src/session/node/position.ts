import { crc32Hex } from "../../internal/crc32.js";
import type { FileStat, OpenFile } from "../../internal/node/file-system.js";
import type { LogPosition } from "../backend.js";

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
