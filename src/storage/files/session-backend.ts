/** The port `SessionBackend` on a folder: create, open, list, delete; and changes of a file, watched. */

import { dirname, isAbsolute, join, resolve } from "node:path";
import { SessileError } from "../../core/errors/index.js";
import { isSideLogId, sideKinds } from "../../core/ids.js";
import {
  DurableDirectories,
  errnoCode,
  type FileStat,
  type FileSystem,
  removePartition,
  storageError,
} from "../../core/node/file-system.js";
import { hasEnded, ownIdentity } from "../../core/node/process-identity.js";
import { headerVersion } from "../../log/internal.js";
import type {
  LogPosition,
  SessionBackend,
  SessionHeader,
  StoredSession,
  StoredSessionQuery,
} from "../../session/index.js";
import { clockErrorMs, type Durability, lastInfo } from "../../session/internal.js";
import { assertRegularFile, sessionExists } from "./file-descriptors.js";
import { FileLock, type LockTimes } from "./file-lock.js";
import { FileLog, type FileLogOptions } from "./file-log.js";
import { headerOfLine, headTailBytes, InfoPlaces, infoSearchBytes, readHeadTail } from "./read-ends.js";
import { absentPosition } from "./read-lines.js";
import { remainingOfFiles } from "./replace-log.js";
import {
  fileName,
  idOfPath,
  partitionDirectory,
  projectName,
  SessionFiles,
  yieldWhenDue,
} from "./session-files.js";

/** Options that all files of a store share. */
export interface FileBackendOptions {
  readonly dir: string;
  readonly fs: FileSystem;
  readonly durability: Durability;
  readonly times: LockTimes;
  readonly maxLineBytes: number;
  readonly now: () => number;
  /** As for {@link SessionFiles}. */
  readonly listsOnce?: boolean;
}

interface Found {
  /**
   * The sort key: the id in the file name, and the path too if another file has the same name and time. The
   * id of the session is the one in the header, which a list reads last.
   */
  readonly key: string;
  readonly path: string;
  readonly stat: FileStat;
  readonly modifiedAt: number;
}

/** Stores sessions as files below a directory: finds, creates, lists and deletes them. */
export class FileBackend implements SessionBackend {
  readonly processes = fileProcesses;
  readonly #options: FileBackendOptions;
  readonly #directories: DurableDirectories;
  readonly #files: SessionFiles;
  readonly #infos = new InfoPlaces();

  constructor(options: FileBackendOptions) {
    this.#options = { ...options, dir: resolve(options.dir) };
    this.#directories = new DurableDirectories(options.fs, this.#options.dir, { everyTime: true });
    this.#files = new SessionFiles(options.fs, this.#options.dir, options.listsOnce);
  }

  async create(session: {
    readonly id: string;
    readonly partition: string;
    readonly cwd: string;
    readonly timestamp: string;
    readonly location?: string | undefined;
  }): Promise<{ readonly log: FileLog; readonly position: LogPosition }> {
    const { id, partition, cwd, timestamp, location } = session;
    if (location !== undefined) return { log: this.#sideLogAt(location, id), position: absentPosition };
    const base = partitionDirectory(this.#options.dir, partition);
    const path = join(base, projectName(cwd), fileName(id, timestamp));
    // The file name also has the time and the project, so that an exclusive create does not keep the id
    // unique.
    const assertNotExists = async (except?: string) => {
      if ((await this.#files.find(id, { partition, except })) !== undefined) throw sessionExists(id);
    };
    await assertNotExists();
    return { log: this.logAt(path, id, () => assertNotExists(path)), position: absentPosition };
  }

  async open(
    id: string,
    { partition, location }: { readonly partition: string; readonly location?: string | undefined },
  ): Promise<FileLog | undefined> {
    if (id.includes("~") && isSideLogId(id)) {
      const path = location && this.#files.sidePath(location, partition);
      return path === undefined || path === "" ? undefined : this.#sideLogAt(path, id);
    }
    const path = await this.#files.find(id, { partition, location, everyHeader: true });
    return path === undefined ? undefined : this.logAt(path, id);
  }

  async *list(query: StoredSessionQuery): AsyncIterable<StoredSession> {
    const { partition, cwd } = query;
    const directories = cwd === undefined ? undefined : [cwd, await this.resolveDirectory(cwd)];
    const { files, skipped } = await this.#files.read(partition, directories);
    for (const { path, error } of skipped) query.skipped?.(path, error);
    const found: Found[] = [];
    const yieldIfDue = yieldWhenDue();
    for (const { path } of files) {
      await yieldIfDue();
      query.signal?.throwIfAborted();
      const key = idOfPath(path);
      const stat = this.#statByPath(path, query);
      if (key !== undefined && stat?.kind === "file")
        found.push({ key, path, stat, modifiedAt: fileStatModifiedAt(stat) });
    }
    found.sort(newestFirst);
    const { after } = query;
    const wanted = found
      // Files that were copied with their times may share id and time.
      .map((each, at) =>
        hasSameKey(each, found[at - 1]) || hasSameKey(each, found[at + 1]) ? withPath(each) : each,
      )
      .filter(
        ({ key, modifiedAt }) =>
          after === undefined ||
          modifiedAt < after.modifiedAt ||
          (modifiedAt === after.modifiedAt && key < after.id),
      );
    const buffers = { ends: new Uint8Array(headTailBytes), search: Buffer.allocUnsafe(infoSearchBytes) };
    for (const each of wanted) {
      await yieldIfDue();
      query.signal?.throwIfAborted();
      const stored = await this.#stored(each, buffers, query.signal).catch((error: unknown) =>
        skip(query, each.path, error),
      );
      if (stored !== undefined) yield stored;
    }
  }

  async resolveDirectory(cwd: string): Promise<string> {
    if (!isAbsolute(cwd)) return cwd;
    try {
      return await this.#options.fs.realpath(cwd);
    } catch {
      return cwd;
    }
  }

  async *partitions(): AsyncIterable<string> {
    yield "";
    yield* await this.#files.partitions();
  }

  #statByPath(path: string, query: StoredSessionQuery): FileStat | undefined {
    try {
      return this.#options.fs.lstat(path);
    } catch (error) {
      return skip(query, path, error);
    }
  }

  async #stored(
    { key, path, stat, modifiedAt }: Found,
    buffers: { readonly ends: Uint8Array; readonly search: Buffer },
    signal: AbortSignal | undefined,
  ): Promise<StoredSession | undefined> {
    const file = this.#options.fs.open(path, "read");
    if (file === undefined) return undefined;
    try {
      const { tailAt, ...lines } = readHeadTail(file, stat.size, buffers.ends);
      const header = readHeader(lines.head);
      const id = header?.id ?? idOfPath(path) ?? key;
      const stored = { id, key, modifiedAt, size: stat.size, location: path };
      if (tailAt === 0 || header === undefined) return { ...stored, ...lines };
      const version = headerVersion(header);
      if (lastInfo(lines.tail, version) !== undefined) return { ...stored, ...lines };
      const search = { file, path, stat, end: tailAt, version, signal, buffer: buffers.search };
      const info = await this.#infos.find(search);
      return { ...stored, head: lines.head, tail: info === undefined ? [] : [info] };
    } finally {
      file.close();
    }
  }

  /** Renames the directory first: a writer then finds its file gone, and no list shows a part. */
  async deletePartition(partition: string): Promise<{
    readonly sessions: number;
    readonly remaining: readonly string[];
  }> {
    const directory = partitionDirectory(this.#options.dir, partition);
    try {
      const { files } = await this.#files.read(partition);
      const links = await removePartition(this.#options.fs, directory);
      return {
        sessions: files.length,
        remaining: [...remainingOfFiles, ...links.map((path) => `files behind the link ${path}`)],
      };
    } catch (error) {
      throw storageError("delete", directory, error);
    }
  }

  async delete(
    id: string,
    { partition, location }: { readonly partition: string; readonly location?: string | undefined },
  ): Promise<boolean> {
    const { fs } = this.#options;
    const path = isSideLogId(id)
      ? location && this.#files.sidePath(location, partition)
      : await this.#files.find(id, { partition, location, everyHeader: true });
    if (path === undefined || path === "") return false;
    const lock = this.#lockByPath(path);
    const remove = async () => {
      const deleted = fs.unlink(path);
      for (const kind of sideKinds) fs.unlink(`${path}.${kind}`);
      await fs.syncDirectory(dirname(path));
      return deleted;
    };
    try {
      return await lock.with(remove).catch((error: unknown) => {
        // A full disk has no room for a lock file. A writer, which cannot write either, finds its file gone.
        if (isFull(error)) return remove();
        throw error;
      });
    } catch (error) {
      throw storageError("delete", path, error);
    } finally {
      lock.release();
    }
  }

  /** A log beside that of a session. What it has is of a process, and ends with the machine. */
  #sideLogAt(path: string, id: string): FileLog {
    return this.logAt(path, id, undefined, "os");
  }

  /** The log in a file. */
  logAt(
    path: string,
    id: string,
    assertNotExists?: FileLogOptions["assertNotExists"],
    durability = this.#options.durability,
  ): FileLog {
    const { fs, maxLineBytes, now } = this.#options;
    try {
      const stat = fs.stat(path);
      if (stat !== undefined) assertRegularFile(path, stat);
    } catch (error) {
      throw storageError("open", path, error);
    }
    return new FileLog({
      fs,
      path,
      lock: () => this.#lockByPath(path),
      durability,
      maxLineBytes,
      id,
      now,
      directories: this.#directories,
      assertNotExists,
    });
  }

  #lockByPath(path: string): FileLock {
    return new FileLock(this.#options.fs, `${path}.lock`, this.#options.times);
  }
}

const fileProcesses: NonNullable<SessionBackend["processes"]> = {
  own: () => ({ ...ownIdentity() }),
  isGone: hasEnded,
};

function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(errnoCode(error) ?? "");
}

function newestFirst(a: Found, b: Found): number {
  return b.modifiedAt - a.modifiedAt || compare(b.key, a.key) || compare(b.path, a.path);
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** A time of modification can be set, to one that has not come yet; the time of that change cannot. */
function fileStatModifiedAt({ mtimeMs, ctimeMs }: FileStat): number {
  return mtimeMs > ctimeMs + clockErrorMs ? ctimeMs : mtimeMs;
}

function hasSameKey({ key, modifiedAt }: Found, other: Found | undefined): boolean {
  return other?.key === key && other.modifiedAt === modifiedAt;
}

/** A space sorts before every character of an id, so that the order stays. */
function withPath(found: Found): Found {
  return { ...found, key: `${found.key} ${found.path}` };
}

/** Reports a file as skipped, so that the list continues. Throws other errors than the system's. */
function skip(query: StoredSessionQuery, path: string, cause: unknown): undefined {
  const error = storageError("list", path, cause);
  if (!(error instanceof SessileError)) throw cause;
  query.skipped?.(path, error);
  return undefined;
}

function readHeader(head: readonly Uint8Array[]): SessionHeader | undefined {
  for (const [index, line] of head.entries()) {
    const header = headerOfLine(line, index === 0);
    if (header !== undefined) return header;
  }
  return undefined;
}

// Watches a log file for changes.

/**
 * Wakes readers when a file may have changed. A change between two waits is not lost: the next wait resolves
 * at once.
 */
export class LogWatch {
  readonly #fs: FileSystem;
  readonly #path: string;
  #unwatch: (() => void) | undefined;
  readonly #waiting = new Set<() => void>();
  /** Whether the file changed while no reader waited. */
  #missed = false;

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs;
    this.#path = path;
  }

  /**
   * Resolves when the file may have changed since the last call, the signal aborts, or the watch is closed.
   */
  changed(signal: AbortSignal): Promise<void> {
    if (this.#unwatch === undefined) this.#watch();
    if (this.#missed) {
      this.#missed = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  /** Watches the name anew: a watch stays with the file that had the name when it began. */
  renew(): void {
    if (this.#unwatch === undefined) return;
    this.#unwatch();
    this.#watch();
  }

  close(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#wake();
    this.#missed = false;
  }

  #watch(): void {
    this.#unwatch = this.#fs.watch(this.#path, () => this.#wake());
    // A change between the caller's read and this watch is not reported.
    this.#missed = true;
  }

  #wake(): void {
    this.#missed = this.#waiting.size === 0;
    for (const done of [...this.#waiting]) done();
  }
}
