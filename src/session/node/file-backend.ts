import { dirname, join, resolve } from "node:path";
import { SessileError } from "../../errors/index.js";
import { DurableDirectories } from "../../internal/node/durable-directories.js";
import type { FileStat, FileSystem } from "../../internal/node/file-system.js";
import { storageError } from "../../internal/node/file-system.js";
import type {
  Durability,
  LogPosition,
  SessionBackend,
  StoredSession,
  StoredSessionQuery,
} from "../api/backend.js";
import { regular } from "./file-descriptors.js";
import { FileLock, type LockTimes } from "./file-lock.js";
import { FileLog, type FileLogOptions } from "./file-log.js";
import { fileName, idOfFileName, partitionDirectory, projectName } from "./layout.js";
import { absentPosition } from "./log-position.js";
import { type Ends, endsBytes, readEnds } from "./read-head-tail.js";
import { SessionFiles, yieldWhenDue } from "./session-files.js";

/** What the files of a store have in common. */
export interface FileBackendOptions {
  readonly dir: string;
  readonly disk: FileSystem;
  readonly durability: Durability;
  readonly times: LockTimes;
  readonly maxLineBytes: number;
  readonly now: () => number;
}

interface Found {
  /** That of the file's name, with its path where another of the same time has it too. */
  readonly key: string;
  readonly path: string;
  readonly stat: FileStat;
}

/** Sessions as files below a directory. */
export class FileBackend implements SessionBackend {
  readonly #options: FileBackendOptions;
  readonly #directories: DurableDirectories;
  readonly #files: SessionFiles;

  constructor(options: FileBackendOptions) {
    this.#options = { ...options, dir: resolve(options.dir) };
    this.#directories = new DurableDirectories(options.disk, this.#options.dir, { everyTime: true });
    this.#files = new SessionFiles(options.disk, this.#options.dir);
  }

  async create(session: {
    readonly id: string;
    readonly partition: string;
    readonly cwd: string;
    readonly timestamp: string;
  }): Promise<{ readonly log: FileLog; readonly position: LogPosition }> {
    const { id, partition, cwd, timestamp } = session;
    const base = partitionDirectory(this.#options.dir, partition);
    const path = join(base, projectName(cwd), fileName(id, timestamp));
    // The name has the time and the project in it too, so that it alone does not keep an id to one file.
    const refuseTaken = async (except?: string) => {
      if ((await this.#files.find(id, { partition, except })) === undefined) return;
      throw new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
    };
    await refuseTaken();
    return { log: this.logAt(path, id, () => refuseTaken(path)), position: absentPosition };
  }

  async open(
    id: string,
    { partition, location }: { readonly partition: string; readonly location?: string | undefined },
  ): Promise<FileLog | undefined> {
    const path = await this.#files.find(id, { partition, location, everyHeader: true });
    return path === undefined ? undefined : this.logAt(path, id);
  }

  async *list(query: StoredSessionQuery): AsyncIterable<StoredSession> {
    const { files, skipped } = await this.#files.read(query.partition, query.cwd);
    for (const { path, error } of skipped) query.skipped?.(path, error);
    const found: Found[] = [];
    const yieldIfDue = yieldWhenDue();
    for (const { path, name } of files) {
      await yieldIfDue();
      query.signal?.throwIfAborted();
      const key = idOfFileName(name);
      const stat = unlessUnreadable(query, path, () => this.#options.disk.lstat(path));
      if (key !== undefined && stat?.kind === "file") found.push({ key, path, stat });
    }
    found.sort(newestFirst);
    const { after } = query;
    const wanted = found
      // Of files that were copied with their times, several may have one name.
      .map((each, at) => (isTwin(each, found[at - 1]) || isTwin(each, found[at + 1]) ? withPath(each) : each))
      .filter(
        ({ key, stat: { mtimeMs } }) =>
          after === undefined ||
          mtimeMs < after.modifiedAt ||
          (mtimeMs === after.modifiedAt && key < after.id),
      );
    const block = new Uint8Array(endsBytes);
    for (const each of wanted) {
      await yieldIfDue();
      query.signal?.throwIfAborted();
      const stored = unlessUnreadable(query, each.path, () => this.#stored(each, block));
      if (stored !== undefined) yield stored;
    }
  }

  #stored(found: Found, block: Uint8Array): StoredSession | undefined {
    const file = this.#options.disk.open(found.path, "read");
    if (file === undefined) return undefined;
    try {
      return storedOf(found, readEnds(file, found.stat.size, block));
    } finally {
      file.close();
    }
  }

  async delete(
    id: string,
    { partition, location }: { readonly partition: string; readonly location?: string | undefined },
  ): Promise<boolean> {
    const { disk } = this.#options;
    const path = await this.#files.find(id, { partition, location, everyHeader: true });
    if (path === undefined) return false;
    const lock = this.#lockOf(path);
    return lock
      .with(async () => {
        const deleted = disk.unlink(path);
        await disk.syncDirectory(dirname(path));
        return deleted;
      })
      .catch((error: unknown) => {
        throw storageError("delete", path, error);
      })
      .finally(() => lock.release());
  }

  /** The log in a file. */
  logAt(path: string, id: string, refuseTaken?: FileLogOptions["refuseTaken"]): FileLog {
    const { disk, durability, maxLineBytes, now } = this.#options;
    try {
      const stat = disk.stat(path);
      if (stat !== undefined) regular(path, stat);
    } catch (error) {
      throw storageError("open", path, error);
    }
    return new FileLog({
      disk,
      path,
      lock: this.#lockOf(path),
      durability,
      maxLineBytes,
      id,
      now,
      directories: this.#directories,
      ...(refuseTaken === undefined ? {} : { refuseTaken }),
    });
  }

  #lockOf(path: string): FileLock {
    return new FileLock(this.#options.disk, `${path}.lock`, this.#options.times);
  }
}

function newestFirst(a: Found, b: Found): number {
  return b.stat.mtimeMs - a.stat.mtimeMs || compare(b.key, a.key) || compare(b.path, a.path);
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function isTwin({ key, stat }: Found, other: Found | undefined): boolean {
  return other?.key === key && other.stat.mtimeMs === stat.mtimeMs;
}

/** A space sorts before all that an id may have, so that the order stays. */
function withPath(found: Found): Found {
  return { ...found, key: `${found.key} ${found.path}` };
}

function storedOf({ key, path, stat }: Found, ends: Ends): StoredSession {
  return { id: key, ...ends, modifiedAt: stat.mtimeMs, size: stat.size, location: path };
}

function unlessUnreadable<T>(query: StoredSessionQuery, path: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    return skipUnreadable(query, path, error);
  }
}

/** Leaves one file out of a list, so that it does not cost the rest. */
function skipUnreadable(query: StoredSessionQuery, path: string, cause: unknown): undefined {
  const error = storageError("list", path, cause);
  if (!(error instanceof SessileError)) throw cause;
  query.skipped?.(path, error);
  return undefined;
}
