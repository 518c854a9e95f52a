/** An erasure in a log file: the bytes of the new file, and the removal of other copies of the old one. */

import { basename, dirname, join } from "node:path";
import type { FileSystem, OpenFile } from "../../core/node/file-system.js";
import type { LineReplacement } from "../../session/index.js";

const chunkBytes = 1 << 20;

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
  const file = fs.open(path, "read");
  if (file === undefined) throw Object.assign(new Error(`ENOENT: ${path} is gone`), { code: "ENOENT" });
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
