/** Temp files of blobs: written, fsynced, published by an atomic rename, removed after a crash. */

import { dirname } from "node:path";
import type { BlobLeftovers } from "../../../blobs/index.js";
import {
  appendFully,
  appendFullyAsync,
  assertFullyWritten,
  createFile,
  errnoCode,
  type OpenFile,
} from "../../../core/node/file-system.js";
import { isRunning } from "../../../core/node/process-identity.js";
import type { StoreDirectory } from "./store-directory.js";
import { setTimeToNow } from "./touch.js";

/**
 * A blob that is being written: to a temp file, fsynced, then published by an atomic rename. Whatever fails,
 * no partial file ever has the name of a blob.
 */
export class TempFile {
  readonly #directory: StoreDirectory;
  readonly #path: string;
  readonly #file: OpenFile;
  /** Bytes that the writes reported as written. */
  #size = 0;
  #isSyncing = false;
  /** The last fsync that began before all was written. Never rejects. */
  #earlySync: Promise<void> | undefined;
  /** Why an early fsync failed. */
  #failure: Error | undefined;

  private constructor(directory: StoreDirectory, path: string, file: OpenFile) {
    this.#directory = directory;
    this.#path = path;
    this.#file = file;
  }

  /** Creates a temp file, and the store if it does not exist. */
  static async create(directory: StoreDirectory): Promise<TempFile> {
    await directory.prepare();
    const path = directory.temporaryPath();
    const create = () =>
      new TempFile(directory, path, createFile(directory.fileSystem, path, "createReadOnly"));
    try {
      return create();
    } catch (error) {
      if (errnoCode(error) !== "ENOENT") throw error;
      // Another program removed the folder since it was created.
      directory.forget();
      await directory.prepare();
      return create();
    }
  }

  /** Writes on the calling thread. */
  writeSync(bytes: Uint8Array): void {
    appendFully(this.#file, bytes);
    this.#size += bytes.length;
  }

  /**
   * Writes on the pool and starts an fsync of the bytes so far: the device works while the next bytes
   * are hashed and copied, so that little is left to wait for at the end.
   */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    await appendFullyAsync(this.#file, bytes);
    this.#size += bytes.length;
    if (this.#directory.durable && !this.#isSyncing) this.#earlySync = this.#syncEarly();
  }

  /**
   * Publishes the file at a path of the store, and returns its time of modification. An atomic rename needs
   * no hard links and heals a damaged blob: an intact one is replaced by identical bytes. The time is later
   * than that of the replaced file, because a collection compares it with the one it saw.
   *
   * A failed fsync is not retried: the kernel may call the lost pages clean. If the folder's fsync fails the
   * file keeps its name, because its bytes are durable and another process may have acknowledged it by now.
   */
  async publish(path: string): Promise<number> {
    const { fileSystem, durable } = this.#directory;
    await this.#earlySync;
    if (this.#failure !== undefined) throw this.#failure;
    if (durable) await this.#file.sync();
    const folder = dirname(path);
    this.#directory.createFolder(folder);
    const target = this.#directory.at(path);
    const replaced = fileSystem.lstat(target);
    const written = this.#file.stat();
    assertFullyWritten(written.size, this.#size);
    if (replaced !== undefined) {
      setTimeToNow(this.#file, { ...written, mtimeMs: Math.max(replaced.mtimeMs, written.mtimeMs) });
    }
    const { mtimeMs } = replaced === undefined ? written : this.#file.stat();
    this.#file.close();
    try {
      fileSystem.rename(this.#path, target);
    } catch (error) {
      if (errnoCode(error) !== "ENOENT" || fileSystem.lstat(this.#path) === undefined) throw error;
      this.#directory.forget();
      this.#directory.createFolder(folder);
      fileSystem.rename(this.#path, target);
    }
    await this.#directory.sync(folder);
    return mtimeMs;
  }

  /** Time of the last write by the file system's clock, in milliseconds since 1970. */
  mtimeMs(): number {
    return this.#file.stat().mtimeMs;
  }

  /** Removes the file, unless it was published. Never throws. */
  discard(): void {
    // If one of these fails, a collection removes the file later; the caller needs the error that came first.
    attempt(() => this.#file.close());
    attempt(() => this.#directory.fileSystem.unlink(this.#path));
  }

  async #syncEarly(): Promise<void> {
    this.#isSyncing = true;
    try {
      await this.#file.syncInBackground();
    } catch (error) {
      this.#failure ??= error as Error;
    } finally {
      this.#isSyncing = false;
    }
  }
}

const dayMs = 86_400_000;

/**
 * Removes temp files last written before a time. One whose process id is in use gets a day more. Other files
 * in the folder belong to other programs.
 */
export async function removeTempFiles(
  directory: StoreDirectory,
  before: number,
  { dryRun }: { readonly dryRun: boolean },
): Promise<BlobLeftovers> {
  const { fileSystem } = directory;
  const removed = { count: 0, bytes: 0 };
  for (const { name } of await fileSystem.list(directory.at("tmp"))) {
    const [, pid] = /^([1-9]\d{0,15})-[0-9a-f]{16}$/.exec(name) ?? [];
    if (pid === undefined) continue;
    const path = directory.at("tmp", name);
    const stat = fileSystem.lstat(path);
    if (stat?.kind !== "file") continue;
    if (stat.mtimeMs >= (isRunning(Number(pid)) ? before - dayMs : before)) continue;
    if (!dryRun && !fileSystem.unlink(path)) continue;
    removed.count++;
    removed.bytes += stat.size;
  }
  return removed;
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // See `discard`.
  }
}
