/** A queue of frames as columns, for the ring. */

import type { SequencedFrame, TetherFrame } from "./frame.js";

const maxInitialCapacity = 1024;

/**
 * A queue of frames as circular columns, whose capacity is a power of two: push and shift take constant time.
 * Indexes count from the oldest frame, at 0. Sequence numbers increase by 1 and need no column, except those
 * of restored frames, which may have gaps.
 */
export class FrameColumns {
  #frames: (TetherFrame | undefined)[];
  // A plain array: to allocate a typed array takes longer than a thousand appends.
  #sizes: number[];
  #mask: number;
  #start = 0;
  #length = 0;
  #lastSeq = 0;
  /** The sequence numbers of restored frames, and how many of these frames were dropped. */
  readonly #restored: number[] = [];
  #restoredDropped = 0;

  /** @param expected the most frames; capacity for up to 1024 is allocated at once */
  constructor(expected: number) {
    let capacity = 1;
    while (capacity < expected && capacity < maxInitialCapacity) capacity *= 2;
    this.#frames = new Array(capacity);
    this.#sizes = new Array(capacity);
    this.#mask = capacity - 1;
  }

  get length(): number {
    return this.#length;
  }

  /** The sequence number of the newest frame ever pushed; 0 before the first. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Adds a frame under the next sequence number. */
  push(frame: TetherFrame, bytes: number): void {
    if (this.#length > this.#mask) this.#grow();
    const row = (this.#start + this.#length++) & this.#mask;
    this.#frames[row] = frame;
    this.#sizes[row] = bytes;
    this.#lastSeq++;
  }

  /** Adds a frame under its own number, which must exceed the last. Not allowed after a push. */
  restore(frame: SequencedFrame, bytes: number): void {
    this.push(frame, bytes);
    this.#restored.push(frame.seq);
    this.#lastSeq = frame.seq;
  }

  /** Drops the oldest frame, and returns its bytes. The columns must not be empty. */
  shift(): number {
    const row = this.#start;
    this.#frames[row] = undefined;
    this.#start = (row + 1) & this.#mask;
    this.#length--;
    if (this.#restoredDropped < this.#restored.length && ++this.#restoredDropped === this.#restored.length) {
      this.#restored.length = 0;
      this.#restoredDropped = 0;
    }
    return this.#sizes[row] as number;
  }

  /** The sequence number of the frame at an index. */
  seqAt(index: number): number {
    return this.#restored[this.#restoredDropped + index] ?? this.#lastSeq - (this.#length - 1 - index);
  }

  bytesAt(index: number): number {
    return this.#sizes[(this.#start + index) & this.#mask] as number;
  }

  frameAt(index: number): TetherFrame {
    return this.#frames[(this.#start + index) & this.#mask] as TetherFrame;
  }

  /** The frame with its `seq`. The copy is made at the first read, and kept. */
  sequencedAt(index: number): SequencedFrame {
    const frame = this.frameAt(index);
    const seq = this.seqAt(index);
    if (isSequenced(frame, seq)) return frame;
    const sequenced = { ...frame, seq };
    this.#frames[(this.#start + index) & this.#mask] = sequenced;
    return sequenced;
  }

  /** The index of the first frame whose number exceeds `seq`; the length if there is no such frame. */
  indexAfter(seq: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.seqAt(middle) > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Doubles the capacity. The arrays grow with later pushes. */
  #grow(): void {
    this.#frames = this.#unrolled(this.#frames);
    this.#sizes = this.#unrolled(this.#sizes);
    this.#mask = 2 * this.#mask + 1;
    this.#start = 0;
  }

  /** A full column, rotated so that the oldest row is first. */
  #unrolled<T>(column: T[]): T[] {
    return this.#start === 0 ? column : column.slice(this.#start).concat(column.slice(0, this.#start));
  }
}

function isSequenced(frame: TetherFrame, seq: number): frame is SequencedFrame {
  return frame.seq === seq;
}
