/** Splits chunks of bytes into lines, with a maximum length. */

import { concatBytes } from "../core/bytes.js";

/** The receiver of a {@link LineSplitter}. */
export interface LineSink {
  /** Receives a line: the bytes from `start` up to `end`, without its line feed, valid during the call. */
  line(bytes: Uint8Array, at: number, start: number, end: number): void;
  /** Receives the range of a line that exceeds the limit. Its bytes are not kept. */
  tooLong(at: number, length: number, bytesBeforeNuls?: number): void;
}

/**
 * Splits a stream of bytes at each line feed, before decoding: the byte 0x0A is never part of another UTF-8
 * character. CR, U+2028 and U+2029 are ordinary text. Memory is bounded by the maximum line length.
 */
export class LineSplitter {
  readonly #sink: LineSink;
  readonly #maxLineBytes: number;
  #held: Uint8Array[] = [];
  #heldLength = 0;
  #skipping = false;
  #lineAt: number;
  #at: number;

  /** @param at the offset of the first byte that will be pushed */
  constructor(sink: LineSink, maxLineBytes: number, at = 0) {
    this.#sink = sink;
    this.#maxLineBytes = maxLineBytes;
    this.#at = at;
    this.#lineAt = at;
  }

  /** Splits the next bytes. The caller may reuse them afterwards. */
  push(chunk: Uint8Array): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      if (end < 0) break;
      this.#end(chunk, start, end);
      start = end + 1;
      this.#lineAt = this.#at + start;
    }
    this.#at += chunk.length;
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  /** Returns the bytes after the last line feed, if any. Ends the splitter. */
  finish(): { readonly bytes: Uint8Array; readonly at: number } | undefined {
    if (this.#skipping) {
      this.#sink.tooLong(this.#lineAt, this.#heldLength);
      return undefined;
    }
    return this.#heldLength === 0
      ? undefined
      : { bytes: concatBytes(this.#held, this.#heldLength), at: this.#lineAt };
  }

  #hold(bytes: Uint8Array): void {
    this.#heldLength += bytes.length;
    if (this.#heldLength > this.#maxLineBytes) {
      this.#skipping = true;
      this.#held = [];
    }
    // A copy, which `slice` of a Buffer is not: a caller may reuse the chunk.
    if (!this.#skipping) this.#held.push(new Uint8Array(bytes));
  }

  #end(bytes: Uint8Array, start: number, end: number): void {
    const length = this.#heldLength + end - start;
    if (this.#skipping || length > this.#maxLineBytes) {
      this.#sink.tooLong(this.#lineAt, length);
    } else if (this.#heldLength === 0) {
      this.#sink.line(bytes, this.#lineAt, start, end);
    } else {
      const line = concatBytes([...this.#held, bytes.subarray(start, end)], length);
      this.#sink.line(line, this.#lineAt, 0, length);
    }
    this.#held = [];
    this.#heldLength = 0;
    this.#skipping = false;
  }
}

/** Bounds of a reader, so that a stored line cannot exhaust memory or the stack. */
export interface ReadLimits {
  /** Bytes of one line; a longer one is reported and skipped. Minimum: 1024. @default 64 MiB */
  readonly maxLineBytes: number;
  /** Nesting of arrays and objects in one line. Minimum: 8. @default 256 */
  readonly maxDepth: number;
}

/** The default limits of readers and writers. */
export const defaultLimits: ReadLimits = { maxLineBytes: 64 * 1024 * 1024, maxDepth: 256 };
