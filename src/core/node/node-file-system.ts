/** The file-system port on Node's `fs`. */

import * as fs from "node:fs";
import {
  assertFullyWritten,
  type ExactFileStat,
  errnoCode,
  type FileKind,
  type FileStat,
  type FileSystem,
  type OpenFile,
  type OpenMode,
} from "./file-system.js";

const {
  O_RDONLY,
  O_RDWR,
  O_APPEND,
  O_CREAT,
  O_EXCL,
  O_NOFOLLOW = 0,
  O_NONBLOCK = 0,
  O_NOCTTY = 0,
} = fs.constants;

// Opening a FIFO without a writer would block a thread of the pool for good.
const readFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
const createFlags = O_RDWR | O_APPEND | O_CREAT | O_EXCL;

/** Flags, permissions, and the error that means "undefined". */
const modes: Readonly<Record<OpenMode, readonly [flags: number, permissions: number, absent: string]>> = {
  read: [readFlags, 0, "ENOENT"],
  readNoFollow: [readFlags | O_NOFOLLOW, 0, "ENOENT"],
  append: [O_RDWR | O_APPEND | O_NONBLOCK, 0, "ENOENT"],
  create: [createFlags, 0o600, "EEXIST"],
  createReadOnly: [createFlags, 0o444, "EEXIST"],
};

/** Errors of fsync on a directory if the system has no such operation, as on Windows. */
const noDirectorySync = ["ENOTSUP", "EOPNOTSUPP", "EINVAL", "EPERM", "EISDIR"];

/**
 * The file system of this machine.
 *
 * @param options.paceSyncs fsyncs on the calling thread while the device is fast, see {@link SyncPacer}.
 *   Default false.
 */
export function createNodeFileSystem({ paceSyncs = false } = {}): FileSystem {
  const pacer = paceSyncs ? new SyncPacer() : undefined;
  return {
    open(path, mode) {
      const [flags, permissions, absent] = modes[mode];
      return unless([absent], () => {
        if (mode === "readNoFollow") refuseLinkOnWindows(path);
        return new NodeFile(fs.openSync(path, flags, permissions), pacer);
      });
    },
    async openAsync(path, mode) {
      const [flags, permissions, absent] = modes[mode];
      if (mode === "readNoFollow") refuseLinkOnWindows(path);
      try {
        const fd = await inPool<number>((done) => fs.open(path, flags, permissions, done));
        return new NodeFile(fd, pacer);
      } catch (error) {
        if (errnoCode(error) === absent) return undefined;
        throw error;
      }
    },
    stat: (path) => statUnlessAbsent(fs.statSync, path),
    lstat: (path) => statUnlessAbsent(fs.lstatSync, path),
    lstatExact: async (path) => readExactStat(await fs.promises.lstat(path, { bigint: true })),
    realpath: (path) => fs.promises.realpath(path),
    async list(directory) {
      try {
        const entries = await fs.promises.readdir(directory, { withFileTypes: true });
        return entries.map((entry) => ({ name: entry.name, kind: entryKind(entry) }));
      } catch (error) {
        if (errnoCode(error) === "ENOENT") return [];
        throw error;
      }
    },
    mkdir: (path) => fs.mkdirSync(path, { recursive: true, mode: 0o700 }),
    rename: (from, to) => fs.renameSync(from, to),
    link: (from, to) => succeeds("EEXIST", () => fs.linkSync(from, to)),
    unlink: (path) => succeeds("ENOENT", () => fs.unlinkSync(path)),
    rmdir: (path) => succeeds("ENOENT", () => fs.rmdirSync(path)),
    async clone(from, to, first, size) {
      const { COPYFILE_EXCL, COPYFILE_FICLONE_FORCE } = fs.constants;
      // Never a copy: libuv would wait forever if another program truncated the file meanwhile.
      await fs.promises.copyFile(from, to, COPYFILE_EXCL | COPYFILE_FICLONE_FORCE);
      // A clone inherits the permissions of its source, which may not even include writing.
      await fs.promises.chmod(to, 0o600);
      const handle = await fs.promises.open(to, "r+");
      try {
        if ((await handle.stat()).size < size) return false;
        const { bytesWritten } = await handle.write(first, 0, first.length, 0);
        assertFullyWritten(bytesWritten, first.length);
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
      const fd = fs.openSync(path, O_RDONLY);
      try {
        const later = () => inPool<void>((done) => fs.fsync(fd, done));
        await (pacer === undefined ? later() : pacer.run(later, () => fs.fsyncSync(fd)));
      } catch (error) {
        if (!noDirectorySync.includes(errnoCode(error) ?? "")) throw error;
      } finally {
        fs.closeSync(fd);
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
}

/** The file system of this machine, shared by everything that needs no options. */
export const nodeFileSystem: FileSystem = createNodeFileSystem();

class NodeFile implements OpenFile {
  readonly #fd: number;
  readonly #pacer: SyncPacer | undefined;
  #isOpen = true;
  /** Calls that a thread of the pool has not finished. */
  #pending = 0;

  constructor(fd: number, pacer: SyncPacer | undefined) {
    this.#fd = fd;
    this.#pacer = pacer;
  }

  stat(): FileStat {
    return readStat(fs.fstatSync(this.#descriptor()));
  }

  async statExact(): Promise<ExactFileStat> {
    return readExactStat(
      await this.#inPool<fs.BigIntStats>((fd, done) => fs.fstat(fd, { bigint: true }, done)),
    );
  }

  read(into: Uint8Array, at: number): Promise<number> {
    return this.#inPool((fd, done) => fs.read(fd, into, 0, into.length, at, done));
  }

  readSync(into: Uint8Array, at: number): number {
    return fs.readSync(this.#isOpen ? this.#fd : this.#descriptor(), into, 0, into.length, at);
  }

  append(bytes: Uint8Array): number {
    return fs.writeSync(this.#isOpen ? this.#fd : this.#descriptor(), bytes);
  }

  appendAsync(bytes: Uint8Array): Promise<number> {
    return this.#inPool((fd, done) => fs.write(fd, bytes, done));
  }

  truncate(size: number): void {
    fs.ftruncateSync(this.#descriptor(), size);
  }

  setTime(ms: number): void {
    fs.futimesSync(this.#descriptor(), ms / 1000, ms / 1000);
  }

  async sync(): Promise<void> {
    if (this.#pacer === undefined) return this.syncInBackground();
    const fd = this.#descriptor();
    return this.#pacer.run(
      () => this.syncInBackground(),
      () => fs.fdatasyncSync(fd),
    );
  }

  syncInBackground(): Promise<void> {
    return this.#inPool((fd, done) => fs.fdatasync(fd, done));
  }

  async location(): Promise<string | undefined> {
    if (process.platform !== "linux") return undefined;
    const link = `/proc/self/fd/${this.#descriptor()}`;
    return this.#inPool<string>((_fd, done) => fs.readlink(link, done)).catch(() => undefined);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#pending === 0) fs.closeSync(this.#fd);
  }

  /** Throws after `close`: the descriptor may belong to another file by now. */
  #descriptor(): number {
    if (this.#isOpen) return this.#fd;
    throw Object.assign(new Error("EBADF: the file was closed"), { code: "EBADF" });
  }

  /** Makes a call on a thread of the pool. The descriptor stays open until it has finished. */
  #inPool<T>(call: (fd: number, done: Done<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const fd = this.#isOpen ? this.#fd : this.#descriptor();
      this.#pending++;
      call(fd, (error, result) => {
        if (--this.#pending === 0 && !this.#isOpen) fs.closeSync(fd);
        if (error === null) resolve(result as T);
        else reject(error);
      });
    });
  }
}

/** An fsync that is expected to take less than this runs on the calling thread, in milliseconds. */
const fastMs = 1;

/**
 * Decides whether an fsync runs on the calling thread or on the pool. The pool adds 0.1 to 0.2 ms to a put, a
 * tenth of the whole on a fast disk (bench/blobs-put, 2026-11-22); a slow disk would block the event loop. So
 * an fsync runs here only while recent ones were fast and no other is under way that it could overlap with.
 */
export class SyncPacer {
  /** A moving average; the first fsync runs on the pool. */
  #averageMs = Number.POSITIVE_INFINITY;
  #pending = 0;

  async run(onPool: () => Promise<void>, here: () => void): Promise<void> {
    const isFast = this.#averageMs < fastMs && this.#pending === 0;
    const start = performance.now();
    if (isFast) {
      here();
    } else {
      this.#pending++;
      try {
        await onPool();
      } finally {
        this.#pending--;
      }
    }
    const ms = performance.now() - start;
    const average = this.#averageMs;
    this.#averageMs = average === Number.POSITIVE_INFINITY ? ms : average + (ms - average) / 8;
  }
}

type Done<T> = (error: Error | null, result?: T) => void;

function inPool<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error === null ? resolve(result as T) : reject(error)));
  });
}

/** Windows has no O_NOFOLLOW. */
function refuseLinkOnWindows(path: string): void {
  if (O_NOFOLLOW !== 0 || !fs.lstatSync(path).isSymbolicLink()) return;
  throw Object.assign(new Error(`ELOOP: ${path} is a link`), { code: "ELOOP" });
}

function unless<T>(errnos: readonly string[], act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (errnos.includes(errnoCode(error) ?? "")) return undefined;
    throw error;
  }
}

function succeeds(errno: string, act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (errnoCode(error) === errno) return false;
    throw error;
  }
}

const orUndefined = { throwIfNoEntry: false } as const;

function statUnlessAbsent(
  read: (path: string, options: typeof orUndefined) => fs.Stats | undefined,
  path: string,
): FileStat | undefined {
  try {
    const stats = read(path, orUndefined);
    return stats && readStat(stats);
  } catch (error) {
    // ENOTDIR: a file is in place of a parent directory.
    if (["ENOENT", "ENOTDIR"].includes(errnoCode(error) ?? "")) return undefined;
    throw error;
  }
}

function readStat(stats: fs.Stats): FileStat {
  const { dev, ino, size, mtimeMs, ctimeMs } = stats;
  return { kind: stats.isFile() ? "file" : entryKind(stats), dev, ino, size, mtimeMs, ctimeMs };
}

function readExactStat(stats: fs.BigIntStats): ExactFileStat {
  const { dev, ino, size, mtimeNs } = stats;
  return { kind: entryKind(stats), dev, ino, size, mtimeNs };
}

function entryKind(entry: fs.Stats | fs.BigIntStats | fs.Dirent): FileKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  if (entry.isSymbolicLink()) return "link";
  if (entry.isFIFO()) return "FIFO";
  return entry.isSocket() ? "socket" : "device";
}
