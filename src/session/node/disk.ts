import * as fs from "node:fs";
import { assertTaken } from "../../internal/lost-bytes.js";
import { errnoOf } from "../../internal/storage-error.js";

/**
 * The file system as the session log needs it: small, so that a simulated disk can stand in its place and show every
 * state that a crash can leave. Calls on the way of an append are synchronous, since the thread pool costs ten times the
 * write; what may be slow (reading, making durable, listing) is not.
 */
export interface Disk {
  /**
   * Opens a file: `read`, `append` (it exists) or `create` (it must not). undefined where it is absent, or for `create`
   * where it is there. Never blocks on a FIFO.
   */
  open(path: string, mode: "read" | "append" | "create"): DiskFile | undefined;
  /** undefined where there is nothing. */
  stat(path: string): FileStat | undefined;
  /** The same of the path itself where that is a link. */
  lstat(path: string): FileStat | undefined;
  /** Names and kinds in a directory, in no order; empty where it is absent. */
  list(directory: string): Promise<readonly { readonly name: string; readonly kind: FileKind }[]>;
  /** Makes a directory and those above it; gives the topmost that was not there, or undefined. */
  makeDirectory(path: string): string | undefined;
  rename(from: string, to: string): void;
  /** A second name for a file; false where that name is taken. */
  link(from: string, to: string): boolean;
  /** Whether it was there. */
  unlink(path: string): boolean;
  /**
   * Makes a file of another's bytes up to `size`, its first ones replaced, which shares the rest with it. Not synced. Rejects
   * where the file system cannot share, and is false where the other has fewer bytes; what was made is left for the caller
   * to remove.
   */
  clone(from: string, to: string, first: Uint8Array, size: number): Promise<boolean>;
  /** Sets the time of modification to now. */
  touch(path: string): void;
  /** Makes names in a directory last. */
  syncDirectory(path: string): Promise<void>;
  /** Calls back when the file may have changed, until the function that it returns is called. A hint: it may not come. */
  watch(path: string, changed: () => void): () => void;
}

/** An open file. */
export interface DiskFile {
  stat(): FileStat;
  /** Adds bytes at the end; gives how many were taken, which may be fewer. */
  append(bytes: Uint8Array): number;
  /** Reads at an offset; gives how many bytes there were. */
  read(into: Uint8Array, at: number): Promise<number>;
  /** The same at once, for a few bytes. */
  readNow(into: Uint8Array, at: number): number;
  truncate(size: number): void;
  /** Makes the bytes last. */
  sync(): Promise<void>;
  close(): void;
}

/** What a path names. */
export type FileKind = "file" | "directory" | "link" | "FIFO" | "socket" | "device";

/** What is known of a file without reading it. */
export interface FileStat {
  readonly kind: FileKind;
  readonly dev: number;
  readonly ino: number;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly mtimeMs: number;
}

/** The file system of this machine. */
export const nodeDisk: Disk = {
  open(path, mode) {
    const { O_RDONLY, O_RDWR, O_APPEND, O_CREAT, O_EXCL, O_NONBLOCK = 0 } = fs.constants;
    const flags = {
      // A FIFO that nobody writes to would block an open for reading, and with it a thread of the pool.
      read: O_RDONLY | O_NONBLOCK,
      append: O_RDWR | O_APPEND | O_NONBLOCK,
      create: O_RDWR | O_APPEND | O_CREAT | O_EXCL,
    };
    const absent = mode === "create" ? "EEXIST" : "ENOENT";
    return unless(absent, () => new NodeFile(fs.openSync(path, flags[mode], 0o600)));
  },
  stat(path) {
    const stats = fs.statSync(path, { throwIfNoEntry: false });
    return stats && statOf(stats);
  },
  lstat(path) {
    const stats = fs.lstatSync(path, { throwIfNoEntry: false });
    return stats && statOf(stats);
  },
  async list(directory) {
    try {
      const entries = await fs.promises.readdir(directory, { withFileTypes: true });
      return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return [];
      throw error;
    }
  },
  makeDirectory(path) {
    return fs.mkdirSync(path, { recursive: true, mode: 0o700 });
  },
  rename(from, to) {
    fs.renameSync(from, to);
  },
  link(from, to) {
    return (
      unless("EEXIST", () => {
        fs.linkSync(from, to);
        return true;
      }) ?? false
    );
  },
  unlink(path) {
    return (
      unless("ENOENT", () => {
        fs.unlinkSync(path);
        return true;
      }) ?? false
    );
  },
  async clone(from, to, first, size) {
    const { COPYFILE_EXCL, COPYFILE_FICLONE_FORCE } = fs.constants;
    // Never a copy: where another program cuts the file meanwhile, libuv would wait for the bytes for ever.
    await fs.promises.copyFile(from, to, COPYFILE_EXCL | COPYFILE_FICLONE_FORCE);
    // It has the mode of the other, by which it may not even be writable.
    await fs.promises.chmod(to, 0o600);
    const handle = await fs.promises.open(to, "r+");
    try {
      if ((await handle.stat()).size < size) return false;
      const { bytesWritten } = await handle.write(first, 0, first.length, 0);
      assertTaken(bytesWritten, first.length);
      await handle.truncate(size);
      return true;
    } finally {
      await handle.close();
    }
  },
  touch(path) {
    const now = new Date();
    fs.utimesSync(path, now, now);
  },
  async syncDirectory(path) {
    const handle = await fs.promises.open(path, "r");
    try {
      await handle.sync();
    } catch (error) {
      // Some file systems, and Windows, have no such thing; then there is nothing more to do.
      if (!["ENOTSUP", "EOPNOTSUPP", "EINVAL", "EPERM", "EISDIR"].includes(errnoOf(error) ?? "")) throw error;
    } finally {
      await handle.close();
    }
  },
  watch(path, changed) {
    try {
      const watcher = fs.watch(path, { persistent: false }, () => changed());
      watcher.on("error", () => watcher.close());
      return () => watcher.close();
    } catch {
      // Out of watches, or no such file: the caller polls.
      return () => undefined;
    }
  },
};

class NodeFile implements DiskFile {
  readonly #fd: number;
  #open = true;
  /** Calls that a thread of the pool has yet to make. */
  #underWay = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  stat(): FileStat {
    return statOf(fs.fstatSync(this.#descriptor()));
  }

  append(bytes: Uint8Array): number {
    return fs.writeSync(this.#descriptor(), bytes);
  }

  read(into: Uint8Array, at: number): Promise<number> {
    return this.#inPool((fd, done) => fs.read(fd, into, 0, into.length, at, done));
  }

  readNow(into: Uint8Array, at: number): number {
    return fs.readSync(this.#descriptor(), into, 0, into.length, at);
  }

  truncate(size: number): void {
    fs.ftruncateSync(this.#descriptor(), size);
  }

  sync(): Promise<void> {
    return this.#inPool((fd, done) => fs.fdatasync(fd, done));
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    if (this.#underWay === 0) fs.closeSync(this.#fd);
  }

  /** Throws where the file was closed: its number may be another file's by now. */
  #descriptor(): number {
    if (this.#open) return this.#fd;
    throw Object.assign(new Error("EBADF: the file was closed"), { code: "EBADF" });
  }

  /** Makes a call that a thread of the pool carries out, the file staying open until it has. */
  async #inPool<T>(call: (fd: number, done: (error: Error | null, result?: T) => void) => void): Promise<T> {
    const fd = this.#descriptor();
    this.#underWay++;
    return new Promise<T>((resolve, reject) => {
      call(fd, (error, result) => {
        if (--this.#underWay === 0 && !this.#open) fs.closeSync(fd);
        if (error === null) resolve(result as T);
        else reject(error);
      });
    });
  }
}

function unless<T>(errno: string, act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (errnoOf(error) === errno) return undefined;
    throw error;
  }
}

function statOf(stats: fs.Stats): FileStat {
  return { kind: kindOf(stats), dev: stats.dev, ino: stats.ino, size: stats.size, mtimeMs: stats.mtimeMs };
}

function kindOf(entry: fs.Stats | fs.Dirent): FileKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  if (entry.isSymbolicLink()) return "link";
  if (entry.isFIFO()) return "FIFO";
  return entry.isSocket() ? "socket" : "device";
}
