/** The files of a store: their names and folders, and how a session's file is found. */

import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { crc32Hex, encodeUtf8 } from "../../core/bytes.js";
import { SessileError } from "../../core/errors/index.js";
import { canonicalPath, isName, partitionFolder, partitionOfFolder, sideKinds } from "../../core/ids.js";
import { errnoCode, type FileSystem, storageError } from "../../core/node/file-system.js";
import { notAFile } from "./file-descriptors.js";
import { headerOfFile } from "./read-ends.js";

/** A file that may be a session. */
interface SessionFile {
  readonly path: string;
  readonly name: string;
}

/** The result of {@link SessionFiles.read}. */
interface SessionFilesFound {
  readonly files: readonly SessionFile[];
  /** Directories that cannot be read, and names of session files that are not regular files. */
  readonly skipped: readonly { readonly path: string; readonly error: SessileError }[];
}

/** The query of {@link SessionFiles.find}. */
interface SessionFileQuery {
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
  readonly #listsOnce: boolean;
  /** Partitions whose files are all cached by the ids of their headers, which one listing suffices for. */
  readonly #complete = new Set<string>();
  /** By partition and id: the files of the last read of the directories. Verified at each use. */
  readonly #filesById = new Map<string, Map<string, string[]>>();
  /** A cache of the ids in headers, for files whose names need not have the id. */
  readonly #idsByPath = new Map<
    string,
    { readonly dev: number; readonly ino: number; readonly id: string }
  >();

  /**
   * @param dir the store's directory, absolute
   * @param listsOnce lists directories once for all ids. Of files that other programs make later, it finds those
   *   at a path that was an `except`.
   */
  constructor(fs: FileSystem, dir: string, listsOnce = false) {
    this.#fs = fs;
    this.#dir = dir;
    this.#listsOnce = listsOnce;
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
    if (this.#listsOnce && except !== undefined) this.#cacheFile(partition, id, except);
    const cached = this.#filesById.get(partition)?.get(id) ?? [];
    for (const path of cached) {
      if ((except === undefined || !this.#isSame(path, except)) && this.#headerId(path) === id) return path;
    }
    if (this.#complete.has(partition) && cached.every((path) => this.#isAbsent(path, except)))
      return undefined;
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
    let found: string | undefined;
    for (const { path, name } of byPath(files)) {
      const isSkipped = query.everyHeader !== true && isOwnFileName(name) && !this.#listsOnce;
      if (idOfPath(path) === id || isSkipped) continue;
      await yieldIfDue();
      const headerId = this.#headerId(path, true);
      if (this.#listsOnce && headerId !== undefined && headerId !== idOfPath(path))
        this.#cacheFile(partition, headerId, path);
      if (found !== undefined || headerId !== id || this.#isSame(path, except)) continue;
      found = path;
      if (!this.#listsOnce) break;
    }
    if (found !== undefined) this.#cacheFile(partition, id, found);
    const unreadable = skipped.find(({ error }) => error.code === "STORAGE_FAILED");
    if (this.#listsOnce && unreadable === undefined) this.#complete.add(partition);
    if (found === undefined && unreadable !== undefined) throw unreadable.error;
    return found;
  }

  #isAbsent(path: string, except: string | undefined): boolean {
    return this.#isSame(path, except) || this.#fs.lstat(path) === undefined;
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
    const path = this.#pathOf(location, partition);
    if (path === undefined || this.#fs.lstat(path)?.kind !== "file") return undefined;
    const headerId = this.#headerId(path);
    return headerId === id || (headerId === undefined && idOfPath(path) === id) ? path : undefined;
  }

  /** The resolved location if {@link read} can return it. */
  #pathOf(location: string, partition: string): string | undefined {
    const path = resolve(location);
    const parts = relative(partitionDirectory(this.#dir, partition), path).split(sep);
    const [first = "", name = first] = parts;
    if (parts.length > 2 || first === "..") return undefined;
    if (!(parts.length === 2 ? isSessionFileName(name) : name.endsWith(".jsonl"))) return undefined;
    return parts.length === 2 && first.startsWith("@") ? undefined : path;
  }

  /** The resolved location of a log beside that of a session, if that is a path that {@link read} can return. */
  sidePath(location: string, partition: string): string | undefined {
    const path = resolve(location);
    const base = sideKinds
      .map((kind) => path.endsWith(`.${kind}`) && path.slice(0, -kind.length - 1))
      .find(Boolean);
    if (!base || this.#pathOf(base, partition) === undefined) return undefined;
    return this.#fs.lstat(path)?.kind === "file" ? path : undefined;
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
    this.#complete.delete(partition);
    this.#filesById.delete(partition);
    this.#filesById.set(partition, byId);
    const [oldest = ""] = this.#filesById.keys();
    if (this.#filesById.size <= maxPartitions) return;
    this.#complete.delete(oldest);
    this.#filesById.delete(oldest);
  }

  #cacheFile(partition: string, id: string, path: string): void {
    const paths = this.#filesById.get(partition)?.get(id) ?? [];
    if (!paths.includes(path)) this.#filesById.get(partition)?.set(id, [...paths, path]);
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

// The paths of session files: `<dir>/<project>/<time>_<id>.jsonl`, the layout of pi, so that both can read
// one directory. A named partition is a directory `@<name>` above its projects.

/** The directory that holds a partition's projects. */
export function partitionDirectory(dir: string, partition: string): string {
  return partition === "" ? dir : join(dir, partitionFolder(partition));
}

/** Bytes. Common file systems allow names of 255. */
const maxProjectName = 200;

/**
 * The directory name of a project: its path without the first separator, separators and colons as hyphens,
 * with two hyphens on each side. Two projects can share a name, so that readers compare the header's `cwd`. A
 * path that is too long for a file name is truncated, with a checksum of the whole.
 */
export function projectName(cwd: string): string {
  const name = fullName(cwd);
  const bytes = encodeUtf8(name);
  if (bytes.length <= maxProjectName) return `--${name}--`;
  let cut = name.slice(0, maxProjectName - 9);
  while (encodeUtf8(cut).length > maxProjectName - 9) cut = cut.slice(0, -1);
  return `--${cut.toWellFormed()}-${crc32Hex(bytes)}--`;
}

/**
 * A test whether a project's directory, by its name, may have sessions of one of these directories: each name
 * that {@link projectName} makes of any spelling of theirs, and that of pi, which truncates no name.
 */
export function projectTest(directories: readonly string[]): (name: string) => boolean {
  const wanted = directories.map((cwd) => looseName(fullName(canonicalPath(cwd))));
  return (name) => {
    const [, stem = "", cut] = /^--(.{0,255}?)(-[0-9a-f]{8})?--$/s.exec(name) ?? [];
    if (stem.includes("..")) return true;
    if (wanted.includes(looseName(stem + (cut ?? "")))) return true;
    // The last characters may be parts of ones that were cut.
    const isCut = cut !== undefined && encodeUtf8(name).length > maxProjectName - 8;
    return isCut && wanted.some((each) => each.startsWith(looseName(stem).slice(0, -4)));
  };
}

/** The same for all names of one path, and seldom for those of two. */
function looseName(name: string): string {
  const parts = name.normalize("NFC").toLowerCase().split("-");
  return parts.filter((part) => part !== "" && part !== ".").join("-");
}

function fullName(cwd: string): string {
  // A header may have a NUL, which no file name can have.
  return cwd.replace(/^[/\\]/, "").replace(/[/\\:\0]/g, "-");
}

/**
 * The store's directory for a session file: the parent of its project's directory, or else its own directory.
 */
export function storeDirectory(path: string): string {
  const directory = dirname(path);
  return /^--.{0,255}--$/.test(basename(directory)) ? dirname(directory) : directory;
}

/** The file name of a session. */
export function fileName(id: string, timestamp: string): string {
  return `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`;
}

/** Whether {@link fileName} made this file name. */
export function isOwnFileName(name: string): boolean {
  return isName(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_(.{1,255})\.jsonl$/.exec(name)?.[1]);
}

/** The file of a session in older versions of pi, in a directory with its id. It is read, not written. */
const oldFileName = "session.txt";

/** Whether a file in the directory of a project may be a session. */
function isSessionFileName(name: string): boolean {
  return name.endsWith(".jsonl") || name === oldFileName;
}

/** The id in the path of a file; undefined if the file is not a session. */
export function idOfPath(path: string): string | undefined {
  const name = basename(path);
  if (name === oldFileName) {
    const id = basename(dirname(path));
    return isName(id) ? id : undefined;
  }
  if (!name.endsWith(".jsonl")) return undefined;
  const stem = name.slice(0, -".jsonl".length);
  // The time has no underscore, but an id may.
  const underscore = stem.indexOf("_");
  return underscore < 0 ? stem : stem.slice(underscore + 1);
}
