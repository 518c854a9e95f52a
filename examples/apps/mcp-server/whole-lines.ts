import { Transform, type TransformCallback } from "node:stream";

/**
 * Gives lines whole, as few pieces as there can be. A reader that puts what it has and each new piece together, as the SDK's
 * does, would copy a line of many megabytes a thousand times.
 */
export class WholeLines extends Transform {
  readonly #maxLineBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** @param maxLineBytes a longer line ends the stream with an error */
  constructor(maxLineBytes: number) {
    super();
    this.#maxLineBytes = maxLineBytes;
  }

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const first = piece.indexOf(0x0a);
    const end = piece.lastIndexOf(0x0a) + 1;
    const [before, after] = [piece.subarray(0, end), piece.subarray(end)];
    // Lines between the two ends are no longer than the piece, which is here already.
    const begun = this.#bytes + (first < 0 ? piece.length : first);
    if (Math.max(begun, after.length) > this.#maxLineBytes) {
      done(new Error(`a line is longer than ${this.#maxLineBytes} bytes`));
      return;
    }
    if (end > 0) {
      this.push(Buffer.concat([...this.#pieces, before]));
      this.#pieces = [];
      this.#bytes = 0;
    }
    if (after.length > 0) this.#pieces.push(after);
    this.#bytes += after.length;
    done();
  }
}
