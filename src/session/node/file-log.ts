import { dirname } from "node:path";
import { SessileError } from "../../errors/index.js";
import { concatBytes } from "../../internal/bytes.js";
import type { Durability, LinePlace, LogAppend, LogBatch, LogPosition, SessionLog } from "../backend.js";
import { type Disk, type DiskFile, type FileStat, storageError } from "./disk.js";
import type { FileLock } from "./lock.js";
import { absentPosition, markOf, printPosition } from "./position.js";
import { readLines } from "./read-lines.js";
import { readPlaces } from "./read-places.js";
import { mendTail, type SavedTail } from "./tail.js";

/** What a log file is opened with. */
export interface FileLogOptions {
  readonly disk: Disk;
  readonly path: string;
  readonly lock: FileLock;
  readonly durability: Durability;
  readonly maxLineBytes: number;
  /** The session's id, for errors. */
  readonly id: string;
  /** For names of files that are put aside. Milliseconds since 1970. */
  readonly now: () => number;
}

/** What the file was like when this log last read or wrote its end. */
interface Seen {
  readonly position: LogPosition;
  readonly stat: FileStat;
}

/**
 * A session in a file. A batch is one write behind the last line, under the lock, after a look whether the file still
 * ends where the caller thinks; then one sync. What was acknowledged is never rewritten.
 */
export class FileLog implements SessionLog {
  readonly #options: FileLogOptions;
  #file: DiskFile | undefined;
  #reading: { readonly file: DiskFile; readonly stat: FileStat } | undefined;
  #seen: Seen | undefined;
  #poison: SessileError | undefined;
  #unwatch: (() => void) | undefined;
  #onChange = new Set<() => void>();

  constructor(options: FileLogOptions) {
    this.#options = options;
  }

  get location(): string {
    return this.#options.path;
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const { disk, path, lock } = this.#options;
    try {
      if (expected === absentPosition) disk.makeDirectory(dirname(path));
      return await lock.with(() => this.#append(lines, expected));
    } catch (error) {
      throw storageError("append to", path, error);
    }
  }

  async prepare(): Promise<{ readonly savedTail?: SavedTail }> {
    const { disk, path, lock } = this.#options;
    const file = this.#openFile();
    if (file === undefined || endsWhole(file)) return {};
    try {
      const savedTail = await lock.with(() => this.#mend(), 0);
      return savedTail === undefined ? {} : { savedTail };
    } catch (error) {
      // Another writer is at work: then its next write mends the end, or ours.
      if (SessileError.is(error, "SESSION_LOCKED")) return {};
      throw storageError("mend", path, error);
    } finally {
      if (disk.stat(path) === undefined) this.#closeFile();
    }
  }

  async *read(
    from: LogPosition | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterable<LogBatch> {
    const { disk, path, maxLineBytes } = this.#options;
    // Nothing to do for most polls.
    if (from !== undefined && from === this.#seen?.position && isUnchanged(this.#seen.stat, disk.stat(path)))
      return;
    const file = disk.open(path, "read");
    if (file === undefined) return;
    try {
      const stat = regular(path, file.stat());
      let last: LogBatch | undefined;
      for await (const batch of readLines(file, stat, from, { maxLineBytes, ...options })) {
        last = batch;
        yield batch;
      }
      if (last !== undefined && last.tail === undefined) this.#seen = { position: last.next, stat };
    } finally {
      file.close();
    }
  }

  async readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]> {
    const file = this.#openReading();
    return file === undefined ? places.map(() => undefined) : readPlaces(file, places);
  }

  replace(
    lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    expected: LogPosition,
  ): Promise<LogPosition> {
    return this.#options.lock.with(async () => {
      const { disk, path, now } = this.#options;
      const file = this.#openFile();
      if (file === undefined) throw this.#conflict(expected, absentPosition);
      this.#compare(expected, file);
      const temporary = `${path}.tmp-${crypto.randomUUID()}`;
      const next = disk.open(temporary, "create");
      if (next === undefined) throw storageError("create", temporary, undefined);
      try {
        for await (const line of lines) writeWhole(next, line);
        await next.sync();
        this.#compare(expected, file);
        disk.link(path, `${path}.old-${stamp(now())}`);
        disk.rename(temporary, path);
        await disk.syncDirectory(dirname(path));
      } catch (error) {
        disk.unlink(temporary);
        throw storageError("replace", path, error);
      } finally {
        next.close();
      }
      this.#closeFile();
      const opened = this.#openFile();
      if (opened === undefined) throw this.#conflict(expected, absentPosition);
      return this.#see(opened, opened.stat());
    });
  }

  changed(signal: AbortSignal): Promise<void> {
    const { disk, path } = this.#options;
    this.#unwatch ??= disk.watch(path, () => {
      for (const changed of [...this.#onChange]) changed();
    });
    return new Promise((resolve) => {
      const done = () => {
        this.#onChange.delete(done);
        resolve();
      };
      this.#onChange.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  async close(): Promise<void> {
    this.#unwatch?.();
    this.#unwatch = undefined;
    for (const changed of [...this.#onChange]) changed();
    this.#options.lock.release();
    this.#closeFile();
    this.#reading?.file.close();
    this.#reading = undefined;
  }

  async #append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    if (this.#poison !== undefined) throw this.#poison;
    const { durability } = this.#options;
    const bytes = lines.length === 1 ? (lines[0] as Uint8Array) : concatBytes(lines);
    const created = expected === absentPosition;
    const file = created ? this.#create() : this.#openFile();
    if (file === undefined) throw this.#conflict(expected, absentPosition);
    if (!created) await this.#compareOrMend(expected, file);
    const start = created ? 0 : (this.#seen as Seen).stat.size;
    this.#write(file, bytes, start, created);
    const stat = file.stat();
    const at = stat.size === start + bytes.length ? start : this.#find(file, bytes, start, stat);
    if (durability === "disk") await this.#sync(file, created);
    const interleaved = at !== start || stat.size !== start + bytes.length;
    const position = this.#see(file, stat, interleaved ? undefined : bytes);
    let next = at;
    const places = lines.map((line) => {
      const place = next;
      next += line.length;
      return place;
    });
    return { position, at: places, ...(interleaved ? { interleaved: true as const } : {}) };
  }

  #create(): DiskFile {
    const { disk, path, id } = this.#options;
    const file = disk.open(path, "create");
    if (file !== undefined) {
      this.#file = file;
      return file;
    }
    throw new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
  }

  /** Compares the end of the file with what is expected, after mending it where a crash left half a line. */
  async #compareOrMend(expected: LogPosition, file: DiskFile): Promise<void> {
    const { disk, path } = this.#options;
    const seen = this.#seen;
    if (seen?.position === expected && isUnchanged(seen.stat, disk.stat(path))) return;
    if (!endsWhole(file)) await this.#mend();
    this.#compare(expected, file);
  }

  #compare(expected: LogPosition, file: DiskFile): void {
    const { disk, path } = this.#options;
    const stat = disk.stat(path);
    if (stat === undefined) throw this.#conflict(expected, absentPosition);
    const own = file.stat();
    if (stat.dev !== own.dev || stat.ino !== own.ino) {
      // Another file has the name now.
      this.#closeFile();
      throw this.#conflict(expected, `${stat.dev}-${stat.ino}-${stat.size}`);
    }
    const actual = positionAt(file, own);
    if (actual !== expected) throw this.#conflict(expected, actual);
    this.#seen = { position: actual, stat: own };
  }

  /** Writes the whole batch, or puts the file back to where it was. */
  #write(file: DiskFile, bytes: Uint8Array, start: number, created: boolean): void {
    const { disk, path } = this.#options;
    let written = 0;
    try {
      while (written < bytes.length) {
        const count = file.append(written === 0 ? bytes : bytes.subarray(written));
        if (count <= 0) throw new Error("nothing was written");
        written += count;
      }
    } catch (cause) {
      try {
        if (file.stat().size !== start + written) throw new Error("another program wrote at the same time");
        if (created) {
          this.#closeFile();
          disk.unlink(path);
        } else {
          file.truncate(start);
        }
      } catch (error) {
        throw this.#poisoned(`a write failed, and so did taking it back: ${String(error)}`, cause);
      }
      throw storageError("append to", path, cause);
    }
  }

  async #sync(file: DiskFile, created: boolean): Promise<void> {
    const { disk, path } = this.#options;
    try {
      await file.sync();
      if (!created) return;
      // The file's name, and the name of a directory that may be new.
      await disk.syncDirectory(dirname(path));
      await disk.syncDirectory(dirname(dirname(path)));
    } catch (cause) {
      // After a failed sync the kernel may call the lost pages clean, so that a second one proves nothing.
      throw this.#poisoned("the disk did not confirm a write", cause);
    }
  }

  /** Where our bytes are in a file that another program wrote to at the same moment. */
  #find(file: DiskFile, bytes: Uint8Array, start: number, stat: FileStat): number {
    const region = new Uint8Array(Math.max(0, stat.size - start));
    const count = file.readNow(region, start);
    const at = indexOfBytes(region.subarray(0, count), bytes);
    if (at < 0 || (at > 0 && region[at - 1] !== 10)) {
      throw this.#poisoned("the bytes that were written are not in the file", undefined);
    }
    return start + at;
  }

  async #mend(): Promise<SavedTail | undefined> {
    const file = this.#openFile();
    if (file === undefined) return undefined;
    const { disk, path, maxLineBytes, now } = this.#options;
    this.#seen = undefined;
    return mendTail(disk, file, path, maxLineBytes, stamp(now()));
  }

  /** Remembers what the end is like now, after a write of these bytes. */
  #see(file: DiskFile, stat: FileStat, bytes?: Uint8Array): LogPosition {
    const { dev, ino, size } = stat;
    const known = bytes !== undefined && bytes.length > 1;
    const position = known ? printPosition({ dev, ino, size, mark: markOf(bytes) }) : positionAt(file, stat);
    this.#seen = { position, stat };
    return position;
  }

  #openFile(): DiskFile | undefined {
    const { disk, path } = this.#options;
    if (this.#file !== undefined) return this.#file;
    try {
      const file = disk.open(path, "append");
      if (file === undefined) return undefined;
      try {
        regular(path, file.stat());
      } catch (error) {
        file.close();
        throw error;
      }
      this.#file = file;
      return file;
    } catch (error) {
      throw storageError("open", path, error);
    }
  }

  #openReading(): DiskFile | undefined {
    const { disk, path } = this.#options;
    const stat = disk.stat(path);
    if (stat !== undefined && this.#reading !== undefined && isSame(this.#reading.stat, stat))
      return this.#reading.file;
    this.#reading?.file.close();
    this.#reading = undefined;
    const file = disk.open(path, "read");
    if (file !== undefined) this.#reading = { file, stat: file.stat() };
    return file;
  }

  #closeFile(): void {
    this.#file?.close();
    this.#file = undefined;
    this.#seen = undefined;
  }

  #conflict(expected: string, actual: string): SessileError {
    const message = `another writer came first: the log ends at ${actual}, not at ${expected}`;
    return new SessileError("CONCURRENT_WRITER", message, { details: { expected, actual } });
  }

  #poisoned(reason: string, cause: unknown): SessileError {
    const { id } = this.#options;
    const message = `session ${id} must be opened again: ${reason}`;
    this.#poison = new SessileError("WRITER_POISONED", message, { cause, details: { id, reason } });
    return this.#poison;
  }
}

/** Throws NOT_A_FILE for anything that is no regular file. */
export function regular(path: string, stat: FileStat): FileStat {
  if (stat.kind === "file") return stat;
  throw new SessileError("NOT_A_FILE", `${path} is a ${stat.kind}, not a file`, {
    details: { path, kind: stat.kind },
  });
}

function positionAt(file: DiskFile, { dev, ino, size }: FileStat): LogPosition {
  const tail = new Uint8Array(Math.min(size, 2 * 64));
  const count = file.readNow(tail, size - tail.length);
  return printPosition({ dev, ino, size, mark: markOf(tail.subarray(0, count)) });
}

function endsWhole(file: DiskFile): boolean {
  const { size } = file.stat();
  const last = new Uint8Array(1);
  return size === 0 || (file.readNow(last, size - 1) === 1 && last[0] === 10);
}

function isSame(a: FileStat, b: FileStat): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

function isUnchanged(seen: FileStat, now: FileStat | undefined): boolean {
  return now !== undefined && isSame(seen, now) && seen.size === now.size && seen.mtimeMs === now.mtimeMs;
}

function writeWhole(file: DiskFile, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) {
    const count = file.append(bytes.subarray(written));
    if (count <= 0) throw new Error("nothing was written");
    written += count;
  }
}

function indexOfBytes(haystack: Uint8Array, needle: Uint8Array): number {
  return Buffer.from(haystack.buffer, haystack.byteOffset, haystack.length).indexOf(needle);
}

/** A time as part of a file name. */
function stamp(now: number): string {
  return new Date(now).toISOString().replace(/[:.]/g, "-");
}
