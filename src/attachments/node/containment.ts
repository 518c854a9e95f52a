import nodePath from "node:path";

/** What of `node:path` this needs; `win32` and `posix` both have it. */
export type PathOperations = Pick<typeof nodePath, "relative" | "isAbsolute" | "sep" | "resolve" | "join">;

/** A directory below which files may be read. */
export interface Root {
  /** As the caller named it, absolute. */
  readonly given: string;
  /** With its links followed; undefined where it does not exist. */
  readonly real: string | undefined;
}

/** Whether `path` is `root` or lies below it, by their spelling: `/a/..x` is in `/a`, `/a_evil` is not. */
export function isInside(root: string, path: string, operations: PathOperations = nodePath): boolean {
  const way = operations.relative(root, path);
  return way !== ".." && !way.startsWith(`..${operations.sep}`) && !operations.isAbsolute(way);
}

/** Whether a path without links lies in one of the roots; without roots, everything does. */
export function isInRoots(roots: readonly Root[] | undefined, real: string): boolean {
  return roots === undefined || roots.some((root) => root.real !== undefined && isInside(root.real, real));
}

/** Whether a path could be meant to lie in one of the roots, before its links are followed. */
export function seemsInRoots(roots: readonly Root[] | undefined, path: string): boolean {
  return roots === undefined || roots.some((root) => isInside(root.given, path)) || isInRoots(roots, path);
}

/** Whether a link was followed on the way from a root to the file; without roots, anywhere on the path. */
export function followedLink(
  roots: readonly Root[] | undefined,
  path: string,
  real: string,
  operations: PathOperations = nodePath,
): boolean {
  const straight = operations.resolve(path);
  const plain = [straight];
  for (const root of roots ?? []) {
    if (root.real !== undefined && isInside(root.given, straight, operations)) {
      plain.push(operations.join(root.real, operations.relative(root.given, straight)));
    }
  }
  // relative compares as the platform does, letter case on Windows included.
  return !plain.some((expected) => operations.relative(expected, real) === "");
}
