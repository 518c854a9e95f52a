import { join } from "node:path";
import type { BlobRef } from "../../content/index.js";
import type { BlobStat } from "../backend.js";
import type { StoreDirectory } from "./directory.js";

/** Files that are looked at before anybody else gets a turn. */
const batch = 256;

/**
 * The file names, in its folder, under which a blob may lie: those of the layout, or another program's where the layout
 * gives several and none of them is there.
 */
async function namesThere(directory: StoreDirectory, ref: BlobRef): Promise<readonly string[]> {
  const { layout, disk } = directory;
  const names = layout.namesOf(ref);
  if (names.length < 2) return names;
  const folder = layout.folderOf(ref);
  const known = names.filter((name) => disk.statAt(directory.at(folder, name)) !== undefined);
  if (known.length > 0) return known;
  const all = await disk.list(directory.at(folder));
  return all.filter((name) => layout.refAt(folder, name) === ref);
}

/** The paths, relative to the store, under which a blob may lie. */
export async function pathsThere(directory: StoreDirectory, ref: BlobRef): Promise<readonly string[]> {
  const folder = directory.layout.folderOf(ref);
  return (await namesThere(directory, ref)).map((name) => join(folder, name));
}

/** Every blob of a store, once. */
export async function* listBlobs(
  directory: StoreDirectory,
  signal: AbortSignal | undefined,
): AsyncGenerator<BlobStat, void, undefined> {
  const { layout, disk } = directory;
  for await (const folder of layout.folders((path) => disk.list(directory.at(path)))) {
    const given = new Set<BlobRef>();
    let looked = 0;
    for (const name of await disk.list(directory.at(folder))) {
      signal?.throwIfAborted();
      if (++looked % batch === 0) await new Promise((resolve) => setImmediate(resolve));
      const ref = layout.refAt(folder, name);
      if (ref === undefined || given.has(ref)) continue;
      const stat = disk.statAt(directory.at(folder, name));
      if (stat?.kind !== "file") continue;
      given.add(ref);
      yield { ref, size: stat.size, touchedAt: stat.mtimeMs };
    }
  }
}
