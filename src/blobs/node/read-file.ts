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

/** Whether an open file has these bytes and no more: at once if they are few, else in the thread pool. */
export function hasBytes(disk: BlobDisk, fd: number, bytes: Uint8Array): boolean | Promise<boolean> {
  const whole = readWhole(disk, fd, bytes.length);
  if (whole !== undefined) return Buffer.compare(whole, bytes) === 0;
  return (async () => {
    const into = new Uint8Array(pieceBytes);
    for (let at = 0; ; ) {
      const count = await disk.read(fd, into);
      if (count === 0) return at === bytes.length;
      if (Buffer.compare(into.subarray(0, count), bytes.subarray(at, at + count)) !== 0) return false;
      at += count;
    }
  })();
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
