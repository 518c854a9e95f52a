import { basename, dirname, join } from "node:path";
import { encodeUtf8 } from "../../internal/bytes.js";
import { crc32Hex } from "../../internal/crc32.js";
import { isName, partitionFolder } from "../../internal/ids.js";

/**
 * Where session files lie: `<dir>/<project>/<time>_<id>.jsonl`, as pi lays them out, so that a directory of either can
 * be read by both. A named partition is a directory `@<name>` above its projects.
 */

/** The directory that holds a partition's projects. */
export function partitionDirectory(dir: string, partition: string): string {
  return partition === "" ? dir : join(dir, partitionFolder(partition));
}

/** Bytes; file names end at 255 on common file systems. */
const maxProjectName = 200;

/**
 * The directory name of a project: its path without the first separator, separators and colons as hyphens, between two
 * hyphens on each side. Two projects can have the same, so a reader goes by the header's `cwd`. A path too long for a
 * file name is cut, with a checksum of the whole.
 */
export function projectName(cwd: string): string {
  const name = uncutName(cwd);
  const bytes = encodeUtf8(name);
  if (bytes.length <= maxProjectName) return `--${name}--`;
  let cut = name.slice(0, maxProjectName - 9);
  while (encodeUtf8(cut).length > maxProjectName - 9) cut = cut.slice(0, -1);
  return `--${cut.toWellFormed()}-${crc32Hex(bytes)}--`;
}

/** The directory names that a project's sessions may be under: this store's, and pi's, which cuts none. */
export function projectNames(cwd: string): ReadonlySet<string> {
  return new Set([projectName(cwd), `--${uncutName(cwd)}--`]);
}

function uncutName(cwd: string): string {
  return cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-");
}

/** The directory of the store that a session file belongs to: above its project's directory, or else where it lies. */
export function storeDirectory(path: string): string {
  const directory = dirname(path);
  return /^--.*--$/.test(basename(directory)) ? dirname(directory) : directory;
}

/** The file name of a session. */
export function fileName(id: string, timestamp: string): string {
  return `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`;
}

/** Whether a file name is one that {@link fileName} gives. */
export function isOwnFileName(name: string): boolean {
  return isName(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_(.+)\.jsonl$/.exec(name)?.[1]);
}

/** The id in a file name, or undefined for a file that is no session's. */
export function idOfFileName(name: string): string | undefined {
  if (!name.endsWith(".jsonl")) return undefined;
  const stem = name.slice(0, -".jsonl".length);
  // The time has no underscore; an id may have some.
  const underscore = stem.indexOf("_");
  return underscore < 0 ? stem : stem.slice(underscore + 1);
}
