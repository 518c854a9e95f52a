import type { BlobDisk } from "./disk.js";

/** Up to so many bytes are read at once; more in pieces, in the thread pool. */
const wholeBytes = 256 * 1024;
const pieceBytes = 1024 * 1024;

/** The bytes of an open file of this size, which is closed where they were few; undefined where they are not. */
export function readWhole(disk: BlobDisk, fd: number, size: number): Uint8Array | undefined {
  if (size > wholeBytes) return undefined;
  // One more than it should have, so that a file that grew is found to be another.
  const into = new Uint8Array(size + 1);
  let length = 0;
  for (let count = -1; count !== 0 && length < into.length; length += count) {
    count = disk.readNow(fd, into.subarray(length));
  }
  return into.subarray(0, length);
}

/** The bytes of a file in pieces. The next is being read while one is looked at. Closes the file, however it ends. */
export async function* readPieces(disk: BlobDisk, fd: number): AsyncGenerator<Uint8Array, void, undefined> {
  const readNext = async (): Promise<Uint8Array> => {
    const into = new Uint8Array(pieceBytes);
    return into.subarray(0, await disk.read(fd, into));
  };
  let next: Promise<Uint8Array> | undefined;
  try {
    next = readNext();
    for (let piece = await next; piece.length > 0; piece = await next) {
      next = readNext();
      next.catch(() => undefined);
      yield piece;
    }
  } finally {
    // The descriptor's number may be another file's by the time that a late read comes to it.
    await next?.catch(() => undefined);
    disk.close(fd);
  }
}
