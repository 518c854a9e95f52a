import { dirname } from "node:path";
import { errnoOf } from "../../internal/storage-error.js";
import type { StoreDirectory } from "./directory.js";
import type { BlobDisk, FileStat } from "./disk.js";

/** A blob whose lease was renewed. */
export interface Renewed {
  readonly size: number;
  readonly touchedAt: number;
}

/** Compares an open file with what a put brings. Without a promise no other call comes in between. */
export type IsSame = (fd: number) => boolean | Promise<boolean>;

/**
 * Renews the lease of a blob, and makes it as durable as one just written: another process may have written it without a
 * sync. Undefined if it is not there, is no file, or is not the same.
 *
 * A collection may be taking it at this moment. It moves the file and then looks at its time: if the time was set before,
 * it sees that and brings the file back. If it was set after, the path has no such file any more, which is seen here.
 */
export async function renew(
  directory: StoreDirectory,
  path: string,
  isSame?: IsSame,
): Promise<Renewed | undefined> {
  const { disk, durable } = directory;
  const target = directory.at(path);
  // A look costs a tenth of an open that fails, and most puts are of new blobs.
  if (disk.statAt(target)?.kind !== "file") return undefined;
  let fd: number;
  try {
    fd = disk.open(target);
  } catch (error) {
    const errno = errnoOf(error) ?? "";
    const isNone = ["ENOENT", "ENOTDIR", "ELOOP", "EMLINK", "ENXIO"].includes(errno);
    if (isNone) return undefined;
    throw error;
  }
  try {
    const before = disk.stat(fd);
    if (before.kind !== "file") return undefined;
    const same = isSame?.(fd) ?? true;
    if (same !== true && !(await same)) return undefined;
    setTimeToNow(disk, fd, before);
    const after = disk.stat(fd);
    const found = disk.statAt(target);
    if (found?.ino !== after.ino || found.dev !== after.dev) return undefined;
    if (durable) await disk.sync(fd);
    await directory.sync(dirname(path));
    return { size: after.size, touchedAt: after.mtimeMs };
  } finally {
    disk.close(fd);
  }
}

/** How far this machine's clock may be from the file system's before it counts, in milliseconds. */
const agreementMs = 100;

/**
 * Sets a file's time to now, and in any case later than it was: that a blob was touched has to show, also within one tick
 * of the clock. The clock is the file system's, by which a collection goes: to set a time is a change of the file, and
 * when that was, it notes by itself. Where it does not, this machine's counts.
 */
export function setTimeToNow(disk: BlobDisk, fd: number, before: FileStat): void {
  const later = before.mtimeMs + 0.01;
  disk.setTime(fd, Math.max(Date.now() + Math.random(), later));
  const { ctimeMs, mtimeMs } = disk.stat(fd);
  const agrees = ctimeMs <= before.ctimeMs || Math.abs(ctimeMs - Date.now()) < agreementMs;
  if (agrees && mtimeMs > before.mtimeMs) return;
  if (!agrees) disk.setTime(fd, Math.max(ctimeMs + Math.random(), later));
  // Deno sets whole milliseconds, and others may round to less: then by as little as shows.
  for (const step of [1, 1000, 2000]) {
    if (disk.stat(fd).mtimeMs > before.mtimeMs) return;
    disk.setTime(fd, Math.floor(before.mtimeMs) + step);
  }
}
