import { describe, integerArgument, integerOption } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import type { SequencedFrame, TetherFrame, TetherSession } from "./frame.js";
import { FrameColumns } from "./frame-columns.js";
import { payloadBytes } from "./payload-bytes.js";

/** Options of {@link FrameRing}. */
export interface FrameRingOptions {
  /** At least 1. Default 1000. */
  readonly maxFrames?: number;
  /**
   * Bytes of payloads, at least 1. Default 128 MiB. A payload counts the length of its strings and of the names in it, in UTF-16
   * code units, and 32 for each value: that is no less than its JSON unless something in it has to be escaped, and base64 counts
   * one byte a character. Text of other scripts takes up to twice as much memory, and up to three times as much as UTF-8.
   * What stands around a payload is not counted: where others choose the names of conversations, bound these before an append.
   */
  readonly maxBytes?: number;
  /**
   * What an earlier ring held, oldest first: sequence numbers go on behind the last. Frames may be left out, and count as missed.
   */
  readonly frames?: Iterable<SequencedFrame>;
}

/** What a reading gives. */
export interface FrameReading {
  /** Oldest first. They belong to the ring: change none. */
  readonly frames: readonly SequencedFrame[];
  /** For the `after` of the next reading: nothing up to it is worth looking at again. */
  readonly nextSeq: number;
  /** How many frames behind `after`, and up to `nextSeq`, were gone before they could be read, of whatever session and type. */
  readonly missed: number;
}

/** Leaves more numbers behind the last than could ever be given. */
const greatestRestored = 2 ** 52;

/**
 * The latest frames of one agent, for readers that come back for more. It holds so many frames and so many bytes at most, and
 * lets the oldest go until both hold; the newest always stays. Sequence numbers begin at 1, grow by 1, and are never used again.
 * An append takes constant time, however full the ring is. Payloads are counted, once, and never looked into.
 *
 * A ring that is lost with its process begins at 1 again. A reader that comes back with a number of the lost ring
 * reads from the oldest frame on, as long as the new ring has not come as far; give `frames` to a new ring, and numbers stay
 * good for ever.
 *
 * @throws RangeError for options out of range, or frames whose numbers do not grow
 * @example
 * ```ts
 * const ring = new FrameRing();
 * ring.append(assistantDone({ channel: "mcp", id: "default" }, "Done."));
 * const { frames, nextSeq } = ring.read({ types: ["assistant.done"] });
 * ```
 */
export class FrameRing {
  readonly #maxFrames: number;
  readonly #maxBytes: number;
  readonly #held: FrameColumns;
  readonly #waiters = new Waiters();
  #bytes = 0;

  constructor({ maxFrames, maxBytes, frames = [] }: FrameRingOptions = {}) {
    this.#maxFrames = integerOption("maxFrames", maxFrames, 1000, 1);
    this.#maxBytes = integerOption("maxBytes", maxBytes, 128 * 2 ** 20, 1);
    this.#held = new FrameColumns(this.#maxFrames);
    let at = 0;
    for (const frame of frames) {
      const name = `frames[${at++}]`;
      if (!isFrame(frame)) throw notAFrame(name, frame);
      integerArgument(`${name}.seq`, frame.seq, this.lastSeq + 1, greatestRestored);
      const bytes = payloadBytes(frame.payload);
      this.#held.restore(frame, bytes);
      this.#settle(bytes);
    }
  }

  /** Frames that are held. */
  get size(): number {
    return this.#held.length;
  }

  /** Bytes of payloads that are held, as {@link FrameRingOptions} counts them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of the newest frame ever appended; 0 before the first. */
  get lastSeq(): number {
    return this.#held.lastSeq;
  }

  /**
   * Takes a frame, gives it its number, and wakes who waits for such a frame. A number that it had is passed over, and the frame
   * stays as it is: those that are read are others, which have the number.
   *
   * @throws TypeError for what is no frame, or a payload that holds itself; the ring stays as it was
   */
  append(frame: TetherFrame): number {
    if (!isFrame(frame)) throw notAFrame("frame", frame);
    const bytes = payloadBytes(frame.payload);
    this.#held.push(frame, bytes);
    this.#settle(bytes);
    const { lastSeq } = this.#held;
    this.#waiters.tell(frame, lastSeq);
    return lastSeq;
  }

  /**
   * What is there now.
   *
   * @throws RangeError, TypeError for a query out of range
   */
  read(query: FrameQuery = {}): FrameReading {
    const checked = checkQuery(query);
    return this.#read(checked, checked.after);
  }

  /**
   * As {@link FrameRing.read}, once there is at least one frame, or the reader has missed some. What is appended in one go is
   * read in one go. Frames that the query does not want pass by while it waits, and are not missed.
   *
   * @throws RangeError, TypeError for a query out of range
   * @throws the reason of `signal` when it aborts
   */
  async wait(query: FrameQuery & { readonly signal?: AbortSignal } = {}): Promise<FrameReading> {
    const { signal } = query;
    const checked = checkQuery(query);
    signal?.throwIfAborted();
    const reading = this.#read(checked, checked.after);
    if (reading.frames.length > 0 || reading.missed > 0) return reading;
    // Nothing runs between the look and the wait, so that no frame falls between them.
    const seq = await this.#waiters.next(checked.wants, signal);
    signal?.throwIfAborted();
    return this.#read(checked, seq - 1);
  }

  /** Counts the newest frame, and lets the oldest go that there is no room for any more. */
  #settle(bytes: number): void {
    const held = this.#held;
    this.#bytes += bytes;
    while (held.length > 1 && (held.length > this.#maxFrames || this.#bytes > this.#maxBytes)) {
      this.#bytes -= held.shift();
    }
    // A payload that shares its parts may count for more than a sum can hold exactly.
    if (held.length === 1) this.#bytes = bytes;
  }

  #read({ limit, maxBytes, wants }: CheckedQuery, asked: number): FrameReading {
    const held = this.#held;
    const after = asked > held.lastSeq ? 0 : asked;
    const frames: SequencedFrame[] = [];
    const first = held.placeAfter(after);
    let nextSeq = after;
    let bytes = 0;
    let place = first;
    for (; place < held.length && frames.length < limit; place++) {
      if (wants(held.frameAt(place))) {
        bytes += held.bytesAt(place);
        if (bytes > maxBytes && frames.length > 0) break;
        frames.push(held.sequencedAt(place));
      }
      nextSeq = held.seqAt(place);
    }
    return { frames, nextSeq, missed: nextSeq - after - (place - first) };
  }
}

function isFrame(value: TetherFrame | null | undefined): boolean {
  return (
    typeof value?.type === "string" &&
    typeof value.session?.channel === "string" &&
    typeof value.session.id === "string"
  );
}

function notAFrame(name: string, value: unknown): TypeError {
  return new TypeError(`${name}: expected a frame with a type, a channel and an id, got ${describe(value)}`);
}

/** Which frames to read. */
export interface FrameQuery {
  /**
   * The `nextSeq` of the last reading; default 0, from the oldest on. One beyond the newest number is of a ring that was lost:
   * that reader gets all there is, from the oldest on, as if it had none.
   */
  readonly after?: number;
  /** Default all. */
  readonly session?: TetherSession;
  /** Default all. */
  readonly types?: readonly string[];
  /** The most frames, at least 1. Default all. */
  readonly limit?: number;
  /** The most bytes of payloads, at least 1; one frame comes whatever its size. Default all. */
  readonly maxBytes?: number;
}

/** A query with its defaults, which nobody can change any more. */
export interface CheckedQuery {
  readonly after: number;
  readonly limit: number;
  readonly maxBytes: number;
  readonly wants: (frame: TetherFrame) => boolean;
}

/** @throws RangeError, TypeError that name the option */
export function checkQuery({ after, session, types, limit, maxBytes }: FrameQuery): CheckedQuery {
  if (session !== undefined) checkSession("session", session);
  if (types !== undefined && !Array.isArray(types)) {
    throw new TypeError(`types: expected an array of strings, got ${describe(types)}`);
  }
  return {
    after: integerOption("after", after, 0, 0),
    limit: integerOption("limit", limit, Number.MAX_SAFE_INTEGER, 1),
    maxBytes: integerOption("maxBytes", maxBytes, Number.MAX_SAFE_INTEGER, 1),
    wants: wanting(session, types),
  };
}

/** @throws TypeError for what is no session */
function checkSession(name: string, value: unknown): void {
  if (isRecord(value) && typeof value.channel === "string" && typeof value.id === "string") return;
  throw new TypeError(`${name}: expected { channel, id } of strings, got ${describe(value)}`);
}

function wanting(
  session: TetherSession | undefined,
  types: readonly string[] | undefined,
): CheckedQuery["wants"] {
  const named = types === undefined ? undefined : new Set(types);
  if (session === undefined) return ({ type }) => named?.has(type) ?? true;
  const { channel, id } = session;
  return (frame) =>
    frame.session.channel === channel && frame.session.id === id && (named?.has(frame.type) ?? true);
}

interface Waiter {
  readonly wants: CheckedQuery["wants"];
  readonly wake: (seq: number) => void;
}

/** Those who wait for a frame, in the order in which they came. */
export class Waiters {
  readonly #waiters = new Set<Waiter>();

  /**
   * Resolves with the number of the next frame that is wanted.
   *
   * @throws the reason of `signal` when it aborts
   */
  next(wants: CheckedQuery["wants"], signal: AbortSignal | undefined): Promise<number> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener("abort", onAbort);
      };
      const onAbort = () => {
        leave();
        reject(signal?.reason);
      };
      const wake = (seq: number) => {
        leave();
        resolve(seq);
      };
      const waiter: Waiter = { wants, wake };
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", onAbort);
    });
  }

  /** Tells those who want this frame, first come first; the others are not woken at all. */
  tell(frame: TetherFrame, seq: number): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) if (waiter.wants(frame)) waiter.wake(seq);
  }
}
