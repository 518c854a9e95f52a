/** Reads a local file as an attachment: the rules for its path, and the read that holds to them. */

import nodePath from "node:path";
import { describe, integerOption, oneOfOption } from "../../../core/arguments.js";
import { type ErrorDetails, SessileError } from "../../../core/errors/index.js";
import type { ExactFileStat, FileSystem, OpenFile } from "../../../core/node/file-system.js";

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
type ReadOutcome =
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

// Rules for paths and file URLs that users or models give: spelling, system folders, containment in roots.

/** The platform whose path rules apply. */
type PathPlatform = "posix" | "windows";

/** The reason that a path is refused. */
interface PathRefusal {
  readonly reason: ErrorDetails["FILE_REFUSED"]["reason"];
  /** For the message of the error. */
  readonly because: string;
}

/** PATH_MAX of Linux without the NUL, in bytes. */
const maxPosixBytes = 4095;
/** In UTF-16 units. */
const maxWindowsUnits = 32_767;

/**
 * Checks the spelling of a path; undefined if it is valid. Does not access the file system.
 *
 * @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file (read 2026-11-21)
 */
export function pathRefusal(path: string, platform: PathPlatform): PathRefusal | undefined {
  if (path === "") return { reason: "malformed", because: "it is empty" };
  if (path.includes("\0")) return { reason: "malformed", because: "it has a NUL" };
  // Node would replace a lone surrogate, and so open a file of another name.
  if (!path.isWellFormed()) return { reason: "malformed", because: "it has half of a surrogate pair" };
  if (isTooLong(path, platform)) return { reason: "malformed", because: "it is too long" };
  if (/^[a-z][a-z0-9+.-]{0,63}:\/\//i.test(path))
    return { reason: "url", because: "it is a URL, but not a file URL" };
  return platform === "windows" ? windowsRefusal(path) : posixRefusal(path);
}

function isTooLong(path: string, platform: PathPlatform): boolean {
  if (platform === "windows") return path.length > maxWindowsUnits;
  return path.length > maxPosixBytes || new TextEncoder().encode(path).length > maxPosixBytes;
}

/** Virtual file systems of the kernel, whose files are the state of processes and devices. */
const systemFolders = /^\/{1,4096}(?:proc|sys|dev)(?:\/|$)/;

function posixRefusal(path: string): PathRefusal | undefined {
  if (!path.startsWith("/"))
    return { reason: "relative", because: "it is not absolute: give `resolve(path)`" };
  return isSystemPath(path) ? { reason: "system", because: "it lies in /proc, /sys or /dev" } : undefined;
}

/** Whether a POSIX path is in /proc, /sys or /dev after `.` and `..` are resolved. */
export function isSystemPath(path: string): boolean {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return systemFolders.test(`/${parts.join("/")}`);
}

const windowsDevice = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$)$/i;

function windowsRefusal(path: string): PathRefusal | undefined {
  const normal = path.replaceAll("/", "\\");
  if (/^\\(?:\\[?.]|\?\?)(?:\\|$)/.test(normal)) {
    return { reason: "windowsName", because: "it is a device path" };
  }
  if (normal.startsWith("\\\\")) return { reason: "windowsName", because: "it is a network path" };
  if (!/^[a-z]:\\/i.test(normal))
    return { reason: "relative", because: "it does not begin with a drive and \\: give `resolve(path)`" };
  for (const part of normal.slice(3).split("\\")) {
    const because = windowsPartProblem(part);
    if (because !== undefined) return { reason: "windowsName", because };
  }
  return undefined;
}

function windowsPartProblem(part: string): string | undefined {
  if (part === "." || part === "..") return undefined;
  if (part.includes(":")) return "it has a colon after the drive, which names a stream of a file";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Windows forbids them in names.
  if (/[\u0001-\u001f<>"|?*]/.test(part)) return "it has a character that Windows forbids in names";
  // Windows drops these, so that the name would be that of another file.
  if (/[. ]$/.test(part)) return "a part ends with a dot or a space";
  const stem = part.split(".", 1)[0] as string;
  return windowsDevice.test(stem.trimEnd()) ? "a part is the name of a device" : undefined;
}

/** Whether text is a file URL. A path cannot be one, since a drive is a single letter. */
export function isFileUrl(text: string): boolean {
  return /^file:/i.test(text);
}

/** Three characters for each of a path's bytes, and more than Windows takes. */
const maxUrlLength = 65_535;

/**
 * The path of a file URL, or the reason that it has none. Not with the platform's URL parser: that accepts
 * `file:notes.txt`, converts backslashes, drops tabs, and makes a network share of a host on Windows.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8089 (read 2026-11-21)
 */
export function pathOfFileUrl(url: string, platform: PathPlatform): string | PathRefusal {
  if (url.length > maxUrlLength) return urlRefusal("it is too long");
  const match = /^file:(?:\/\/([^/?#]{0,65535}))?(\/[^?#]{0,65535})?([?#])?/is.exec(url);
  const [, host = "", path, mark] = match ?? [];
  if (host !== "" && host.toLowerCase() !== "localhost") return urlRefusal("its host is not this machine");
  if (path === undefined) return urlRefusal("it has no absolute path");
  // In a file name these are %3F and %23. Unescaped, it is ambiguous if they belong to the name.
  if (mark !== undefined) return urlRefusal("it has a query or a fragment");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are not valid in a URL.
  if (/[\u0000-\u001f\\]/.test(path)) return urlRefusal("it has a backslash or a control character");
  if (/%(?:00|2f)/i.test(path)) return urlRefusal("it has an escaped NUL or slash");
  if (platform === "windows" && /%5c/i.test(path)) return urlRefusal("it has an escaped backslash");
  const decoded = decodePath(path);
  if (decoded === undefined) return urlRefusal("it has an escape that is not UTF-8");
  return platform === "windows" && /^\/[a-z]:/i.test(decoded)
    ? decoded.slice(1).replaceAll("/", "\\")
    : decoded;
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

function urlRefusal(because: string): PathRefusal {
  return { reason: "url", because };
}

/** The part of `node:path` that is used, so that tests can pass `win32` and `posix`. */
type PathOperations = Pick<typeof nodePath, "relative" | "isAbsolute" | "sep" | "resolve" | "join">;

/** A directory below which files may be read. */
export interface Root {
  /** The caller's absolute path. */
  readonly given: string;
  /** The path with all links resolved; undefined if it does not exist. */
  readonly real: string | undefined;
}

/** Whether `path` is `root` or below it, by spelling: `/a/..x` is in `/a`, `/a_evil` is not. */
export function isInside(root: string, path: string, operations: PathOperations = nodePath): boolean {
  const relative = operations.relative(root, path);
  return relative !== ".." && !relative.startsWith(`..${operations.sep}`) && !operations.isAbsolute(relative);
}

/** Whether a path without links is in one of the roots. Without roots every path is. */
export function isInRoots(roots: readonly Root[] | undefined, real: string): boolean {
  return roots === undefined || roots.some((root) => root.real !== undefined && isInside(root.real, real));
}

/** Whether a path is in one of the roots by spelling, before its links are resolved. */
export function isLexicallyInRoots(roots: readonly Root[] | undefined, path: string): boolean {
  return roots === undefined || roots.some((root) => isInside(root.given, path)) || isInRoots(roots, path);
}

/** Whether resolving the path followed a link below a root; without roots, anywhere on the path. */
export function followedLink(
  roots: readonly Root[] | undefined,
  path: string,
  real: string,
  operations: PathOperations = nodePath,
): boolean {
  const absolute = operations.resolve(path);
  const withoutLinks = [absolute];
  for (const root of roots ?? []) {
    if (root.real !== undefined && isInside(root.given, absolute, operations)) {
      withoutLinks.push(operations.join(root.real, operations.relative(root.given, absolute)));
    }
  }
  // `relative` compares as the platform does, so that case does not matter on Windows.
  return !withoutLinks.some((expected) => operations.relative(expected, real) === "");
}
