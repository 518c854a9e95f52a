import * as fs from "node:fs";
import { errnoOf } from "../../internal/storage-error.js";
import { Pace } from "./pace.js";

/**
 * The file system as blobs need it: small, so that a test can fail any call, or do something else between two of them.
 * What touches only the page cache is synchronous, since the thread pool costs many times the call; what waits for the
 * device or moves many bytes is not.
 */
export interface BlobDisk {
  /** Opens for reading: no link is followed in the last place, and nothing blocks. Throws ENOENT, ELOOP for a link, … */
  open(path: string): number;
  /** Makes a file that was not there, readable and no more, and opens it for writing. */
  create(path: string): number;
  stat(fd: number): FileStat;
  /** Of what lies at a path, links themselves included; undefined where there is nothing. */
  statAt(path: string): FileStat | undefined;
  /** Writes at the end of what was written; gives how many bytes were taken, which may be fewer. */
  writeNow(fd: number, bytes: Uint8Array): number;
  write(fd: number, bytes: Uint8Array): Promise<number>;
  /** Reads on; gives how many bytes there were. */
  readNow(fd: number, into: Uint8Array): number;
  read(fd: number, into: Uint8Array): Promise<number>;
  /** Sets the time of modification, in milliseconds since 1970. */
  setTime(fd: number, ms: number): void;
  /** Makes what was written last. */
  sync(fd: number): Promise<void>;
  /** The same, always in the thread pool. */
  syncBeside(fd: number): Promise<void>;
  /** Makes names in a directory last. */
  syncDirectory(path: string): Promise<void>;
  close(fd: number): void;
  rename(from: string, to: string): void;
  link(from: string, to: string): void;
  /** Whether it was there. */
  unlink(path: string): boolean;
  /** Makes a directory and those above it; gives the topmost that was not there, or undefined. */
  makeDirectory(path: string): string | undefined;
  /** Names in a directory; none where it is absent. */
  list(directory: string): Promise<readonly string[]>;
}

/** What is known of a file without reading it. */
export interface FileStat {
  readonly kind: "file" | "directory" | "link" | "FIFO" | "socket" | "device";
  readonly dev: number;
  readonly ino: number;
  /** Bytes. */
  readonly size: number;
  /** Of the bytes, in milliseconds since 1970. */
  readonly mtimeMs: number;
  /** Of anything, its name included. */
  readonly ctimeMs: number;
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_NOCTTY = 0 } = fs.constants;

/** The file system of this machine. */
export function nodeBlobDisk(): BlobDisk {
  const pace = new Pace();
  return {
    open(path) {
      // Windows cannot be told not to follow.
      if (O_NOFOLLOW === 0 && fs.lstatSync(path).isSymbolicLink()) {
        throw Object.assign(new Error(`ELOOP: ${path} is a link`), { code: "ELOOP" });
      }
      return fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    },
    create: (path) => fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL, 0o444),
    stat: (fd) => statOf(fs.fstatSync(fd)),
    statAt(path) {
      try {
        const stats = fs.lstatSync(path, { throwIfNoEntry: false });
        return stats && statOf(stats);
      } catch (error) {
        // A file where a directory was to be.
        if (errnoOf(error) === "ENOTDIR") return undefined;
        throw error;
      }
    },
    writeNow: (fd, bytes) => fs.writeSync(fd, bytes),
    write: (fd, bytes) => inPool((done) => fs.write(fd, bytes, done)),
    readNow: (fd, into) => fs.readSync(fd, into),
    read: (fd, into) => inPool((done) => fs.read(fd, into, 0, into.length, null, done)),
    setTime: (fd, ms) => fs.futimesSync(fd, ms / 1000, ms / 1000),
    sync: (fd) =>
      pace.run(
        () => inPool((done) => fs.fdatasync(fd, done)),
        () => fs.fdatasyncSync(fd),
      ),
    syncBeside: (fd) => inPool((done) => fs.fdatasync(fd, done)),
    async syncDirectory(path) {
      const fd = fs.openSync(path, O_RDONLY);
      try {
        await pace.run(
          () => inPool((done) => fs.fsync(fd, done)),
          () => fs.fsyncSync(fd),
        );
      } catch (error) {
        // Some file systems, and Windows, have no such thing; then there is nothing more to do.
        if (!["ENOTSUP", "EOPNOTSUPP", "EINVAL", "EPERM", "EISDIR"].includes(errnoOf(error) ?? ""))
          throw error;
      } finally {
        fs.closeSync(fd);
      }
    },
    close: (fd) => fs.closeSync(fd),
    rename: (from, to) => fs.renameSync(from, to),
    link: (from, to) => fs.linkSync(from, to),
    unlink(path) {
      try {
        fs.unlinkSync(path);
        return true;
      } catch (error) {
        if (errnoOf(error) === "ENOENT") return false;
        throw error;
      }
    },
    makeDirectory: (path) => fs.mkdirSync(path, { recursive: true, mode: 0o700 }),
    async list(directory) {
      try {
        return await fs.promises.readdir(directory);
      } catch (error) {
        if (errnoOf(error) === "ENOENT") return [];
        throw error;
      }
    },
  };
}

type Done<T> = (error: Error | null, result?: T) => void;

function inPool<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error === null ? resolve(result as T) : reject(error)));
  });
}

function statOf(stats: fs.Stats): FileStat {
  const { dev, ino, size, mtimeMs, ctimeMs } = stats;
  return { kind: kindOf(stats), dev, ino, size, mtimeMs, ctimeMs };
}

function kindOf(stats: fs.Stats): FileStat["kind"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  if (stats.isSymbolicLink()) return "link";
  if (stats.isFIFO()) return "FIFO";
  return stats.isSocket() ? "socket" : "device";
}
