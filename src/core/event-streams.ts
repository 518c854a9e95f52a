/** Streams of events from arbitrary chunks: server-sent events, and Amazon's binary frames. */

import { crc32, decodeUtf8 } from "./bytes.js";
import { SessileError } from "./errors/index.js";

const lineFeed = 10;
const carriageReturn = 13;

/**
 * Decodes a stream of server-sent events. {@link ServerSentEvents.push} drops a partial last event, as the
 * standard requires.
 */
export class ServerSentEvents {
  readonly #decoder = new TextDecoder();
  readonly #maxBytes: number;
  /** The bytes of the incomplete line. */
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  #data: string[] = [];
  #dataLength = 0;
  #lastWasReturn = false;
  /** The first half of a character that the end of a text chunk split. */
  #half = "";

  /**
   * @param maxBytes of one event. A longer event throws a RangeError, so that a server cannot exhaust memory.
   */
  constructor(maxBytes = 64 * 1024 * 1024) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the data of each event that a chunk completes. */
  push(chunk: Uint8Array | string): readonly string[] {
    const bytes = typeof chunk === "string" ? this.#encode(chunk) : chunk;
    const events: string[] = [];
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== lineFeed && byte !== carriageReturn) {
        this.#lastWasReturn = false;
        continue;
      }
      const isSecondHalf = byte === lineFeed && this.#lastWasReturn && at === start;
      this.#lastWasReturn = byte === carriageReturn;
      if (!isSecondHalf) {
        const event = this.#endLine(bytes.subarray(start, at));
        if (event !== undefined) events.push(event);
      }
      start = at + 1;
    }
    // A copy: the caller may reuse its buffer.
    if (start < bytes.length) this.#keep(bytes.slice(start));
    return events;
  }

  /** Ends the stream; returns the data of an event without its blank line, which may be cut. */
  end(): string | undefined {
    const nothing = new Uint8Array();
    return this.#endLine(nothing) ?? this.#endLine(nothing);
  }

  #encode(text: string): Uint8Array {
    const whole = this.#half + text;
    const end = /[\ud800-\udbff]$/.test(whole) ? whole.length - 1 : whole.length;
    this.#half = whole.slice(end);
    return new TextEncoder().encode(whole.slice(0, end));
  }

  #keep(bytes: Uint8Array): void {
    this.#line.push(bytes);
    this.#lineBytes += bytes.length;
    if (this.#lineBytes + this.#dataLength > this.#maxBytes) {
      throw new RangeError(`server-sent event: more than ${this.#maxBytes} bytes`);
    }
  }

  #endLine(rest: Uint8Array): string | undefined {
    this.#keep(rest);
    const line = this.#decodeLine();
    if (line === "") {
      const event = this.#data.length === 0 ? undefined : this.#data.join("\n");
      this.#data = [];
      this.#dataLength = 0;
      return event;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    if (field !== "data") return undefined;
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    this.#data.push(value);
    this.#dataLength += value.length;
    return undefined;
  }

  #decodeLine(): string {
    const [only] = this.#line;
    let bytes = only as Uint8Array;
    if (this.#line.length > 1) {
      bytes = new Uint8Array(this.#lineBytes);
      let at = 0;
      for (const piece of this.#line) {
        bytes.set(piece, at);
        at += piece.length;
      }
    }
    this.#line = [];
    this.#lineBytes = 0;
    // The decoder drops a byte order mark at the start of any line, where JSON never has one.
    return this.#decoder.decode(bytes);
  }
}

// Binary frames of `application/vnd.amazon.eventstream`: lengths with their checksum, headers, payload, and a
// checksum of all.
//
// @see https://smithy.io/2.0/aws/amazon-eventstream.html (read as a stored copy on 2026-11-22)

/** One message of the stream. */
export interface EventStreamMessage {
  /** The headers with text values. */
  readonly headers: ReadonlyMap<string, string>;
  /** A copy. */
  readonly payload: Uint8Array;
}

/** Two lengths and the checksum of both. */
const preludeBytes = 12;
const checksumBytes = 4;

/** Bytes of a header's value, by its type. Texts and bytes start with their length in two bytes. */
const valueBytes: readonly (number | "counted")[] = [0, 0, 1, 2, 4, 8, "counted", "counted", 8, 16];
const textType = 7;

/** Decodes one stream of frames. Feed it chunks in order; a partial last frame is dropped. */
export class EventStreamFrames {
  readonly #maxBytes: number;
  /** Holds the bytes from `#start` to `#end`; grows by doubling. */
  #buffer = new Uint8Array(0);
  #start = 0;
  #end = 0;
  /** The length of the frame at `#start`; undefined until its prelude is checked. */
  #frameBytes: number | undefined;

  /** @param maxBytes of one frame. A longer frame is rejected, so that a server cannot exhaust memory. */
  constructor(maxBytes = 64 * 1024 * 1024) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns the messages that a chunk completes.
   *
   * @throws SessileError REPLY_FAILED for a wrong checksum, length or header; the rest of the stream is lost
   */
  push(chunk: Uint8Array): readonly EventStreamMessage[] {
    this.#append(chunk);
    const messages: EventStreamMessage[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next())
      messages.push(frameMessage(frame));
    return messages;
  }

  /** The next frame, as a view; undefined if it is incomplete. */
  #next(): Uint8Array | undefined {
    const there = this.#end - this.#start;
    if (this.#frameBytes === undefined) {
      if (there < preludeBytes) return undefined;
      this.#frameBytes = this.#frameLength();
    }
    if (there < this.#frameBytes) return undefined;
    const frame = this.#buffer.subarray(this.#start, this.#start + this.#frameBytes);
    this.#start += this.#frameBytes;
    this.#frameBytes = undefined;
    return frame;
  }

  #frameLength(): number {
    const prelude = this.#buffer.subarray(this.#start, this.#start + preludeBytes);
    const view = byteView(prelude);
    if (view.getUint32(8) !== crc32(prelude, 0, 8))
      throw broken("the checksum of a frame's lengths is wrong");
    const length = view.getUint32(0);
    const headersLength = view.getUint32(4);
    if (length < preludeBytes + headersLength + checksumBytes)
      throw broken("a frame is shorter than its parts");
    if (length > this.#maxBytes)
      throw broken(`a frame has ${length} bytes, at most ${this.#maxBytes} are read`);
    return length;
  }

  #append(chunk: Uint8Array): void {
    const there = this.#end - this.#start;
    if (this.#end + chunk.length > this.#buffer.length) {
      const needed = there + chunk.length;
      // Reallocates only if the buffer is more than half full, so that bytes move a constant number of times.
      const room =
        needed * 2 <= this.#buffer.length ? this.#buffer : new Uint8Array(Math.max(needed * 2, 1024));
      room.set(this.#buffer.subarray(this.#start, this.#end));
      this.#buffer = room;
      this.#start = 0;
      this.#end = there;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }
}

function frameMessage(frame: Uint8Array): EventStreamMessage {
  const view = byteView(frame);
  const end = frame.length - checksumBytes;
  if (view.getUint32(end) !== crc32(frame, 0, end)) throw broken("the checksum of a frame is wrong");
  const payloadStart = preludeBytes + view.getUint32(4);
  return {
    headers: readHeaders(frame.subarray(preludeBytes, payloadStart)),
    payload: frame.slice(payloadStart, end),
  };
}

function readHeaders(bytes: Uint8Array): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  const take = (count: number): Uint8Array => {
    if (at + count > bytes.length) throw broken("a header is longer than the headers");
    at += count;
    return bytes.subarray(at - count, at);
  };
  while (at < bytes.length) {
    const name = decodeUtf8(take(byteView(take(1)).getUint8(0)));
    const type = byteView(take(1)).getUint8(0);
    const size = valueBytes[type];
    if (size === undefined) throw broken(`a header has the unknown type ${type}`);
    const value = take(size === "counted" ? byteView(take(2)).getUint16(0) : size);
    const text = type === textType ? decodeUtf8(value) : undefined;
    if (name !== undefined && text !== undefined) headers.set(name, text);
  }
  return headers;
}

function byteView({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

function broken(problem: string): SessileError<"REPLY_FAILED"> {
  return new SessileError("REPLY_FAILED", `event stream: ${problem}`, { details: {} });
}
