import { dirname } from "node:path";
import { errnoOf } from "../../internal/storage-error.js";
import type { StoreDirectory } from "./directory.js";

/** A blob whose lease was renewed. */
export interface Renewed {
  readonly size: number;
  readonly touchedAt: number;
}

/**
 * Renews the lease of a blob, and makes it as durable as one just written: whoever wrote it may not have come to its sync,
 * or not have promised one. Undefined where it is not there, is no file, or has another size than it should.
 *
 * A collection may be taking it at this moment. It moves the file and then looks at its time: if the time was set before,
 * it sees that and brings the file back. If it was set after, the path has no such file any more, which is seen here.
 */
export async function renew(
  directory: StoreDirectory,
  path: string,
  size: number | undefined,
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
    if (before.kind !== "file" || (size !== undefined && before.size !== size)) return undefined;
    disk.setTime(fd, laterThan(before.mtimeMs));
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

/** Now, and in any case later: that a blob was touched has to show, also within one tick of the clock. */
export function laterThan(mtimeMs: number): number {
  return Math.max(Date.now() + Math.random(), mtimeMs + 0.01);
}
