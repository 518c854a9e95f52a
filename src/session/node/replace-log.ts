import { dirname } from "node:path";
import type { FileSystem, OpenFile } from "../../internal/node/file-system.js";
import { appendFully, assertFullyWritten, createFile } from "../../internal/node/read-write-fully.js";

const chunkBytes = 1 << 20;

/** A file to be copied. */
export interface CopySource {
  readonly file: OpenFile;
  /** Where it was found; another file may have that name by now. */
  readonly path: string;
  /** Where the wanted lines end. */
  readonly end: number;
}

/**
 * Makes a file of another's lines up to an offset, `first` in the place of the first of them. Where that fits into the
 * other's first line and most of the file is wanted, the file is cloned, if that can be: a file system with copy-on-write
 * then shares its blocks. Not synced. False where the other file has lost some of these lines; what was made is to be
 * removed then, and where it throws.
 */
export async function copyLines(
  disk: FileSystem,
  { file, path, end }: CopySource,
  to: string,
  first: Uint8Array,
): Promise<boolean> {
  const room = await firstLineLength(file);
  if (room === 0 || room > end) return false;
  const fitted = fittedInto(first, room);
  if (fitted !== undefined && 2 * end >= file.stat().size && isStill(disk, file, path)) {
    // Whatever kept it from that, copying tells if it matters.
    const cloned = await disk.clone(path, to, fitted, end).catch(() => false);
    if (cloned && isStill(disk, file, path)) return true;
    disk.unlink(to);
  }
  return copyThrough(disk, file, room, end, to, first);
}

/** A line with so many spaces before its line feed that it is as long as this; undefined where it is longer. */
function fittedInto(line: Uint8Array, length: number): Uint8Array | undefined {
  let end = line.length - 1;
  while (end > 0 && line[end - 1] === 0x20) end--;
  if (end >= length) return undefined;
  const fitted = new Uint8Array(length).fill(0x20);
  fitted.set(line.subarray(0, end));
  fitted[length - 1] = 10;
  return fitted;
}

/** With its line feed; 0 where there is none. */
async function firstLineLength(file: OpenFile): Promise<number> {
  const bytes = new Uint8Array(4096);
  for (let at = 0; ; ) {
    const count = await file.read(bytes, at);
    const feed = bytes.subarray(0, count).indexOf(10);
    if (feed >= 0) return at + feed + 1;
    if (count === 0) return 0;
    at += count;
  }
}

function isStill(disk: FileSystem, file: OpenFile, path: string): boolean {
  const { dev, ino } = file.stat();
  const named = disk.stat(path);
  return named?.dev === dev && named.ino === ino;
}

async function copyThrough(
  disk: FileSystem,
  file: OpenFile,
  start: number,
  end: number,
  to: string,
  first: Uint8Array,
): Promise<boolean> {
  const copy = createFile(disk, to);
  try {
    appendFully(copy, first);
    if ((await copyRange(file, copy, start, end)) < end - start) return false;
    return true;
  } finally {
    copy.close();
  }
}

/** Copies a range of a file into a new one, and fsyncs it. */
export async function saveRange(
  disk: FileSystem,
  file: OpenFile,
  start: number,
  end: number,
  location: string,
): Promise<void> {
  const saved = createFile(disk, location);
  try {
    await copyRange(file, saved, start, end);
    await saved.sync();
  } catch (error) {
    disk.unlink(location);
    throw error;
  } finally {
    saved.close();
  }
  await disk.syncDirectory(dirname(location));
}

/**
 * Appends a range of a file to another one that only this program uses. Chunks of NULs become holes, so that
 * a sparse file stays sparse. Returns the number of bytes.
 */
export async function copyRange(file: OpenFile, to: OpenFile, start: number, end: number): Promise<number> {
  const chunk = Buffer.alloc(Math.min(chunkBytes, Math.max(end - start, 1)));
  const nothing = Buffer.alloc(chunk.length);
  let { size } = to.stat();
  let at = start;
  while (at < end) {
    const count = await file.read(chunk.subarray(0, Math.min(chunk.length, end - at)), at);
    if (count === 0) break;
    at += count;
    size += count;
    if (chunk.compare(nothing, 0, count, 0, count) === 0) to.truncate(size);
    else appendFully(to, chunk.subarray(0, count));
  }
  assertFullyWritten(to.stat().size, size);
  return at - start;
}
