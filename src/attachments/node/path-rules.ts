import type { ErrorDetails } from "../../errors/index.js";

/** Which rules paths follow. */
export type PathPlatform = "posix" | "windows";

/** Why a path is not taken. */
export interface PathRefusal {
  readonly reason: ErrorDetails["FILE_REFUSED"]["reason"];
  /** What is wrong, for people. */
  readonly because: string;
}

/** Bytes of a POSIX path without its NUL: PATH_MAX of Linux. */
const maxPosixBytes = 4095;
/** UTF-16 units of a Windows path. */
const maxWindowsUnits = 32_767;

/**
 * The rule that a path breaks by its spelling alone, or undefined. Nothing is looked up.
 *
 * @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file (read 2026-11-21)
 */
export function pathRefusal(path: string, platform: PathPlatform): PathRefusal | undefined {
  if (path === "") return { reason: "malformed", because: "it is empty" };
  if (path.includes("\0")) return { reason: "malformed", because: "it has a NUL" };
  // Node would replace the half character, and open a file of another name.
  if (!path.isWellFormed()) return { reason: "malformed", because: "it has half of a surrogate pair" };
  if (isTooLong(path, platform)) return { reason: "malformed", because: "it is too long" };
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    return { reason: "url", because: "it is a URL, and no file URL" };
  return platform === "windows" ? windowsRefusal(path) : posixRefusal(path);
}

function isTooLong(path: string, platform: PathPlatform): boolean {
  if (platform === "windows") return path.length > maxWindowsUnits;
  return path.length > maxPosixBytes || new TextEncoder().encode(path).length > maxPosixBytes;
}

/** File systems of the kernel's own making: what is read there is state of processes or a device, not a file. */
const systemFolders = /^\/+(?:proc|sys|dev)(?:\/|$)/;

function posixRefusal(path: string): PathRefusal | undefined {
  if (!path.startsWith("/")) return { reason: "relative", because: "it is not absolute" };
  return isSystemPath(path) ? { reason: "system", because: "it lies in /proc, /sys or /dev" } : undefined;
}

/** Whether a POSIX path names something in /proc, /sys or /dev once `.` and `..` are worked out. */
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
  if (part.includes(":")) return "it has a colon behind the drive: a stream of a file";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Windows allows none of them in a name.
  if (/[\u0001-\u001f<>"|?*]/.test(part)) return "it has a character that no name may have";
  // Windows drops them, so that the name would mean another file than it says.
  if (/[. ]$/.test(part)) return "a part ends with a dot or a space";
  const stem = part.split(".", 1)[0] as string;
  return windowsDevice.test(stem.trimEnd()) ? "a part is the name of a device" : undefined;
}
