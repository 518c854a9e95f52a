/** Finds the session files of a store's directory, by project and id. */

import { join, relative, resolve, sep } from "node:path";
import { SessileError } from "../../core/errors/index.js";
import { partitionOfFolder } from "../../core/ids.js";
import { errnoCode, type FileSystem, storageError } from "../../core/node/file-system.js";
import { notAFile } from "./file-descriptors.js";
import { headerOfFile } from "./read-head-tail.js";
import {
  idOfPath,
  isOwnFileName,
  isSessionFileName,
  partitionDirectory,
  projectTest,
} from "./session-layout.js";

/** A file that may be a session. */
export interface SessionFile {
  readonly path: string;
  readonly name: string;
}

/** The result of {@link SessionFiles.read}. */
export interface SessionFilesFound {
  readonly files: readonly SessionFile[];
  /** Directories that cannot be read, and names of session files that are not regular files. */
  readonly skipped: readonly { readonly path: string; readonly error: SessileError }[];
}

/** The query of {@link SessionFiles.find}. */
export interface SessionFileQuery {
  readonly partition: string;
  /** Only the file with this path. */
  readonly location?: string | undefined;
  /** Excludes the file with this path, also under another path. */
  readonly except?: string | undefined;
  /** Also reads the headers of files that this store named. Their names nearly always have the right id. */
  readonly everyHeader?: boolean;
}

/** The number of partitions whose files are cached. */
const maxPartitions = 64;

/**
 * Finds the session files of a store: those in a partition's directory and in the directories of its
 * projects. Every call follows links to directories and ignores links to files. The id of a session is the
 * one in its header; the file name is only a hint.
 */
export class SessionFiles {
  readonly #fs: FileSystem;
  readonly #dir: string;
  /** By partition and id: the files of the last read of the directories. Verified at each use. */
  readonly #filesById = new Map<string, Map<string, string[]>>();
  /** A cache of the ids in headers, for files whose names need not have the id. */
  readonly #idsByPath = new Map<
    string,
    { readonly dev: number; readonly ino: number; readonly id: string }
  >();

  /** @param dir the store's directory, absolute */
  constructor(fs: FileSystem, dir: string) {
    this.#fs = fs;
    this.#dir = dir;
  }

  /**
   * Lists the files of a partition. A project's directory that cannot be read is skipped.
   *
   * @param directories skips the directories of projects that can have no session of these
   * @throws SessileError STORAGE_FAILED for the partition's own directory
   */
  async read(partition: string, directories?: readonly string[]): Promise<SessionFilesFound> {
    try {
      return await this.#read(partition, directories);
    } catch (error) {
      throw storageError("list", partitionDirectory(this.#dir, partition), error);
    }
  }

  async #read(partition: string, wanted: readonly string[] | undefined): Promise<SessionFilesFound> {
    const base = partitionDirectory(this.#dir, partition);
    const mayHave = wanted === undefined ? undefined : projectTest(wanted);
    const files: SessionFile[] = [];
    const skipped: { path: string; error: SessileError }[] = [];
    const skip = (path: string, error: unknown) => {
      const known = storageError("list", path, error);
      if (!(known instanceof SessileError)) throw error;
      skipped.push({ path, error: known });
    };
    const directories: string[] = [];
    const links: string[] = [];
    for (const { name, kind } of await this.#list(base)) {
      const path = join(base, name);
      const isLog = name.endsWith(".jsonl");
      if (kind === "file" && isLog) files.push({ path, name });
      // A partition is not a project.
      if (name.startsWith("@") || (name.startsWith("--") && mayHave?.(name) === false)) continue;
      if (kind === "directory") directories.push(path);
      else if (kind === "link") links.push(path);
      else if (kind !== "file" && isLog) skip(path, notAFile(path, kind));
    }
    const inDirectory = async (directory: string) => {
      for (const { name, kind } of await this.#list(directory)) {
        if (!isSessionFileName(name)) continue;
        const path = `${directory}${sep}${name}`;
        if (kind === "file") files.push({ path, name });
        else skip(path, notAFile(path, kind));
      }
    };
    const linked = this.#directoryLinks(base, directories, links.sort(), skip);
    for (const directory of [...directories, ...linked]) {
      await inDirectory(directory).catch((error: unknown) => skip(directory, error));
    }
    if (wanted === undefined) this.#cacheFiles(partition, files);
    return { files, skipped };
  }

  /** The named partitions that have a directory. */
  async partitions(): Promise<readonly string[]> {
    try {
      const names = (await this.#fs.list(this.#dir)).map(({ name }) => partitionOfFolder(name));
      return names.filter((name) => name !== undefined).sort();
    } catch (error) {
      throw storageError("list", this.#dir, error);
    }
  }

  /**
   * The path of a session's file: the id is the one in its header, or in its name if the header is damaged.
   * Of several files it is one that has the id in its name too, not a copy under another name, and the first
   * by path. Reads directories only if no cached file has the id.
   *
   * @throws SessileError STORAGE_FAILED if the file may be in a directory that cannot be read
   */
  async find(id: string, query: SessionFileQuery): Promise<string | undefined> {
    try {
      return await this.#find(id, query);
    } catch (error) {
      throw storageError(
        "look into",
        query.location ?? partitionDirectory(this.#dir, query.partition),
        error,
      );
    }
  }

  async #find(id: string, query: SessionFileQuery): Promise<string | undefined> {
    const { partition, location, except } = query;
    if (location !== undefined) return this.#fileAt(location, id, partition);
    for (const path of this.#filesById.get(partition)?.get(id) ?? []) {
      if ((except === undefined || !this.#isSame(path, except)) && this.#headerId(path) === id) return path;
    }
    const { files, skipped } = await this.read(partition);
    let damaged: string | undefined;
    const byPath = (all: readonly SessionFile[]) => all.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    for (const { path } of byPath(files.filter((file) => idOfPath(file.path) === id))) {
      if (this.#isSame(path, except)) continue;
      const headerId = this.#headerId(path);
      if (headerId === id) return path;
      if (headerId === undefined) damaged ??= path;
    }
    if (damaged !== undefined) return damaged;
    const yieldIfDue = yieldWhenDue();
    for (const { path, name } of byPath(files)) {
      if (idOfPath(path) === id || (query.everyHeader !== true && isOwnFileName(name))) continue;
      await yieldIfDue();
      if (this.#headerId(path, true) !== id || this.#isSame(path, except)) continue;
      this.#cacheFile(partition, id, path);
      return path;
    }
    const unreadable = skipped.find(({ error }) => error.code === "STORAGE_FAILED");
    if (unreadable !== undefined) throw unreadable.error;
    return undefined;
  }

  #isSame(path: string, other: string | undefined): boolean {
    if (other === undefined || path === other) return path === other;
    const [a, b] = [path, other].map((each) => this.#fs.lstat(each));
    return a !== undefined && b !== undefined && a.ino !== 0 && a.ino === b.ino && a.dev === b.dev;
  }

  #list(directory: string): ReturnType<FileSystem["list"]> {
    return this.#fs.list(directory).catch((error: unknown) => {
      throw storageError("list", directory, error);
    });
  }

  /**
   * Links to directories. Each directory appears once, and not at all if the base contains it without a link.
   */
  #directoryLinks(
    base: string,
    directories: readonly string[],
    links: readonly string[],
    skip: (path: string, error: unknown) => void,
  ): readonly string[] {
    if (links.length === 0) return links;
    const identity = (path: string) => {
      const stat = this.#fs.stat(path);
      return stat?.kind === "directory" ? `${stat.dev}:${stat.ino}` : stat?.kind;
    };
    const seen = new Set([base, ...directories].map(identity));
    return links.filter((path) => {
      try {
        const target = identity(path);
        // The target of a dangling link may be on a disk that is not mounted now.
        if (target === undefined || (!target.includes(":") && path.endsWith(".jsonl"))) {
          skip(path, notAFile(path, "link"));
        }
        if (target?.includes(":") !== true || seen.has(target)) return false;
        seen.add(target);
        return true;
      } catch (error) {
        skip(path, errnoCode(error) === "ELOOP" ? notAFile(path, "link") : error);
        return false;
      }
    });
  }

  /**
   * The resolved location if it is a path that {@link read} can return and the file has the id; else
   * undefined.
   */
  #fileAt(location: string, id: string, partition: string): string | undefined {
    const path = resolve(location);
    const parts = relative(partitionDirectory(this.#dir, partition), path).split(sep);
    const [first = "", name = first] = parts;
    if (parts.length > 2 || first === "..") return undefined;
    if (!(parts.length === 2 ? isSessionFileName(name) : name.endsWith(".jsonl"))) return undefined;
    if (parts.length === 2 && first.startsWith("@")) return undefined;
    if (this.#fs.lstat(path)?.kind !== "file") return undefined;
    const headerId = this.#headerId(path);
    return headerId === id || (headerId === undefined && idOfPath(path) === id) ? path : undefined;
  }

  /** The id in a file's header; undefined without a file or header, and if it cannot be read. */
  #headerId(path: string, useCache = false): string | undefined {
    try {
      const stat = this.#fs.lstat(path);
      if (stat?.kind !== "file") return undefined;
      const { dev, ino } = stat;
      const known = useCache ? this.#idsByPath.get(path) : undefined;
      if (known?.dev === dev && known.ino === ino) return known.id;
      const file = this.#fs.open(path, "read");
      if (file === undefined) return undefined;
      try {
        const id = headerOfFile(file, stat.size)?.id;
        if (useCache && id !== undefined) this.#idsByPath.set(path, { dev, ino, id });
        return id;
      } finally {
        file.close();
      }
    } catch {
      // Opening the file reports the error.
      return undefined;
    }
  }

  #cacheFiles(partition: string, files: readonly SessionFile[]): void {
    const byId = new Map<string, string[]>();
    for (const { path, name } of files) {
      const id = idOfPath(path) ?? name;
      const paths = byId.get(id);
      if (paths === undefined) byId.set(id, [path]);
      else paths.push(path);
    }
    for (const paths of byId.values()) if (paths.length > 1) paths.sort();
    this.#filesById.delete(partition);
    this.#filesById.set(partition, byId);
    const [oldest = ""] = this.#filesById.keys();
    if (this.#filesById.size > maxPartitions) this.#filesById.delete(oldest);
  }

  #cacheFile(partition: string, id: string, path: string): void {
    const paths = this.#filesById.get(partition)?.get(id) ?? [];
    this.#filesById.get(partition)?.set(id, [...paths, path]);
  }
}

/** The maximum time of synchronous work between two turns of the event loop, in milliseconds. */
const yieldAfterMs = 4;

/**
 * Returns a function to await between steps of long synchronous work. It yields to the event loop when due.
 */
export function yieldWhenDue(
  now: () => number = performance.now.bind(performance),
): () => Promise<void> | undefined {
  let yieldedAt = now();
  return () => {
    if (now() - yieldedAt < yieldAfterMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        yieldedAt = now();
        resolve();
      });
    });
  };
}
