/**
 * Reads the lines of a log file: all from a position on, in chunks of whole lines, or some by their ranges.
 */

import type { FileStat, OpenFile } from "../../internal/node/file-system.js";
import { readFully } from "../../internal/node/read-write-fully.js";
import type { LinePlace, LogBatch, LogPosition, LongLine } from "../api/backend.js";
import {
  fingerprintBytes,
  fingerprintOf,
  offsetOf,
  parsePosition,
  printPosition,
  readFingerprint,
} from "./log-position.js";

const defaultChunkBytes = 1 << 20;
/**
 * The maximum size that is read in one synchronous call: 6 MB in the page cache take 1 ms, and 25 ms in
 * chunks on the pool. Bounds the time for which a slow disk blocks the event loop.
 */
const maxSyncBytes = 8 << 20;
/** The offsets of more lines than this take more memory than the bytes of a chunk. */
const manyLines = 1 << 16;

/** Options of {@link readLines}. */
export interface ReadLineOptions {
  /** Longer lines are reported without their bytes. */
  readonly maxLineBytes: number;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of a read. Default: the whole file if it is small, else 1 MiB. */
  readonly chunkBytes?: number | undefined;
}

/**
 * The lines of a file from a position to its size in `stat`, in batches. Restarts from the beginning if the
 * position is not of this file, because it was truncated, rewritten or replaced.
 */
export async function* readLines(
  file: OpenFile,
  stat: FileStat,
  from: LogPosition | undefined,
  options: ReadLineOptions,
): AsyncGenerator<LogBatch> {
  const resumed = from === undefined ? 0 : offsetOf(file, stat, from);
  const start = resumed ?? 0;
  const isSmall = stat.size - start <= maxSyncBytes;
  const { chunkBytes = isSmall ? maxSyncBytes : defaultChunkBytes } = options;
  let restarted = resumed === undefined;
  let fingerprint =
    from !== undefined && !restarted ? (parsePosition(from)?.fingerprint ?? "start") : "start";
  /** The end of the whole lines so far. */
  let size = start;
  let chunk = new LineChunk(Math.min(chunkBytes, Math.max(stat.size - start, 1)), start);
  let spare: LineChunk | undefined;
  let pending = chunk.fill(file, stat.size, isSmall);
  for (;;) {
    options.signal?.throwIfAborted();
    const count = await pending;
    const found = chunk.lines(options.maxLineBytes);
    if (found.end > 0) {
      size = chunk.at + found.end;
      fingerprint = await fingerprintOfLines(file, chunk.filled.subarray(0, found.end), size);
    }
    const next = printPosition({ dev: stat.dev, ino: stat.ino, size, fingerprint });
    const batch: LogBatch = {
      lines: { bytes: chunk.bytes, bounds: found.bounds },
      at: found.at,
      next,
      ...(restarted ? { restarted: true as const } : {}),
    };
    restarted = false;
    if (count === 0 || chunk.next >= stat.size) {
      yield { ...batch, ...chunk.tail(found.tooLong) };
      return;
    }
    spare = chunk.follow(spare, found.at.length > manyLines ? chunkBytes >> 4 : chunkBytes);
    [chunk, spare] = [spare, chunk];
    // Prefetches the next chunk while the caller handles the lines of this one, which are in the other
    // buffer.
    pending = chunk.fill(file, stat.size, isSmall);
    if (typeof pending !== "number") pending.catch(() => undefined);
    yield found.tooLong.length === 0 ? batch : { ...batch, tooLong: found.tooLong };
  }
}

/**
 * The fingerprint of bytes that end at `size`. Reads the file if the last line begins in an earlier chunk.
 */
function fingerprintOfLines(file: OpenFile, bytes: Uint8Array, size: number): Promise<string> | string {
  const isWhole = bytes.length > fingerprintBytes || bytes.length === size;
  return isWhole ? fingerprintOf(bytes.subarray(-2 * fingerprintBytes)) : readFingerprint(file, size);
}

/** The lines that end in a {@link LineChunk}. */
interface ChunkLines {
  /** Start and end of each line in the chunk: two numbers per line. */
  readonly bounds: number[];
  readonly at: number[];
  readonly tooLong: LongLine[];
  /** The offset in the chunk after the last line feed; 0 without one. */
  readonly end: number;
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

/**
 * A chunk of a file that begins at a line, so that whole lines are in one array. The partial line at its end
 * is carried over to the next chunk; of a line over the limit only the offset and the length.
 */
class LineChunk {
  bytes: Uint8Array;
  /** The offset in the file of the first byte. */
  at: number;
  #carried = 0;
  #length = 0;
  /** The start of the partial line at the end. */
  #open = 0;
  /** A line over the limit that has not ended. */
  #long: LongLineSoFar | undefined;

  constructor(size: number, at: number) {
    this.bytes = new Uint8Array(size);
    this.at = at;
  }

  /** The bytes read so far. */
  get filled(): Uint8Array {
    return this.bytes.subarray(0, this.#length);
  }

  /** The offset in the file of the byte after this chunk. */
  get next(): number {
    return this.at + this.#length;
  }

  /** Reads after the carried bytes, up to an offset in the file. Returns the number of bytes. */
  fill(file: OpenFile, until: number, sync = false): Promise<number> | number {
    const start = this.#carried;
    const end = Math.min(this.bytes.length, until - this.at);
    this.#length = start;
    if (end <= start) return 0;
    const filled = (count: number) => {
      this.#length = start + count;
      return count;
    };
    const into = this.bytes.subarray(start, end);
    return sync
      ? filled(file.readSync(into, this.at + start))
      : file.read(into, this.at + start).then(filled);
  }

  /** The lines that end in this chunk. */
  lines(maxLineBytes: number): ChunkLines {
    const { buffer, byteOffset } = this.bytes;
    // A Buffer searches several times as fast.
    const bytes = Buffer.from(buffer, byteOffset, this.#length);
    const bounds: number[] = [];
    const at: number[] = [];
    const tooLong: LongLine[] = [];
    let start = 0;
    for (let end = nextFeed(bytes, this.#carried); end >= 0; end = nextFeed(bytes, start)) {
      if (this.#long !== undefined) {
        tooLong.push(longLineOf(extendLongLine(this.#long, bytes, 0, end)));
        this.#long = undefined;
      } else if (end - start > maxLineBytes) {
        tooLong.push(
          longLineOf(extendLongLine({ at: this.at + start, length: 0, written: 0 }, bytes, start, end)),
        );
      } else {
        bounds.push(start, end);
        at.push(this.at + start);
      }
      start = end + 1;
    }
    const open = bytes.length - start;
    if (this.#long === undefined && open > maxLineBytes)
      this.#long = { at: this.at + start, length: 0, written: 0 };
    if (this.#long !== undefined) extendLongLine(this.#long, bytes, start, bytes.length);
    this.#open = this.#long === undefined ? start : bytes.length;
    return { bounds, at, tooLong, end: start };
  }

  /**
   * The chunk after this one, with the partial line carried over. Reuses the memory of `spare` if it fits.
   */
  follow(spare: LineChunk | undefined, size: number): LineChunk {
    const open = this.bytes.subarray(this.#open, this.#length);
    const wanted = Math.max(size, 2 * open.length);
    const fits = spare !== undefined && spare.bytes.length >= wanted && spare.bytes.length <= 4 * wanted;
    const next = fits ? spare : new LineChunk(wanted, 0);
    next.bytes.set(open);
    next.at = this.at + this.#open;
    next.#carried = open.length;
    next.#long = this.#long;
    return next;
  }

  /** The members of the last batch for the partial line at the end of the log. */
  tail(tooLong: readonly LongLine[]): Pick<LogBatch, "tail" | "tooLong"> {
    const long = this.#long === undefined ? tooLong : [...tooLong, longLineOf(this.#long)];
    const bytes = this.bytes.slice(this.#open, this.#length);
    return {
      ...(long.length === 0 ? {} : { tooLong: long }),
      ...(bytes.length === 0 ? {} : { tail: { bytes, at: this.at + this.#open } }),
    };
  }
}

const scannedBytes = 16;

/** The next line feed. Scans the first bytes itself: a native search costs more for a short line. */
function nextFeed(bytes: Uint8Array, from: number): number {
  const near = Math.min(from + scannedBytes, bytes.length);
  for (let at = from; at < near; at++) if (bytes[at] === 10) return at;
  return near === bytes.length ? -1 : bytes.indexOf(10, near);
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
