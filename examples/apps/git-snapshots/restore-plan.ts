/** Decides which files a restore writes, deletes and keeps. Pure. */
import type { LeftOut } from "./work-tree.js";

/** The files of a tree: git's mode and object of each path. Paths are binary strings. */
export type Tree = ReadonlyMap<string, { readonly mode: string; readonly object: string }>;

/** A plan, before the rules of ignored files are asked. */
export interface RestorePlan {
  /** The files after the restore, without `added`. */
  readonly files: Tree;
  /**
   * Files of the present that the snapshot does not have, and that are in the way of none of its files. A
   * restore deletes them, except those that its own rules ignored: they may have existed.
   */
  readonly added: readonly string[];
}

/** Plans a restore of `then` over `now`, the saved present. */
export function planRestore(
  now: Tree,
  then: Tree,
  leftOut: readonly LeftOut[],
  isExcluded: (path: string) => boolean,
): RestorePlan {
  const files = new Map([...then].filter(([path]) => !isExcluded(path)));
  const directories = new Set([...files.keys()].flatMap(parentsOf));
  const skipped = new Set(leftOut.map(({ path }) => path));
  const added: string[] = [];
  for (const [path, file] of now) {
    if (files.has(path) || directories.has(path)) continue;
    const parents = parentsOf(path);
    if (parents.some((parent) => then.has(parent) && files.has(parent))) continue;
    // The snapshot knew the file, or a repository in its place, and did not save it.
    if (skipped.has(path) || parents.some((parent) => skipped.has(parent))) files.set(path, file);
    else added.push(path);
  }
  return { files, added };
}

/** The paths at which two trees differ: those to write, and those to delete. */
export function changesOf(now: Tree, next: Tree): { readonly written: string[]; readonly deleted: string[] } {
  const written = [...next].filter(([path, { mode, object }]) => {
    const present = now.get(path);
    return present?.mode !== mode || present.object !== object;
  });
  return {
    written: written.map(([path]) => path),
    deleted: [...now.keys()].filter((path) => !next.has(path)),
  };
}

function parentsOf(path: string): readonly string[] {
  const names = path.split("/");
  return names.slice(1).map((_, at) => names.slice(0, at + 1).join("/"));
}
