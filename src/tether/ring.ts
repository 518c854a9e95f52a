import type { SequencedFrame, TetherFrame, TetherSession } from "./frame.js";

/** Options of {@link FrameRing}. */
export interface FrameRingOptions {
  /** At least 1. Default 1000. */
  readonly maxFrames?: number;
  /** Bytes of payloads, at least 1. Default 128 MiB. */
  readonly maxBytes?: number;
  /** What an earlier ring held, oldest first: sequence numbers go on behind the last. */
  readonly frames?: Iterable<SequencedFrame>;
}

/** Which frames to read. */
export interface FrameQuery {
  /** The `nextSeq` of the last reading; default 0, from the oldest on. */
  readonly after?: number;
  /** Default all. */
  readonly session?: TetherSession;
  /** Default all. */
  readonly types?: readonly string[];
  /** The most frames, at least 1. Default all. */
  readonly limit?: number;
  /** The most bytes of payloads; one frame comes whatever its size. Default all. */
  readonly maxBytes?: number;
}

/** What a reading gives. */
export interface FrameReading {
  /** Oldest first. */
  readonly frames: readonly SequencedFrame[];
  /** For the `after` of the next reading: nothing up to it is worth looking at again. */
  readonly nextSeq: number;
  /** How many frames behind `after` were gone before they could be read, of whatever session and type. */
  readonly missed: number;
}

/**
 * The latest frames of one agent, for readers that come back for more. It holds so many frames and so many bytes at most, and
 * lets the oldest go until both hold; the newest always stays. Sequence numbers begin at 1, grow by 1, and are never used again.
 * An append takes constant time, however full the ring is. Payloads are counted and never looked into.
 *
 * @throws RangeError for options out of range, or frames whose numbers do not grow
 * @example
 * ```ts
 * const ring = new FrameRing();
 * ring.append(assistantDone({ channel: "mcp", id: "default" }, "Done."));
 * const { frames, nextSeq } = ring.read({ types: ["assistant.done"] });
 * ```
 */
export declare class FrameRing {
  constructor(options?: FrameRingOptions);
  /** Frames that are held. */
  get size(): number;
  /** Bytes of payloads that are held. */
  get bytes(): number;
  /** The number of the newest frame ever appended; 0 before the first. */
  get lastSeq(): number;
  /** Takes a frame, gives it its number, and wakes who waits. A number that it had is passed over. */
  append(frame: TetherFrame): number;
  /** What is there now. */
  read(query?: FrameQuery): FrameReading;
  /**
   * As {@link FrameRing.read}, once there is at least one frame, or the reader has missed some.
   *
   * @throws the reason of `signal` when it aborts
   */
  wait(query?: FrameQuery & { readonly signal?: AbortSignal }): Promise<FrameReading>;
}
