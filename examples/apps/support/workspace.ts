import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/**
 * The real path that a model's path means, if that lies in the workspace; it need not exist yet. `..`, absolute paths and
 * symbolic links may be used as long as they stay inside.
 *
 * The path is checked now and used later: a program that swaps a directory for a link in between gets through. Whoever
 * runs such programs in the workspace needs a container, not a check of paths.
 *
 * @throws Error for a path that leads outside; the message is for the model
 */
export async function confinedPath(workspace: string, path: string): Promise<string> {
  const root = await realpath(workspace);
  const real = await realTarget(resolve(root, path));
  if (real === undefined || !isInside(root, real)) throw new Error(`${path} is outside the workspace`);
  return real;
}

/** The path with its links followed as far as it exists; undefined where a link leads to nothing. */
async function realTarget(target: string): Promise<string | undefined> {
  let existing = target;
  const missing: string[] = [];
  while (!(await isThere(existing))) {
    missing.unshift(basename(existing));
    existing = dirname(existing);
  }
  // A link to nothing is there itself, and writing to it would make a file wherever it points.
  const real = await realpath(existing).catch(() => undefined);
  return real === undefined ? undefined : join(real, ...missing);
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
