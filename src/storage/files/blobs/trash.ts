/** The trash and the quarantine of a file blob store. */

import { basename, dirname, join } from "node:path";
import type { BlobStat, BlobTrash, TrashedBlob } from "../../../blobs/index.js";
import { hashFor, hashTable, partsByRef, refFrom, toRef } from "../../../blobs/internal.js";
import type { BlobRef } from "../../../content/index.js";
import { randomHex8 } from "../../../core/ids.js";
import { errnoCode, type FileStat, publishExclusive, storageError } from "../../../core/node/file-system.js";
import { nodeSha256, readPieces } from "./layout.js";
import { existingPaths, type StoreDirectory } from "./store-directory.js";
import { setTimeToNow } from "./touch.js";

/** `trash/<algorithm>-<file name>`: blobs that a collection removed by moving their files. */
export class FileTrash implements BlobTrash {
  readonly #directory: StoreDirectory;

  constructor(directory: StoreDirectory) {
    this.#directory = directory;
  }

  take(seen: BlobStat): Promise<boolean> {
    return this.#guard(async () => {
      for (const path of await existingPaths(this.#directory, seen.ref)) {
        const to = join("trash", nameInTrash(seen.ref, basename(path)));
        if (moveToTrash(this.#directory, path, to, seen.touchedAt)) return true;
      }
      return false;
    });
  }

  async *list(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<TrashedBlob, void, undefined> {
    const { fileSystem } = this.#directory;
    try {
      this.#directory.check();
      for (const { name } of await fileSystem.list(this.#directory.at("trash"))) {
        options.signal?.throwIfAborted();
        const ref = refOfTrashed(name);
        const stat = ref && fileSystem.lstat(this.#directory.at("trash", name));
        if (ref === undefined || stat?.kind !== "file") continue;
        yield { ref, size: stat.size, ...fileTimes(stat) };
      }
    } catch (error) {
      throw storageError("list the trash of", this.#directory.path, error);
    }
  }

  restore(ref: BlobRef): Promise<boolean> {
    return this.#guard(async () => {
      const { fileSystem, layout } = this.#directory;
      for (const name of await this.#namesByRef(ref)) {
        const from = this.#directory.at("trash", nameInTrash(ref, name));
        const folder = layout.folderByRef(ref);
        if (fileSystem.lstat(from)?.kind !== "file") continue;
        this.#directory.createFolder(folder);
        try {
          const file = fileSystem.open(from, "readNoFollow");
          if (file === undefined) continue;
          try {
            setTimeToNow(file, file.stat());
          } finally {
            file.close();
          }
          await restoreFile(this.#directory, from, join(folder, name), ref);
        } catch (error) {
          if (errnoCode(error) === "ENOENT") continue; // deleted for good, or restored by another process
          throw error;
        }
        return true;
      }
      return false;
    });
  }

  delete(ref: BlobRef, seen?: TrashedBlob): Promise<boolean> {
    return this.#guard(async () => {
      const { fileSystem } = this.#directory;
      let deleted = false;
      for (const name of await this.#namesByRef(ref)) {
        const path = this.#directory.at("trash", nameInTrash(ref, name));
        if (seen !== undefined && !isSeen(fileSystem.lstat(path), seen)) continue;
        if (fileSystem.unlink(path)) deleted = true;
      }
      if (deleted) await this.#directory.sync("trash");
      return deleted;
    });
  }

  /** The file names that a blob in the trash may have had. */
  async #namesByRef(ref: BlobRef): Promise<readonly string[]> {
    const { layout, fileSystem } = this.#directory;
    this.#directory.check();
    const names = layout.namesByRef(ref);
    if (names.length < 2) return names;
    const all = await fileSystem.list(this.#directory.at("trash"));
    return all
      .filter(({ name }) => refOfTrashed(name) === ref)
      .map(({ name }) => name.slice(name.indexOf("-") + 1));
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
 * Moves a blob's file to the trash, if it was not touched since it was seen. The other half of `touchBlob`: a
 * touch that races with this comes either before the move, which is seen here, or after it, and finds the
 * file gone.
 */
export function moveToTrash(directory: StoreDirectory, path: string, to: string, touchedAt: number): boolean {
  const { fileSystem } = directory;
  const [source, target] = [directory.at(path), directory.at(to)];
  if (fileSystem.lstat(source)?.mtimeMs !== touchedAt) return false;
  directory.createFolder("trash");
  try {
    fileSystem.rename(source, target);
  } catch (error) {
    if (errnoCode(error) === "ENOENT") return false; // moved by another collection, or deleted
    throw error;
  }
  if (fileSystem.lstat(target)?.mtimeMs === touchedAt) return true;
  try {
    publishExclusive(fileSystem, target, source);
    fileSystem.unlink(target);
  } catch (error) {
    if (errnoCode(error) !== "ENOENT") throw error; // restored already by the process that touched it
  }
  return false;
}

/**
 * Moves the file seen at a path into quarantine, and returns where. Restores any other that took its place
 * since.
 */
export function quarantine(
  directory: StoreDirectory,
  path: string,
  ref: BlobRef,
  seen: FileStat,
): string | undefined {
  const { fileSystem } = directory;
  const from = directory.at(path);
  const isSame = (stat: FileStat | undefined) => stat?.ino === seen.ino && stat.dev === seen.dev;
  if (!isSame(fileSystem.lstat(from))) return undefined;
  fileSystem.mkdir(directory.at("quarantine"));
  const name = `${partsByRef(ref).algorithm}-${basename(path)}-${randomHex8()}`;
  const to = directory.at("quarantine", name);
  fileSystem.rename(from, to);
  if (isSame(fileSystem.lstat(to))) return to;
  publishExclusive(fileSystem, to, from);
  fileSystem.unlink(to);
  return undefined;
}

/** Deletes what was moved to quarantine under a name. Returns whether there was anything. */
export async function deleteQuarantined(directory: StoreDirectory, ref: BlobRef): Promise<boolean> {
  const { fileSystem } = directory;
  const { algorithm, hex } = partsByRef(ref);
  let isDeleted = false;
  for (const { name } of await fileSystem.list(directory.at("quarantine")))
    if (name.startsWith(`${algorithm}-${hex}`) && fileSystem.unlink(directory.at("quarantine", name)))
      isDeleted = true;
  if (isDeleted) await directory.sync("quarantine");
  return isDeleted;
}

/**
 * Moves a blob's file back to its path. An intact file at the path is kept, a damaged one quarantined. The
 * name is durable once this resolves. Throws ENOENT if the file in the trash is gone.
 */
async function restoreFile(
  directory: StoreDirectory,
  from: string,
  path: string,
  ref: BlobRef,
): Promise<void> {
  const { fileSystem } = directory;
  const to = directory.at(path);
  const isInTrash = fileSystem.lstat(from) !== undefined;
  const found = fileSystem.lstat(to);
  const isDamaged =
    isInTrash &&
    found !== undefined &&
    (found.kind !== "file" || (await fileRef(directory, to, ref)) !== ref);
  if (isDamaged) quarantine(directory, path, ref, found);
  publishExclusive(fileSystem, from, to);
  // Names of two folders reach the disk in any order: the old one must not go before the new one is durable.
  await directory.sync(dirname(path));
  fileSystem.unlink(from);
}

const hashes = hashTable([nodeSha256]);

/** The digest of the bytes at a path, by the algorithm of a ref. */
export async function fileRef({ fileSystem }: StoreDirectory, path: string, ref: BlobRef): Promise<BlobRef> {
  const hash = await hashFor(hashes, partsByRef(ref).algorithm);
  const hasher = hash.create();
  const file = fileSystem.open(path, "readNoFollow");
  if (file === undefined) throw Object.assign(new Error(`ENOENT: ${path} is gone`), { code: "ENOENT" });
  for await (const piece of readPieces(file)) hasher.update(piece);
  return refFrom(hash, hasher);
}

/** A move changes the ctime on most file systems; the mtime is the blob's lease. */
function fileTimes({ ctimeMs, mtimeMs }: FileStat): Pick<TrashedBlob, "trashedAt" | "touchedAt"> {
  return { trashedAt: Math.max(ctimeMs, mtimeMs), touchedAt: mtimeMs };
}

function isSeen(stat: FileStat | undefined, seen: TrashedBlob): boolean {
  if (stat === undefined) return false;
  const { trashedAt, touchedAt } = fileTimes(stat);
  return trashedAt === seen.trashedAt && touchedAt === seen.touchedAt;
}

function nameInTrash(ref: BlobRef, name: string): string {
  return `${partsByRef(ref).algorithm}-${name}`;
}

function refOfTrashed(name: string): BlobRef | undefined {
  const [, algorithm = "", hex = ""] =
    /^(sha256|blake3)-([0-9a-f]{64})(?:\.[A-Za-z0-9]{1,8})?$/.exec(name) ?? [];
  return toRef(algorithm, hex);
}
