/**
 * Server-sent events, as the HTML standard parses them: the `data` of each event, from chunks cut anywhere.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream (read 2026-11-22)
 */

const lineFeed = 10;
const carriageReturn = 13;

/** Decodes one stream of server-sent events. Feed it chunks in order; a partial last event is dropped, as the standard asks. */
export class ServerSentEvents {
  readonly #decoder = new TextDecoder();
  readonly #maxBytes: number;
  /** Bytes of the line that has no end yet. */
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  #data: string[] = [];
  #dataLength = 0;
  #lastWasReturn = false;

  /** @param maxBytes of one event; a longer one throws a RangeError, so that no server can fill the memory */
  constructor(maxBytes = 64 * 1024 * 1024) {
    this.#maxBytes = maxBytes;
  }

  /** The data of each event that this chunk completes. */
  push(chunk: Uint8Array | string): readonly string[] {
    const bytes = typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk;
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
    // A byte order mark is dropped at the start of any line: JSON never begins with one.
    return this.#decoder.decode(bytes);
  }
}
