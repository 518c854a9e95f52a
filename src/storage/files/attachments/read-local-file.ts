/** `readLocalFile`: safe reading of a file whose path a user or a model gave. */
import nodePath from "node:path";
import { describe, integerOption, oneOfOption } from "../../../core/arguments.js";
import { type ErrorDetails, SessileError } from "../../../core/errors/index.js";
import type { ExactFileStat, FileSystem, OpenFile } from "../../../core/node/file-system.js";
import { nodeFileSystem } from "../../../core/node/node-file-system.js";
import {
  followedLink,
  isFileUrl,
  isInRoots,
  isLexicallyInRoots,
  isSystemPath,
  type PathPlatform,
  pathOfFileUrl,
  pathRefusal,
  type Root,
} from "./path-rules.js";

/** Options of {@link readLocalFile}. */
export interface ReadLocalFileOptions {
  /**
   * Absolute directories. After all links are resolved, the file must be in one of them. An empty list
   * refuses every file. By default files anywhere are read, which is wrong for a path that a model chose.
   */
  readonly roots?: readonly string[] | undefined;
  /**
   * `follow` or `refuse` symbolic links among the directories of the path. They never lead out of the roots.
   * A link as the last component is always refused. Default `follow`.
   */
  readonly links?: "follow" | "refuse" | undefined;
  /** Bytes, at least 1. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Aborts between two chunks. */
  readonly signal?: AbortSignal | undefined;
}

/** The bytes and name of a file. */
export interface LocalFile {
  readonly bytes: Uint8Array;
  /** The last component of its path. */
  readonly name: string;
}

/**
 * Reads a whole regular file, given by an absolute path or a file URL. It never blocks on a FIFO or a device,
 * never reads more than `maxBytes`, and detects a change while it reads. Races cannot lead it out of the
 * roots, as a directory that is replaced by a link. Hard links and bind mounts below a root are read, even if
 * the file is outside too.
 *
 * @throws SessileError FILE_REFUSED, NOT_A_FILE, FILE_TOO_LARGE, CHANGED_DURING_READ, STORAGE_FAILED
 * @throws TypeError if `path` is neither a string nor a URL
 * @example
 * ```ts
 * const { bytes, name } = await readLocalFile("/home/me/screen.png", { roots: ["/home/me"] });
 * ```
 */
export function readLocalFile(path: string | URL, options: ReadLocalFileOptions = {}): Promise<LocalFile> {
  return readWith(nodeFileSystem, path, options);
}

const defaultMaxBytes = 64 << 20;
/** Upper bound of `maxBytes`: the length of a Uint8Array. */
const mostBytes = 2 ** 32 - 1;

/** {@link readLocalFile} on a file-system port. */
export async function readWith(
  files: FileSystem,
  input: string | URL,
  options: ReadLocalFileOptions,
): Promise<LocalFile> {
  const maxBytes = integerOption("maxBytes", options.maxBytes, defaultMaxBytes, 1, mostBytes);
  const links = oneOfOption("links", options.links, ["follow", "refuse"]);
  const path = readPath(input);
  const { signal } = options;
  signal?.throwIfAborted();
  const roots = options.roots && (await resolveRoots(files, options.roots));
  try {
    const real = await files.realpath(path);
    // Checked first: no error reveals anything of a file outside the roots.
    if (!isInRoots(roots, real)) throw refused(path, "outsideRoots", "it lies outside the roots");
    const before = await files.lstatExact(path);
    if (before.kind === "link") throw refused(path, "link", "it is a symbolic link");
    if (links === "refuse" && followedLink(roots, path, real)) {
      throw refused(path, "link", "a directory on its way is a symbolic link");
    }
    if (before.kind !== "file") throw notAFile(path, before);
    if (process.platform !== "win32" && isSystemPath(real)) {
      throw refused(path, "system", "it lies in /proc, /sys or /dev");
    }
    signal?.throwIfAborted();
    const file = await files.openAsync(real, "readNoFollow");
    if (file === undefined) throw refused(path, "missing", "there is no such file");
    try {
      const opened = await file.statExact();
      if (opened.kind !== "file" || opened.dev !== before.dev || opened.ino !== before.ino)
        throw changed(path);
      await checkLocation(files, file, { path, real, roots });
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

function readPath(input: string | URL): string {
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

/** Detects a race: between the first check and the opening, a directory may have been replaced by a link. */
async function checkLocation(
  files: FileSystem,
  file: OpenFile,
  { path, real, roots }: { path: string; real: string; roots: readonly Root[] | undefined },
): Promise<void> {
  const again = await files.realpath(path);
  if (!isInRoots(roots, again)) throw refused(path, "outsideRoots", "it lies outside the roots");
  if (again !== real) throw changed(path);
  const location = await file.location();
  if (location === undefined) return;
  if (!isInRoots(roots, location)) throw refused(path, "outsideRoots", "it was opened outside the roots");
  if (process.platform !== "win32" && isSystemPath(location)) {
    throw refused(path, "system", "it was opened in /proc, /sys or /dev");
  }
  // A link that was there only while the file was opened: the path resolves as before.
  if (location !== real) throw changed(path);
}

/** A path for an error message, of bounded length, since users and models choose paths. */
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

/** Maps a failed system call to an error of the file. Other errors are returned unchanged. */
function fileError(error: unknown, path: string, roots: readonly Root[] | undefined): unknown {
  const errno = (error as NodeJS.ErrnoException | null)?.code;
  if (error instanceof SessileError || typeof errno !== "string" || !/^E[A-Z0-9]{1,30}$/.test(errno))
    return error;
  // The error must not reveal whether something exists outside the roots.
  if (!isLexicallyInRoots(roots, nodePath.resolve(path))) {
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

/** The outcome of reading a file to its end. */
export type ReadOutcome =
  | { readonly status: "read"; readonly bytes: Uint8Array }
  | { readonly status: "tooLarge"; readonly bytes: number }
  | { readonly status: "changed" };

/** Bytes of one read; the signal is checked between two. */
const chunkBytes = 4 << 20;
const minBufferBytes = 64 << 10;

/**
 * Reads an open file to its end, at most one byte more than `maxBytes`, independent of its reported size.
 * Afterwards compares its size and time of modification with those at the opening.
 */
export async function readOpenFile(
  file: Pick<OpenFile, "read" | "statExact">,
  opened: ExactFileStat,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<ReadOutcome> {
  if (opened.size > BigInt(maxBytes)) return { status: "tooLarge", bytes: Number(opened.size) };
  // One byte more than the reported size, so that a single read detects that the file has grown.
  let buffer = new Uint8Array(Number(opened.size) + 1);
  let total = 0;
  for (;;) {
    signal?.throwIfAborted();
    const count = await file.read(buffer.subarray(total, total + chunkBytes), total);
    if (count === 0) break;
    total += count;
    if (total > maxBytes) return { status: "tooLarge", bytes: total };
    if (total < buffer.length) continue;
    const larger = new Uint8Array(Math.min(Math.max(2 * total, minBufferBytes), maxBytes + 1));
    larger.set(buffer);
    buffer = larger;
  }
  const now = await file.statExact();
  // Some file systems report 0 as the size of a file with content.
  const isWhole = now.size === BigInt(total) || now.size === 0n;
  if (!isWhole || now.size !== opened.size || now.mtimeNs !== opened.mtimeNs) return { status: "changed" };
  return { status: "read", bytes: buffer.subarray(0, total) };
}
