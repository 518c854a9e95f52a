/**
 * Reads the lines of a log file: all of it, those after a position, those before a place, or some by their ranges. Also
 * the position of its end, which the compare-and-swap of an append compares.
 */

import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { hex8 } from "../../core/bytes.js";
import { type FileStat, type OpenFile, readFully, readFullySync } from "../../core/node/file-system.js";
import type { KeptBytes, LinePlace, LogBatch, LogPosition, LongLine } from "../../session/index.js";

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
export function findFingerprint(bytes: Uint8Array): string {
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
export function fileOffset(file: OpenFile, stat: FileStat, position: LogPosition): number | undefined {
  const parsed = parsePosition(position);
  if (parsed === undefined || !isSameFile(parsed, stat) || parsed.size > stat.size) return undefined;
  return findFingerprint(readEnding(file, parsed.size)) === parsed.fingerprint ? parsed.size : undefined;
}

/** The fingerprint of the line that ends with a line feed at `size`. */
export async function readFingerprint(file: OpenFile, size: number): Promise<string> {
  const before = new Uint8Array(Math.min(size, endingBytes));
  const count = await file.read(before, size - before.length);
  return findFingerprint(before.subarray(0, count));
}

/** The bytes before an offset that a fingerprint is made of; fewer if the file is shorter. */
export function readEnding(file: OpenFile, size: number): Uint8Array {
  const before = new Uint8Array(Math.min(size, endingBytes));
  return before.subarray(0, file.readSync(before, size - before.length));
}

/** The last bytes of lines, as {@link readEnding} reads them after the lines are written. */
export function lineEnding(lines: Uint8Array): Uint8Array {
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
  const resumed = from === undefined ? startOfLast(file, stat, lastBytes) : fileOffset(file, stat, from);
  let skipped = from === undefined && resumed !== undefined && resumed > 0;
  let restarted = resumed === undefined;
  let fingerprint =
    from !== undefined && !restarted ? (parsePosition(from)?.fingerprint ?? "start") : "start";
  if (skipped) fingerprint = findFingerprint(readEnding(file, resumed ?? 0));
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
          tooLong.push(toLongLine(extendLongLine(long, bytes, start, end)));
          long = undefined;
        } else {
          bounds.push(start, end);
          at.push(base + start);
        }
        start = end + 1;
      }
      if (start > 0) {
        size = base + start;
        fingerprint = findFingerprint(
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
      if (long !== undefined) yield { ...batch, tooLong: [...tooLong, toLongLine(long)] };
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
  const next = printPosition({ dev: stat.dev, ino: stat.ino, size, fingerprint: findFingerprint(ending) });
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

function toLongLine({ at, length, written }: LongLineSoFar): LongLine {
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

const stepBytes = 64 * 1024;

/** A line, with its bytes unless it exceeds the maximum. */
export interface BackwardLine extends LinePlace {
  readonly bytes?: Uint8Array;
}

/**
 * The lines of a range of a file, the last one first. The range begins at a line; its last line may lack a
 * line feed. Ends early if the file is shorter than `end`. Memory is bounded by the longest line allowed.
 */
export async function* linesBackwards(
  file: OpenFile,
  { start, end }: { readonly start: number; readonly end: number },
  { maxLineBytes, signal }: ReadLineOptions,
): AsyncGenerator<BackwardLine, void, undefined> {
  /** The pieces of the line that is being read, the last one first. */
  let pieces: Uint8Array[] = [];
  let length = 0;
  const add = (piece: Uint8Array) => {
    length += piece.length;
    if (length > maxLineBytes) pieces = [];
    else pieces.push(piece);
  };
  const assembled = (at: number): BackwardLine => {
    const place = { at, length };
    const line = length > maxLineBytes ? place : { ...place, bytes: Buffer.concat(pieces.reverse()) };
    pieces = [];
    length = 0;
    return line;
  };
  for (let stop = end; stop > start; ) {
    signal?.throwIfAborted();
    const at = Math.max(start, stop - stepBytes);
    const [bytes] = await readRanges(file, [{ at, length: stop - at }]);
    if (bytes === undefined) return;
    let rest = stop === end && bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes;
    for (let feed = rest.lastIndexOf(10); feed >= 0; feed = rest.lastIndexOf(10)) {
      add(rest.subarray(feed + 1));
      yield assembled(at + feed + 1);
      rest = rest.subarray(0, feed);
    }
    add(rest);
    stop = at;
  }
  if (end > start) yield assembled(start);
}

/** The most bytes of a batch of lines backwards, unless it is one longer line. */
const maxBackwardBytes = 1 << 20;

/**
 * The lines before `end` in batches: each has the lines before those of the last one. The first batch is small, for a
 * reader of the last entries; each further one has four times as much.
 * @param hasTail whether the last line may lack its line feed
 */
export async function* batchesBackwards(
  file: OpenFile,
  end: number,
  hasTail: boolean,
  options: ReadLineOptions,
): AsyncGenerator<Omit<LogBatch, "next">, void, undefined> {
  const last = Buffer.alloc(1);
  let isTail = hasTail && end > 0 && file.readSync(last, end - 1) === 1 && last[0] !== 10;
  let buffer = Buffer.allocUnsafeSlow(Math.min(end, stepBytes));
  for (let stop = end; stop > 0; ) {
    options.signal?.throwIfAborted();
    const base = Math.max(0, stop - buffer.length);
    const bytes = buffer.subarray(0, stop - base);
    if (readFullySync(file, bytes, base) < bytes.length) return;
    const feed = base === 0 ? -1 : bytes.indexOf(10);
    // A line that is longer than the piece, or has no line feed.
    if (isTail || feed === bytes.length - 1 || (feed < 0 && base > 0)) {
      const { value: line } = await linesBackwards(file, { start: 0, end: stop }, options).next();
      if (line === undefined) return;
      const { at } = line;
      if (line.bytes === undefined) yield { lines: [], at: [], tooLong: [{ at, length: line.length }] };
      else if (isTail) yield { lines: [], at: [], tail: { bytes: line.bytes, at } };
      else yield { lines: [line.bytes], at: [at] };
      isTail = false;
      stop = at;
      continue;
    }
    const bounds: number[] = [];
    const at: number[] = [];
    const tooLong: LinePlace[] = [];
    for (let start = feed + 1; start < bytes.length; ) {
      const next = bytes.indexOf(10, start);
      const lineEnd = next < 0 ? bytes.length : next;
      if (lineEnd - start > options.maxLineBytes) tooLong.push({ at: base + start, length: lineEnd - start });
      else {
        bounds.push(start, lineEnd);
        at.push(base + start);
      }
      start = lineEnd + 1;
    }
    yield { lines: { bytes, bounds }, at, ...(tooLong.length > 0 ? { tooLong } : {}) };
    stop = base + feed + 1;
    const length = Math.min(4 * buffer.length, maxBackwardBytes, stop);
    if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length);
    // Between the pieces other work can run.
    await setImmediate();
  }
}
