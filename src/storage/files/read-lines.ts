/**
 * Reads the lines of a log file: all from a position on, in chunks of whole lines, or some by their ranges.
 */

import type { FileStat, OpenFile } from "../../core/node/file-system.js";
import { readFully, readFullySync } from "../../core/node/read-write-fully.js";
import type { KeptBytes, LinePlace, LogBatch, LogPosition, LongLine } from "../../session/index.js";
import {
  fingerprintBytes,
  fingerprintOf,
  offsetOf,
  parsePosition,
  printPosition,
  readEnding,
} from "./log-position.js";

/**
 * What is read at once, and at most on the calling thread without a pause: 6 MB in the page cache take 1 ms, and
 * 25 ms in chunks on the pool.
 */
const maxWholeBytes = 64 << 20;
/** The pieces in which a longer file is read. */
export const pieceBytes: number = 8 << 20;
/** The offsets of more lines than this take more memory than most batches. */
const maxBatchLines = 1 << 16;

/** Options of {@link readLines}. */
export interface ReadLineOptions {
  /** Longer lines are reported without their bytes. */
  readonly maxLineBytes: number;
  readonly signal?: AbortSignal | undefined;
  /** Only lines that begin in about the last bytes of this number; see {@link LogBatch.skipped}. */
  readonly lastBytes?: number | undefined;
  /** Bytes of a read. Default: the whole file if it is at most 64 MiB, else 8 MiB. */
  readonly chunkBytes?: number | undefined;
}

/**
 * The lines of a file from a position to its size in `stat`, in batches. Restarts from the beginning if the
 * position is not of this file, because it was truncated, rewritten or replaced. The partial line at the end of
 * a piece is carried over to the next one, so that whole lines are in one array; of a line over the limit only
 * the offset and the length.
 */
export function* readLines(
  file: OpenFile,
  stat: FileStat,
  from: LogPosition | undefined,
  options: ReadLineOptions,
): Generator<LogBatch, void, undefined> {
  const { maxLineBytes, signal, lastBytes } = options;
  const resumed = from === undefined ? startOfLast(file, stat, lastBytes) : offsetOf(file, stat, from);
  let skipped = from === undefined && resumed !== undefined && resumed > 0;
  let restarted = resumed === undefined;
  let fingerprint =
    from !== undefined && !restarted ? (parsePosition(from)?.fingerprint ?? "start") : "start";
  if (skipped) fingerprint = fingerprintOf(readEnding(file, resumed ?? 0));
  /** The offset in the file of the first byte of the buffer. */
  let base = resumed ?? 0;
  /** The end of the whole lines so far. */
  let size = base;
  const rest = stat.size - base;
  const { chunkBytes = rest <= maxWholeBytes ? rest : pieceBytes } = options;
  let buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(chunkBytes, rest)));
  /** The bytes of the partial line at the start of the buffer, and of the buffer. */
  let carried = 0;
  let long: LongLineSoFar | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const wanted = Math.min(buffer.length, stat.size - base) - carried;
    const count = wanted <= 0 ? 0 : file.readSync(buffer.subarray(carried, carried + wanted), base + carried);
    const bytes = buffer.subarray(0, carried + count);
    const isLast = count === 0 || base + bytes.length >= stat.size;
    let start = 0;
    for (let end = bytes.indexOf(10, carried); ; ) {
      const bounds: number[] = [];
      const at: number[] = [];
      const tooLong: LongLine[] = [];
      for (; end >= 0 && at.length < maxBatchLines; end = bytes.indexOf(10, start)) {
        if (long !== undefined || end - start > maxLineBytes) {
          long ??= { at: base + start, length: 0, written: 0 };
          tooLong.push(longLineOf(extendLongLine(long, bytes, start, end)));
          long = undefined;
        } else {
          bounds.push(start, end);
          at.push(base + start);
        }
        start = end + 1;
      }
      if (start > 0) {
        size = base + start;
        fingerprint = fingerprintOf(
          start > fingerprintBytes || start === size
            ? bytes.subarray(Math.max(0, start - 2 * fingerprintBytes), start)
            : readEnding(file, size),
        );
      }
      const next = printPosition({ dev: stat.dev, ino: stat.ino, size, fingerprint });
      const batch: LogBatch = {
        lines: { bytes, bounds },
        at,
        next,
        ...(restarted ? { restarted: true as const } : {}),
        ...(skipped ? { skipped: true as const } : {}),
        ...(tooLong.length > 0 ? { tooLong } : {}),
      };
      restarted = false;
      skipped = false;
      if (end >= 0) {
        yield batch;
        continue;
      }
      if (long === undefined && bytes.length - start > maxLineBytes)
        long = { at: base + start, length: 0, written: 0 };
      if (long !== undefined) extendLongLine(long, bytes, start, bytes.length);
      if (!isLast) {
        yield batch;
        break;
      }
      if (long !== undefined) yield { ...batch, tooLong: [...tooLong, longLineOf(long)] };
      else if (start === bytes.length) yield batch;
      else yield { ...batch, tail: { bytes: Uint8Array.from(bytes.subarray(start)), at: base + start } };
      return;
    }
    const open = bytes.subarray(long === undefined ? start : bytes.length);
    base += bytes.length - open.length;
    const length = Math.max(chunkBytes, 2 * open.length);
    // Another one, if a line is longer than most.
    if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length);
    buffer.set(open);
    carried = open.length;
  }
}

/** The bytes of a file from the start of a line on. */
export interface WholeRead extends Pick<KeptBytes, "at" | "end"> {
  readonly bytes: Buffer;
  readonly next: LogPosition;
}

/**
 * The bytes of a file, or about its last ones, up to its size in `stat`. Undefined if they are too many for one read,
 * or end in a line over the limit.
 */
export function readWhole(
  file: OpenFile,
  stat: FileStat,
  maxLineBytes: number,
  lastBytes: number | undefined,
): WholeRead | undefined {
  const at = startOfLast(file, stat, lastBytes);
  if (stat.size - at > maxWholeBytes) return undefined;
  const buffer = Buffer.allocUnsafeSlow(stat.size - at);
  const bytes = buffer.subarray(0, readFullySync(file, buffer, at));
  const end = bytes.lastIndexOf(10) + 1;
  if (bytes.length - end > maxLineBytes) return undefined;
  const size = at + end;
  const isEnding = end > fingerprintBytes || at === 0;
  const ending = isEnding
    ? bytes.subarray(Math.max(0, end - 2 * fingerprintBytes), end)
    : readEnding(file, size);
  const next = printPosition({ dev: stat.dev, ino: stat.ino, size, fingerprint: fingerprintOf(ending) });
  return { bytes, at, end, next };
}

/** A file of less than this number of times the last bytes is read from its start. */
const leastShare = 4;

/** The start of the first line in the last bytes of a file; 0 if the file is not much longer, or has no line there. */
function startOfLast(file: OpenFile, { size }: FileStat, lastBytes: number | undefined): number {
  if (lastBytes === undefined || size < leastShare * lastBytes) return 0;
  const piece = Buffer.allocUnsafe(64 << 10);
  for (let at = size - lastBytes; at < size; ) {
    const found = piece.subarray(0, file.readSync(piece, at));
    if (found.length === 0) return 0;
    const end = found.indexOf(10);
    if (end >= 0) return at + end + 1 < size ? at + end + 1 : 0;
    at += found.length;
  }
  return 0;
}

/** A line that exceeds the maximum. Its bytes are not kept. */
interface LongLineSoFar {
  readonly at: number;
  length: number;
  /** Bytes up to the last one that is not NUL. */
  written: number;
}

/** Adds bytes to a long line. A tab after the NULs is from the repair of a torn tail. */
function extendLongLine(long: LongLineSoFar, bytes: Uint8Array, start: number, end: number): LongLineSoFar {
  let last = end;
  while (last > start && (bytes[last - 1] === 0 || bytes[last - 1] === 9)) last--;
  if (last > start) long.written = long.length + last - start;
  long.length += end - start;
  return long;
}

function longLineOf({ at, length, written }: LongLineSoFar): LongLine {
  return written < length ? { at, length, bytesBeforeNuls: written } : { at, length };
}

/** Ranges with a smaller gap between them are coalesced into one read. */
const maxGapBytes = 32 * 1024;
const maxRunBytes = 1024 * 1024;

/**
 * The bytes of these ranges, in the order of the request; undefined for a range beyond the end of the file.
 */
export async function readRanges(
  file: OpenFile,
  ranges: readonly LinePlace[],
): Promise<readonly (Uint8Array | undefined)[]> {
  const out: (Uint8Array | undefined)[] = new Array(ranges.length);
  const order = ranges.map((_, index) => index);
  if (!isAscending(ranges)) order.sort((a, b) => (ranges[a] as LinePlace).at - (ranges[b] as LinePlace).at);
  for (let from = 0; from < order.length; ) {
    const start = (ranges[order[from] as number] as LinePlace).at;
    let end = start;
    let to = from;
    for (; to < order.length; to++) {
      const { at, length } = ranges[order[to] as number] as LinePlace;
      if (to > from && (at - end > maxGapBytes || at + length - start > maxRunBytes)) break;
      end = Math.max(end, at + length);
    }
    const bytes = new Uint8Array(end - start);
    const count = await readFully(file, bytes, start);
    for (; from < to; from++) {
      const index = order[from] as number;
      const { at, length } = ranges[index] as LinePlace;
      out[index] = at - start + length <= count ? bytes.subarray(at - start, at - start + length) : undefined;
    }
  }
  return out;
}

function isAscending(ranges: readonly LinePlace[]): boolean {
  for (let i = 1; i < ranges.length; i++) {
    if ((ranges[i] as LinePlace).at < (ranges[i - 1] as LinePlace).at) return false;
  }
  return true;
}
