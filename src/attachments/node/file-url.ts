import type { PathPlatform, PathRefusal } from "./path-rules.js";

/** Whether text is meant as a file URL. No path is: one drive letter is too short to be this scheme. */
export function isFileUrl(text: string): boolean {
  return /^file:/i.test(text);
}

/**
 * The path that a file URL names, or why it names none. Read by hand: the platform's URL parser makes a path of
 * `file:notes.txt`, turns backslashes, drops tabs, and gives a host to Windows as a network share.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8089 (read 2026-11-21)
 */
export function pathOfFileUrl(url: string, platform: PathPlatform): string | PathRefusal {
  const match = /^file:(?:\/\/([^/?#]*))?(\/[^?#]*)?([?#])?/is.exec(url);
  const [, host = "", path, mark] = match ?? [];
  if (host !== "" && host.toLowerCase() !== "localhost") return urlRefusal("its host is not this machine");
  if (path === undefined) return urlRefusal("it has no absolute path");
  // In a file name they would be %3F and %23; here they may be a part of the name as well as not.
  if (mark !== undefined) return urlRefusal("it has a query or a fragment");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a URL has none of them.
  if (/[\u0000-\u001f\\]/.test(path)) return urlRefusal("it has a backslash or a control character");
  if (/%(?:00|2f)/i.test(path)) return urlRefusal("it has an escaped NUL or slash");
  if (platform === "windows" && /%5c/i.test(path)) return urlRefusal("it has an escaped backslash");
  const decoded = decodePath(path);
  if (decoded === undefined) return urlRefusal("it has an escape that is no UTF-8");
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
