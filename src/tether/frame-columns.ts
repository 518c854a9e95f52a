import type { SequencedFrame, TetherFrame } from "./frame.js";

const mostAtFirst = 1024;

/**
 * Frames in their order, taken at one end and dropped at the other: circular columns, whose length is a power of two, so that
 * neither end moves the rest. Places count from the oldest frame, which is at 0. Numbers grow by 1, so that they need no column;
 * only those of frames that were restored may have gaps.
 */
export class FrameColumns {
  #frames: (TetherFrame | undefined)[];
  // Plain arrays, since typed ones cost more to make than a thousand appends.
  #sizes: number[];
  #mask: number;
  #start = 0;
  #length = 0;
  #lastSeq = 0;
  /** The numbers of the frames that were restored, and how many of these were dropped. */
  readonly #restored: number[] = [];
  #restoredGone = 0;

  /** @param expected how many frames there may be; room for the first thousand is made at once */
  constructor(expected: number) {
    let capacity = 1;
    while (capacity < expected && capacity < mostAtFirst) capacity *= 2;
    this.#frames = new Array(capacity);
    this.#sizes = new Array(capacity);
    this.#mask = capacity - 1;
  }

  get length(): number {
    return this.#length;
  }

  /** The number of the newest frame that there ever was; 0 before the first. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Takes a frame, whose number is the next. */
  push(frame: TetherFrame, bytes: number): void {
    if (this.#length > this.#mask) this.#grow();
    const row = (this.#start + this.#length++) & this.#mask;
    this.#frames[row] = frame;
    this.#sizes[row] = bytes;
    this.#lastSeq++;
  }

  /** Takes a frame with a number of its own, greater than the last; before any is pushed. */
  restore(frame: SequencedFrame, bytes: number): void {
    this.push(frame, bytes);
    this.#restored.push(frame.seq);
    this.#lastSeq = frame.seq;
  }

  /** Drops the oldest frame, which has to be there, and gives its bytes. */
  shift(): number {
    const row = this.#start;
    this.#frames[row] = undefined;
    this.#start = (row + 1) & this.#mask;
    this.#length--;
    if (this.#restoredGone < this.#restored.length && ++this.#restoredGone === this.#restored.length) {
      this.#restored.length = 0;
      this.#restoredGone = 0;
    }
    return this.#sizes[row] as number;
  }

  /** The number of a frame that is there. */
  seqAt(place: number): number {
    return this.#restored[this.#restoredGone + place] ?? this.#lastSeq - (this.#length - 1 - place);
  }

  bytesAt(place: number): number {
    return this.#sizes[(this.#start + place) & this.#mask] as number;
  }

  frameAt(place: number): TetherFrame {
    return this.#frames[(this.#start + place) & this.#mask] as TetherFrame;
  }

  /** The frame with its number. It is made once, at the first reading, and kept for the others. */
  sequencedAt(place: number): SequencedFrame {
    const frame = this.frameAt(place);
    const seq = this.seqAt(place);
    if (isSequenced(frame, seq)) return frame;
    const sequenced = { ...frame, seq };
    this.#frames[(this.#start + place) & this.#mask] = sequenced;
    return sequenced;
  }

  /** The place of the first frame whose number is greater than `seq`; the length where there is none. */
  placeAfter(seq: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.seqAt(middle) > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Room for as many again, which the engine makes as they come. */
  #grow(): void {
    this.#frames = this.#unrolled(this.#frames);
    this.#sizes = this.#unrolled(this.#sizes);
    this.#mask = 2 * this.#mask + 1;
    this.#start = 0;
  }

  /** A full column, its oldest row first. */
  #unrolled<T>(column: T[]): T[] {
    return this.#start === 0 ? column : column.slice(this.#start).concat(column.slice(0, this.#start));
  }
}

function isSequenced(frame: TetherFrame, seq: number): frame is SequencedFrame {
  return frame.seq === seq;
}
