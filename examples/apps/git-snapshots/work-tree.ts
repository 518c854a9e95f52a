/** Lists the files of a working tree that a snapshot has, and those that it leaves out. */
import { accessSync, constants, lstatSync, readdirSync, type Stats } from "node:fs";
import { fieldsOf, type Git } from "./run-git.js";

/** A path that a snapshot does not have, although the user's rules do not ignore it. */
export interface LeftOut {
  /** Relative to the top of the working tree; a binary string. */
  readonly path: string;
  /**
   * - `size`: the file is larger than the limit.
   * - `repository`: a submodule or another repository within this one, with all files below it.
   * - `special`: a FIFO, a socket or a device.
   * - `unreadable`: this process may not read the file.
   * - `name`: git cannot store a file of this name.
   */
  readonly reason: "size" | "repository" | "special" | "unreadable" | "name";
  /** Only with `size`. */
  readonly bytes?: number;
}

/** The rules of a listing. */
export interface WorkTreeRules {
  /** The top of the working tree, absolute. */
  readonly root: string;
  readonly maxFileBytes: number;
  /** Whether a path is never read, written or deleted. */
  readonly isExcluded: (path: string) => boolean;
}

/** A listing. Paths are binary strings. */
export interface WorkTreeFiles {
  readonly paths: ReadonlySet<string>;
  readonly leftOut: readonly LeftOut[];
  /** The permissions of regular files. */
  readonly modes: ReadonlyMap<string, number>;
}

/**
 * Lists tracked files, and untracked ones that are not ignored. A restore is about to write `wanted`: the
 * files there now are listed too, of any size and ignored or not, because the restore replaces them.
 */
export async function listWorkTree(
  git: Git,
  rules: WorkTreeRules,
  wanted: Iterable<string> = [],
): Promise<WorkTreeFiles> {
  const listing = new Listing(rules);
  const listed = await git(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
  for (const path of fieldsOf(listed)) listing.add(path);
  for (const path of wanted) listing.addReplaced(path);
  return { paths: listing.paths, leftOut: sortedByPath(listing.leftOut.values()), modes: listing.modes };
}

function sortedByPath(leftOut: Iterable<LeftOut>): readonly LeftOut[] {
  return [...leftOut].sort((a, b) => (a.path < b.path ? -1 : 1));
}

class Listing {
  readonly paths = new Set<string>();
  readonly leftOut = new Map<string, LeftOut>();
  readonly modes = new Map<string, number>();
  readonly #rules: WorkTreeRules;
  readonly #isDirectory = new Map<string, boolean>();

  constructor(rules: WorkTreeRules) {
    this.#rules = rules;
  }

  /** Adds a path that git listed. A tracked file may be absent, and a directory may be in its place. */
  add(listed: string): void {
    const path = listed.replace(/\/$/, "");
    if (this.#rules.isExcluded(path) || this.paths.has(path)) return;
    try {
      if (listed !== path) this.#leaveOut(path, "repository");
      else this.#addListed(path);
    } catch (error) {
      // A directory that this process may not search.
      if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
      this.#leaveOut(path, "unreadable");
    }
  }

  #addListed(path: string): void {
    // Behind a link is another file than git means.
    if (!this.#parentsOf(path).every((parent) => this.#isRealDirectory(parent))) return;
    const stats = this.#stats(path);
    if (stats === undefined) return;
    if (stats.isDirectory()) {
      // A submodule that was not checked out is an empty directory.
      if (this.#stats(`${path}/.git`) !== undefined) this.#leaveOut(path, "repository");
    } else if (!isStorable(path, stats)) this.#leaveOut(path, "name");
    else if (!stats.isFile() && !stats.isSymbolicLink()) this.#leaveOut(path, "special");
    else if (stats.isFile() && stats.size > this.#rules.maxFileBytes && !isRules(path)) {
      this.leftOut.set(path, { path, reason: "size", bytes: stats.size });
    } else if (!this.#isReadable(path, stats)) this.#leaveOut(path, "unreadable");
    else this.#accept(path, stats);
  }

  /** Adds everything that writing a file to this path would replace. */
  addReplaced(path: string): void {
    if (this.paths.has(path)) return;
    for (const parent of [...this.#parentsOf(path), path]) {
      if (this.paths.has(parent)) return;
      const stats = this.#stats(parent);
      if (stats === undefined) return;
      if (stats.isDirectory()) continue;
      this.#acceptReplaced(parent, stats);
      return;
    }
    this.#addDirectory(path);
  }

  #addDirectory(directory: string): void {
    for (const name of readdirSync(this.#absolute(directory), "latin1")) {
      const path = `${directory}/${name}`;
      const stats = this.#stats(path);
      if (name === ".git" || this.#rules.isExcluded(path)) this.#refuse(path);
      if (stats?.isDirectory()) this.#addDirectory(path);
      else if (stats !== undefined) this.#acceptReplaced(path, stats);
    }
  }

  #acceptReplaced(path: string, stats: Stats): void {
    const isFile = stats.isFile() || stats.isSymbolicLink();
    if (!isFile || !isStorable(path, stats) || this.#rules.isExcluded(path)) this.#refuse(path);
    this.leftOut.delete(path);
    this.#accept(path, stats);
  }

  #accept(path: string, stats: Stats): void {
    this.paths.add(path);
    if (stats.isFile()) this.modes.set(path, stats.mode & 0o7777);
  }

  #refuse(path: string): never {
    throw new Error(`${path} is in the way of a file to restore, and no snapshot can keep it`);
  }

  #leaveOut(path: string, reason: LeftOut["reason"]): void {
    this.leftOut.set(path, { path, reason });
  }

  #isReadable(path: string, stats: Stats): boolean {
    if (stats.isSymbolicLink() || (stats.mode & 0o444) === 0o444) return true;
    try {
      accessSync(this.#absolute(path), constants.R_OK);
      return true;
    } catch {
      return false;
    }
  }

  #parentsOf(path: string): readonly string[] {
    const parents: string[] = [];
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) parents.push(path.slice(0, at));
    return parents;
  }

  #isRealDirectory(path: string): boolean {
    let is = this.#isDirectory.get(path);
    if (is === undefined) {
      is = this.#stats(path)?.isDirectory() ?? false;
      this.#isDirectory.set(path, is);
    }
    return is;
  }

  #stats(path: string): Stats | undefined {
    try {
      return lstatSync(this.#absolute(path), { throwIfNoEntry: false });
    } catch (error) {
      // A file is in the place of a directory.
      if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
      throw error;
    }
  }

  #absolute(path: string): Buffer {
    return absolutePath(this.#rules.root, path);
  }
}

/** A restore needs the rules of its snapshot, of any size. */
export function isRules(path: string): boolean {
  return /(^|\/)\.gitignore$/.test(path);
}

/** git refuses `.git` in any case at every level, and a link of the name of its list of submodules. */
function isStorable(path: string, stats: Stats): boolean {
  if (/(^|\/)\.git(\/|$)/i.test(path)) return false;
  return !(stats.isSymbolicLink() && /(^|\/)\.gitmodules$/i.test(path));
}

/** The absolute path of a binary string, as bytes. */
export function absolutePath(root: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, "latin1")]);
}
