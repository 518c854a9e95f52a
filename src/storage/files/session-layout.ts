/**
 * The paths of session files: `<dir>/<project>/<time>_<id>.jsonl`, the layout of pi, so that both can read
 * one directory. A named partition is a directory `@<name>` above its projects.
 */

import { basename, dirname, join } from "node:path";
import { crc32Hex, encodeUtf8 } from "../../core/bytes.js";
import { canonicalPath, isName, partitionFolder } from "../../core/ids.js";

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
export function isSessionFileName(name: string): boolean {
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
