import { dirname, join, resolve, sep } from "node:path";
import { SessileError } from "../../errors/index.js";
import { storageError } from "../../internal/storage-error.js";
import type { Durability, LogPosition, SessionBackend, StoredSession } from "../backend.js";
import type { Disk, FileStat } from "./disk.js";
import { type Ends, endsBlock, readEnds, readEndsNow } from "./ends.js";
import { FileLog, type FileLogOptions } from "./file-log.js";
import { LastingNames } from "./lasting-names.js";
import { fileName, idOfFileName, partitionDirectory, projectName, projectNames } from "./layout.js";
import { FileLock, type LockTimes } from "./lock.js";
import { regular } from "./log-errors.js";
import { absentPosition } from "./position.js";
import { readPaced, turnsOf } from "./read-paced.js";

/** What the files of a store have in common. */
export interface FileBackendOptions {
  readonly dir: string;
  readonly disk: Disk;
  readonly durability: Durability;
  readonly times: LockTimes;
  readonly maxLineBytes: number;
  readonly now: () => number;
}

/** How many sessions of a list are read before they are asked for: reading waits for threads. */
const readsAhead = 8;

interface SessionFile {
  readonly path: string;
  readonly name: string;
}

interface Found {
  readonly id: string;
  readonly path: string;
  readonly stat: FileStat;
}

/** Sessions as files below a directory. */
export class FileBackend implements SessionBackend {
  readonly #options: FileBackendOptions;
  readonly #names: LastingNames;

  constructor(options: FileBackendOptions) {
    this.#options = { ...options, dir: resolve(options.dir) };
    this.#names = new LastingNames(options.disk, this.#options.dir);
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
    const refuseTaken = async (own?: string) => {
      if ((await this.#find(id, partition, own)) === undefined) return;
      throw new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
    };
    await refuseTaken();
    return { log: this.logAt(path, id, () => refuseTaken(path)), position: absentPosition };
  }

  async open(id: string, { partition }: { readonly partition: string }): Promise<FileLog | undefined> {
    const path = await this.#find(id, partition);
    return path === undefined ? undefined : this.logAt(path, id);
  }

  async *list(query: Parameters<SessionBackend["list"]>[0]): AsyncIterable<StoredSession> {
    try {
      const { disk } = this.#options;
      const found: Found[] = [];
      const turn = turnsOf();
      for (const { path, name } of await this.#files(query.partition, query.cwd)) {
        const due = turn();
        if (due !== undefined) await due;
        query.signal?.throwIfAborted();
        const id = idOfFileName(name);
        const stat = disk.stat(path);
        if (id !== undefined && stat?.kind === "file") found.push({ id, path, stat });
      }
      found.sort((a, b) => b.stat.mtimeMs - a.stat.mtimeMs || (a.id < b.id ? 1 : -1));
      const { after } = query;
      const wanted = found.filter(
        ({ id, stat: { mtimeMs } }) =>
          after === undefined ||
          mtimeMs < after.modifiedAt ||
          (mtimeMs === after.modifiedAt && id < after.id),
      );
      const block = endsBlock();
      const reads = {
        now: (each: Found) => this.#storedNow(each, block),
        later: (each: Found) => this.#stored(each),
        ahead: readsAhead,
      };
      for await (const stored of readPaced(wanted, reads)) {
        query.signal?.throwIfAborted();
        if (stored !== undefined) yield stored;
      }
    } catch (error) {
      throw storageError("list", partitionDirectory(this.#options.dir, query.partition), error);
    }
  }

  #storedNow(found: Found, block: Uint8Array): StoredSession | undefined {
    const file = this.#options.disk.open(found.path, "read");
    if (file === undefined) return undefined;
    try {
      return storedOf(found, readEndsNow(file, found.stat.size, block));
    } finally {
      file.close();
    }
  }

  async #stored(found: Found): Promise<StoredSession | undefined> {
    const file = this.#options.disk.open(found.path, "read");
    if (file === undefined) return undefined;
    try {
      return storedOf(found, await readEnds(file, found.stat.size));
    } finally {
      file.close();
    }
  }

  async delete(id: string, { partition }: { readonly partition: string }): Promise<boolean> {
    const { disk } = this.#options;
    const path = await this.#find(id, partition);
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
      names: this.#names,
      ...(refuseTaken === undefined ? {} : { refuseTaken }),
    });
  }

  #lockOf(path: string): FileLock {
    return new FileLock(this.#options.disk, `${path}.lock`, this.#options.times);
  }

  async #find(id: string, partition: string, except?: string): Promise<string | undefined> {
    for (const { path, name } of await this.#files(partition)) {
      if (path !== except && idOfFileName(name) === id) return path;
    }
    return undefined;
  }

  /** Session files of a partition: those of its projects, and those that lie in its directory itself. */
  async #files(partition: string, cwd?: string): Promise<readonly SessionFile[]> {
    const { disk, dir } = this.#options;
    const base = partitionDirectory(dir, partition);
    const projects = cwd === undefined ? undefined : projectNames(cwd);
    const list = (directory: string) =>
      disk.list(directory).catch((error: unknown) => {
        throw storageError("list", directory, error);
      });
    const files: SessionFile[] = [];
    for (const { name, kind } of await list(base)) {
      if (kind === "file" && name.endsWith(".jsonl")) files.push({ path: join(base, name), name });
      // pi keeps a session of a project in that project's directory; a partition is nobody's project.
      if (kind !== "directory" || name.startsWith("@")) continue;
      if (projects !== undefined && name.startsWith("--") && !projects.has(name)) continue;
      const directory = join(base, name);
      for (const inner of await list(directory)) {
        if (inner.kind === "file" && inner.name.endsWith(".jsonl"))
          files.push({ path: `${directory}${sep}${inner.name}`, name: inner.name });
      }
    }
    return files;
  }
}

function storedOf({ id, path, stat }: Found, ends: Ends): StoredSession {
  return { id, ...ends, modifiedAt: stat.mtimeMs, size: stat.size, location: path };
}
