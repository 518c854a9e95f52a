import { join, relative, resolve, sep } from "node:path";
import { SessileError } from "../../errors/index.js";
import type { FileKind, FileSystem } from "../../internal/node/file-system.js";
import { errnoOf, storageError } from "../../internal/node/file-system.js";
import { idOfFileName, isOwnFileName, partitionDirectory, projectNames } from "./layout.js";
import { headerOfLine, readHead } from "./read-head-tail.js";

/** A file that may be a session. */
export interface SessionFile {
  readonly path: string;
  readonly name: string;
}

/** What {@link SessionFiles.read} finds. */
export interface SessionFilesFound {
  readonly files: readonly SessionFile[];
  /** What a session may be behind, and what cannot be read or is no session of the store. */
  readonly skipped: readonly { readonly path: string; readonly error: SessileError }[];
}

/** What {@link SessionFiles.find} looks for. */
export interface SessionFileQuery {
  readonly partition: string;
  /** Only the file with this path. */
  readonly location?: string | undefined;
  /** Any file but the one with this path, which another path may lead to as well. */
  readonly except?: string | undefined;
  /** Reads headers also of files whose names are this store's own, which rarely lie. */
  readonly everyHeader?: boolean;
}

/** Partitions whose files are remembered. */
const maxPartitions = 64;

/**
 * Which files are the sessions of a store: those in a partition's directory, and those in its projects' directories. A
 * directory that is a link is followed, by every call alike; a file that is a link is no session. The id of a session is
 * the one in its header; file names only say where to look first.
 */
export class SessionFiles {
  readonly #fs: FileSystem;
  readonly #dir: string;
  /** By partition and id: files that had the id when the directories were last read. Checked again at each use. */
  readonly #remembered = new Map<string, Map<string, string[]>>();
  /** The ids in headers of files whose names need not tell. */
  readonly #headers = new Map<string, { readonly dev: number; readonly ino: number; readonly id: string }>();

  /** @param dir the store's directory, absolute */
  constructor(fs: FileSystem, dir: string) {
    this.#fs = fs;
    this.#dir = dir;
  }

  /**
   * Reads the directories of a partition. A project's directory that cannot be read is skipped.
   *
   * @param cwd leaves out directories that can only be other projects'
   * @throws SessileError STORAGE_FAILED for the partition's own directory
   */
  async read(partition: string, cwd?: string): Promise<SessionFilesFound> {
    try {
      return await this.#read(partition, cwd);
    } catch (error) {
      throw storageError("list", partitionDirectory(this.#dir, partition), error);
    }
  }

  async #read(partition: string, cwd: string | undefined): Promise<SessionFilesFound> {
    const base = partitionDirectory(this.#dir, partition);
    const projects = cwd === undefined ? undefined : projectNames(cwd);
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
      // A partition is nobody's project.
      if (name.startsWith("@") || (name.startsWith("--") && projects?.has(name) === false)) continue;
      if (kind === "directory") directories.push(path);
      else if (kind === "link") links.push(path);
      else if (kind !== "file" && isLog) skip(path, notAFile(path, kind));
    }
    const inDirectory = async (directory: string) => {
      for (const { name, kind } of await this.#list(directory)) {
        if (!name.endsWith(".jsonl")) continue;
        const path = `${directory}${sep}${name}`;
        if (kind === "file") files.push({ path, name });
        else skip(path, notAFile(path, kind));
      }
    };
    const followed = this.#followed(base, directories, links.sort(), skip);
    for (const directory of [...directories, ...followed]) {
      await inDirectory(directory).catch((error: unknown) => skip(directory, error));
    }
    if (cwd === undefined) this.#remember(partition, files);
    return { files, skipped };
  }

  /**
   * The path of a session's file: of one with the id in its header, else of one with the id in its name, whose header may
   * be damaged. Directories are read only where no remembered file has the id.
   *
   * @throws SessileError STORAGE_FAILED where it may be in what cannot be read
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
    if (location !== undefined) return this.#at(location, id, partition);
    for (const path of this.#remembered.get(partition)?.get(id) ?? []) {
      if (!this.#isOne(path, except) && this.#headerId(path) === id) return path;
    }
    const { files, skipped } = await this.read(partition);
    let named: string | undefined;
    let unread: string | undefined;
    for (const { path, name } of files) {
      if (idOfFileName(name) !== id || this.#isOne(path, except)) continue;
      const said = this.#headerId(path);
      if (said === id) return path;
      if (said === undefined) unread ??= path;
      else named ??= path;
    }
    if (unread !== undefined) return unread;
    const yieldIfDue = yieldWhenDue();
    for (const { path, name } of files) {
      if (idOfFileName(name) === id || (query.everyHeader !== true && isOwnFileName(name))) continue;
      await yieldIfDue();
      if (this.#headerId(path, true) !== id || this.#isOne(path, except)) continue;
      this.#rememberAt(partition, id, path);
      return path;
    }
    if (named !== undefined) return named;
    const unreadable = skipped.find(({ error }) => error.code === "STORAGE_FAILED");
    if (unreadable !== undefined) throw unreadable.error;
    return undefined;
  }

  #isOne(path: string, other: string | undefined): boolean {
    if (other === undefined || path === other) return path === other;
    const [a, b] = [path, other].map((each) => this.#fs.lstat(each));
    return a !== undefined && b !== undefined && a.ino !== 0 && a.ino === b.ino && a.dev === b.dev;
  }

  #list(directory: string): ReturnType<FileSystem["list"]> {
    return this.#fs.list(directory).catch((error: unknown) => {
      throw storageError("list", directory, error);
    });
  }

  /** Links that lead to directories, each directory once and none that is there without a link. */
  #followed(
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
        // A link to nothing may be one to a disk that is not there now.
        if (target === undefined || (!target.includes(":") && path.endsWith(".jsonl"))) {
          skip(path, notAFile(path, "link"));
        }
        if (target?.includes(":") !== true || seen.has(target)) return false;
        seen.add(target);
        return true;
      } catch (error) {
        skip(path, errnoOf(error) === "ELOOP" ? notAFile(path, "link") : error);
        return false;
      }
    });
  }

  /** A path that {@link read} could give, where the file has the id; undefined for any other. */
  #at(location: string, id: string, partition: string): string | undefined {
    const path = resolve(location);
    const parts = relative(partitionDirectory(this.#dir, partition), path).split(sep);
    const [first = "", name = first] = parts;
    if (parts.length > 2 || first === ".." || !name.endsWith(".jsonl")) return undefined;
    if (parts.length === 2 && first.startsWith("@")) return undefined;
    if (this.#fs.lstat(path)?.kind !== "file") return undefined;
    const said = this.#headerId(path);
    return said === id || (said === undefined && idOfFileName(name) === id) ? path : undefined;
  }

  /** The id in a file's header; undefined for no file, and where its beginning has no header or cannot be read. */
  #headerId(path: string, mayBeRemembered = false): string | undefined {
    try {
      const stat = this.#fs.lstat(path);
      if (stat?.kind !== "file") return undefined;
      const { dev, ino } = stat;
      const known = mayBeRemembered ? this.#headers.get(path) : undefined;
      if (known?.dev === dev && known.ino === ino) return known.id;
      const file = this.#fs.open(path, "read");
      if (file === undefined) return undefined;
      try {
        let id: string | undefined;
        readHead(file, stat.size, (line, index) => {
          id = headerOfLine(line, index === 0)?.id;
          return id !== undefined;
        });
        if (mayBeRemembered && id !== undefined) this.#headers.set(path, { dev, ino, id });
        return id;
      } finally {
        file.close();
      }
    } catch {
      // Whoever opens the file is told why.
      return undefined;
    }
  }

  #remember(partition: string, files: readonly SessionFile[]): void {
    const byId = new Map<string, string[]>();
    for (const { path, name } of files) {
      const id = idOfFileName(name) ?? name;
      const paths = byId.get(id);
      if (paths === undefined) byId.set(id, [path]);
      else paths.push(path);
    }
    this.#remembered.delete(partition);
    this.#remembered.set(partition, byId);
    const [oldest = ""] = this.#remembered.keys();
    if (this.#remembered.size > maxPartitions) this.#remembered.delete(oldest);
  }

  #rememberAt(partition: string, id: string, path: string): void {
    const paths = this.#remembered.get(partition)?.get(id) ?? [];
    this.#remembered.get(partition)?.set(id, [...paths, path]);
  }
}

function notAFile(path: string, kind: FileKind): SessileError {
  return new SessileError("NOT_A_FILE", `${path} is a ${kind}, not a file`, { details: { path, kind } });
}

/** After so many milliseconds without a turn of the event loop, one is due. */
const yieldAfterMs = 4;

/** A function to await between the steps of long synchronous work: it yields to the event loop when a turn is due. */
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
