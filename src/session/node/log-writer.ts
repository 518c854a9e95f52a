import { dirname } from "node:path";
import { SessileError } from "../../errors/index.js";
import type { DurableDirectories } from "../../internal/node/durable-directories.js";
import type { FileStat, FileSystem, OpenFile } from "../../internal/node/file-system.js";
import { storageError } from "../../internal/node/file-system.js";
import { publishExclusive } from "../../internal/node/publish-exclusive.js";
import { appendFully } from "../../internal/node/read-write-fully.js";
import type { Durability, LogPosition } from "../api/backend.js";
import { exists, gone, regular } from "./file-descriptors.js";
import {
  absentPosition,
  endsAt,
  endsWhole,
  isUnchanged,
  markOf,
  markOfEnd,
  placeOf,
  positionAt,
  positionIn,
  positionPrefix,
  printPosition,
} from "./log-position.js";
import { missingEnding } from "./repair-torn-tail.js";

/** Options of {@link LogEnd}. */
export interface LogEndOptions {
  readonly disk: FileSystem;
  readonly path: string;
  readonly durability: Durability;
  readonly maxLineBytes: number;
  /** The session's id, for errors. */
  readonly id: string;
  readonly directories: DurableDirectories;
}

/** The state of the file at the last read or write of its end. */
interface Seen {
  readonly position: LogPosition;
  /** Bytes. */
  readonly size: number;
  /** Absent after a write, because a stat would cost more than the write. */
  readonly stat?: FileStat;
}

/** The open file and its identity. */
interface CurrentFile {
  readonly handle: OpenFile;
  readonly dev: number;
  readonly ino: number;
  /** The prefix of its positions. */
  readonly prefix: string;
}

/**
 * With durability "os", the maximum age of the last name lookup before an acknowledgement: a lookup takes as
 * long as a write.
 */
const namedMs = 2;

/** The location of a written batch. */
export interface Written {
  readonly position: LogPosition;
  /** Offset of its first byte. */
  readonly at: number;
  /** Whether another program wrote at the same moment. */
  readonly interleaved: boolean;
}

/** The end of a log file, for one writer. Everything except reads requires the lock. */
export class LogEnd {
  readonly #options: LogEndOptions;
  #file: CurrentFile | undefined;
  #seen: Seen | undefined;
  #poison: SessileError | undefined;
  /** The time and the acquisition of the lock of the last name lookup. */
  #named = { hold: -1, at: 0 };
  /** Whether the directory entry of the open file is durable. */
  #nameLasts = false;

  constructor(options: LogEndOptions) {
    this.#options = options;
  }

  /** Whether the file is unchanged since it ended at `position`. */
  isStill(position: LogPosition): boolean {
    const seen = this.#seen;
    if (seen?.position !== position) return false;
    const stat = this.#options.disk.stat(this.#options.path);
    if (seen.stat !== undefined) return isUnchanged(seen.stat, stat);
    if (stat === undefined || !this.#isOpen(stat) || !this.#endsStill(position)) return false;
    this.saw(position, stat);
    return true;
  }

  /** Records that a reader reached the end. */
  saw(position: LogPosition, stat: FileStat): void {
    this.#seen = { position, size: stat.size, stat };
  }

  /** Creates the directory of the file. Needs no lock, because the lock file is in it too. */
  mkdir(): void {
    const { directories, path } = this.#options;
    directories.create(dirname(path));
  }

  /** Creates the file, which must not exist. */
  create(): OpenFile {
    const { disk, path } = this.#options;
    const handle = disk.open(path, "create");
    if (handle === undefined) throw exists(this.#options.id);
    const { dev, ino } = handle.stat();
    this.#file = { handle, dev, ino, prefix: positionPrefix(dev, ino) };
    return handle;
  }

  /** Publishes a complete temp file under the name of the log, durably if requested. */
  async takeFrom(temporary: string): Promise<void> {
    const { disk, path, durability, directories } = this.#options;
    const isToLast = durability === "disk";
    if (isToLast) await syncFile(disk, temporary);
    if (!publishExclusive(disk, temporary, path)) throw exists(this.#options.id);
    if (!isToLast) return;
    try {
      await directories.sync(dirname(path));
    } catch (error) {
      disk.unlink(path);
      throw error;
    }
  }

  /**
   * Opens the file with the current name, and checks that its end is at `expected`. Throws CONCURRENT_WRITER
   * otherwise.
   * @param hold the acquisition of the lock. Within one, no locking program replaces the file, so that the name
   *   is not looked up for each append of a run: a lookup takes longer than the write.
   */
  async at(expected: LogPosition, hold?: number): Promise<OpenFile> {
    const { disk, path } = this.#options;
    const now = Date.now();
    const known = hold !== undefined && hold === this.#named.hold && isWithin(now, this.#named.at, namedMs);
    if (this.#poison !== undefined) throw this.#poison;
    if (known && this.#endsStill(expected)) return (this.#file as CurrentFile).handle;
    const stat = disk.stat(path);
    const { handle } = this.#open(stat);
    if (hold !== undefined) this.#named = { hold, at: now };
    const seen = this.#seen;
    if (seen?.position === expected && isUnchanged(seen.stat, stat)) return handle;
    // A crash, or a program without locks, may have left a torn tail.
    if (!endsWhole(handle)) await this.mend();
    const own = handle.stat();
    const actual = positionAt(handle, own);
    if (actual !== expected) {
      const message = `another writer came first: the log ends at ${actual}, not at ${expected}`;
      throw new SessileError("CONCURRENT_WRITER", message, { details: { expected, actual } });
    }
    this.#seen = { position: actual, size: own.size, stat: own };
    return handle;
  }

  /** Appends a batch behind the last line, and fsyncs it. All or nothing. */
  async write(handle: OpenFile, bytes: Uint8Array, created: boolean): Promise<Written> {
    if (this.#poison !== undefined) throw this.#poison;
    const before = this.#seen?.position ?? absentPosition;
    const written = this.#write(handle, bytes, created);
    if (this.#options.durability === "disk") await this.#sync(handle, !this.#nameLasts);
    // The file was deleted or replaced in the meantime: the batch is in no log.
    if (!this.#isNamed()) await this.at(before);
    return written;
  }

  /**
   * Whether the open file has the name, or had it a moment ago. With durability "disk" a lookup is cheap
   * beside an fsync.
   */
  #isNamed(): boolean {
    const { disk, path, durability } = this.#options;
    const now = Date.now();
    if (durability === "os" && isWithin(now, this.#named.at, namedMs)) return true;
    const stat = disk.stat(path);
    if (stat === undefined || !this.#isOpen(stat)) return false;
    this.#named = { hold: this.#named.hold, at: now };
    return true;
  }

  /** Writes a batch, and checks its location. */
  #write(handle: OpenFile, bytes: Uint8Array, created: boolean): Written {
    const start = created ? 0 : (this.#seen as Seen).size;
    this.#append(handle, bytes, start, created);
    const size = start + bytes.length;
    if (endsAt(handle, size)) {
      const position = positionIn((this.#file as CurrentFile).prefix, size, markOf(bytes));
      this.#seen = { position, size };
      return { position, at: start, interleaved: false };
    }
    return this.#lookedFor(handle, bytes, start);
  }

  /** Finds a batch whose end is not at the expected offset, or cannot be read. */
  #lookedFor(handle: OpenFile, bytes: Uint8Array, start: number): Written {
    try {
      const stat = handle.stat();
      const { dev, ino, size } = stat;
      const interleaved = size !== start + bytes.length;
      const at = interleaved ? placeOf(bytes, handle, start, size) : start;
      if (at === undefined)
        throw this.#poisoned("the bytes that were written are not in the file", undefined);
      const position = interleaved
        ? positionAt(handle, stat)
        : printPosition({ dev, ino, size, mark: markOf(bytes) });
      this.#seen = { position, size, stat };
      return { position, at, interleaved };
    } catch (cause) {
      if (this.#poison !== undefined) throw this.#poison;
      throw this.#poisoned("it cannot be seen where a write came to lie", cause);
    }
  }

  /** Ends a last line without a line feed. */
  async mend(): Promise<void> {
    const { disk, path, maxLineBytes } = this.#options;
    const { handle } = this.#open(disk.stat(path));
    this.#seen = undefined;
    const ending = await missingEnding(handle, maxLineBytes);
    if (ending === undefined) return;
    appendFully(handle, ending);
    await this.#sync(handle, false);
  }

  /** Whether the file ends with a whole line. */
  isWhole(): boolean {
    return endsWhole(this.#open(this.#options.disk.stat(this.#options.path)).handle);
  }

  /** The position of the file with the current name. */
  position(): LogPosition {
    const { handle } = this.#open(this.#options.disk.stat(this.#options.path));
    const stat = handle.stat();
    const position = positionAt(handle, stat);
    this.#seen = { position, size: stat.size, stat };
    return position;
  }

  /** Closes the descriptor. The recorded state stays valid if the file is unchanged. */
  rest(): void {
    this.#file?.handle.close();
    this.#file = undefined;
  }

  close(): void {
    this.rest();
    this.#seen = undefined;
    this.#nameLasts = false;
  }

  /** The open file, reopened if another one has the name after a migration or an editor's atomic rename. */
  #open(stat: FileStat | undefined): { readonly handle: OpenFile } {
    const { disk, path } = this.#options;
    if (this.#poison !== undefined) throw this.#poison;
    if (stat === undefined) {
      this.close();
      throw gone(this.#options);
    }
    if (this.#file !== undefined && this.#isOpen(stat)) return this.#file;
    this.close();
    const handle = disk.open(path, "append");
    if (handle === undefined) throw gone(this.#options);
    try {
      const { dev, ino } = regular(path, handle.stat());
      this.#file = { handle, dev, ino, prefix: positionPrefix(dev, ino) };
      return this.#file;
    } catch (error) {
      handle.close();
      throw error;
    }
  }

  #isOpen({ dev, ino }: FileStat): boolean {
    return this.#file?.dev === dev && this.#file.ino === ino;
  }

  /** Whether the open file still ends as recorded. */
  #endsStill(position: LogPosition): boolean {
    if (this.#file === undefined || this.#seen?.position !== position) return false;
    const { size } = this.#seen;
    const mark = markOfEnd(this.#file.handle, size);
    return mark !== undefined && positionIn(this.#file.prefix, size, mark) === position;
  }

  /** Appends the whole batch, or truncates the file to its size before. */
  #append(handle: OpenFile, bytes: Uint8Array, start: number, created: boolean): void {
    const { disk, path } = this.#options;
    let written = 0;
    try {
      appendFully(handle, bytes, (count) => {
        written += count;
      });
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

  async #sync(handle: OpenFile, withName: boolean): Promise<void> {
    const { directories, path } = this.#options;
    try {
      await handle.sync();
      if (!withName) return;
      await directories.sync(dirname(path));
      this.#nameLasts = true;
    } catch (cause) {
      // After a failed fsync the kernel may mark the lost pages clean, so that a second fsync proves nothing.
      throw this.#poisoned("the disk did not confirm a write", cause);
    }
  }

  #poisoned(reason: string, cause: unknown): SessileError {
    const { id } = this.#options;
    const message = `session ${id} must be opened again: ${reason}`;
    this.#poison = new SessileError("WRITER_POISONED", message, { cause, details: { id, reason } });
    return this.#poison;
  }
}

async function syncFile(disk: FileSystem, path: string): Promise<void> {
  const file = disk.open(path, "append");
  try {
    await file?.sync();
  } finally {
    file?.close();
  }
}

function isWithin(now: number, then: number, ms: number): boolean {
  return now - then <= ms && now >= then;
}
