/** Renews the lease of a blob by the modification time of its file. */

import { dirname } from "node:path";
import { errnoCode, type FileStat, type OpenFile } from "../../../core/node/file-system.js";
import type { StoreDirectory } from "./store-directory.js";

/** A blob that was touched. */
export interface Touched {
  readonly size: number;
  readonly touchedAt: number;
}

/** Compares an open file with the bytes of a put. Without a promise no other call runs in between. */
export type IsSame = (file: OpenFile) => boolean | Promise<boolean>;

/**
 * Touches a blob and makes it as durable as a new one: another process may have written it without an fsync.
 * Returns undefined if it does not exist, is no regular file, or is not the same.
 *
 * A collection may race with this. It moves the file and then compares its time: if the time was set before
 * the move, the collection sees that and brings the file back. If it was set after, the path no longer has
 * this file, which is seen here.
 */
export async function touchBlob(
  directory: StoreDirectory,
  path: string,
  isSame?: IsSame,
): Promise<Touched | undefined> {
  const { fileSystem, durable } = directory;
  const target = directory.at(path);
  // An lstat costs a tenth of an open that fails, and most puts are of new blobs.
  if (fileSystem.lstat(target)?.kind !== "file") return undefined;
  let file: OpenFile | undefined;
  try {
    file = fileSystem.open(target, "readNoFollow");
  } catch (error) {
    if (!["ENOTDIR", "ELOOP", "EMLINK", "ENXIO"].includes(errnoCode(error) ?? "")) throw error;
  }
  if (file === undefined) return undefined;
  try {
    const before = file.stat();
    if (before.kind !== "file") return undefined;
    const same = isSame?.(file) ?? true;
    if (same !== true && !(await same)) return undefined;
    setTimeToNow(file, before);
    const after = file.stat();
    const found = fileSystem.lstat(target);
    if (found?.ino !== after.ino || found.dev !== after.dev) return undefined;
    if (durable) await file.sync();
    await directory.sync(dirname(path));
    return { size: after.size, touchedAt: after.mtimeMs };
  } finally {
    file.close();
  }
}

/** How far this machine's clock may differ from the file system's, in milliseconds. */
const maxSkewMs = 100;

/**
 * Sets a file's time to now, and in any case later than it was, so that a touch shows even within one tick of
 * the clock. The clock is the file system's, which collections use: the kernel records it as the ctime of
 * this very change. If it records none, this machine's clock counts.
 */
export function setTimeToNow(file: OpenFile, before: FileStat): void {
  const later = before.mtimeMs + 0.01;
  file.setTime(Math.max(Date.now() + Math.random(), later));
  const { ctimeMs, mtimeMs } = file.stat();
  const agrees = ctimeMs <= before.ctimeMs || Math.abs(ctimeMs - Date.now()) < maxSkewMs;
  if (agrees && mtimeMs > before.mtimeMs) return;
  if (!agrees) file.setTime(Math.max(ctimeMs + Math.random(), later));
  // Deno sets whole milliseconds, and other runtimes may be coarser: use the smallest step that shows.
  for (const step of [1, 1000, 2000]) {
    if (file.stat().mtimeMs > before.mtimeMs) return;
    file.setTime(Math.floor(before.mtimeMs) + step);
  }
}
