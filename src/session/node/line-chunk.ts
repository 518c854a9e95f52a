import type { OpenFile } from "../../internal/node/file-system.js";
import type { LogBatch, LongLine } from "../api/backend.js";

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
