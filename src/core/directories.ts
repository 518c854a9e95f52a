/** Directories as paths: two spellings of one path are one directory. */

/** Other than of a path with slashes, so that the spelling is one of itself. */
const uncRoot = "\\\\";
const drive = /^[a-z]:(?=[\\/]|$)/i;

/**
 * One spelling of a path: in NFC, without `.`, `..`, repeated and final separators. The path of a drive or a
 * share of Windows has slashes, and its drive in lower case. Reads no file system: links stay.
 */
export function canonicalPath(path: string): string {
  let rest = path.normalize("NFC");
  const isWindows = drive.test(rest) || rest.startsWith("\\\\");
  if (isWindows) rest = rest.replaceAll("\\", "/").replace(/^\/\/\?\/(?=[a-z]:)/i, "");
  const root = rootByPath(rest, isWindows);
  const parts: string[] = [];
  for (const part of rest.slice(root.length).split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (root === "") parts.push(part);
  }
  return root.toLowerCase() + parts.join("/");
}

function rootByPath(path: string, isWindows: boolean): string {
  if (!isWindows) return path.startsWith("/") ? "/" : "";
  return drive.test(path) ? path.slice(0, 3) : uncRoot;
}

/**
 * A test whether a directory is one of some, by {@link canonicalPath}. Each text is looked at once: a list
 * has many sessions of few directories.
 */
export function directoryTest(directories: readonly string[]): (other: string) => boolean {
  const wanted = new Set(directories.map(canonicalPath));
  const known = new Map<string, boolean>();
  return (other) => {
    const isOne = known.get(other) ?? wanted.has(canonicalPath(other));
    known.set(other, isOne);
    return isOne;
  };
}
