import nodePath from "node:path";
import { type ErrorDetails, SessileError } from "../../errors/index.js";
import { describe, integerOption, oneOfOption } from "../../internal/arguments.js";
import type { ExactFileStat, FileSystem, OpenFile } from "../../internal/node/file-system.js";
import { nodeFileSystem } from "../../internal/node/node-file-system.js";
import { followedLink, isInRoots, type Root, seemsInRoots } from "./containment.js";
import { isFileUrl, pathOfFileUrl } from "./file-url.js";
import { isSystemPath, type PathPlatform, pathRefusal } from "./path-rules.js";
import { readOpenFile } from "./read-open-file.js";

/** Options of {@link readLocalFile}. */
export interface ReadLocalFileOptions {
  /**
   * Directories, absolute, that the file has to lie in once all links are followed. Default anywhere, which is right for
   * a path that the user gave, and wrong for one that a model gave. An empty list allows nothing.
   */
  readonly roots?: readonly string[];
  /**
   * What to do with a symbolic link among the directories of the path: `follow` it, as long as it stays in the roots, or
   * `refuse`. A link in the place of the file itself is always refused. Default `follow`.
   */
  readonly links?: "follow" | "refuse";
  /** Bytes, at least 1. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Stops the reading between two chunks. */
  readonly signal?: AbortSignal;
}

/** A file that was read. */
export interface LocalFile {
  readonly bytes: Uint8Array;
  /** The last part of its path. */
  readonly name: string;
}

/**
 * Reads a file of this machine whole: a regular file, below the roots, that stays what it is while it is read. Takes a
 * path, which must be absolute, or a file URL. A FIFO or a device does not make it wait, a file that says a wrong size
 * does not make it read on, and neither a link nor a directory swapped at the wrong moment leads it out of the roots.
 * A hard link below a root to a file outside is read, since both names are the same file; so is a bind mount.
 *
 * @throws SessileError FILE_REFUSED, NOT_A_FILE, FILE_TOO_LARGE, CHANGED_DURING_READ, STORAGE_FAILED
 * @throws TypeError when `path` is neither a string nor a URL
 * @example
 * ```ts
 * const { bytes, name } = await readLocalFile("/home/me/screen.png", { roots: ["/home/me"] });
 * ```
 */
export function readLocalFile(path: string | URL, options: ReadLocalFileOptions = {}): Promise<LocalFile> {
  return readWith(nodeFileSystem, path, options);
}

const defaultMaxBytes = 64 << 20;
/** An array has to hold the bytes. */
const mostBytes = 2 ** 32 - 1;

/** {@link readLocalFile} on any file system. */
export async function readWith(
  files: FileSystem,
  input: string | URL,
  options: ReadLocalFileOptions,
): Promise<LocalFile> {
  const maxBytes = integerOption("maxBytes", options.maxBytes, defaultMaxBytes, 1, mostBytes);
  const links = oneOfOption("links", options.links, ["follow", "refuse"]);
  const path = pathOf(input);
  const { signal } = options;
  signal?.throwIfAborted();
  const roots = options.roots && (await resolveRoots(files, options.roots));
  try {
    const real = await files.realpath(path);
    // Checked first: no error reveals anything of a file outside the roots.
    if (!isInRoots(roots, real)) throw refused(path, "outsideRoots", "it lies outside the roots");
    const seen = await files.lstatExact(path);
    if (seen.kind === "link") throw refused(path, "link", "it is a symbolic link");
    if (links === "refuse" && followedLink(roots, path, real)) {
      throw refused(path, "link", "a directory on its way is a symbolic link");
    }
    if (seen.kind !== "file") throw notAFile(path, seen);
    if (process.platform !== "win32" && isSystemPath(real)) {
      throw refused(path, "system", "it lies in /proc, /sys or /dev");
    }
    signal?.throwIfAborted();
    const file = await files.openAsync(real, "readNoFollow");
    if (file === undefined) throw refused(path, "missing", "there is no such file");
    try {
      const opened = await file.statExact();
      if (opened.kind !== "file" || opened.dev !== seen.dev || opened.ino !== seen.ino) throw changed(path);
      await checkPlace(files, file, { path, real, roots });
      const outcome = await readOpenFile(file, opened, maxBytes, signal);
      if (outcome.status === "changed") throw changed(path);
      if (outcome.status === "tooLarge") throw tooLarge(path, outcome.bytes, maxBytes);
      return { bytes: outcome.bytes, name: nodePath.basename(path) };
    } finally {
      file.close();
    }
  } catch (error) {
    throw fileError(error, path, roots);
  }
}

function pathOf(input: string | URL): string {
  if (typeof input !== "string" && !(input instanceof URL)) {
    throw new TypeError(`path: expected a string or a URL, got ${describe(input)}`);
  }
  const platform: PathPlatform = process.platform === "win32" ? "windows" : "posix";
  const text = typeof input === "string" ? input : input.href;
  const path = isFileUrl(text) ? pathOfFileUrl(text, platform) : text;
  const refusal = typeof path === "string" ? pathRefusal(path, platform) : path;
  if (refusal !== undefined) throw refused(text, refusal.reason, refusal.because);
  return path as string;
}

async function resolveRoots(files: FileSystem, roots: readonly string[]): Promise<readonly Root[]> {
  if (!Array.isArray(roots)) throw new TypeError(`roots: expected an array, got ${describe(roots)}`);
  for (const [index, root] of roots.entries()) {
    if (typeof root !== "string" || !nodePath.isAbsolute(root)) {
      throw new TypeError(`roots[${index}]: expected an absolute path, got ${describe(root)}`);
    }
  }
  return Promise.all(
    roots.map(async (root) => ({
      given: nodePath.resolve(root),
      real: await files.realpath(root).catch(() => undefined),
    })),
  );
}

/** A directory on the way may have been swapped for a link between the first look and the opening: looks again. */
async function checkPlace(
  files: FileSystem,
  file: OpenFile,
  { path, real, roots }: { path: string; real: string; roots: readonly Root[] | undefined },
): Promise<void> {
  const again = await files.realpath(path);
  if (!isInRoots(roots, again)) throw refused(path, "outsideRoots", "it lies outside the roots");
  if (again !== real) throw changed(path);
  const place = await file.location();
  if (place === undefined) return;
  if (!isInRoots(roots, place)) throw refused(path, "outsideRoots", "it was opened outside the roots");
  if (process.platform !== "win32" && isSystemPath(place)) {
    throw refused(path, "system", "it was opened in /proc, /sys or /dev");
  }
  // It was swapped, and swapped back: by its path it looks as before.
  if (place !== real) throw changed(path);
}

/** Paths come from people and models: an error does not repeat one of any length. */
function shown(path: string): string {
  const text = path.toWellFormed();
  return text.length <= 1000 ? text : `${text.slice(0, 200).toWellFormed()}…`;
}

function refused(
  path: string,
  reason: ErrorDetails["FILE_REFUSED"]["reason"],
  because: string,
  cause?: unknown,
): SessileError<"FILE_REFUSED"> {
  const details = { path: shown(path), reason };
  return new SessileError("FILE_REFUSED", `${details.path}: ${because}`, { details, cause });
}

function notAFile(path: string, { kind }: ExactFileStat): SessileError<"NOT_A_FILE"> {
  const details = { path: shown(path), kind };
  return new SessileError("NOT_A_FILE", `${details.path}: a ${kind}, not a file`, { details });
}

function tooLarge(path: string, bytes: number, maxBytes: number): SessileError<"FILE_TOO_LARGE"> {
  const details = { path: shown(path), bytes, maxBytes };
  return new SessileError("FILE_TOO_LARGE", `${details.path}: more than ${maxBytes} bytes`, { details });
}

function changed(path: string): SessileError<"CHANGED_DURING_READ"> {
  const details = { path: shown(path) };
  return new SessileError("CHANGED_DURING_READ", `${details.path}: changed while it was read`, { details });
}

/** What a failed call of the system means for the file; any other error stays what it is. */
function fileError(error: unknown, path: string, roots: readonly Root[] | undefined): unknown {
  const errno = (error as NodeJS.ErrnoException | null)?.code;
  if (error instanceof SessileError || typeof errno !== "string" || !/^E[A-Z0-9]+$/.test(errno)) return error;
  // Whether there is something outside is not told either.
  if (!seemsInRoots(roots, nodePath.resolve(path))) {
    return refused(path, "outsideRoots", "it lies outside the roots");
  }
  switch (errno) {
    case "ENOENT":
    case "ENOTDIR":
      return refused(path, "missing", "there is no such file", error);
    case "EACCES":
    case "EPERM":
      return refused(path, "unreadable", "reading it is not permitted", error);
    case "ELOOP":
    case "EMLINK":
      return refused(path, "link", "it is a symbolic link, or links lead in a circle", error);
    case "ENAMETOOLONG":
      return refused(path, "malformed", "it is too long", error);
    default: {
      const details = { operation: "read", path: shown(path), errno };
      return new SessileError("STORAGE_FAILED", `read ${details.path}: ${errno}`, { details, cause: error });
    }
  }
}
