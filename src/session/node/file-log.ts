import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { SessileError } from "../../errors/index.js";
import { concatBytes } from "../../internal/bytes.js";
import type { FileStat, OpenFile } from "../../internal/node/file-system.js";
import { errnoOf, storageError } from "../../internal/node/file-system.js";
import { writeNewFile } from "../../internal/node/read-write-fully.js";
import type { LinePlace, LogAppend, LogBatch, LogPosition, SessionLog } from "../api/backend.js";
import {
  type FileHolder,
  gone,
  type OpenFiles,
  openFilesOf,
  PlacesFile,
  regular,
} from "./file-descriptors.js";
import type { FileLock } from "./file-lock.js";
import { absentPosition, isUnchanged, offsetOf } from "./log-position.js";
import { LogEnd, type LogEndOptions, type Written } from "./log-writer.js";
import { readLines, readPlaces } from "./read-lines.js";
import { type CopySource, copyLines, saveRange } from "./replace-log.js";
import { LogWatch } from "./watch.js";

/** Options of a log file. */
export interface FileLogOptions extends LogEndOptions {
  readonly lock: FileLock;
  /** Milliseconds since 1970, for the name of the file before a migration. */
  readonly now: () => number;
  /** Throws SESSION_EXISTS if another file has the session's id. */
  readonly refuseTaken?: () => Promise<void>;
}

/**
 * The bytes of the last opened file, if it was read in one piece: the first context reads most of its lines
 * again.
 */
let lastRead: { readonly log: FileLog; readonly bytes: Uint8Array; readonly stat: FileStat } | undefined;

/**
 * A session in a file. An append is one write behind the last line, under the lock, after a check that the
 * file still ends at the expected position (compare-and-swap), then one fsync. Acknowledged bytes are never
 * rewritten. Reads take no lock.
 */
export class FileLog implements SessionLog, FileHolder {
  readonly crc32 = (bytes: Uint8Array): number => crc32(bytes);
  readonly #options: FileLogOptions;
  readonly #end: LogEnd;
  readonly #places: PlacesFile;
  readonly #files: OpenFiles;
  /** The number of calls that use descriptors. */
  #uses = 0;
  readonly #watch: LogWatch;

  constructor(options: FileLogOptions) {
    this.#options = options;
    this.#end = new LogEnd(options);
    this.#watch = new LogWatch(options.disk, options.path);
    this.#places = new PlacesFile(options.disk, options.path);
    this.#files = openFilesOf(options.disk);
  }

  get location(): string {
    return this.#options.path;
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const { lock } = this.#options;
    this.#use();
    try {
      if (expected === absentPosition) this.#end.mkdir();
      return await lock.with(() => this.#append(lines, expected));
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER")) throw this.#failure("append to", error, expected);
      lock.doubt();
      const { waitedFor } = lock;
      if (waitedFor === undefined) throw error;
      const holder = { host: waitedFor.host, pid: waitedFor.pid };
      throw new SessileError("CONCURRENT_WRITER", error.message, { details: { ...error.details, holder } });
    } finally {
      this.#unuse();
    }
  }

  async prepare(): Promise<void> {
    const { path, lock } = this.#options;
    this.#use();
    try {
      if (!this.#end.isWhole()) await lock.with(() => this.#end.mend(), 0);
    } catch (error) {
      // Another writer is active: its next write, or ours, repairs the torn tail.
      if (SessileError.is(error, "SESSION_LOCKED")) return;
      throw storageError("mend", path, error);
    } finally {
      this.#unuse();
    }
  }

  async *read(
    from: LogPosition | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    const { disk, path, maxLineBytes } = this.#options;
    let handle: OpenFile | undefined;
    this.#uses++;
    try {
      // Most polls find nothing new.
      if (from !== undefined && this.#end.isStill(from)) return;
      this.#files.used(this);
      handle = disk.open(path, "read") ?? this.#places.leaving(from);
      if (handle === undefined) throw gone(this.#options);
      const stat = regular(path, handle.stat());
      let isOurs = this.#places.is(handle, stat);
      if (isOurs) this.#places.adopt(handle);
      let last: LogBatch | undefined;
      for await (const batch of readLines(handle, stat, from, { maxLineBytes, ...options })) {
        if (batch.restarted) this.#keepReading(handle);
        isOurs ||= batch.restarted === true;
        if (isOurs) this.#places.reached(batch.next);
        if (from === undefined) this.#remember(batch, stat);
        last = batch;
        yield batch;
      }
      if (last !== undefined && last.tail === undefined) this.#end.saw(last.next, stat);
    } catch (error) {
      throw storageError("read", path, error);
    } finally {
      if (handle !== undefined && !this.#places.keeps(handle)) handle.close();
      this.#unuse();
    }
  }

  async readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]> {
    this.#use();
    try {
      const file = this.#places.open();
      if (file === undefined) return places.map(() => undefined);
      return this.#fromLastRead(file, places) ?? (await readPlaces(file, places));
    } catch (error) {
      throw storageError("read", this.#options.path, error);
    } finally {
      this.#unuse();
    }
  }

  async replace(
    lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    expected: LogPosition,
  ): Promise<LogPosition> {
    const { disk, path, lock, now } = this.#options;
    this.#use();
    try {
      return await lock.with(async () => {
        await this.#end.at(expected);
        const temporary = `${path}.tmp-${crypto.randomUUID()}`;
        const old = `${path}.old-${new Date(now()).toISOString().replace(/[:.]/g, "-")}`;
        let kept = false;
        try {
          await writeNewFile(disk, temporary, lines);
          kept = await this.#keepAs(old);
          await this.#end.at(expected);
          disk.rename(temporary, path);
        } catch (error) {
          disk.unlink(temporary);
          if (kept) disk.unlink(old);
          throw error;
        }
        await disk.syncDirectory(dirname(path));
        this.#keepReading(undefined);
        return this.#places.reached(this.#end.position());
      });
    } catch (error) {
      throw this.#failure("replace", error, expected);
    } finally {
      this.#unuse();
    }
  }

  async copy(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean> {
    if (!(from instanceof FileLog)) return false;
    from.#use();
    try {
      const file = from.#places.open();
      const whole = file && offsetOf(file, file.stat(), to);
      const end = whole && last ? last.at + last.length + 1 : whole;
      if (file === undefined || end === undefined) return false;
      const source = { file, path: from.location, end };
      this.#end.mkdir();
      return await this.#options.lock.with(() => this.#copyLines(source, first));
    } catch (error) {
      throw this.#failure("copy to", error, absentPosition);
    } finally {
      from.#unuse();
    }
  }

  changed(signal: AbortSignal): Promise<void> {
    return this.#watch.changed(signal);
  }

  async close(): Promise<void> {
    this.#watch.close();
    this.#release();
    this.#options.lock.release();
    this.#end.close();
    this.#places.close();
    this.#files.remove(this);
  }

  rest(): boolean {
    if (this.#uses > 0) return false;
    this.#end.rest();
    this.#places.close();
    return true;
  }

  /**
   * Reads lines from the bytes that opening read, if the file is unchanged. Releases the bytes after the
   * current turn of the event loop: a context requests all its lines within one turn.
   */
  #fromLastRead(file: OpenFile, places: readonly LinePlace[]): readonly Uint8Array[] | undefined {
    if (lastRead?.log !== this) return undefined;
    const { bytes, stat } = lastRead;
    setImmediate(() => this.#release());
    if (!isUnchanged(stat, file.stat())) return undefined;
    if (places.some(({ at, length }) => at + length > stat.size)) return undefined;
    return places.map(({ at, length }) => bytes.subarray(at, at + length));
  }

  #remember({ lines, at: [first] }: LogBatch, stat: FileStat): void {
    if (first === 0 && "bytes" in lines && lines.bytes.length >= stat.size)
      lastRead = { log: this, bytes: lines.bytes, stat };
  }

  #release(): void {
    if (lastRead?.log === this) lastRead = undefined;
  }

  #use(): void {
    this.#uses++;
    this.#files.used(this);
  }

  #unuse(): void {
    this.#uses--;
    this.#files.trim();
  }

  async #append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const bytes = bytesOf(lines);
    const created = expected === absentPosition;
    if (created) await this.#options.refuseTaken?.();
    const handle = created ? this.#end.create() : await this.#end.at(expected, this.#options.lock.holds);
    const written = await this.#end.write(handle, bytes, created);
    if (created) await this.#staysAlone();
    this.#places.reached(written.position);
    return appended(written, lines);
  }

  async #copyLines(source: CopySource, first: Uint8Array): Promise<boolean> {
    const { disk, path, refuseTaken } = this.#options;
    await refuseTaken?.();
    const temporary = `${path}.tmp-${crypto.randomUUID()}`;
    try {
      if (!(await copyLines(disk, source, temporary, first))) return false;
      await this.#end.takeFrom(temporary);
    } finally {
      disk.unlink(temporary);
    }
    await this.#staysAlone();
    return true;
  }

  /**
   * Detects a create race: if another program created a file for the same id, removes ours and throws
   * SESSION_EXISTS.
   */
  async #staysAlone(): Promise<void> {
    const { disk, path, refuseTaken } = this.#options;
    try {
      await refuseTaken?.();
    } catch (error) {
      this.#end.close();
      disk.unlink(path);
      throw error;
    }
  }

  /**
   * Gives the file a second name by a hard link or a copy, and makes it durable: directory entries reach the
   * disk in any order, and an atomic rename over the old file must not lose it. Returns whether it succeeded.
   */
  async #keepAs(old: string): Promise<boolean> {
    const { disk, path } = this.#options;
    let linked: boolean;
    try {
      linked = disk.link(path, old);
    } catch {
      const file = disk.open(path, "read");
      if (file === undefined) throw gone(this.#options);
      try {
        await saveRange(disk, file, 0, file.stat().size, old);
      } finally {
        file.close();
      }
      return true;
    }
    if (linked) await disk.syncDirectory(dirname(path));
    return linked;
  }

  /** Maps a missing directory to a missing file, except for a file that is to be created. */
  #failure(operation: string, error: unknown, expected: LogPosition): unknown {
    const { disk, path } = this.#options;
    if (errnoOf(error) !== "ENOENT" || expected === absentPosition || disk.stat(path) !== undefined)
      return storageError(operation, path, error);
    return gone(this.#options);
  }

  #keepReading(handle: OpenFile | undefined): void {
    if (this.#places.become(handle)) this.#watch.renew();
  }
}

/** The maximum size of one write in Node. */
const maxBatchBytes = 2 ** 31 - 1;

/** One batch is one write, so that another program's lines cannot come between its lines. */
function bytesOf(lines: readonly Uint8Array[]): Uint8Array {
  const bytes = lines.reduce((sum, { length }) => sum + length, 0);
  if (bytes > maxBatchBytes) {
    throw new SessileError("BATCH_TOO_LARGE", `${bytes} bytes are too many for one append`, {
      details: { bytes, maxBytes: maxBatchBytes },
    });
  }
  return lines.length === 1 ? (lines[0] as Uint8Array) : concatBytes(lines);
}

function appended({ position, at, interleaved }: Written, lines: readonly Uint8Array[]): LogAppend {
  if (lines.length === 1 && !interleaved) return { position, at: [at] };
  let next = at;
  const places = lines.map((line) => {
    const place = next;
    next += line.length;
    return place;
  });
  return { position, at: places, ...(interleaved ? { interleaved: true as const } : {}) };
}
