import { dirname } from "node:path";
import { SessileError } from "../../errors/index.js";
import { storageError } from "../../internal/storage-error.js";
import type { Durability, LogPosition } from "../backend.js";
import type { Disk, DiskFile, FileStat } from "./disk.js";
import type { LastingNames } from "./lasting-names.js";
import { absentPosition, markedBytes, markOf, printPosition } from "./position.js";
import { mendTail, type SavedTail } from "./tail.js";
import { takeName } from "./take-name.js";

/** What the writing end of a log file needs. */
export interface LogEndOptions {
  readonly disk: Disk;
  readonly path: string;
  readonly durability: Durability;
  readonly maxLineBytes: number;
  /** The session's id, for errors. */
  readonly id: string;
  /** For names of files that are put aside. Milliseconds since 1970. */
  readonly now: () => number;
  readonly names: LastingNames;
}

/** What the file was like when its end was last read or written. */
interface Seen {
  readonly position: LogPosition;
  readonly stat: FileStat;
}

/** After this the name is looked up again even so, for programs that rename without taking locks. */
const namedMs = 50;

/** Appends that follow each other within two readings of a clock of milliseconds are a run from the so many-th on. */
const runLength = 16;
const runMs = 1;

/** Where a batch came to lie. */
export interface Written {
  readonly position: LogPosition;
  /** Offset of its first byte. */
  readonly at: number;
  /** Another program wrote in the same moment. */
  readonly interleaved: boolean;
}

/** The end of a log file, for one writer. All of it is to be done under the lock, but for what only looks. */
export class LogEnd {
  readonly #options: LogEndOptions;
  #file: { readonly handle: DiskFile; readonly dev: number; readonly ino: number } | undefined;
  #seen: Seen | undefined;
  #poison: SessileError | undefined;
  /** When the name was last looked up, and in which hold of the lock. */
  #named = { hold: -1, at: 0 };
  /** Whether the name of the open file is known to last. */
  #nameLasts = false;
  /** The appends that came one right after the other until now. */
  #run = { length: 0, at: 0 };

  constructor(options: LogEndOptions) {
    this.#options = options;
  }

  /** Whether the file is as it was when it ended at `position`. */
  isStill(position: LogPosition): boolean {
    const seen = this.#seen;
    return seen?.position === position && isUnchanged(seen.stat, this.#options.disk.stat(this.#options.path));
  }

  /** A reader came to the end. */
  saw(position: LogPosition, stat: FileStat): void {
    this.#seen = { position, stat };
  }

  /** Makes the directory of the file; needs no lock, which lies there too. */
  makeDirectory(): void {
    const { names, path } = this.#options;
    names.make(dirname(path));
  }

  /** Makes the file, which must not be there. */
  create(): DiskFile {
    const { disk, path } = this.#options;
    const handle = disk.open(path, "create");
    if (handle === undefined) throw this.#exists();
    const { dev, ino } = handle.stat();
    this.#file = { handle, dev, ino };
    return handle;
  }

  /** Makes the file out of one that is whole, and makes it last under its own name. */
  async takeFrom(temporary: string): Promise<void> {
    const { disk, path, durability, names } = this.#options;
    const isToLast = durability === "disk";
    if (isToLast) await syncFile(disk, temporary);
    if (!takeName(disk, temporary, path)) throw this.#exists();
    if (!isToLast) return;
    try {
      await names.sync(dirname(path));
    } catch (error) {
      disk.unlink(path);
      throw error;
    }
  }

  /**
   * The file that has the name now, at its end, which is where `expected` says. Throws CONCURRENT_WRITER otherwise.
   *
   * @param hold which hold of the lock this is. Within one, nobody who takes locks gives the name to another file, so that
   *   it need not be looked up for each of a run of appends: that takes longer than the write.
   */
  async at(expected: LogPosition, hold?: number): Promise<DiskFile> {
    const { disk, path } = this.#options;
    const now = Date.now();
    const known = hold !== undefined && hold === this.#named.hold && Math.abs(now - this.#named.at) < namedMs;
    const stat = known ? this.#file?.handle.stat() : disk.stat(path);
    const { handle } = this.#open(stat);
    if (!known && hold !== undefined) this.#named = { hold, at: now };
    const seen = this.#seen;
    if (seen?.position === expected && isUnchanged(seen.stat, stat)) return handle;
    // A crash, or a program without locks, may have left half a line.
    if (!endsWhole(handle)) await this.mend();
    const own = handle.stat();
    const actual = positionAt(handle, own);
    if (actual !== expected) {
      const message = `another writer came first: the log ends at ${actual}, not at ${expected}`;
      throw new SessileError("CONCURRENT_WRITER", message, { details: { expected, actual } });
    }
    this.#seen = { position: actual, stat: own };
    return handle;
  }

  /**
   * {@link at} and {@link write} in one for an append in a run of them, where the look after the one before was a moment
   * ago and serves as the look before this one: that takes as long as the write. What another program that takes no lock
   * writes in that moment is seen by the look after, as what it writes during a write is. undefined where both looks are
   * due, or the batch has to reach the disk.
   */
  next(expected: LogPosition, hold: number, bytes: Uint8Array): Written | undefined {
    if (this.#options.durability === "disk" || this.#poison !== undefined || this.#file === undefined)
      return undefined;
    if (this.#seen?.position !== expected || hold !== this.#named.hold) return undefined;
    const { length, at } = this.#run;
    if (length < runLength || !isWithin(Date.now(), at, runMs)) return undefined;
    return this.#write(this.#file.handle, bytes, false);
  }

  /** Writes a batch behind the last line, and makes it last. All of it, or none. */
  async write(handle: DiskFile, bytes: Uint8Array, created: boolean): Promise<Written> {
    if (this.#poison !== undefined) throw this.#poison;
    const written = this.#write(handle, bytes, created);
    if (this.#options.durability === "disk") await this.#sync(handle, !this.#nameLasts);
    return written;
  }

  /** Writes a batch, and looks where it came to lie. */
  #write(handle: DiskFile, bytes: Uint8Array, created: boolean): Written {
    const start = created ? 0 : (this.#seen as Seen).stat.size;
    this.#append(handle, bytes, start, created);
    const stat = handle.stat();
    const now = Date.now();
    this.#run = { length: isWithin(now, this.#run.at, runMs) ? this.#run.length + 1 : 1, at: now };
    const interleaved = stat.size !== start + bytes.length;
    const at = interleaved ? this.#find(handle, bytes, start, stat) : start;
    const { dev, ino, size } = stat;
    const position = interleaved
      ? positionAt(handle, stat)
      : printPosition({ dev, ino, size, mark: markOf(bytes) });
    this.#seen = { position, stat };
    return { position, at, interleaved };
  }

  /** Puts a torn tail aside, or gives a whole last line its line feed. */
  async mend(): Promise<SavedTail | undefined> {
    const { disk, path, maxLineBytes, now } = this.#options;
    const { handle } = this.#open(disk.stat(path));
    this.#seen = undefined;
    return mendTail(disk, handle, path, maxLineBytes, stamp(now()), () => this.#sync(handle, false));
  }

  /** Whether the file ends with a whole line. */
  isWhole(): boolean {
    return endsWhole(this.#open(this.#options.disk.stat(this.#options.path)).handle);
  }

  /** The position of the file that has the name now. */
  position(): LogPosition {
    const { handle } = this.#open(this.#options.disk.stat(this.#options.path));
    const stat = handle.stat();
    const position = positionAt(handle, stat);
    this.#seen = { position, stat };
    return position;
  }

  close(): void {
    this.#file?.handle.close();
    this.#file = undefined;
    this.#seen = undefined;
    this.#nameLasts = false;
  }

  /** The open file, opened again where another has the name: a migration, or an editor, put it there. */
  #open(stat: FileStat | undefined): { readonly handle: DiskFile } {
    const { disk, path } = this.#options;
    if (this.#poison !== undefined) throw this.#poison;
    if (stat === undefined) {
      this.close();
      throw gone(this.#options);
    }
    if (this.#file !== undefined && this.#file.dev === stat.dev && this.#file.ino === stat.ino)
      return this.#file;
    this.close();
    const handle = disk.open(path, "append");
    if (handle === undefined) throw gone(this.#options);
    try {
      const { dev, ino } = regular(path, handle.stat());
      this.#file = { handle, dev, ino };
      return this.#file;
    } catch (error) {
      handle.close();
      throw error;
    }
  }

  /** Adds the whole batch, or puts the file back to where it was. */
  #append(handle: DiskFile, bytes: Uint8Array, start: number, created: boolean): void {
    const { disk, path } = this.#options;
    let written = 0;
    try {
      while (written < bytes.length) {
        const count = handle.append(written === 0 ? bytes : bytes.subarray(written));
        if (count <= 0) throw new Error("nothing was written");
        written += count;
      }
    } catch (cause) {
      try {
        if (handle.stat().size !== start + written) throw new Error("another program wrote at the same time");
        if (created) {
          this.close();
          disk.unlink(path);
        } else {
          handle.truncate(start);
        }
      } catch (error) {
        throw this.#poisoned(`a write failed, and so did taking it back: ${String(error)}`, cause);
      }
      throw storageError("append to", path, cause);
    }
  }

  async #sync(handle: DiskFile, withName: boolean): Promise<void> {
    const { names, path } = this.#options;
    try {
      await handle.sync();
      if (!withName) return;
      await names.sync(dirname(path));
      this.#nameLasts = true;
    } catch (cause) {
      // After a failed sync the kernel may call the lost pages clean, so that a second one proves nothing.
      throw this.#poisoned("the disk did not confirm a write", cause);
    }
  }

  /** Where a batch lies in a file that another program wrote to at the same moment. */
  #find(handle: DiskFile, bytes: Uint8Array, start: number, stat: FileStat): number {
    const region = Buffer.alloc(Math.max(0, stat.size - start));
    const at = region.subarray(0, handle.readNow(region, start)).indexOf(bytes);
    if (at < 0 || (at > 0 && region[at - 1] !== 10)) {
      throw this.#poisoned("the bytes that were written are not in the file", undefined);
    }
    return start + at;
  }

  #exists(): SessileError {
    const { id } = this.#options;
    return new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
  }

  #poisoned(reason: string, cause: unknown): SessileError {
    const { id } = this.#options;
    const message = `session ${id} must be opened again: ${reason}`;
    this.#poison = new SessileError("WRITER_POISONED", message, { cause, details: { id, reason } });
    return this.#poison;
  }
}

/** The error of a session whose file is no longer there. */
export function gone({ id, path }: { readonly id: string; readonly path: string }): SessileError {
  return new SessileError("SESSION_NOT_FOUND", `the file of session ${id} is gone: ${path}`, {
    details: { id },
  });
}

/** Throws NOT_A_FILE for anything that is no regular file. */
export function regular(path: string, stat: FileStat): FileStat {
  if (stat.kind === "file") return stat;
  throw new SessileError("NOT_A_FILE", `${path} is a ${stat.kind}, not a file`, {
    details: { path, kind: stat.kind },
  });
}

/** A time as part of a file name. */
export function stamp(now: number): string {
  return new Date(now).toISOString().replace(/[:.]/g, "-");
}

/** The position of a file that ends with a line feed. */
function positionAt(handle: DiskFile, { dev, ino, size }: FileStat): LogPosition {
  if (size === 0) return absentPosition;
  const tail = new Uint8Array(Math.min(size, 2 * markedBytes));
  const count = handle.readNow(tail, size - tail.length);
  return printPosition({ dev, ino, size, mark: markOf(tail.subarray(0, count)) });
}

async function syncFile(disk: Disk, path: string): Promise<void> {
  const file = disk.open(path, "append");
  try {
    await file?.sync();
  } finally {
    file?.close();
  }
}

function endsWhole(handle: DiskFile): boolean {
  const { size } = handle.stat();
  const last = new Uint8Array(1);
  return size === 0 || (handle.readNow(last, size - 1) === 1 && last[0] === 10);
}

function isUnchanged(seen: FileStat, now: FileStat | undefined): boolean {
  if (now === undefined || seen.dev !== now.dev || seen.ino !== now.ino) return false;
  return seen.size === now.size && seen.mtimeMs === now.mtimeMs;
}

function isWithin(now: number, then: number, ms: number): boolean {
  return now - then <= ms && now >= then;
}
