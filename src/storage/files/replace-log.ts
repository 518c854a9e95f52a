/**
 * Whole log files: the atomic replacement of all lines, by a migration, which keeps the old file, or by an
 * erasure, which removes it and its copies; and the copy of a log's lines into a new file for a fork.
 */

import { basename, dirname, join } from "node:path";
import {
  appendFully,
  assertFullyWritten,
  createFile,
  type FileSystem,
  type OpenFile,
  publishExclusive,
  writeNewFile,
} from "../../core/node/file-system.js";
import type { LineReplacement } from "../../session/index.js";
import { sessionExists } from "./file-descriptors.js";
import type { LogWriterOptions } from "./log-writer.js";
import { isSameFile } from "./read-lines.js";

const chunkBytes = 1 << 20;

/**
 * Replaces all lines of a log by an atomic rename of a complete and fsynced temp file. With a time, keeps the
 * old file beside it as `.old-<time>`. Requires the lock. After a failure the log is unchanged and no temp
 * file remains.
 *
 * @param check throws if the log is no longer the one that the lines were made from; called twice
 */
export async function replaceLog(
  fs: FileSystem,
  path: string,
  lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  time: Date | undefined,
  check: () => Promise<void>,
): Promise<void> {
  await check();
  const temporary = `${path}.tmp-${crypto.randomUUID()}`;
  const old = `${path}.old-${time?.toISOString().replace(/[:.]/g, "-")}`;
  let isKept = false;
  try {
    await writeNewFile(fs, temporary, lines);
    isKept = time !== undefined && (await keepOldFile(fs, path, old));
    await check();
    fs.rename(temporary, path);
  } catch (error) {
    fs.unlink(temporary);
    if (isKept) fs.unlink(old);
    throw error;
  }
  await fs.syncDirectory(dirname(path));
}

/**
 * Gives the file a second name by a hard link or a copy, and makes it durable: directory entries reach the
 * disk in any order, and the rename over the old file must not lose it. Returns whether it succeeded.
 */
async function keepOldFile(fs: FileSystem, path: string, old: string): Promise<boolean> {
  let isLinked: boolean;
  try {
    isLinked = fs.link(path, old);
  } catch {
    await saveCopy(fs, path, old);
    return true;
  }
  if (isLinked) await fs.syncDirectory(dirname(path));
  return isLinked;
}

/** Copies a file into a new one, and fsyncs it and its name. */
export async function saveCopy(fs: FileSystem, path: string, to: string): Promise<void> {
  const file = openExisting(fs, path);
  try {
    const saved = createFile(fs, to);
    try {
      await copyRange(file, saved, 0, file.stat().size);
      await saved.sync();
    } catch (error) {
      fs.unlink(to);
      throw error;
    } finally {
      saved.close();
    }
  } finally {
    file.close();
  }
  await fs.syncDirectory(dirname(to));
}

function openExisting(fs: FileSystem, path: string): OpenFile {
  const file = fs.open(path, "read");
  if (file === undefined) throw Object.assign(new Error(`ENOENT: ${path} is gone`), { code: "ENOENT" });
  return file;
}

/** Publishes a complete temp file under the name of a new log, durably with durability "disk". */
export async function publishLog(
  temporary: string,
  { fs, path, durability, directories, id }: LogWriterOptions,
): Promise<void> {
  const isDurable = durability === "disk";
  if (isDurable) await syncFile(fs, temporary);
  if (!publishExclusive(fs, temporary, path)) throw sessionExists(id);
  if (!isDurable) return;
  try {
    await directories.sync(dirname(path));
  } catch (error) {
    fs.unlink(path);
    throw error;
  }
}

async function syncFile(fs: FileSystem, path: string): Promise<void> {
  const file = fs.open(path, "append");
  try {
    await file?.sync();
  } finally {
    file?.close();
  }
}

/** A log to be copied. */
export interface CopySource {
  readonly file: OpenFile;
  /** The path that the file was opened by; another file may have that name now. */
  readonly path: string;
  /** The end of the lines to copy. */
  readonly end: number;
}

/**
 * Copies a log's lines up to an offset into a new file, with `first` in place of its first line. Not fsynced.
 *
 * If `first` fits into the old first line and most of the file is wanted, it tries a clone, which shares
 * blocks on a copy-on-write file system.
 *
 * @returns false if the source has lost some of these lines. The caller removes the new file then, and after
 *   an error.
 */
export async function copyLog(
  fs: FileSystem,
  { file, path, end }: CopySource,
  to: string,
  first: Uint8Array,
): Promise<boolean> {
  const firstLength = await firstLineLength(file);
  if (firstLength === 0 || firstLength > end) return false;
  const padded = padLine(first, firstLength);
  if (padded !== undefined && 2 * end >= file.stat().size && isSameFile(file.stat(), fs.stat(path))) {
    // An error of the clone does not matter, unless the copy below meets it too.
    const isCloned = await fs.clone(path, to, padded, end).catch(() => false);
    if (isCloned && isSameFile(file.stat(), fs.stat(path))) return true;
    fs.unlink(to);
  }
  const copy = createFile(fs, to);
  try {
    appendFully(copy, first);
    return (await copyRange(file, copy, firstLength, end)) === end - firstLength;
  } finally {
    copy.close();
  }
}

/** Pads a line with spaces before its line feed to a length; undefined if it is longer. */
function padLine(line: Uint8Array, length: number): Uint8Array | undefined {
  let end = line.length - 1;
  while (end > 0 && line[end - 1] === 0x20) end--;
  if (end >= length) return undefined;
  const padded = new Uint8Array(length).fill(0x20);
  padded.set(line.subarray(0, end));
  padded[length - 1] = 10;
  return padded;
}

/** The length of the first line with its line feed; 0 without one. */
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

/**
 * Appends a range of a file to another one that only this program uses. Chunks of NULs become holes, so that
 * a sparse file stays sparse. Returns the number of bytes.
 */
async function copyRange(file: OpenFile, to: OpenFile, start: number, end: number): Promise<number> {
  const chunk = Buffer.alloc(Math.min(chunkBytes, Math.max(end - start, 1)));
  const nuls = Buffer.alloc(chunk.length);
  let { size } = to.stat();
  let at = start;
  while (at < end) {
    const count = await file.read(chunk.subarray(0, Math.min(chunk.length, end - at)), at);
    if (count === 0) break;
    at += count;
    size += count;
    if (chunk.compare(nuls, 0, count, 0, count) === 0) to.truncate(size);
    else appendFully(to, chunk.subarray(0, count));
  }
  assertFullyWritten(to.stat().size, size);
  return at - start;
}

/** Places where erased content may remain, for people. */
export const remainingOfFiles: readonly string[] = [
  "freed blocks of the disk until they are written again",
  "snapshots and backups of the file system",
];

/** The same for entries of a session: the file of a crashed fork has another name, and is not listed. */
export const remainingOfEntries: readonly string[] = [
  ...remainingOfFiles,
  "unfinished copies of forks that a crash cut off (`*.tmp-*`), and files beside deleted sessions",
];

/** Yields the bytes of a file with lines in place of others. */
export async function* withReplacedLines(
  fs: FileSystem,
  path: string,
  changes: readonly LineReplacement[],
): AsyncGenerator<Uint8Array> {
  const file = openExisting(fs, path);
  try {
    let from = 0;
    for (const { at, length, line } of changes) {
      yield* bytesBetween(file, from, at);
      yield line;
      from = at + length + 1;
    }
    yield* bytesBetween(file, from, file.stat().size);
  } finally {
    file.close();
  }
}

async function* bytesBetween(file: OpenFile, start: number, end: number): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; ) {
    const chunk = new Uint8Array(Math.min(chunkBytes, end - at));
    const count = await file.read(chunk, at);
    if (count === 0) throw Object.assign(new Error("EIO: the file became shorter"), { code: "EIO" });
    yield chunk.subarray(0, count);
    at += count;
  }
}

/** The file before a migration, an end that was cut off, and unfinished new files. */
const copySuffix = /^\.(?:old|torn|tmp)-/;

/**
 * Removes the other files that have lines of a log, durably, and returns their paths. Requires the lock, so
 * that no other program is writing one.
 */
export async function removeCopies(fs: FileSystem, path: string): Promise<readonly string[]> {
  const directory = dirname(path);
  const name = basename(path);
  const removed: string[] = [];
  for (const { name: other, kind } of await fs.list(directory)) {
    if (kind === "directory" || !other.startsWith(name)) continue;
    const copy = join(directory, other);
    if (copySuffix.test(other.slice(name.length)) && fs.unlink(copy)) removed.push(copy);
  }
  if (removed.length > 0) await fs.syncDirectory(directory);
  return removed.sort();
}
