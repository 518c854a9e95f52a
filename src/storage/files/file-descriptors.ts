/**
 * The descriptors of session files: a bound on their number over all open sessions, the one that a log reads
 * its lines from, and the checks of a file that is opened.
 */

import { SessileError } from "../../core/errors/index.js";
import { type FileStat, type FileSystem, type OpenFile, storageError } from "../../core/node/file-system.js";
import type { LogPosition } from "../../session/index.js";
import { fileOffset, isSameFile, parsePosition } from "./read-lines.js";

/** An open session, whose descriptors can be closed and opened again later. */
export interface DescriptorHolder {
  /** Closes the descriptors. Called only while no use of them is recorded. */
  releaseDescriptors(): void;
}

/** The number of sessions of a process that keep idle descriptors open, at most two each. */
const maxHolders = 128;

/** Bounds the open descriptors: beyond the maximum, closes those of the least recently used holders (LRU). */
export class DescriptorPool {
  readonly #max: number;
  /** The uses under way of each holder, in the order of the last use. */
  readonly #uses = new Map<DescriptorHolder, number>();
  #latest: DescriptorHolder | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** Records that a use of a holder's descriptors begins. */
  acquire(holder: DescriptorHolder): void {
    const uses = this.#uses.get(holder) ?? 0;
    if (holder !== this.#latest) this.#uses.delete(holder);
    this.#latest = holder;
    this.#uses.set(holder, uses + 1);
    if (this.#uses.size > this.#max) this.#trim();
  }

  /** Records that a use ends. */
  release(holder: DescriptorHolder): void {
    const uses = this.#uses.get(holder);
    if (uses !== undefined) this.#uses.set(holder, uses - 1);
    if (this.#uses.size > this.#max) this.#trim();
  }

  /** Removes a holder that closed its descriptors. */
  remove(holder: DescriptorHolder): void {
    this.#uses.delete(holder);
    if (holder === this.#latest) this.#latest = undefined;
  }

  #trim(): void {
    for (const [holder, uses] of this.#uses) {
      if (this.#uses.size <= this.#max) return;
      if (uses > 0) continue;
      holder.releaseDescriptors();
      this.remove(holder);
    }
  }
}

const pools = new WeakMap<FileSystem, DescriptorPool>();

/**
 * The pool of a file system, shared by all stores, because a program may create a store per request.
 *
 * @param max applies if the file system has no pool yet
 */
export function descriptorPool(fs: FileSystem, max = maxHolders): DescriptorPool {
  let pool = pools.get(fs);
  if (pool === undefined) {
    pool = new DescriptorPool(max);
    pools.set(fs, pool);
  }
  return pool;
}

/**
 * The file that a log's line ranges refer to: the one first read, or the one read after a replacement. It
 * stays open if possible, so that ranges keep their meaning after another file takes the name. Once closed,
 * it is reopened by name and verified by its last position.
 */
export class ReadDescriptor {
  readonly #fs: FileSystem;
  readonly #path: string;
  #file: OpenFile | undefined;
  /** The end of the last read or write. */
  #reached: LogPosition | undefined;
  /** Earlier files. A read may still be under way in them. */
  readonly #retired: OpenFile[] = [];
  /** The file that was read a last time after it lost its name. */
  #lastRead: OpenFile | undefined;

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs;
    this.#path = path;
  }

  /** Opens the file if it is closed; undefined if another file has its name now. */
  open(): OpenFile | undefined {
    const file = this.#file ?? this.#fs.open(this.#path, "read");
    if (file === undefined || file === this.#file) return file;
    let isThis = false;
    try {
      isThis = this.is(file, file.stat());
    } finally {
      if (!isThis) file.close();
    }
    if (isThis) this.#file = file;
    return this.#file;
  }

  /** Whether a file is this one. The inode number alone does not tell, because it can be reused. */
  is(file: OpenFile, stat: FileStat): boolean {
    return this.#reached === undefined || fileOffset(file, stat, this.#reached) !== undefined;
  }

  /** Records the end of a read or write. */
  reached(position: LogPosition): LogPosition {
    this.#reached = position;
    return position;
  }

  /** Keeps an open descriptor of this file if it has none. */
  adopt(file: OpenFile): void {
    this.#file ??= file;
  }

  /** Switches to another file, or to the one opened next. Returns whether it is another one than before. */
  switchTo(file: OpenFile | undefined): boolean {
    const before = this.#file;
    this.#file = file;
    if (before !== undefined && before !== file) this.#retired.push(before);
    return this.#reached !== undefined && (before !== file || file === undefined);
  }

  /** Whether `close` closes this file, and not the caller that opened it. */
  owns(file: OpenFile): boolean {
    return this.#file === file || this.#retired.includes(file);
  }

  /**
   * The file of a position after it lost its name, for one last read: of entries acknowledged before it was
   * moved or deleted. undefined if it is closed, or was read already.
   */
  lastRead(from: LogPosition | undefined): OpenFile | undefined {
    const position = from === undefined ? undefined : parsePosition(from);
    const file = this.#file;
    if (position === undefined || file === undefined || file === this.#lastRead) return undefined;
    if (!isSameFile(position, file.stat())) return undefined;
    this.#lastRead = file;
    return file;
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
    for (const file of this.#retired.splice(0)) file.close();
  }
}

/** The error for a session whose file no longer exists. */
export function sessionNotFound({ id, path }: { readonly id: string; readonly path: string }): SessileError {
  const message = `session ${id} has no file ${path} any more: it was deleted or moved`;
  return new SessileError("SESSION_NOT_FOUND", message, { details: { id } });
}

/** The error for a new session whose id, or file, is in use. */
export function sessionExists(id: string): SessileError {
  const message = `session ${id} exists already: open it, or choose another id`;
  return new SessileError("SESSION_EXISTS", message, { details: { id } });
}

/** Throws NOT_A_FILE unless the stat is of a regular file. */
export function assertRegularFile(path: string, stat: FileStat): FileStat {
  if (stat.kind !== "file") throw notAFile(path, stat.kind);
  return stat;
}

export function notAFile(path: string, kind: FileStat["kind"]): SessileError {
  return new SessileError("NOT_A_FILE", `${path} is a ${kind}, not a file`, { details: { path, kind } });
}

/**
 * Opens a file for reading, runs `act` and closes it.
 *
 * @throws SessileError SESSION_NOT_FOUND, NOT_A_FILE, STORAGE_FAILED
 */
export async function withRegularFile<T>(
  fs: FileSystem,
  path: string,
  operation: string,
  act: (file: OpenFile, stat: FileStat) => Promise<T>,
): Promise<T> {
  let file: OpenFile | undefined;
  try {
    // Before opening too: opening a device can have an effect.
    const found = fs.stat(path);
    if (found !== undefined) assertRegularFile(path, found);
    file = fs.open(path, "read");
    if (file === undefined) {
      throw new SessileError("SESSION_NOT_FOUND", `there is no file ${path}`, { details: { id: path } });
    }
    return await act(file, assertRegularFile(path, file.stat()));
  } catch (error) {
    throw storageError(operation, path, error);
  } finally {
    file?.close();
  }
}
