import { dirname } from "node:path";
import { assertTaken, progress } from "../../internal/lost-bytes.js";
import { errnoOf } from "../../internal/storage-error.js";
import type { StoreDirectory } from "./directory.js";
import { setTimeToNow } from "./renew.js";

/**
 * A file on its way into the store: written aside, made to last, then named. Whatever fails, nothing half written ever has
 * the name of a blob.
 */
export class NewFile {
  readonly #directory: StoreDirectory;
  readonly #path: string;
  #fd: number | undefined;
  /** Bytes that the system said it took. */
  #written = 0;
  #isSyncing = false;
  /** The last sync that was begun before all was written. Never rejects. */
  #earlySync: Promise<void> | undefined;
  /** Why one of them failed. */
  #failure: Error | undefined;

  private constructor(directory: StoreDirectory, path: string, fd: number) {
    this.#directory = directory;
    this.#path = path;
    this.#fd = fd;
  }

  /** Begins one, in a store that is made where there is none. */
  static async create(directory: StoreDirectory): Promise<NewFile> {
    await directory.prepare();
    const path = directory.temporaryPath();
    try {
      return new NewFile(directory, path, directory.disk.create(path));
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
      // Somebody removed the folder since it was made.
      directory.forget();
      await directory.prepare();
      return new NewFile(directory, path, directory.disk.create(path));
    }
  }

  /** Writes at once; a write that takes only some of the bytes is gone on with. */
  writeNow(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; )
      at += progress(this.#directory.disk.writeNow(this.#descriptor(), bytes.subarray(at)));
    this.#written += bytes.length;
  }

  /**
   * Writes in the thread pool, and has what is written made to last meanwhile: the device is at work while the next bytes
   * are hashed and copied, so that little is left to wait for at the end.
   */
  async write(bytes: Uint8Array): Promise<void> {
    const fd = this.#descriptor();
    if (this.#failure !== undefined) throw this.#failure;
    for (let at = 0; at < bytes.length; )
      at += progress(await this.#directory.disk.write(fd, bytes.subarray(at)));
    this.#written += bytes.length;
    if (this.#directory.durable && !this.#isSyncing) this.#earlySync = this.#syncEarly(fd);
  }

  /**
   * Gives the file its name in a folder of the store, in place of whatever has it; gives its time. By renaming, which
   * needs no second names and heals what is damaged: a file with the same bytes is replaced by an identical one. The time
   * is later than that of the file it replaces, since a collection compares it with the one it saw.
   *
   * A sync that failed is not tried again, since the system may have marked the bytes as written by then. Where the
   * folder's fails the file keeps its name: its bytes last, and another process may have acknowledged it by now.
   *
   * A file that is shorter or longer than what was written never gets a name, whatever the system said of the writes.
   */
  async place(path: string): Promise<number> {
    const { disk, durable } = this.#directory;
    const fd = this.#descriptor();
    await this.#earlySync;
    if (this.#failure !== undefined) throw this.#failure;
    if (durable) await disk.sync(fd);
    const folder = dirname(path);
    this.#directory.makeFolder(folder);
    const target = this.#directory.at(path);
    const there = disk.statAt(target);
    const written = disk.stat(fd);
    assertTaken(written.size, this.#written);
    if (there !== undefined) {
      setTimeToNow(disk, fd, { ...written, mtimeMs: Math.max(there.mtimeMs, written.mtimeMs) });
    }
    const { mtimeMs } = there === undefined ? written : disk.stat(fd);
    this.#fd = undefined;
    disk.close(fd);
    try {
      disk.rename(this.#path, target);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT" || disk.statAt(this.#path) === undefined) throw error;
      this.#directory.forget();
      this.#directory.makeFolder(folder);
      disk.rename(this.#path, target);
    }
    await this.#directory.sync(folder);
    return mtimeMs;
  }

  /** When it was last written, in milliseconds since 1970, as the file system has it. */
  mtimeMs(): number {
    return this.#directory.disk.stat(this.#descriptor()).mtimeMs;
  }

  /** Forgets it, where it has no name yet. */
  async discard(): Promise<void> {
    // The descriptor's number may be another file's by the time that a late sync comes to it.
    await this.#earlySync;
    const { disk } = this.#directory;
    const fd = this.#fd;
    this.#fd = undefined;
    // Where one of these fails the file stays until a collection, and what failed before is what the caller has to know.
    if (fd !== undefined) attempt(() => disk.close(fd));
    attempt(() => disk.unlink(this.#path));
  }

  async #syncEarly(fd: number): Promise<void> {
    this.#isSyncing = true;
    try {
      await this.#directory.disk.syncBeside(fd);
    } catch (error) {
      this.#failure ??= error as Error;
    } finally {
      this.#isSyncing = false;
    }
  }

  #descriptor(): number {
    if (this.#fd !== undefined) return this.#fd;
    throw Object.assign(new Error("EBADF: the file was closed"), { code: "EBADF" });
  }
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // See there.
  }
}
