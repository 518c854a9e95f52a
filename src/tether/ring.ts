/** The ring: the latest frames of an agent, read by sequence number or waited for. */

import { describe, integerArgument, integerOption } from "../core/arguments.js";
import { isRecord } from "../core/shape.js";
import type { SequencedFrame, TetherFrame, TetherSession } from "./frame.js";

/** Options of {@link FrameRing}. */
export interface FrameRingOptions {
  /** Frames. Minimum 1, default 1000. */
  readonly maxFrames?: number | undefined;
  /**
   * Bytes of payloads. Minimum 1, default 128 MiB. A payload counts the length of its strings and member
   * names, in UTF-16 code units, and 32 for each value. This is at least its length as JSON, unless
   * characters need escapes; base64 counts one byte a character. Text outside Latin-1 takes up to twice the
   * memory, and up to three times as much as UTF-8. The envelope is not counted: if others choose the names
   * of conversations, bound their length before an append.
   */
  readonly maxBytes?: number | undefined;
  /**
   * The frames of an earlier ring, oldest first: sequence numbers continue after the last. Absent frames
   * count as missed.
   */
  readonly frames?: Iterable<SequencedFrame> | undefined;
}

/** The result of {@link FrameRing.read}. */
export interface FrameReading {
  /** Oldest first. They belong to the ring: do not change them. */
  readonly frames: readonly SequencedFrame[];
  /** The `after` of the next query: every frame up to it was considered. */
  readonly nextSeq: number;
  /**
   * The number of frames after `after` and up to `nextSeq` that were evicted before this read, of any session
   * and type.
   */
  readonly missed: number;
}

/** Leaves room for 2 ** 52 more sequence numbers. */
const greatestRestored = 2 ** 52;

/**
 * The latest frames of one agent, for readers that poll. It is bounded by frames and by bytes, and evicts the
 * oldest frames; the newest always stays. Sequence numbers start at 1, increase by 1, and are never reused.
 * An append takes constant time, however full the ring is. Payloads are measured once, and not interpreted.
 *
 * A ring is in memory: after a restart it starts at 1. A reader with a number of the lost ring then reads
 * from the oldest frame on, until the new ring reaches that number. Pass `frames` to the new ring to continue
 * the numbers.
 *
 * @throws RangeError for options out of range, or frames whose numbers do not increase
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
  readonly #frames: FrameColumns;
  readonly #waiters = new Waiters();
  #bytes = 0;

  constructor({ maxFrames, maxBytes, frames = [] }: FrameRingOptions = {}) {
    this.#maxFrames = integerOption("maxFrames", maxFrames, 1000, 1);
    this.#maxBytes = integerOption("maxBytes", maxBytes, 128 * 2 ** 20, 1);
    this.#frames = new FrameColumns(this.#maxFrames);
    let at = 0;
    for (const frame of frames) {
      const name = `frames[${at++}]`;
      if (!isFrame(frame)) throw invalidFrame(name, frame);
      integerArgument(`${name}.seq`, frame.seq, this.lastSeq + 1, greatestRestored);
      const bytes = payloadBytes(frame.payload);
      this.#frames.restore(frame, bytes);
      this.#evict(bytes);
    }
  }

  /** The number of frames in the ring. */
  get size(): number {
    return this.#frames.length;
  }

  /** The bytes of their payloads, as {@link FrameRingOptions} counts them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The sequence number of the newest frame ever appended; 0 before the first. */
  get lastSeq(): number {
    return this.#frames.lastSeq;
  }

  /**
   * Appends a frame under the next sequence number, and wakes the readers that wait for it. The `seq` of the
   * given frame is ignored, and the frame is not changed: readers get a copy with the number.
   *
   * @returns the sequence number
   * @throws TypeError for a value that is not a frame, or a circular payload; the ring is unchanged
   */
  append(frame: TetherFrame): number {
    if (!isFrame(frame)) throw invalidFrame("frame", frame);
    const bytes = payloadBytes(frame.payload);
    this.#frames.push(frame, bytes);
    this.#evict(bytes);
    const { lastSeq } = this.#frames;
    this.#waiters.notify(frame, lastSeq);
    return lastSeq;
  }

  /**
   * Reads the frames that are there now.
   *
   * @throws RangeError, TypeError for an invalid query
   */
  read(query: FrameQuery = {}): FrameReading {
    const checked = checkQuery(query);
    return this.#read(checked, checked.after);
  }

  /**
   * Reads as {@link FrameRing.read}, but waits until a frame matches, or some were missed. Frames that are
   * appended in one tick are read together. Frames that do not match while it waits do not count as missed.
   *
   * @throws RangeError, TypeError for an invalid query
   * @throws the reason of `signal` when it aborts
   */
  async wait(query: FrameQuery & { readonly signal?: AbortSignal } = {}): Promise<FrameReading> {
    const { signal } = query;
    const checked = checkQuery(query);
    signal?.throwIfAborted();
    const reading = this.#read(checked, checked.after);
    if (reading.frames.length > 0 || reading.missed > 0) return reading;
    // No await between the read and the registration, so that no frame is lost in between.
    const seq = await this.#waiters.next(checked.matches, signal);
    signal?.throwIfAborted();
    return this.#read(checked, seq - 1);
  }

  /** Counts the newest frame, and evicts the oldest frames until both bounds hold. */
  #evict(bytes: number): void {
    const columns = this.#frames;
    this.#bytes += bytes;
    while (columns.length > 1 && (columns.length > this.#maxFrames || this.#bytes > this.#maxBytes)) {
      this.#bytes -= columns.shift();
    }
    // A payload with shared parts may count more than 2 ** 53: the sum would not be exact after its eviction.
    if (columns.length === 1) this.#bytes = bytes;
  }

  #read({ limit, maxBytes, matches }: CheckedQuery, requested: number): FrameReading {
    const columns = this.#frames;
    const after = requested > columns.lastSeq ? 0 : requested;
    const frames: SequencedFrame[] = [];
    const first = columns.indexAfter(after);
    let nextSeq = after;
    let bytes = 0;
    let index = first;
    for (; index < columns.length && frames.length < limit; index++) {
      if (matches(columns.frameAt(index))) {
        bytes += columns.bytesAt(index);
        if (bytes > maxBytes && frames.length > 0) break;
        frames.push(columns.sequencedAt(index));
      }
      nextSeq = columns.seqAt(index);
    }
    return { frames, nextSeq, missed: nextSeq - after - (index - first) };
  }
}

function isFrame(value: TetherFrame | null | undefined): boolean {
  return (
    typeof value?.type === "string" &&
    typeof value.session?.channel === "string" &&
    typeof value.session.id === "string"
  );
}

function invalidFrame(name: string, value: unknown): TypeError {
  return new TypeError(`${name}: expected a frame with a type, a channel and an id, got ${describe(value)}`);
}

/** Which frames to read. */
export interface FrameQuery {
  /**
   * The `nextSeq` of the last reading. Default 0: from the oldest frame on. A number beyond the newest is of
   * a lost ring, and counts as 0.
   */
  readonly after?: number | undefined;
  /** Default: all. */
  readonly session?: TetherSession | undefined;
  /** Default: all. */
  readonly types?: readonly string[] | undefined;
  /** The most frames. Minimum 1, default: no limit. */
  readonly limit?: number | undefined;
  /** The most bytes of payloads. Minimum 1, default: no limit. The first frame is read whatever its size. */
  readonly maxBytes?: number | undefined;
}

/** A query with its defaults: a copy, which the caller cannot change while it waits. */
interface CheckedQuery {
  readonly after: number;
  readonly limit: number;
  readonly maxBytes: number;
  readonly matches: (frame: TetherFrame) => boolean;
}

/** @throws RangeError, TypeError with the name of the option */
function checkQuery({ after, session, types, limit, maxBytes }: FrameQuery): CheckedQuery {
  if (session !== undefined) checkSession("session", session);
  if (types !== undefined && !Array.isArray(types)) {
    throw new TypeError(`types: expected an array of strings, got ${describe(types)}`);
  }
  return {
    after: integerOption("after", after, 0, 0),
    limit: integerOption("limit", limit, Number.MAX_SAFE_INTEGER, 1),
    maxBytes: integerOption("maxBytes", maxBytes, Number.MAX_SAFE_INTEGER, 1),
    matches: frameMatcher(session, types),
  };
}

/** @throws TypeError for an invalid session */
function checkSession(name: string, value: unknown): void {
  if (isRecord(value) && typeof value.channel === "string" && typeof value.id === "string") return;
  throw new TypeError(`${name}: expected { channel, id } of strings, got ${describe(value)}`);
}

function frameMatcher(
  session: TetherSession | undefined,
  types: readonly string[] | undefined,
): CheckedQuery["matches"] {
  const named = types === undefined ? undefined : new Set(types);
  if (session === undefined) return ({ type }) => named?.has(type) ?? true;
  const { channel, id } = session;
  return (frame) =>
    frame.session.channel === channel && frame.session.id === id && (named?.has(frame.type) ?? true);
}

interface Waiter {
  readonly matches: CheckedQuery["matches"];
  readonly wake: (seq: number) => void;
}

/** The readers that wait for a frame, first come first served. */
export class Waiters {
  readonly #waiters = new Set<Waiter>();

  /**
   * Resolves with the sequence number of the next frame that matches.
   *
   * @throws the reason of `signal` when it aborts
   */
  next(matches: CheckedQuery["matches"], signal: AbortSignal | undefined): Promise<number> {
    return new Promise((resolve, reject) => {
      const remove = () => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener("abort", onAbort);
      };
      const onAbort = () => {
        remove();
        reject(signal?.reason);
      };
      const wake = (seq: number) => {
        remove();
        resolve(seq);
      };
      const waiter: Waiter = { matches, wake };
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", onAbort);
    });
  }

  /** Wakes the readers that this frame matches. Others do not wake. */
  notify(frame: TetherFrame, seq: number): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) if (waiter.matches(frame)) waiter.wake(seq);
  }
}

// A queue of frames as columns, for the ring.

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

// The size of a payload without serializing it, for the bound of a ring.

/** The bytes of a value besides its text. JSON needs at most 28 for punctuation and a number or literal. */
const valueBytes = 32;

const maxSmallValues = 512;
const maxSmallDepth = 16;
let remaining = 0;

/**
 * Measures a payload: 32 bytes a value, the length of each string and member name in UTF-16 code units, and
 * the length of binary data. No string is read, so that a megabyte takes as long as a word. The result is at
 * least the length as JSON without escapes. ASCII, such as base64, has one byte a unit; UTF-8 of other
 * scripts has up to three. A shared value counts each time.
 *
 * @throws TypeError for a circular payload
 */
export function payloadBytes(payload: unknown): number {
  if (typeof payload !== "object" || payload === null) return leafBytes(payload);
  remaining = maxSmallValues;
  const bytes = smallPayloadBytes(payload, maxSmallDepth);
  return bytes < 0 ? anyPayloadBytes(payload) : bytes;
}

/**
 * Measures a small and flat payload, as most are, without the allocations of {@link anyPayloadBytes}. Returns
 * -1 for a payload that is larger, deeper, or may be circular.
 */
function smallPayloadBytes(value: object, depth: number): number {
  let bytes = valueBytes;
  if (Array.isArray(value)) {
    if (value.length > remaining) return -1;
    remaining -= value.length;
    for (const item of value) {
      if (typeof item === "object" && item !== null) {
        const inner = depth === 0 ? -1 : smallPayloadBytes(item, depth - 1);
        if (inner < 0) return -1;
        bytes += inner;
      } else bytes += leafBytes(item);
    }
    return bytes;
  }
  if (ArrayBuffer.isView(value)) return valueBytes + value.byteLength;
  // Inherited members count too: an upper bound, and cheaper than Object.keys.
  for (const name in value) {
    if (--remaining < 0) return -1;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    bytes += name.length;
    if (typeof member === "string") bytes += valueBytes + member.length;
    else if (typeof member === "object" && member !== null) {
      const inner = depth === 0 ? -1 : smallPayloadBytes(member, depth - 1);
      if (inner < 0) return -1;
      bytes += inner;
    } else bytes += valueBytes;
  }
  return bytes;
}

function leafBytes(value: unknown): number {
  return typeof value === "string" ? valueBytes + value.length : valueBytes;
}

/** An object whose members are being measured. */
interface OpenValue {
  readonly value: object;
  readonly inner: readonly unknown[];
  next: number;
  bytes: number;
}

/**
 * Measures a payload of any size, depth and sharing, without recursion, in time linear in its size in memory.
 */
function anyPayloadBytes(payload: object): number {
  /** Absent before the first visit of an object, undefined while it is open. */
  const known = new Map<object, number | undefined>();
  const path = [openValue(payload)];
  known.set(payload, undefined);
  for (;;) {
    const top = path.at(-1) as OpenValue;
    if (top.next === top.inner.length) {
      known.set(top.value, top.bytes);
      path.pop();
      const outer = path.at(-1);
      if (outer === undefined) return top.bytes;
      outer.bytes += top.bytes;
      continue;
    }
    const value = top.inner[top.next++];
    if (typeof value !== "object" || value === null) {
      top.bytes += leafBytes(value);
    } else if (known.has(value)) {
      const bytes = known.get(value);
      if (bytes === undefined) {
        throw new TypeError(`frame.payload: expected JSON, got ${describe(value)} that contains itself`);
      }
      top.bytes += bytes;
    } else {
      known.set(value, undefined);
      path.push(openValue(value));
    }
  }
}

function openValue(value: object): OpenValue {
  if (Array.isArray(value)) return { value, inner: value, next: 0, bytes: valueBytes };
  if (ArrayBuffer.isView(value)) {
    return { value, inner: [], next: 0, bytes: valueBytes + value.byteLength };
  }
  let bytes = valueBytes;
  const inner: unknown[] = [];
  for (const name in value) {
    bytes += name.length;
    inner.push((value as Readonly<Record<string, unknown>>)[name]);
  }
  return { value, inner, next: 0, bytes };
}
