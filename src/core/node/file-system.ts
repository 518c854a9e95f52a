/**
 * The file-system port of the stores, the errors of its calls, and the steps that stores make of them:
 * complete reads and writes, new names, durable directories, the removal of a partition.
 */

import { basename, dirname, join } from "node:path";
import { SessileError } from "../errors/index.js";
import { randomHex8 } from "../ids.js";

/**
 * The file system as stores and file intake need it: small, so that a test can fail any call, act between two
 * calls, or simulate every state that a power loss leaves. Calls that touch only the page cache are
 * synchronous, because a thread of the pool costs ten times the call. Calls that wait for a device or move
 * many bytes return a promise.
 */
export interface FileSystem {
  /**
   * Opens a file. Returns undefined if it does not exist or, for the creating modes, if it does. Never blocks
   * on a FIFO.
   *
   * @throws ELOOP for a symbolic link opened with `readNoFollow`
   */
  open(path: string, mode: OpenMode): OpenFile | undefined;
  /** {@link open} on a thread of the pool, for paths that may be on a slow network. */
  openAsync(path: string, mode: OpenMode): Promise<OpenFile | undefined>;
  /** Follows links. Returns undefined if there is nothing at the path. */
  stat(path: string): FileStat | undefined;
  /** Follows no link in the last component. Returns undefined if there is nothing at the path. */
  lstat(path: string): FileStat | undefined;
  /** {@link lstat} with full precision. Rejects with ENOENT if there is nothing at the path. */
  lstatExact(path: string): Promise<ExactFileStat>;
  /** The path with all links resolved. */
  realpath(path: string): Promise<string>;
  /** Names and kinds in a directory, unordered; empty if it does not exist. */
  list(directory: string): Promise<readonly DirectoryEntry[]>;
  /** Creates a directory and its missing parents. Returns the topmost that it created, or undefined. */
  mkdir(path: string): string | undefined;
  rename(from: string, to: string): void;
  /** Creates a hard link. Returns false if `to` exists. */
  link(from: string, to: string): boolean;
  /** Returns whether the file existed. */
  unlink(path: string): boolean;
  /** Removes an empty directory. Returns whether it existed. */
  rmdir(path: string): boolean;
  /**
   * Creates a file that shares its blocks with `from` up to `size`, with `first` in place of its first bytes.
   * Not fsynced. Rejects if the file system cannot share blocks; resolves to false if `from` is shorter than
   * `size`. The caller removes the file in both cases.
   */
  clone(from: string, to: string, first: Uint8Array, size: number): Promise<boolean>;
  /** Sets the time of modification to now. */
  touch(path: string): void;
  /** Fsyncs a directory, and with it the names in it. */
  syncDirectory(path: string): Promise<void>;
  /**
   * Calls back when the file may have changed, until the returned function is called. A hint: it may not
   * come.
   */
  watch(path: string, changed: () => void): () => void;
}

/**
 * - `read`: an existing file, links followed.
 * - `readNoFollow`: an existing file, refused if the last component is a link.
 * - `append`: an existing file, for reading and writing at the end.
 * - `create`: a new file that only its owner can read and write.
 * - `createReadOnly`: a new file without write permission.
 */
export type OpenMode = "read" | "readNoFollow" | "append" | "create" | "createReadOnly";

/** An open file. Each call throws or rejects with EBADF after `close`. */
export interface OpenFile {
  stat(): FileStat;
  /** {@link stat} with full precision. */
  statExact(): Promise<ExactFileStat>;
  /** Reads at an offset. Returns the number of bytes read, 0 at the end of the file. */
  read(into: Uint8Array, at: number): Promise<number>;
  /** {@link read} on the calling thread, for a few bytes. */
  readSync(into: Uint8Array, at: number): number;
  /** Writes at the end. Returns the number of bytes written, which may be fewer than given: a short write. */
  append(bytes: Uint8Array): number;
  /** {@link append} on a thread of the pool, for many bytes. */
  appendAsync(bytes: Uint8Array): Promise<number>;
  truncate(size: number): void;
  /** Sets the time of modification, in milliseconds since 1970. */
  setTime(ms: number): void;
  /** Fsyncs the bytes. */
  sync(): Promise<void>;
  /** {@link sync} that always runs on a thread of the pool, so that the caller can go on meanwhile. */
  syncInBackground(): Promise<void>;
  /** The path of the open file by the operating system; undefined if unknown. */
  location(): Promise<string | undefined>;
  /** Idempotent. Calls under way on the pool still see this file. */
  close(): void;
}

/** The type of a directory entry. */
export type FileKind = "file" | "directory" | "link" | "FIFO" | "socket" | "device";

/** A name in a directory. */
export interface DirectoryEntry {
  readonly name: string;
  readonly kind: FileKind;
}

/** Metadata of a file. */
export interface FileStat {
  readonly kind: FileKind;
  readonly dev: number;
  readonly ino: number;
  /** Bytes. */
  readonly size: number;
  /** Last change of the bytes, in milliseconds since 1970. */
  readonly mtimeMs: number;
  /** Last change of the bytes, the metadata or a name, in milliseconds since 1970. */
  readonly ctimeMs: number;
}

/**
 * Metadata that tells two files apart even if their numbers exceed 2^53, and two writes within a microsecond.
 */
export interface ExactFileStat {
  readonly kind: FileKind;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

/**
 * Errno numbers of file systems that libuv does not name: of Linux (asm-generic/errno.h), and of macOS and
 * the BSDs (sys/errno.h), whose two are not file errors on Linux. Read 2026-11-22.
 */
const unnamed: Readonly<Record<number, string>> = {
  116: "ESTALE",
  117: "EUCLEAN",
  121: "EREMOTEIO",
  122: "EDQUOT",
  123: "ENOMEDIUM",
  69: "EDQUOT",
  70: "ESTALE",
};

/** The code of a system error, such as ENOSPC, or `ERRNO_` and its number; undefined for other errors. */
export function errnoCode(error: unknown): string | undefined {
  const { code, errno } = (error ?? {}) as { readonly code?: unknown; readonly errno?: unknown };
  // The code of an unnamed error is "Unknown system error -122" or "UNKNOWN".
  const isNamed = typeof code === "string" && !/^unknown/i.test(code);
  if (isNamed) return code;
  if (typeof errno !== "number" || !Number.isInteger(errno) || errno === 0) return undefined;
  return unnamed[Math.abs(errno)] ?? `ERRNO_${Math.abs(errno)}`;
}

/** Converts a system error of an operation to STORAGE_FAILED. Returns other errors unchanged. */
export function storageError(operation: string, path: string, cause: unknown): unknown {
  const errno = errnoCode(cause);
  if (
    cause instanceof SessileError ||
    errno === undefined ||
    !/^(E[A-Z0-9]{1,30}|ERRNO_\d{1,9})$/.test(errno)
  )
    return cause;
  return new SessileError("STORAGE_FAILED", `${operation} ${path}: ${errno}`, {
    cause,
    details: { operation, path, errno },
  });
}

// Complete reads and writes: loops over short reads and writes, and guards against silent ones.

/** Reads at an offset until `into` is full or the file ends. Returns the number of bytes read. */
export async function readFully(file: OpenFile, into: Uint8Array, at: number): Promise<number> {
  let done = 0;
  while (done < into.length) {
    const count = await file.read(done === 0 ? into : into.subarray(done), at + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/** {@link readFully} on the calling thread. */
export function readFullySync(file: OpenFile, into: Uint8Array, at: number): number {
  let done = 0;
  while (done < into.length) {
    const count = file.readSync(done === 0 ? into : into.subarray(done), at + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/**
 * Appends all of the bytes, in as many writes as it takes.
 *
 * @param written receives the number of bytes of each write, to undo a failed append
 */
export function appendFully(file: OpenFile, bytes: Uint8Array, written?: (count: number) => void): void {
  for (let done = 0; done < bytes.length; ) {
    const count = file.append(done === 0 ? bytes : bytes.subarray(done));
    if (count <= 0) throw noProgress();
    done += count;
    written?.(count);
  }
}

/** {@link appendFully} on a thread of the pool. */
export async function appendFullyAsync(file: OpenFile, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const count = await file.appendAsync(bytes.subarray(done));
    if (count <= 0) throw noProgress();
    done += count;
  }
}

/** Creates a file. Throws EEXIST if there is one. */
export function createFile(fileSystem: FileSystem, path: string, mode: OpenMode = "create"): OpenFile {
  const file = fileSystem.open(path, mode);
  if (file !== undefined) return file;
  throw Object.assign(new Error(`EEXIST: ${path} is there already`), { code: "EEXIST" });
}

/**
 * Writes a complete new file and, unless told otherwise, fsyncs it: the first half of an atomic publish.
 * Removes the file if anything fails.
 */
export async function writeNewFile(
  fileSystem: FileSystem,
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { sync = true, mode = "create" as OpenMode } = {},
): Promise<void> {
  const file = createFile(fileSystem, path, mode);
  try {
    try {
      let size = 0;
      for await (const chunk of chunks) {
        appendFully(file, chunk);
        size += chunk.length;
      }
      if (sync) await file.sync();
      assertFullyWritten(file.stat().size, size);
    } finally {
      file.close();
    }
  } catch (error) {
    fileSystem.unlink(path);
    throw error;
  }
}

/**
 * Guards against silent short writes: throws EIO if the size of a file is not the number of bytes written, so
 * that a truncated file is never published.
 */
export function assertFullyWritten(size: number, written: number): void {
  if (size === written) return;
  const message = `EIO: the file has ${size} bytes, and ${written} were written`;
  throw Object.assign(new Error(message), { code: "EIO" });
}

/** The error of a write of no bytes, which would be retried forever. */
function noProgress(): Error {
  return Object.assign(new Error("EIO: a write took no bytes"), { code: "EIO" });
}

// Publishes a complete file under a free name, without replacing another one.

/** Errors of link(2) on file systems without hard links, and of names that have as many as they can. */
const noLinks = [
  "EPERM",
  "EACCES",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EINVAL",
  "EISDIR",
  "UNKNOWN",
];

/**
 * Atomically publishes a complete temp file as `path` without replacing an existing file: link(2), because
 * rename(2) overwrites. Returns false if `path` exists. The temp name may remain in both cases, and the
 * caller unlinks it.
 *
 * Without hard links it falls back to a rename: two processes that publish at the same moment may both
 * succeed.
 */
export function publishExclusive(fileSystem: FileSystem, temporary: string, path: string): boolean {
  try {
    return fileSystem.link(temporary, path);
  } catch (error) {
    if (!noLinks.includes(errnoCode(error) ?? "UNKNOWN")) throw error;
  }
  if (fileSystem.lstat(path) !== undefined) return false;
  fileSystem.rename(temporary, path);
  return true;
}

// Durable names: fsync of the parent directories of a store's files, each once.

/**
 * Fsyncs the parent directories of a store's files, up to the root of the file system. Existing directories
 * are synced too: their creator may have crashed before it synced the parent, and a power loss would take the
 * directory entry with every acknowledged write below it.
 */
export class DurableDirectories {
  readonly #fileSystem: FileSystem;
  readonly #store: string;
  readonly #everyTime: boolean;
  /** Directories that are known to exist. */
  readonly #existing = new Set<string>();
  /** Directories whose own name is known to be durable in their parent. */
  readonly #durable = new Set<string>();

  /**
   * @param store the store's directory, absolute
   * @param options.everyTime syncs directories within the store each time, for a store in which other
   *   processes remove and recreate them unnoticed. Default false: each once, until `forget`.
   */
  constructor(fileSystem: FileSystem, store: string, { everyTime = false } = {}) {
    this.#fileSystem = fileSystem;
    this.#store = store;
    this.#everyTime = everyTime;
  }

  /** Creates a directory and its missing parents. Their names are durable after `sync`. */
  create(directory: string): void {
    if (!this.#everyTime && this.#existing.has(directory)) return;
    const created = this.#fileSystem.mkdir(directory);
    this.#existing.add(directory);
    if (created === undefined) return;
    for (const at of this.#durable) if (at.length >= created.length) this.#durable.delete(at);
  }

  /**
   * Fsyncs a directory, and the parents whose entries on the way to it are not known to be durable. Innermost
   * first, which on a journaling file system leaves little to do for the others.
   */
  async sync(directory: string): Promise<void> {
    await this.#fileSystem.syncDirectory(directory);
    for (let at = directory; dirname(at) !== at; at = dirname(at)) {
      const isInStore = dirname(at).length >= this.#store.length;
      if (this.#durable.has(at) && !(this.#everyTime && isInStore)) return;
      await this.#syncParent(at, isInStore);
      this.#durable.add(at);
    }
  }

  /** Forgets which directories exist: another program removed one. */
  forget(): void {
    this.#existing.clear();
    this.#durable.clear();
  }

  async #syncParent(directory: string, isInStore: boolean): Promise<void> {
    try {
      await this.#fileSystem.syncDirectory(dirname(directory));
    } catch (error) {
      // The parents of a store need not be accessible to its user: then another user created them.
      if (isInStore || !["EACCES", "EROFS"].includes(errnoCode(error) ?? "")) throw error;
    }
  }
}

// Removes the directory of a partition, atomically by name.

/**
 * Removes the directory of a partition with everything in it, durably. It loses its name first, by one
 * rename, so that a reader never sees a part of it; a call after a crash removes what an earlier one left.
 * Links are removed and not followed; their paths are returned.
 */
export async function removePartition(fs: FileSystem, directory: string): Promise<readonly string[]> {
  const parent = dirname(directory);
  // No name of a partition has an @.
  const doomed = `@${basename(directory)}@`;
  const links: string[] = [];
  const kind = fs.lstat(directory)?.kind;
  if (kind === "link") {
    links.push(directory);
    fs.unlink(directory);
  } else if (kind !== undefined) {
    fs.rename(directory, join(parent, `${doomed}${randomHex8()}`));
    await fs.syncDirectory(parent);
  }
  let isChanged = kind === "link";
  for (const { name } of await fs.list(parent)) {
    if (!name.startsWith(doomed)) continue;
    await removeTree(fs, join(parent, name), links);
    isChanged = true;
  }
  if (isChanged) await fs.syncDirectory(parent);
  return links;
}

async function removeTree(fs: FileSystem, path: string, links: string[]): Promise<void> {
  for (const { name, kind } of await fs.list(path)) {
    const inner = join(path, name);
    if (kind === "directory") await removeTree(fs, inner, links);
    else if (fs.unlink(inner) && kind === "link") links.push(inner);
  }
  fs.rmdir(path);
}
