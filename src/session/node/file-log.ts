import { dirname } from "node:path";
import { SessileError } from "../../errors/index.js";
import { joinBytes } from "../../internal/bytes.js";
import { assertTaken, existsError, progress } from "../../internal/lost-bytes.js";
import { errnoOf, storageError } from "../../internal/storage-error.js";
import type { LinePlace, LogAppend, LogBatch, LogPosition, SessionLog } from "../backend.js";
import { type CopySource, copyLines } from "./copy-lines.js";
import type { DiskFile } from "./disk.js";
import type { FileLock } from "./lock.js";
import { LogEnd, type LogEndOptions, type Written } from "./log-end.js";
import { gone, regular } from "./log-errors.js";
import { LogWatch } from "./log-watch.js";
import { nodePlatform } from "./platform.js";
import { absentPosition, isSameFile, offsetOf, parsePosition } from "./position.js";
import { readLines } from "./read-lines.js";
import { readPlaces } from "./read-places.js";
import { saveRange } from "./tail.js";

/** What a log file is opened with. */
export interface FileLogOptions extends LogEndOptions {
  readonly lock: FileLock;
  /** For the name of a file from before a migration. Milliseconds since 1970. */
  readonly now: () => number;
  /** Throws SESSION_EXISTS where another file has the session's id. */
  readonly refuseTaken?: () => Promise<void>;
}

/**
 * A session in a file. A batch is one write behind the last line, under the lock, after a look whether the file still
 * ends where the caller thinks; then one sync. What was acknowledged is never rewritten. Reading takes no lock.
 */
export class FileLog implements SessionLog {
  readonly platform = nodePlatform;
  readonly #options: FileLogOptions;
  readonly #end: LogEnd;
  /**
   * The file that the caller's places are places in: the one that was first read, or read again after it was replaced.
   * It stays open, so that they mean the same after another file has taken the name.
   */
  #reading: DiskFile | undefined;
  /** Files before that one. A read may still be under way in them. */
  readonly #retired: DiskFile[] = [];
  /** The file that was read to its end after another had taken its name away. */
  #left: DiskFile | undefined;
  readonly #watch: LogWatch;

  constructor(options: FileLogOptions) {
    this.#options = options;
    this.#end = new LogEnd(options);
    this.#watch = new LogWatch(options.disk, options.path);
  }

  get location(): string {
    return this.#options.path;
  }

  appendNow(lines: readonly Uint8Array[], expected: LogPosition): LogAppend | undefined {
    const { lock } = this.#options;
    try {
      return lock.ifHeld((now) => {
        const written = this.#end.next(expected, lock.holds, bytesOf(lines), now);
        return written && appended(written, lines);
      });
    } catch (error) {
      throw this.#failure("append to", error, expected);
    }
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const { lock } = this.#options;
    try {
      if (expected === absentPosition) this.#end.makeDirectory();
      return await lock.with(() => this.#append(lines, expected));
    } catch (error) {
      if (SessileError.is(error, "CONCURRENT_WRITER")) lock.doubt();
      throw this.#failure("append to", error, expected);
    }
  }

  async prepare(): Promise<void> {
    const { path, lock } = this.#options;
    try {
      if (!this.#end.isWhole()) await lock.with(() => this.#end.mend(), 0);
    } catch (error) {
      // Another writer is at work: then its next write mends the end, or ours.
      if (SessileError.is(error, "SESSION_LOCKED")) return;
      throw storageError("mend", path, error);
    }
  }

  async *read(
    from: LogPosition | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    const { disk, path, maxLineBytes } = this.#options;
    let handle: DiskFile | undefined;
    try {
      // Most polls find nothing new.
      if (from !== undefined && this.#end.isStill(from)) return;
      handle = disk.open(path, "read") ?? this.#leaving(from);
      if (handle === undefined) throw gone(this.#options);
      const stat = regular(path, handle.stat());
      if (this.#reading === undefined) this.#keepReading(handle);
      let last: LogBatch | undefined;
      for await (const batch of readLines(handle, stat, from, { maxLineBytes, ...options })) {
        if (batch.restarted) this.#keepReading(handle);
        last = batch;
        yield batch;
      }
      if (last !== undefined && last.tail === undefined) this.#end.saw(last.next, stat);
    } catch (error) {
      throw storageError("read", path, error);
    } finally {
      if (handle !== undefined && this.#reading !== handle && !this.#retired.includes(handle)) handle.close();
    }
  }

  async readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]> {
    const { disk, path } = this.#options;
    try {
      this.#reading ??= disk.open(path, "read");
      if (this.#reading === undefined) return places.map(() => undefined);
      return await readPlaces(this.#reading, places);
    } catch (error) {
      throw storageError("read", path, error);
    }
  }

  async replace(
    lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    expected: LogPosition,
  ): Promise<LogPosition> {
    const { disk, path, lock, now } = this.#options;
    try {
      return await lock.with(async () => {
        await this.#end.at(expected);
        const temporary = `${path}.tmp-${crypto.randomUUID()}`;
        const old = `${path}.old-${new Date(now()).toISOString().replace(/[:.]/g, "-")}`;
        let kept = false;
        try {
          await this.#writeFile(temporary, lines);
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
        return this.#end.position();
      });
    } catch (error) {
      throw this.#failure("replace", error, expected);
    }
  }

  async copy(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean> {
    const file = from instanceof FileLog ? from.#reading : undefined;
    try {
      const whole = file && offsetOf(file, file.stat(), to);
      const end = whole && last ? last.at + last.length + 1 : whole;
      if (file === undefined || end === undefined) return false;
      const source = { file, path: from.location ?? "", end };
      this.#end.makeDirectory();
      return await this.#options.lock.with(() => this.#copyLines(source, first));
    } catch (error) {
      throw this.#failure("copy to", error, absentPosition);
    }
  }

  changed(signal: AbortSignal): Promise<void> {
    return this.#watch.changed(signal);
  }

  async close(): Promise<void> {
    this.#watch.close();
    this.#options.lock.release();
    this.#end.close();
    this.#keepReading(undefined);
    for (const handle of this.#retired.splice(0)) handle.close();
  }

  async #append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const bytes = bytesOf(lines);
    const created = expected === absentPosition;
    if (created) await this.#options.refuseTaken?.();
    const handle = created ? this.#end.create() : await this.#end.at(expected, this.#options.lock.holds);
    const written = await this.#end.write(handle, bytes, created);
    if (created) await this.#staysAlone();
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

  /** Two programs may make files for one id in the same moment. Whoever sees the other then takes its own back. */
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
   * Gives the file a second name, or makes a copy where there are no links, and makes that last: names reach the disk in
   * any order, and the old file must not be lost by one that takes its name. Whether it was made.
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

  async #writeFile(path: string, lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    const handle = this.#options.disk.open(path, "create");
    if (handle === undefined) throw existsError(path);
    let size = 0;
    try {
      for await (const line of lines) {
        for (let written = 0; written < line.length; )
          written += progress(handle.append(line.subarray(written)));
        size += line.length;
      }
      assertTaken(handle.stat().size, size);
      await handle.sync();
    } finally {
      handle.close();
    }
  }

  /** A file whose directory is gone is gone too, whatever failed first; but for one that was to be made. */
  #failure(operation: string, error: unknown, expected: LogPosition): unknown {
    const { disk, path } = this.#options;
    if (errnoOf(error) !== "ENOENT" || expected === absentPosition || disk.stat(path) !== undefined)
      return storageError(operation, path, error);
    return gone(this.#options);
  }

  /**
   * The file that a position is in, which has lost its name since: for one last read of what was acknowledged before it
   * was moved away or deleted.
   */
  #leaving(from: LogPosition | undefined): DiskFile | undefined {
    const position = from === undefined ? undefined : parsePosition(from);
    const file = this.#reading;
    if (position === undefined || file === undefined || file === this.#left) return undefined;
    if (!isSameFile(position, file.stat())) return undefined;
    this.#left = file;
    return file;
  }

  #keepReading(handle: DiskFile | undefined): void {
    if (this.#reading !== undefined && this.#reading !== handle) {
      this.#retired.push(this.#reading);
      this.#watch.renew();
    }
    this.#reading = handle;
  }
}

/** The most that Node takes for one write. */
const maxBatchBytes = 2 ** 31 - 1;

/** One batch is one write, so that lines of another program cannot come between its own. */
function bytesOf(lines: readonly Uint8Array[]): Uint8Array {
  const bytes = lines.reduce((sum, { length }) => sum + length, 0);
  if (bytes > maxBatchBytes) {
    throw new SessileError("BATCH_TOO_LARGE", `${bytes} bytes are too many for one append`, {
      details: { bytes, maxBytes: maxBatchBytes },
    });
  }
  return lines.length === 1 ? (lines[0] as Uint8Array) : joinBytes(lines);
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
