/** The backend of blobs in files: temp file, fsync, atomic rename. */

import { dirname, join } from "node:path";
import type {
  BlobBackend,
  BlobHints,
  BlobLeftovers,
  BlobReading,
  BlobStat,
  BlobWriter,
} from "../../../blobs/index.js";
import { corruptError, ProcessQuotas, shareQuotas } from "../../../blobs/internal.js";
import type { BlobRef } from "../../../content/index.js";
import type { Durability } from "../../../core/arguments.js";
import { Semaphore } from "../../../core/concurrency.js";
import { partitionFolder } from "../../../core/ids.js";
import {
  errnoCode,
  type FileStat,
  type FileSystem,
  type OpenFile,
  removePartition,
  storageError,
} from "../../../core/node/file-system.js";
import { hasBytes, type Layout, readPieces, readWhole, removeTempFiles, TempFile } from "./layout.js";
import { existingPaths, listBlobs, StoreDirectory } from "./store-directory.js";
import { type IsSame, type Touched, touchBlob } from "./touch.js";
import { deleteQuarantined, FileTrash, fileRef, quarantine } from "./trash.js";

/** Options of {@link FileBlobBackend}. */
export interface FileBackendOptions {
  readonly dir: string;
  readonly fileSystem: FileSystem;
  readonly layout: Layout;
  readonly durability: Durability;
}

/** Concurrent puts that hold a descriptor: of bytes in memory, and as many of streams. */
const maxConcurrentPuts = 32;
/** One more stream is admitted if all of them have waited for their sources for so many milliseconds. */
const stallMs = 100;

/** The counts of the directories that this process has stores on, least recently opened first. */
const counts = new Map<string, ProcessQuotas>();
const maxCounts = 1000;

function quotasAt(path: string): ProcessQuotas {
  const known = counts.get(path) ?? new ProcessQuotas();
  counts.delete(path);
  counts.set(path, known);
  for (const [oldest] of counts) {
    if (counts.size <= maxCounts) break;
    counts.delete(oldest);
  }
  return known;
}

/**
 * Blobs as files below a directory. See `layout.ts` for the paths, and `TempFile` for the order of writes.
 */
export class FileBlobBackend implements BlobBackend {
  readonly trash: FileTrash;
  readonly #options: FileBackendOptions;
  readonly #whole: FileBlobBackend;
  readonly #directory: StoreDirectory;
  readonly #puts = new Semaphore(maxConcurrentPuts);
  readonly #streams = new Semaphore(maxConcurrentPuts, { stallMs });

  constructor(options: FileBackendOptions, whole?: FileBlobBackend) {
    const { dir, fileSystem, layout, durability } = options;
    this.#options = options;
    this.#whole = whole ?? this;
    this.#directory = new StoreDirectory(dir, fileSystem, layout, durability);
    this.trash = new FileTrash(this.#directory);
    shareQuotas(this, quotasAt(this.#directory.path));
  }

  get location(): string {
    return this.#directory.path;
  }

  write(ref: BlobRef, bytes: Uint8Array, hints: BlobHints): Promise<BlobStat> {
    return this.#puts.run(() =>
      this.#guard("put into", async () => {
        this.#directory.check();
        const path = this.#pathFor(ref, hints);
        const touched = await this.#touch(path, (file) => hasBytes(file, bytes));
        if (touched !== undefined) return { ref, ...touched };
        const file = await TempFile.create(this.#directory);
        try {
          file.writeSync(bytes);
          return await this.#publish(file, path, ref, bytes.length);
        } catch (error) {
          file.discard();
          throw error;
        }
      }),
    );
  }

  async create(hints: BlobHints): Promise<BlobWriter> {
    const permit = await this.#streams.acquire();
    const act = <T>(run: () => Promise<T>): Promise<T> => permit.run(() => this.#guard("put into", run));
    let file: TempFile;
    try {
      file = await act(() => TempFile.create(this.#directory));
    } catch (error) {
      permit.release();
      throw error;
    }
    let size = 0;
    return {
      write: (chunk) =>
        act(async () => {
          await file.write(chunk);
          size += chunk.length;
        }),
      // The bytes are written by now: replacing an existing file costs less than reading it, and heals a
      // damaged one.
      commit: async (ref) => {
        const stat = await act(() => this.#publish(file, this.#pathFor(ref, hints), ref, size));
        permit.release();
        return stat;
      },
      discard: async () => {
        file.discard();
        permit.release();
      },
    };
  }

  read(ref: BlobRef): Promise<BlobReading | undefined> {
    return this.#guard("read from", async () => {
      this.#directory.check();
      for (const path of await existingPaths(this.#directory, ref)) {
        const opened = this.#open(path, ref);
        if (opened === undefined) continue;
        const { file, stat } = opened;
        let bytes: Uint8Array | undefined;
        try {
          bytes = readWhole(file, stat.size);
        } finally {
          file.close();
        }
        return {
          size: stat.size,
          bytes: bytes === undefined ? this.#pieces(path, ref) : single(bytes),
          quarantine: async () => quarantine(this.#directory, path, ref, stat),
        };
      }
      return undefined;
    });
  }

  stat(ref: BlobRef): Promise<BlobStat | undefined> {
    return this.#guard("look into", async () => {
      this.#directory.check();
      for (const path of await existingPaths(this.#directory, ref)) {
        const stat = this.#directory.fileSystem.lstat(this.#directory.at(path));
        if (stat?.kind === "file") return { ref, size: stat.size, touchedAt: stat.mtimeMs };
      }
      return undefined;
    });
  }

  locate(ref: BlobRef): Promise<string | undefined> {
    return this.#guard("look into", async () => {
      this.#directory.check();
      for (const path of await existingPaths(this.#directory, ref)) {
        const absolute = this.#directory.at(path);
        if (this.#directory.fileSystem.lstat(absolute)?.kind === "file") return absolute;
      }
      return undefined;
    });
  }

  touch(ref: BlobRef): Promise<BlobStat | undefined> {
    return this.#guard("touch in", async () => {
      this.#directory.check();
      for (const path of await existingPaths(this.#directory, ref)) {
        const touched = await touchBlob(this.#directory, path);
        if (touched !== undefined) return { ref, ...touched };
      }
      return undefined;
    });
  }

  async *list(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<BlobStat, void, undefined> {
    try {
      this.#directory.check();
      yield* listBlobs(this.#directory, options.signal);
    } catch (error) {
      throw storageError("list", this.location, error);
    }
  }

  delete(ref: BlobRef): Promise<boolean> {
    return this.#guard("delete from", async () => {
      this.#directory.check();
      let deleted = false;
      for (const path of await existingPaths(this.#directory, ref)) {
        const target = this.#directory.at(path);
        if (this.#directory.fileSystem.lstat(target)?.kind !== "file") continue;
        if (!this.#directory.fileSystem.unlink(target)) continue;
        deleted = true;
        await this.#directory.sync(dirname(path));
      }
      return deleted;
    });
  }

  /** The file system's clock; that of a network file system differs from this machine's. */
  now(): Promise<number> {
    return this.#guard("look into", async () => {
      const file = await TempFile.create(this.#directory);
      try {
        return file.mtimeMs();
      } finally {
        file.discard();
      }
    });
  }

  partition(name: string): FileBlobBackend {
    const dir = join(this.#whole.#options.dir, partitionFolder(name));
    return new FileBlobBackend({ ...this.#options, dir }, this.#whole);
  }

  clear(): Promise<readonly string[]> {
    return this.#guard("clear", async () => {
      if (this.#whole === this) throw new TypeError("clear: expected a named partition, got the whole store");
      const links = await removePartition(this.#directory.fileSystem, this.#options.dir);
      return links.map((path) => `files behind the link ${path}`);
    });
  }

  deleteQuarantined(ref: BlobRef): Promise<boolean> {
    return this.#guard("clean", () => deleteQuarantined(this.#directory, ref));
  }

  removeLeftovers(before: number, options: { readonly dryRun: boolean }): Promise<BlobLeftovers> {
    return this.#guard("clean", () => removeTempFiles(this.#directory, before, options));
  }

  /** The path of a blob: the first that exists, or that of a new file. */
  #pathFor(ref: BlobRef, { mediaType }: BlobHints): string {
    const { layout, fileSystem } = this.#directory;
    const folder = layout.folderByRef(ref);
    const names = layout.namesByRef(ref);
    const exists = (name: string) => fileSystem.lstat(this.#directory.at(folder, name)) !== undefined;
    const found = names.length > 1 ? names.find(exists) : undefined;
    return join(folder, found ?? layout.nameFor(ref, mediaType));
  }

  async #touch(path: string, isSame: IsSame): Promise<Touched | undefined> {
    try {
      return await touchBlob(this.#directory, path, isSame);
    } catch (error) {
      // It cannot be read, touched or fsynced: the caller has the bytes and writes them anew.
      if (errnoCode(error) === undefined) throw error;
      return undefined;
    }
  }

  async #publish(file: TempFile, path: string, ref: BlobRef, size: number): Promise<BlobStat> {
    try {
      return { ref, size, touchedAt: await file.publish(path) };
    } catch (error) {
      // Windows does not replace a file that is read-only or open; an identical one will do.
      if (!["EPERM", "EACCES", "EBUSY", "EEXIST"].includes(errnoCode(error) ?? "")) throw error;
      const touched = await this.#touch(
        path,
        async () => (await fileRef(this.#directory, path, ref)) === ref,
      );
      if (touched === undefined) throw error;
      file.discard();
      return { ref, ...touched };
    }
  }

  /** Opens a blob; undefined if there is none. Throws BLOB_CORRUPT if it is no regular file. */
  #open(path: string, ref: BlobRef): { readonly file: OpenFile; readonly stat: FileStat } | undefined {
    const { fileSystem } = this.#directory;
    const target = this.#directory.at(path);
    let file: OpenFile | undefined;
    try {
      file = fileSystem.open(target, "readNoFollow");
    } catch (error) {
      const stat = errnoCode(error) === "ENOTDIR" ? undefined : fileSystem.lstat(target);
      if (stat === undefined) return undefined;
      if (stat.kind === "file") throw error;
      throw this.#notAFile(path, ref, stat);
    }
    if (file === undefined) return undefined;
    const stat = file.stat();
    if (stat.kind === "file") return { file, stat };
    file.close();
    throw this.#notAFile(path, ref, stat);
  }

  /**
   * A large file's pieces. It is opened when they are asked for, so that an unread stream holds no
   * descriptor.
   */
  async *#pieces(path: string, ref: BlobRef): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      const opened = this.#open(path, ref) ?? (await this.#openRestored(ref));
      if (opened === undefined) {
        throw Object.assign(new Error(`ENOENT: ${path} was deleted`), { code: "ENOENT" });
      }
      yield* readPieces(opened.file);
    } catch (error) {
      throw storageError("read from", this.location, error);
    }
  }

  /** Opens a blob that existed a moment ago, restored from the trash if a collection has moved it since. */
  async #openRestored(ref: BlobRef): Promise<{ readonly file: OpenFile } | undefined> {
    await this.trash.restore(ref);
    for (const path of await existingPaths(this.#directory, ref)) {
      const opened = this.#open(path, ref);
      if (opened !== undefined) return opened;
    }
    return undefined;
  }

  #notAFile(path: string, ref: BlobRef, stat: FileStat): Error {
    let quarantined: string | undefined;
    try {
      quarantined = quarantine(this.#directory, path, ref, stat);
    } catch {
      // The caller needs the error below more.
    }
    const actual = `a ${stat.kind}`;
    return corruptError({
      expected: ref,
      actual,
      size: stat.size,
      ...(quarantined === undefined ? {} : { quarantined }),
    });
  }

  async #guard<T>(operation: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      throw storageError(operation, this.location, error);
    }
  }
}

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}
