import { SessileError } from "../../errors/index.js";
import type { FileStat, FileSystem, OpenFile } from "../../internal/node/file-system.js";
import { storageError } from "../../internal/node/file-system.js";
import type { LogPosition } from "../api/backend.js";
import { isSameFile, offsetOf, parsePosition } from "./log-position.js";

/** Holds descriptors that it can close, and open again when they are needed. */
export interface FileHolder {
  /** Closes them unless they are in use. Whether it did. */
  rest(): boolean;
}

/** So many sessions of a process keep their files open, two descriptors each at most, besides those in use. */
const maxHolders = 128;

/** Bounds the descriptors of open sessions: beyond a number, those not used for longest close theirs. */
export class OpenFiles {
  readonly #max: number;
  /** Those used last come last. */
  readonly #holders = new Set<FileHolder>();
  #latest: FileHolder | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** To be called when descriptors are opened or used. */
  used(holder: FileHolder): void {
    if (holder === this.#latest) return;
    this.#holders.delete(holder);
    this.#holders.add(holder);
    this.#latest = holder;
    this.trim();
  }

  /** To be called when a holder's descriptors are no longer in use. */
  trim(): void {
    if (this.#holders.size <= this.#max) return;
    for (const holder of this.#holders) if (holder.rest() && this.remove(holder) <= this.#max) return;
  }

  /** A holder has no descriptors any more. How many still have. */
  remove(holder: FileHolder): number {
    this.#holders.delete(holder);
    if (holder === this.#latest) this.#latest = undefined;
    return this.#holders.size;
  }
}

const byDisk = new WeakMap<FileSystem, OpenFiles>();

/**
 * The files of a disk, whichever store opened them: a program may make a store for each request.
 *
 * @param max of a disk that is new here
 */
export function openFilesOf(disk: FileSystem, max = maxHolders): OpenFiles {
  let files = byDisk.get(disk);
  if (files === undefined) {
    files = new OpenFiles(max);
    byDisk.set(disk, files);
  }
  return files;
}

/**
 * The file that the places of a log's lines are places in: the one that was first read, or read again after it was
 * replaced. It stays open while it may, so that they mean the same after another file has taken its name; closed to
 * save a descriptor, it is opened again by name, and known by its last position.
 */
export class PlacesFile {
  readonly #disk: FileSystem;
  readonly #path: string;
  #file: OpenFile | undefined;
  /** Where it was last read or written. */
  #reached: LogPosition | undefined;
  /** Files before that one. A read may still be under way in them. */
  readonly #retired: OpenFile[] = [];
  /** The file that was read to its end after another had taken its name away. */
  #left: OpenFile | undefined;

  constructor(disk: FileSystem, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /** Opens it if it is closed; undefined if another file has its name by now. */
  open(): OpenFile | undefined {
    const file = this.#file ?? this.#disk.open(this.#path, "read");
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

  /** Whether a file is this one. An inode's number alone may be another's by now. */
  is(file: OpenFile, stat: FileStat): boolean {
    return this.#reached === undefined || offsetOf(file, stat, this.#reached) !== undefined;
  }

  /** The log was read or written up to here. */
  reached(position: LogPosition): LogPosition {
    this.#reached = position;
    return position;
  }

  /** Takes an open file for this one where this one is closed. */
  adopt(file: OpenFile): void {
    this.#file ??= file;
  }

  /** From now on places are places in another file: this one, or the one that is opened next. Whether it changed. */
  become(file: OpenFile | undefined): boolean {
    const before = this.#file;
    this.#file = file;
    if (before !== undefined && before !== file) this.#retired.push(before);
    return this.#reached !== undefined && (before !== file || file === undefined);
  }

  /** Whether a file is closed by this, and not by who opened it. */
  keeps(file: OpenFile): boolean {
    return this.#file === file || this.#retired.includes(file);
  }

  /**
   * The file that a position is in, which has lost its name since: for one last read of what was acknowledged before it
   * was moved away or deleted. undefined if it was closed.
   */
  leaving(from: LogPosition | undefined): OpenFile | undefined {
    const position = from === undefined ? undefined : parsePosition(from);
    const file = this.#file;
    if (position === undefined || file === undefined || file === this.#left) return undefined;
    if (!isSameFile(position, file.stat())) return undefined;
    this.#left = file;
    return file;
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
    for (const file of this.#retired.splice(0)) file.close();
  }
}

/** The error of a session whose file is no longer there. */
export function gone({ id, path }: { readonly id: string; readonly path: string }): SessileError {
  return new SessileError("SESSION_NOT_FOUND", `the file of session ${id} is gone: ${path}`, {
    details: { id },
  });
}

/** The error of a session that cannot be made since there is one of its id. */
export function exists(id: string): SessileError {
  return new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
}

/** Throws NOT_A_FILE for anything that is no regular file. */
export function regular(path: string, stat: FileStat): FileStat {
  if (stat.kind === "file") return stat;
  throw new SessileError("NOT_A_FILE", `${path} is a ${stat.kind}, not a file`, {
    details: { path, kind: stat.kind },
  });
}

/**
 * Opens a file to be read, runs `act` and closes it.
 *
 * @throws SessileError SESSION_NOT_FOUND, NOT_A_FILE, STORAGE_FAILED
 */
export async function withFile<T>(
  disk: FileSystem,
  path: string,
  operation: string,
  act: (file: OpenFile, stat: FileStat) => Promise<T>,
): Promise<T> {
  let file: OpenFile | undefined;
  try {
    // Before it is opened too: some devices do something when they are.
    const found = disk.stat(path);
    if (found !== undefined) regular(path, found);
    file = disk.open(path, "read");
    if (file === undefined) {
      throw new SessileError("SESSION_NOT_FOUND", `there is no file ${path}`, { details: { id: path } });
    }
    return await act(file, regular(path, file.stat()));
  } catch (error) {
    throw storageError(operation, path, error);
  } finally {
    file?.close();
  }
}
