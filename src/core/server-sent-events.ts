/**
 * Parses server-sent events by the HTML standard, from arbitrary chunks.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream (read
 *   2026-11-22)
 */

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
