/** Complete reads and writes: loops over short reads and writes, and guards against silent ones. */

import type { FileSystem, OpenFile, OpenMode } from "./file-system.js";

/** Reads at an offset until `into` is full or the file ends. Returns the number of bytes read. */
export async function readFully(file: OpenFile, into: Uint8Array, at: number): Promise<number> {
  let done = 0;
  while (done < into.length) {
    const count = await file.read(done === 0 ? into : into.subarray(done), at + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/** {@link readFully} on the calling thread. */
export function readFullySync(file: OpenFile, into: Uint8Array, at: number): number {
  let done = 0;
  while (done < into.length) {
    const count = file.readSync(done === 0 ? into : into.subarray(done), at + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/**
 * Appends all of the bytes, in as many writes as it takes.
 *
 * @param written receives the number of bytes of each write, to undo a failed append
 */
export function appendFully(file: OpenFile, bytes: Uint8Array, written?: (count: number) => void): void {
  for (let done = 0; done < bytes.length; ) {
    const count = file.append(done === 0 ? bytes : bytes.subarray(done));
    if (count <= 0) throw noProgress();
    done += count;
    written?.(count);
  }
}

/** {@link appendFully} on a thread of the pool. */
export async function appendFullyAsync(file: OpenFile, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const count = await file.appendAsync(bytes.subarray(done));
    if (count <= 0) throw noProgress();
    done += count;
  }
}

/** Creates a file. Throws EEXIST if there is one. */
export function createFile(fileSystem: FileSystem, path: string, mode: OpenMode = "create"): OpenFile {
  const file = fileSystem.open(path, mode);
  if (file !== undefined) return file;
  throw Object.assign(new Error(`EEXIST: ${path} is there already`), { code: "EEXIST" });
}

/**
 * Writes a complete new file and, unless told otherwise, fsyncs it: the first half of an atomic publish.
 * Removes the file if anything fails.
 */
export async function writeNewFile(
  fileSystem: FileSystem,
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { sync = true, mode = "create" as OpenMode } = {},
): Promise<void> {
  const file = createFile(fileSystem, path, mode);
  try {
    try {
      let size = 0;
      for await (const chunk of chunks) {
        appendFully(file, chunk);
        size += chunk.length;
      }
      if (sync) await file.sync();
      assertFullyWritten(file.stat().size, size);
    } finally {
      file.close();
    }
  } catch (error) {
    fileSystem.unlink(path);
    throw error;
  }
}

/**
 * Guards against silent short writes: throws EIO if the size of a file is not the number of bytes written, so
 * that a truncated file is never published.
 */
export function assertFullyWritten(size: number, written: number): void {
  if (size === written) return;
  const message = `EIO: the file has ${size} bytes, and ${written} were written`;
  throw Object.assign(new Error(message), { code: "EIO" });
}

/** The error of a write of no bytes, which would be retried forever. */
function noProgress(): Error {
  return Object.assign(new Error("EIO: a write took no bytes"), { code: "EIO" });
}
