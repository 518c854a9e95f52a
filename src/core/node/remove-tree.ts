/** Removes the directory of a partition, atomically by name. */

import { basename, dirname, join } from "node:path";
import { randomHex8 } from "../ids.js";
import type { FileSystem } from "./file-system.js";

/**
 * Removes the directory of a partition with everything in it, durably. It loses its name first, by one
 * rename, so that a reader never sees a part of it; a call after a crash removes what an earlier one left.
 * Links are removed and not followed; their paths are returned.
 */
export async function removePartition(fs: FileSystem, directory: string): Promise<readonly string[]> {
  const parent = dirname(directory);
  // No name of a partition has an @.
  const doomed = `@${basename(directory)}@`;
  const links: string[] = [];
  const kind = fs.lstat(directory)?.kind;
  if (kind === "link") {
    links.push(directory);
    fs.unlink(directory);
  } else if (kind !== undefined) {
    fs.rename(directory, join(parent, `${doomed}${randomHex8()}`));
    await fs.syncDirectory(parent);
  }
  let isChanged = kind === "link";
  for (const { name } of await fs.list(parent)) {
    if (!name.startsWith(doomed)) continue;
    await removeTree(fs, join(parent, name), links);
    isChanged = true;
  }
  if (isChanged) await fs.syncDirectory(parent);
  return links;
}

async function removeTree(fs: FileSystem, path: string, links: string[]): Promise<void> {
  for (const { name, kind } of await fs.list(path)) {
    const inner = join(path, name);
    if (kind === "directory") await removeTree(fs, inner, links);
    else if (fs.unlink(inner) && kind === "link") links.push(inner);
  }
  fs.rmdir(path);
}
