/** The file-system port of the stores, and the errors of its calls. */

import { SessileError } from "../errors/index.js";

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
