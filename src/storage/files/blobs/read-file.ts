/** Reads blob files: small ones whole, large ones in pieces on the thread pool. */

import { type OpenFile, readFullySync } from "../../../core/node/file-system.js";

/** Files up to this size are read on the calling thread; larger ones in pieces on the pool. */
const wholeBytes = 256 * 1024;
const pieceBytes = 1024 * 1024;

/** The bytes of an open file of this size; undefined if they are too many to be read at once. */
export function readWhole(file: OpenFile, size: number): Uint8Array | undefined {
  if (size > wholeBytes) return undefined;
  // One byte more than expected, so that a file that grew fails verification.
  const into = new Uint8Array(size + 1);
  return into.subarray(0, readFullySync(file, into, 0));
}

/** Whether an open file has exactly these bytes: at once if they are few, else read on the pool. */
export function hasBytes(file: OpenFile, bytes: Uint8Array): boolean | Promise<boolean> {
  const whole = readWhole(file, bytes.length);
  if (whole !== undefined) return Buffer.compare(whole, bytes) === 0;
  return (async () => {
    const into = new Uint8Array(pieceBytes);
    for (let at = 0; ; ) {
      const count = await file.read(into, at);
      if (count === 0) return at === bytes.length;
      if (Buffer.compare(into.subarray(0, count), bytes.subarray(at, at + count)) !== 0) return false;
      at += count;
    }
  })();
}

/** The bytes of a file in pieces, with one piece read ahead. Closes the file, however it ends. */
export async function* readPieces(file: OpenFile): AsyncGenerator<Uint8Array, void, undefined> {
  const readAt = async (at: number): Promise<Uint8Array> => {
    const into = new Uint8Array(pieceBytes);
    return into.subarray(0, await file.read(into, at));
  };
  try {
    let next = readAt(0);
    for (let at = 0; ; ) {
      const piece = await next;
      if (piece.length === 0) return;
      at += piece.length;
      next = readAt(at);
      // A failure that is never awaited must not be an unhandled rejection.
      next.catch(() => undefined);
      yield piece;
    }
  } finally {
    file.close();
  }
}
