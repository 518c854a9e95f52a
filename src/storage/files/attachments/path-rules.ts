/**
 * Rules for paths and file URLs that users or models give: spelling, system folders, containment in roots.
 */
import nodePath from "node:path";
import type { ErrorDetails } from "../../../core/errors/index.js";

/** The platform whose path rules apply. */
export type PathPlatform = "posix" | "windows";

/** The reason that a path is refused. */
export interface PathRefusal {
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
  if (!path.startsWith("/")) return { reason: "relative", because: "it is not absolute" };
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
    return { reason: "relative", because: "it does not begin with a drive and \\" };
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
export type PathOperations = Pick<typeof nodePath, "relative" | "isAbsolute" | "sep" | "resolve" | "join">;

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
