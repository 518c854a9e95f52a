/** Safe reading of local files that users or models name. */

import { nodeFileSystem } from "../../../core/node/node-file-system.js";
import type { LocalFile, ReadLocalFileOptions } from "./read-local-file.js";

export type { LocalFile, ReadLocalFileOptions };

/**
 * Reads a whole regular file, given by an absolute path or a file URL. It never blocks on a FIFO or a device,
 * never reads more than `maxBytes`, and detects a change while it reads. Races cannot lead it out of the
 * roots, as a directory that is replaced by a link. Hard links and bind mounts below a root are read, even if
 * the file is outside too.
 *
 * @throws SessileError FILE_REFUSED, NOT_A_FILE, FILE_TOO_LARGE, CHANGED_DURING_READ, STORAGE_FAILED
 * @throws TypeError if `path` is neither a string nor a URL
 * @example
 * ```ts
 * const { bytes, name } = await readLocalFile("/home/me/screen.png", { roots: ["/home/me"] });
 * ```
 */
export async function readLocalFile(
  path: string | URL,
  options: ReadLocalFileOptions = {},
): Promise<LocalFile> {
  const { readWith } = await import("./read-local-file.js");
  return readWith(nodeFileSystem, path, options);
}
