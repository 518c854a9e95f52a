import type { FileStat, OpenFile } from "../../internal/node/file-system.js";
import { readFully } from "../../internal/node/read-write-fully.js";
import type { LinePlace, LogBatch, LogPosition, LongLine } from "../api/backend.js";
import { markAt, markedBytes, markOf, offsetOf, parsePosition, printPosition } from "./log-position.js";

const defaultChunkBytes = 1 << 20;
/**
 * Up to so many bytes are read in one piece, synchronously: 6 MB in memory take 1 ms so, and 25 ms by chunks of a thread. Bounds the
 * time for which a slow disk holds up the event loop.
 */
const maxSyncBytes = 8 << 20;
/** The places of so many lines take more memory than the bytes of a chunk. */
const manyLines = 1 << 16;

/**
 * The lines of a file from a position on, a chunk at a time, up to the size that it has now. Starts over where the
 * position is none of this file: it was cut, rewritten or replaced.
 */
export async function* readLines(
  file: OpenFile,
  stat: FileStat,
  from: LogPosition | undefined,
  options: { readonly maxLineBytes: number; readonly signal?: AbortSignal; readonly chunkBytes?: number },
): AsyncGenerator<LogBatch> {
  const resumed = from === undefined ? 0 : offsetOf(file, stat, from);
  const start = resumed ?? 0;
  const isSmall = stat.size - start <= maxSyncBytes;
  const { chunkBytes = isSmall ? maxSyncBytes : defaultChunkBytes } = options;
  let restarted = resumed === undefined;
  let mark = from !== undefined && !restarted ? (parsePosition(from)?.mark ?? "start") : "start";
  /** Where the whole lines end. */
  let size = start;
  let block = new Block(Math.min(chunkBytes, Math.max(stat.size - start, 1)), start);
  let spare: Block | undefined;
  let pending = block.fill(file, stat.size, isSmall);
  for (;;) {
    options.signal?.throwIfAborted();
    const count = await pending;
    const found = block.lines(options.maxLineBytes);
    if (found.end > 0) {
      size = block.at + found.end;
      mark = await fingerprintOfLines(file, block.filled.subarray(0, found.end), size);
    }
    const next = printPosition({ dev: stat.dev, ino: stat.ino, size, mark });
    const batch: LogBatch = {
      lines: { bytes: block.bytes, bounds: found.bounds },
      at: found.at,
      next,
      ...(restarted ? { restarted: true as const } : {}),
    };
    restarted = false;
    if (count === 0 || block.next >= stat.size) {
      yield { ...batch, ...block.rest(found.tooLong) };
      return;
    }
    spare = block.follow(spare, found.at.length > manyLines ? chunkBytes >> 4 : chunkBytes);
    [block, spare] = [spare, block];
    // The next chunk is read while the caller is at work on the lines of this one, which lie in the other block.
    pending = block.fill(file, stat.size, isSmall);
    if (typeof pending !== "number") pending.catch(() => undefined);
    yield found.tooLong.length === 0 ? batch : { ...batch, tooLong: found.tooLong };
  }
}

/** The mark of bytes that end with a line feed at `size`; read again where the line begins in an earlier chunk. */
function fingerprintOfLines(file: OpenFile, bytes: Uint8Array, size: number): Promise<string> | string {
  const isWhole = bytes.length > markedBytes || bytes.length === size;
  return isWhole ? markOf(bytes.subarray(-2 * markedBytes)) : markAt(file, size);
}

/** What a {@link Block} has of lines. */
interface Found {
  /** Two numbers a line. */
  readonly bounds: number[];
  readonly at: number[];
  readonly tooLong: LongLine[];
  /** Behind the last line feed; 0 where there is none. */
  readonly end: number;
}

interface Long {
  readonly at: number;
  length: number;
  /** Bytes up to the last one that is no NUL. */
  written: number;
}

/** Adds bytes to a long line. A tab may stand behind the NULs, where a writer ended it. */
function lengthen(long: Long, bytes: Uint8Array, start: number, end: number): Long {
  let last = end;
  while (last > start && (bytes[last - 1] === 0 || bytes[last - 1] === 9)) last--;
  if (last > start) long.written = long.length + last - start;
  long.length += end - start;
  return long;
}

function placeOf({ at, length, written }: Long): LongLine {
  return written < length ? { at, length, bytesBeforeNuls: written } : { at, length };
}

/**
 * A stretch of a file that begins where a line does, so that whole lines lie in one array. What follows the last line
 * feed is carried over to the block after it; of a line over the limit only the place and the length.
 */
export class Block {
  bytes: Uint8Array;
  /** The offset in the file of the first byte. */
  at: number;
  #carried = 0;
  #length = 0;
  /** Where the line without an end begins. */
  #open = 0;
  /** A line over the limit that has not ended: where it began, and its bytes so far. */
  #long: Long | undefined;

  constructor(size: number, at: number) {
    this.bytes = new Uint8Array(size);
    this.at = at;
  }

  /** The bytes that were read. */
  get filled(): Uint8Array {
    return this.bytes.subarray(0, this.#length);
  }

  /** The offset in the file of the byte after this block. */
  get next(): number {
    return this.at + this.#length;
  }

  /** Reads behind what was carried over, up to an offset in the file; how many bytes. */
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

  /** The lines that end in this block. */
  lines(maxLineBytes: number): Found {
    const { buffer, byteOffset } = this.bytes;
    // Of a Buffer, whose search is several times as quick.
    const bytes = Buffer.from(buffer, byteOffset, this.#length);
    const bounds: number[] = [];
    const at: number[] = [];
    const tooLong: LongLine[] = [];
    let start = 0;
    for (let end = nextFeed(bytes, this.#carried); end >= 0; end = nextFeed(bytes, start)) {
      if (this.#long !== undefined) {
        tooLong.push(placeOf(lengthen(this.#long, bytes, 0, end)));
        this.#long = undefined;
      } else if (end - start > maxLineBytes) {
        tooLong.push(placeOf(lengthen({ at: this.at + start, length: 0, written: 0 }, bytes, start, end)));
      } else {
        bounds.push(start, end);
        at.push(this.at + start);
      }
      start = end + 1;
    }
    const open = bytes.length - start;
    if (this.#long === undefined && open > maxLineBytes)
      this.#long = { at: this.at + start, length: 0, written: 0 };
    if (this.#long !== undefined) lengthen(this.#long, bytes, start, bytes.length);
    this.#open = this.#long === undefined ? start : bytes.length;
    return { bounds, at, tooLong, end: start };
  }

  /** The block that follows this one, in the bytes of another that is not needed any more. */
  follow(spare: Block | undefined, size: number): Block {
    const open = this.bytes.subarray(this.#open, this.#length);
    const wanted = Math.max(size, 2 * open.length);
    const fits = spare !== undefined && spare.bytes.length >= wanted && spare.bytes.length <= 4 * wanted;
    const next = fits ? spare : new Block(wanted, 0);
    next.bytes.set(open);
    next.at = this.at + this.#open;
    next.#carried = open.length;
    next.#long = this.#long;
    return next;
  }

  /** What the end of the log adds to the last batch. */
  rest(tooLong: readonly LongLine[]): Pick<LogBatch, "tail" | "tooLong"> {
    const long = this.#long === undefined ? tooLong : [...tooLong, placeOf(this.#long)];
    const bytes = this.bytes.slice(this.#open, this.#length);
    return {
      ...(long.length === 0 ? {} : { tooLong: long }),
      ...(bytes.length === 0 ? {} : { tail: { bytes, at: this.at + this.#open } }),
    };
  }
}

const nearBytes = 16;

/** A search costs more than a look at the few bytes of a short line. */
function nextFeed(bytes: Uint8Array, from: number): number {
  const near = Math.min(from + nearBytes, bytes.length);
  for (let at = from; at < near; at++) if (bytes[at] === 10) return at;
  return near === bytes.length ? -1 : bytes.indexOf(10, near);
}

/** Lines with less than this between them are read in one go. */
const maxGapBytes = 32 * 1024;
const maxRunBytes = 1024 * 1024;

/** The bytes at these places, in the order asked for; undefined past the end of the file. */
export async function readPlaces(
  file: OpenFile,
  places: readonly LinePlace[],
): Promise<readonly (Uint8Array | undefined)[]> {
  const out: (Uint8Array | undefined)[] = new Array(places.length);
  const order = places.map((_, index) => index);
  if (!isAscending(places)) order.sort((a, b) => (places[a] as LinePlace).at - (places[b] as LinePlace).at);
  for (let from = 0; from < order.length; ) {
    const start = (places[order[from] as number] as LinePlace).at;
    let end = start;
    let to = from;
    for (; to < order.length; to++) {
      const { at, length } = places[order[to] as number] as LinePlace;
      if (to > from && (at - end > maxGapBytes || at + length - start > maxRunBytes)) break;
      end = Math.max(end, at + length);
    }
    const bytes = new Uint8Array(end - start);
    const count = await readFully(file, bytes, start);
    for (; from < to; from++) {
      const index = order[from] as number;
      const { at, length } = places[index] as LinePlace;
      out[index] = at - start + length <= count ? bytes.subarray(at - start, at - start + length) : undefined;
    }
  }
  return out;
}

function isAscending(places: readonly LinePlace[]): boolean {
  for (let i = 1; i < places.length; i++) {
    if ((places[i] as LinePlace).at < (places[i - 1] as LinePlace).at) return false;
  }
  return true;
}
