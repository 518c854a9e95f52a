/** Publishes a complete file under a free name, without replacing another one. */

import type { FileSystem } from "./file-system.js";
import { errnoCode } from "./file-system.js";

/** Errors of link(2) on file systems without hard links, and of names that have as many as they can. */
const noLinks = [
  "EPERM",
  "EACCES",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EINVAL",
  "EISDIR",
  "UNKNOWN",
];

/**
 * Atomically publishes a complete temp file as `path` without replacing an existing file: link(2), because
 * rename(2) overwrites. Returns false if `path` exists. The temp name may remain in both cases, and the
 * caller unlinks it.
 *
 * Without hard links it falls back to a rename: two processes that publish at the same moment may both
 * succeed.
 */
export function publishExclusive(fileSystem: FileSystem, temporary: string, path: string): boolean {
  try {
    return fileSystem.link(temporary, path);
  } catch (error) {
    if (!noLinks.includes(errnoCode(error) ?? "UNKNOWN")) throw error;
  }
  if (fileSystem.lstat(path) !== undefined) return false;
  fileSystem.rename(temporary, path);
  return true;
}
