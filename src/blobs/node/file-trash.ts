import { basename, join } from "node:path";
import type { BlobRef } from "../../content/index.js";
import { errnoOf, storageError } from "../../internal/storage-error.js";
import type { BlobStat, BlobTrash, TrashedBlob } from "../backend.js";
import { partsOf, refOf } from "../ref.js";
import { placeNew, type StoreDirectory } from "./directory.js";
import type { FileStat } from "./disk.js";
import { pathsThere } from "./locate.js";
import { placeBack } from "./quarantine.js";
import { setTimeToNow } from "./renew.js";

/** `trash/<algorithm>-<file name>`: a blob that was taken out by moving its file. */
export class FileTrash implements BlobTrash {
  readonly #directory: StoreDirectory;

  constructor(directory: StoreDirectory) {
    this.#directory = directory;
  }

  take(seen: BlobStat): Promise<boolean> {
    return this.#guard(async () => {
      for (const path of await pathsThere(this.#directory, seen.ref)) {
        const to = join("trash", nameInTrash(seen.ref, basename(path)));
        if (takeFile(this.#directory, path, to, seen.touchedAt)) return true;
      }
      return false;
    });
  }

  async *list(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<TrashedBlob, void, undefined> {
    const { disk } = this.#directory;
    try {
      this.#directory.check();
      for (const name of await disk.list(this.#directory.at("trash"))) {
        options.signal?.throwIfAborted();
        const ref = this.#refOf(name);
        const stat = ref && disk.statAt(this.#directory.at("trash", name));
        if (ref === undefined || stat?.kind !== "file") continue;
        yield { ref, size: stat.size, ...timesOf(stat) };
      }
    } catch (error) {
      throw storageError("list the trash of", this.#directory.path, error);
    }
  }

  restore(ref: BlobRef): Promise<boolean> {
    return this.#guard(async () => {
      const { disk, layout } = this.#directory;
      for (const name of await this.#namesOf(ref)) {
        const from = this.#directory.at("trash", nameInTrash(ref, name));
        const folder = layout.folderOf(ref);
        if (disk.statAt(from)?.kind !== "file") continue;
        this.#directory.makeFolder(folder);
        try {
          const fd = disk.open(from);
          try {
            setTimeToNow(disk, fd, disk.stat(fd));
          } finally {
            disk.close(fd);
          }
          await placeBack(this.#directory, from, join(folder, name), ref);
        } catch (error) {
          if (errnoOf(error) === "ENOENT") continue; // deleted for good, or restored by another
          throw error;
        }
        return true;
      }
      return false;
    });
  }

  delete(ref: BlobRef, seen?: TrashedBlob): Promise<boolean> {
    return this.#guard(async () => {
      const { disk } = this.#directory;
      let deleted = false;
      for (const name of await this.#namesOf(ref)) {
        const path = this.#directory.at("trash", nameInTrash(ref, name));
        if (seen !== undefined && !isSeen(disk.statAt(path), seen)) continue;
        if (disk.unlink(path)) deleted = true;
      }
      if (deleted) await this.#directory.sync("trash");
      return deleted;
    });
  }

  /** The file names that a blob in the trash may have had. */
  async #namesOf(ref: BlobRef): Promise<readonly string[]> {
    const { layout, disk } = this.#directory;
    this.#directory.check();
    const names = layout.namesOf(ref);
    if (names.length < 2) return names;
    const all = await disk.list(this.#directory.at("trash"));
    return all.filter((name) => this.#refOf(name) === ref).map((name) => name.slice(name.indexOf("-") + 1));
  }

  #refOf(name: string): BlobRef | undefined {
    const [, algorithm = "", hex = ""] =
      /^(sha256|blake3)-([0-9a-f]{64})(?:\.[A-Za-z0-9]{1,8})?$/.exec(name) ?? [];
    return refOf(algorithm, hex);
  }

  async #guard<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      throw storageError("collect in", this.#directory.path, error);
    }
  }
}

/**
 * Moves a blob's file, if it was not touched since it was seen. The other half of `renew`, which see: whoever renews the
 * lease in between either does so before the move, and it is seen here, or after, and finds the file gone.
 */
export function takeFile(directory: StoreDirectory, path: string, to: string, touchedAt: number): boolean {
  const { disk } = directory;
  const [source, target] = [directory.at(path), directory.at(to)];
  if (disk.statAt(source)?.mtimeMs !== touchedAt) return false;
  directory.makeFolder("trash");
  try {
    disk.rename(source, target);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false; // another collection took it, or it was deleted
    throw error;
  }
  if (disk.statAt(target)?.mtimeMs === touchedAt) return true;
  try {
    placeNew(disk, target, source);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error; // whoever renewed it has brought it back already
  }
  return false;
}

/** Moving a file changes the first time, on most file systems; the second is its lease. */
function timesOf({ ctimeMs, mtimeMs }: FileStat): Pick<TrashedBlob, "trashedAt" | "touchedAt"> {
  return { trashedAt: Math.max(ctimeMs, mtimeMs), touchedAt: mtimeMs };
}

function isSeen(stat: FileStat | undefined, seen: TrashedBlob): boolean {
  if (stat === undefined) return false;
  const { trashedAt, touchedAt } = timesOf(stat);
  return trashedAt === seen.trashedAt && touchedAt === seen.touchedAt;
}

function nameInTrash(ref: BlobRef, name: string): string {
  return `${partsOf(ref).algorithm}-${name}`;
}
