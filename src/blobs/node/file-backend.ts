import { dirname, join } from "node:path";
import type { BlobRef } from "../../content/index.js";
import { partitionFolder } from "../../internal/names.js";
import { errnoOf, storageError } from "../../internal/storage-error.js";
import type { BlobBackend, BlobHints, BlobLeftovers, BlobReading, BlobStat, BlobWriter } from "../backend.js";
import { shareUsage, Usage } from "../quota.js";
import { corruptError } from "../reading.js";
import { type Durability, StoreDirectory } from "./directory.js";
import type { BlobDisk, FileStat } from "./disk.js";
import { FileTrash } from "./file-trash.js";
import { gate } from "./gate.js";
import type { Layout } from "./layout.js";
import { removeLeftovers } from "./leftovers.js";
import { listBlobs, pathsThere } from "./locate.js";
import { NewFile } from "./new-file.js";
import { putAside, refAt } from "./quarantine.js";
import { hasBytes, readPieces, readWhole } from "./read-file.js";
import { type IsSame, type Renewed, renew } from "./renew.js";
import { turns } from "./turns.js";

/** What a backend on files is made of. */
export interface FileBackendOptions {
  readonly dir: string;
  readonly disk: BlobDisk;
  readonly layout: Layout;
  readonly durability: Durability;
}

/** Puts that hold a descriptor at a time: so many of bytes at hand, which wait for nobody, and so many of others. */
const putsAtATime = 32;
/** How long these others may all wait for their sources before one more is let in, in milliseconds. */
const patienceMs = 100;

/** What the directories hold that this process has stores on; the one that was opened longest ago is forgotten. */
const usages = new Map<string, Usage>();
const maxUsages = 1000;

function usageAt(path: string): Usage {
  const known = usages.get(path) ?? new Usage();
  usages.delete(path);
  usages.set(path, known);
  for (const [oldest] of usages) {
    if (usages.size <= maxUsages) break;
    usages.delete(oldest);
  }
  return known;
}

/** Blobs as files below a directory. See `layout.ts` for where, and docs of `fileBlobStore` for the order of writes. */
export class FileBlobBackend implements BlobBackend {
  readonly trash: FileTrash;
  readonly #options: FileBackendOptions;
  readonly #whole: FileBlobBackend;
  readonly #directory: StoreDirectory;
  readonly #inTurn = gate(putsAtATime);
  readonly #nextTurn = turns(putsAtATime, patienceMs);

  constructor(options: FileBackendOptions, whole?: FileBlobBackend) {
    const { dir, disk, layout, durability } = options;
    this.#options = options;
    this.#whole = whole ?? this;
    this.#directory = new StoreDirectory(dir, disk, layout, durability);
    this.trash = new FileTrash(this.#directory);
    shareUsage(this, usageAt(this.#directory.path));
  }

  get location(): string {
    return this.#directory.path;
  }

  write(ref: BlobRef, bytes: Uint8Array, hints: BlobHints): Promise<BlobStat> {
    return this.#inTurn(() =>
      this.#guard("put into", async () => {
        this.#directory.check();
        const path = this.#pathFor(ref, hints);
        const renewed = await this.#renew(path, (fd) => hasBytes(this.#directory.disk, fd, bytes));
        if (renewed !== undefined) return { ref, ...renewed };
        const file = await NewFile.create(this.#directory);
        try {
          file.writeNow(bytes);
          return await this.#place(file, path, ref, bytes.length);
        } catch (error) {
          await file.discard();
          throw error;
        }
      }),
    );
  }

  async create(hints: BlobHints): Promise<BlobWriter> {
    const turn = await this.#nextTurn();
    const act = <T>(run: () => Promise<T>): Promise<T> => turn.use(() => this.#guard("put into", run));
    let file: NewFile;
    try {
      file = await act(() => NewFile.create(this.#directory));
    } catch (error) {
      turn.end();
      throw error;
    }
    let size = 0;
    return {
      write: (chunk) =>
        act(async () => {
          await file.write(chunk);
          size += chunk.length;
        }),
      // The bytes are written by now: to replace what is there costs less than to read it, and heals what is damaged.
      commit: async (ref) => {
        const stat = await act(() => this.#place(file, this.#pathFor(ref, hints), ref, size));
        turn.end();
        return stat;
      },
      discard: async () => {
        await turn.use(() => file.discard());
        turn.end();
      },
    };
  }

  read(ref: BlobRef): Promise<BlobReading | undefined> {
    return this.#guard("read from", async () => {
      this.#directory.check();
      const { disk } = this.#directory;
      for (const path of await pathsThere(this.#directory, ref)) {
        const opened = this.#open(path, ref);
        if (opened === undefined) continue;
        const { fd, stat } = opened;
        let bytes: Uint8Array | undefined;
        try {
          bytes = readWhole(disk, fd, stat.size);
        } finally {
          disk.close(fd);
        }
        return {
          size: stat.size,
          bytes: bytes === undefined ? this.#pieces(path, ref) : single(bytes),
          quarantine: async () => putAside(this.#directory, path, ref, stat),
        };
      }
      return undefined;
    });
  }

  stat(ref: BlobRef): Promise<BlobStat | undefined> {
    return this.#guard("look into", async () => {
      this.#directory.check();
      for (const path of await pathsThere(this.#directory, ref)) {
        const stat = this.#directory.disk.statAt(this.#directory.at(path));
        if (stat?.kind === "file") return { ref, size: stat.size, touchedAt: stat.mtimeMs };
      }
      return undefined;
    });
  }

  touch(ref: BlobRef): Promise<BlobStat | undefined> {
    return this.#guard("touch in", async () => {
      this.#directory.check();
      for (const path of await pathsThere(this.#directory, ref)) {
        const renewed = await renew(this.#directory, path);
        if (renewed !== undefined) return { ref, ...renewed };
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
      for (const path of await pathsThere(this.#directory, ref)) {
        const target = this.#directory.at(path);
        if (this.#directory.disk.statAt(target)?.kind !== "file") continue;
        if (!this.#directory.disk.unlink(target)) continue;
        deleted = true;
        await this.#directory.sync(dirname(path));
      }
      return deleted;
    });
  }

  /** What the file system thinks the time is; a network's differs from this machine's. */
  now(): Promise<number> {
    return this.#guard("look into", async () => {
      const file = await NewFile.create(this.#directory);
      try {
        return file.mtimeMs();
      } finally {
        await file.discard();
      }
    });
  }

  partition(name: string): FileBlobBackend {
    const dir = join(this.#whole.#options.dir, partitionFolder(name));
    return new FileBlobBackend({ ...this.#options, dir }, this.#whole);
  }

  removeLeftovers(before: number, options: { readonly dryRun: boolean }): Promise<BlobLeftovers> {
    return this.#guard("clean", () => removeLeftovers(this.#directory, before, options));
  }

  /** The path of a blob: the first at which readers find anything, or that of a new file. */
  #pathFor(ref: BlobRef, { mediaType }: BlobHints): string {
    const { layout, disk } = this.#directory;
    const folder = layout.folderOf(ref);
    const names = layout.namesOf(ref);
    const isThere = (name: string) => disk.statAt(this.#directory.at(folder, name)) !== undefined;
    const found = names.length > 1 ? names.find(isThere) : undefined;
    return join(folder, found ?? layout.nameFor(ref, mediaType));
  }

  async #renew(path: string, isSame: IsSame): Promise<Renewed | undefined> {
    try {
      return await renew(this.#directory, path, isSame);
    } catch (error) {
      // It cannot be read, touched or synced: the bytes are at hand, and written anew.
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
  }

  async #place(file: NewFile, path: string, ref: BlobRef, size: number): Promise<BlobStat> {
    try {
      return { ref, size, touchedAt: await file.place(path) };
    } catch (error) {
      // Windows does not replace a file that is read-only or open; one with the same bytes is as good.
      if (!["EPERM", "EACCES", "EBUSY", "EEXIST"].includes(errnoOf(error) ?? "")) throw error;
      const renewed = await this.#renew(path, async () => (await refAt(this.#directory, path, ref)) === ref);
      if (renewed === undefined) throw error;
      await file.discard();
      return { ref, ...renewed };
    }
  }

  /** Opens a blob; undefined where it is not there, BLOB_CORRUPT where something is that is no file. */
  #open(path: string, ref: BlobRef): { readonly fd: number; readonly stat: FileStat } | undefined {
    const { disk } = this.#directory;
    const target = this.#directory.at(path);
    let fd: number;
    try {
      fd = disk.open(target);
    } catch (error) {
      const errno = errnoOf(error) ?? "";
      if (errno === "ENOENT" || errno === "ENOTDIR") return undefined;
      const stat = disk.statAt(target);
      if (stat === undefined) return undefined;
      if (stat.kind === "file") throw error;
      throw this.#notAFile(path, ref, stat);
    }
    const stat = disk.stat(fd);
    if (stat.kind === "file") return { fd, stat };
    disk.close(fd);
    throw this.#notAFile(path, ref, stat);
  }

  /** A large file's pieces. It is opened when they are asked for, so that a stream that nobody reads holds nothing. */
  async *#pieces(path: string, ref: BlobRef): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      const opened = this.#open(path, ref) ?? (await this.#openAgain(ref));
      if (opened === undefined) {
        throw Object.assign(new Error(`ENOENT: ${path} was deleted`), { code: "ENOENT" });
      }
      yield* readPieces(this.#directory.disk, opened.fd);
    } catch (error) {
      throw storageError("read from", this.location, error);
    }
  }

  /** A blob that was there a moment ago: where a collection took it since, it comes back, as for any who ask for it. */
  async #openAgain(ref: BlobRef): Promise<{ readonly fd: number } | undefined> {
    await this.trash.restore(ref);
    for (const path of await pathsThere(this.#directory, ref)) {
      const opened = this.#open(path, ref);
      if (opened !== undefined) return opened;
    }
    return undefined;
  }

  #notAFile(path: string, ref: BlobRef, stat: FileStat): Error {
    let quarantined: string | undefined;
    try {
      quarantined = putAside(this.#directory, path, ref, stat);
    } catch {
      // What matters is that it is no blob.
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
