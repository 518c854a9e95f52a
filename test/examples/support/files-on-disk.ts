import { createHash } from "node:crypto";
import { cp, readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { FileLedger } from "sessile/compaction";
import { root } from "../../../scripts/entries.mjs";

/** Copies this repository's own README, manifest and sources: real files for an agent to work on. */
export async function copyProject(to: string): Promise<void> {
  for (const name of ["README.md", "package.json", "src"]) {
    await cp(join(root, name), join(to, name), { recursive: true });
  }
}

/** The SHA-256 of every file below a directory, by its path with `/`. */
export type Files = ReadonlyMap<string, string>;

/** Reads them all. */
export async function filesOnDisk(dir: string): Promise<Files> {
  const found = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hashes = await Promise.all(
    paths.map(async (path) => [relative(dir, path).split(sep).join("/"), await fileHash(path)] as const),
  );
  return new Map(hashes.flatMap(([path, hash]) => (hash === undefined ? [] : [[path, hash] as const])));
}

/** The SHA-256 of a file; undefined where there is none. */
export async function fileHash(path: string): Promise<string | undefined> {
  const bytes = await readFile(path).catch(() => undefined);
  return bytes && createHash("sha256").update(bytes).digest("hex");
}

/** What happened between two looks at a directory: sorted paths. */
export interface FileChanges {
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
}

/** Compares two looks at a directory. */
export function changesBetween(before: Files, after: Files): FileChanges {
  return {
    created: [...after.keys()].filter((path) => !before.has(path)).sort(),
    modified: [...after]
      .filter(([path, hash]) => before.has(path) && before.get(path) !== hash)
      .map(([path]) => path)
      .sort(),
    deleted: [...before.keys()].filter((path) => !after.has(path)).sort(),
  };
}

/** What a ledger says has happened since a look at the directory. */
export function changesInLedger({ files }: FileLedger, before: Files): FileChanges {
  const pathsOf = (some: FileLedger["files"]) => some.map(({ path }) => path);
  const changed = files.filter(({ operations, gone }) => !gone && operations.some((deed) => deed !== "read"));
  return {
    created: pathsOf(changed.filter(({ path }) => !before.has(path))),
    modified: pathsOf(changed.filter(({ path }) => before.has(path))),
    // What came and went in the meantime was not there before.
    deleted: pathsOf(files.filter(({ path, gone }) => gone && before.has(path))),
  };
}
