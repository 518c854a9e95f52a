/** Appends to a log file: compare-and-swap of the end, repair of a torn tail, fsync, poisoning. */

import { dirname } from "node:path";
import { SessileError } from "../../core/errors/index.js";
import {
  appendFully,
  type DurableDirectories,
  type FileStat,
  type FileSystem,
  type OpenFile,
  storageError,
} from "../../core/node/file-system.js";
import type { LogPosition } from "../../session/index.js";
import type { Durability } from "../../session/internal.js";
import { assertRegularFile, sessionExists, sessionNotFound } from "./file-descriptors.js";
import { tornTailEnding } from "./file-log.js";
import {
  absentPosition,
  changeBetween,
  endsWith,
  findBatch,
  findFingerprint,
  isSameFile,
  isUnchanged,
  lineEnding,
  printPosition,
  readEnding,
} from "./read-lines.js";

/** Options of {@link LogWriter}. */
export interface LogWriterOptions {
  readonly fs: FileSystem;
  readonly path: string;
  readonly durability: Durability;
  readonly maxLineBytes: number;
  /** The session's id, for errors. */
  readonly id: string;
  readonly directories: DurableDirectories;
}

/** The open file and its identity. */
interface CurrentFile {
  readonly handle: OpenFile;
  readonly dev: number;
  readonly ino: number;
}

/** The end of the file at its last read or write. */
interface LogEnd {
  readonly position: LogPosition;
  /** Bytes. */
  readonly size: number;
  /** The last bytes; absent if a reader saw the end. */
  readonly ending?: Uint8Array;
  /** Absent after a write, because a stat would cost more than the write. */
  readonly stat?: FileStat;
}

/** The location of a written batch. */
export interface Written {
  readonly position: LogPosition;
  /** Offset of its first byte. */
  readonly at: number;
  /** Whether another program wrote at the same moment. */
  readonly interleaved: boolean;
}

/**
 * The maximum age of the last name lookup for which a run of appends under one lock acquisition does without
 * another: a lookup takes as long as a write. With durability "disk" it is made after each fsync, which costs
 * more.
 */
const nameLookupMs = 2;

/**
 * Appends to a log file by compare-and-swap. Every method except `isUnchangedSince`, `sawEnd` and `mkdir`
 * requires the lock. After a failure that leaves the end of the file unknown, the writer is poisoned: every
 * later call throws WRITER_POISONED.
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  #file: CurrentFile | undefined;
  #end: LogEnd | undefined;
  #poison: SessileError | undefined;
  /** The acquisition of the lock and the time of the last name lookup. */
  #lookup = { acquisition: -1, at: 0 };
  /** Whether the directory entry of the open file is durable. */
  #isNameDurable = false;

  constructor(options: LogWriterOptions) {
    this.#options = options;
  }

  /**
   * Appends a batch, all or nothing: checks that the file ends at `expected`, writes, checks where the bytes
   * are, fsyncs, and checks that the file still has its name.
   *
   * @param acquisition the number of the lock acquisition. Within one, no program that locks replaces the
   *   file.
   * @throws SessileError CONCURRENT_WRITER, SESSION_NOT_FOUND, STORAGE_FAILED; nothing is in the log
   * @throws SessileError WRITER_POISONED if the end of the log is unknown
   */
  async append(bytes: Uint8Array, expected: LogPosition, acquisition: number): Promise<Written> {
    return this.write(bytes, expected, acquisition);
  }

  /** {@link append} without a promise if nothing has to be awaited: of the first 1,000 appends one takes a microsecond. */
  write(bytes: Uint8Array, expected: LogPosition, acquisition: number): Written | Promise<Written> {
    if (this.#poison !== undefined) throw this.#poison;
    if (expected === absentPosition) {
      this.#create();
      return this.#writeAt(0, bytes, expected);
    }
    const lookup = this.#lookup;
    if (acquisition !== lookup.acquisition || !isRecent(lookup.at)) this.#openNamed();
    lookup.acquisition = acquisition;
    if (!this.#stillEndsAt(expected)) return this.#readAndWrite(bytes, expected);
    return this.#writeAt((this.#end as LogEnd).size, bytes, expected);
  }

  async #readAndWrite(bytes: Uint8Array, expected: LogPosition): Promise<Written> {
    // Compared again after the wait, in which a reader may have recorded another end.
    while (!this.#stillEndsAt(expected)) await this.assertEndsAt(expected);
    return this.#writeAt((this.#end as LogEnd).size, bytes, expected);
  }

  /** Writes the whole batch at the end of the file, or truncates the file to its size before. */
  #writeAt(start: number, bytes: Uint8Array, expected: LogPosition): Written | Promise<Written> {
    const { handle, dev, ino } = this.#file as CurrentFile;
    // Nearly always one write has the whole batch.
    let count = 0;
    try {
      count = handle.append(bytes);
      if (count < bytes.length)
        appendFully(handle, bytes.subarray(count), (more) => {
          count += more;
        });
    } catch (cause) {
      throw this.#takenBack(start, count, expected === absentPosition, cause);
    }
    const size = start + bytes.length;
    const ending = lineEnding(bytes);
    let written: Written;
    if (endsWith(handle, size, ending)) {
      const position = printPosition({ dev, ino, size, fingerprint: findFingerprint(ending) });
      this.#end = { position, size, ending };
      written = { position, at: start, interleaved: false };
    } else {
      written = this.#findWritten(handle, bytes, start);
    }
    if (this.#options.durability !== "disk" && isRecent(this.#lookup.at)) return written;
    return this.#acknowledged(written, expected);
  }

  /** A written batch, once it is durable and the file still has its name. */
  async #acknowledged(written: Written, expected: LogPosition): Promise<Written> {
    const file = this.#file as CurrentFile;
    if (this.#options.durability === "disk") await this.#sync(file.handle, !this.#isNameDurable);
    let stat: FileStat | undefined;
    try {
      stat = this.#lookUpName();
    } catch (cause) {
      throw this.#poisoned("the name of the file could not be looked up after a write", cause);
    }
    // If the file was deleted or replaced in the meantime, the batch is in no log.
    if (this.#openNamed(stat) !== file) throw this.#conflict(expected, this.position());
    return written;
  }

  /**
   * Opens the file that has the name now, repairs a torn tail, and checks that the file ends at `expected`.
   *
   * @throws SessileError CONCURRENT_WRITER if it ends elsewhere
   */
  async assertEndsAt(expected: LogPosition): Promise<void> {
    // A crash, or a program without locks, may have left a torn tail.
    if (!isWhole(this.#readEnd())) await this.repairTornTail();
    const { position } = this.#readEnd();
    if (position !== expected) throw this.#conflict(expected, position);
  }

  /**
   * Whether the file is unchanged since it ended at `position`. A stat decides for a reader, without the
   * lock.
   */
  isUnchangedSince(position: LogPosition): boolean {
    const { fs, path } = this.#options;
    const end = this.#end;
    if (end?.position !== position) return false;
    const stat = fs.stat(path);
    if (end.stat !== undefined) return isUnchanged(end.stat, stat);
    if (stat === undefined || !isSameFile(this.#file, stat) || !this.#stillEndsAt(position)) return false;
    this.#end = { ...end, stat };
    return true;
  }

  /** Records that a reader reached the end. */
  sawEnd(position: LogPosition, stat: FileStat): void {
    const known = this.#end?.position === position ? this.#end : undefined;
    this.#end = { ...known, position, size: stat.size, stat };
  }

  /** Creates the directory of the file. Needs no lock, because the lock file is in it too. */
  mkdir(): void {
    const { directories, path } = this.#options;
    directories.create(dirname(path));
  }

  /** Ends a last line that has no line feed, and fsyncs it. */
  async repairTornTail(): Promise<void> {
    const { handle } = this.#openNamed();
    this.#end = undefined;
    const ending = await tornTailEnding(handle, this.#options.maxLineBytes);
    if (ending === undefined) return;
    appendFully(handle, ending);
    await this.#sync(handle, false);
  }

  /** Whether the file ends with a line feed, or is empty. Needs no lock. */
  hasWholeTail(): boolean {
    return isWhole(this.#readEnd());
  }

  /** The position of the end of the file that has the name now. */
  position(): LogPosition {
    return this.#readEnd().position;
  }

  /** Closes the descriptor. The recorded end stays valid if the file is unchanged. */
  releaseDescriptor(): void {
    this.#file?.handle.close();
    this.#file = undefined;
  }

  close(): void {
    this.releaseDescriptor();
    this.#end = undefined;
    this.#isNameDurable = false;
  }

  /** Creates the file, which must not exist. */
  #create(): void {
    const { fs, path, id } = this.#options;
    if (this.#poison !== undefined) throw this.#poison;
    const handle = fs.open(path, "create");
    if (handle === undefined) throw sessionExists(id);
    const { dev, ino } = handle.stat();
    this.#file = { handle, dev, ino };
  }

  #lookUpName(): FileStat | undefined {
    if (this.#poison !== undefined) throw this.#poison;
    const now = Date.now();
    const stat = this.#options.fs.stat(this.#options.path);
    // A lookup that fails does not count for the appends after it.
    this.#lookup.at = now;
    return stat;
  }

  /**
   * Looks the name up, and opens the file anew if another one has it after a migration or an atomic rename.
   */
  #openNamed(stat = this.#lookUpName()): CurrentFile {
    const { fs, path } = this.#options;
    if (this.#file !== undefined && stat?.ino === this.#file.ino && stat.dev === this.#file.dev)
      return this.#file;
    this.close();
    const handle = stat && fs.open(path, "append");
    if (handle === undefined) throw sessionNotFound(this.#options);
    try {
      const { dev, ino } = assertRegularFile(path, handle.stat());
      this.#file = { handle, dev, ino };
      return this.#file;
    } catch (error) {
      handle.close();
      throw error;
    }
  }

  #readEnd(): LogEnd {
    const { handle } = this.#openNamed();
    const stat = handle.stat();
    const { dev, ino, size } = stat;
    const ending = readEnding(handle, size);
    const position = printPosition({ dev, ino, size, fingerprint: findFingerprint(ending) });
    this.#end = { position, size, ending, stat };
    return this.#end;
  }

  /** Whether the open file still ends as recorded for a position. */
  #stillEndsAt(position: LogPosition): boolean {
    const file = this.#file;
    const end = this.#end;
    if (file === undefined || end?.ending === undefined || position !== end.position) return false;
    return endsWith(file.handle, end.size, end.ending);
  }

  /** Truncates the file to its size before a write that failed. Returns the error of the append. */
  #takenBack(start: number, written: number, isCreated: boolean, cause: unknown): unknown {
    const { handle } = this.#file as CurrentFile;
    try {
      if (handle.stat().size !== start + written) throw new Error("another program wrote at the same time");
      if (isCreated) {
        this.close();
        this.#options.fs.unlink(this.#options.path);
      } else {
        handle.truncate(start);
      }
    } catch (error) {
      return this.#poisoned(`a write failed, and so did the truncation after it: ${String(error)}`, cause);
    }
    return storageError("append to", this.#options.path, cause);
  }

  /** Finds a batch after which the file does not end, or whose end cannot be read. */
  #findWritten(handle: OpenFile, bytes: Uint8Array, start: number): Written {
    try {
      const stat = handle.stat();
      const { dev, ino, size } = stat;
      const interleaved = size !== start + bytes.length;
      const at = interleaved ? findBatch(bytes, handle, start, size) : start;
      if (at === undefined) throw this.#poisoned("the written bytes are not in the file", undefined);
      const ending = interleaved ? readEnding(handle, size) : lineEnding(bytes);
      const position = printPosition({ dev, ino, size, fingerprint: findFingerprint(ending) });
      this.#end = { position, size, ending, stat };
      return { position, at, interleaved };
    } catch (cause) {
      throw this.#poison ?? this.#poisoned("the location of the written bytes cannot be read", cause);
    }
  }

  async #sync(handle: OpenFile, withName: boolean): Promise<void> {
    const { directories, path } = this.#options;
    try {
      await handle.sync();
      if (!withName) return;
      await directories.sync(dirname(path));
      this.#isNameDurable = true;
    } catch (cause) {
      // After a failed fsync the kernel may mark the lost pages clean, so that a second fsync proves nothing.
      throw this.#poisoned("the disk did not confirm a write", cause);
    }
  }

  #conflict(expected: LogPosition, actual: LogPosition): SessileError {
    const { path, id } = this.#options;
    const message = `${changeBetween(expected, actual, path)}; read session ${id} before the next append`;
    return new SessileError("CONCURRENT_WRITER", message, { details: { expected, actual } });
  }

  #poisoned(reason: string, cause: unknown): SessileError {
    const { id } = this.#options;
    const message = `session ${id} must be opened again: ${reason}`;
    this.#poison = new SessileError("WRITER_POISONED", message, { cause, details: { id, reason } });
    return this.#poison;
  }
}

function isWhole({ size, ending }: LogEnd): boolean {
  return size === 0 || ending?.at(-1) === 10;
}

/** Whether a time is within {@link nameLookupMs} before now; false after the clock was put back. */
function isRecent(time: number): boolean {
  const age = Date.now() - time;
  return age >= 0 && age <= nameLookupMs;
}
