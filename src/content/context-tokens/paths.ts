/**
 * Absolute paths as text. This file never asks a file system: it does not resolve links, and reads a Windows
 * path in the same way on every system.
 *
 * @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file (read 2026-11-21)
 */

/** A parsed path: its root and the names below it, with `.` and `..` resolved. */
interface Absolute {
  readonly root: string;
  readonly names: readonly string[];
}

const drive = /^[A-Za-z]:[\\/]/;
/**
 * `\\server\share`, also with slashes: Windows accepts both, and POSIX leaves a leading `//` to the system.
 */
const share = /^(?:\\\\|\/\/)([^\\/]{1,255})[\\/]{1,255}([^\\/]{1,255})/;

/** Whether a path is absolute: POSIX, a drive with its separator, or a UNC share. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith("/") || drive.test(path) || share.test(path);
}

/**
 * Returns a test for paths below `directory`, which is not below itself. Returns undefined if `directory` is
 * relative or a device path. Both paths must have the same kind: POSIX, drive or UNC. The test compares names
 * exactly, and drive letters, servers and shares without regard to case.
 */
export function pathInside(directory: string): ((path: string) => boolean) | undefined {
  const outer = absolute(directory);
  if (outer === undefined) return undefined;
  return (path) => {
    const inner = absolute(path);
    return (
      inner !== undefined &&
      inner.root === outer.root &&
      inner.names.length > outer.names.length &&
      outer.names.every((name, at) => inner.names[at] === name)
    );
  };
}

function absolute(path: string): Absolute | undefined {
  const unc = share.exec(path);
  if (unc !== null) {
    const [all, server, name] = unc;
    // `\\?\` and `\\.\` address devices and bypass the rules for names.
    if (server === "?" || server === ".") return undefined;
    return onWindows(`\\\\${server}\\${name}`, path.slice(all.length));
  }
  if (drive.test(path)) return onWindows(path.slice(0, 2), path.slice(2));
  return path.startsWith("/") ? { root: "/", names: resolved(path.split("/")) } : undefined;
}

/**
 * Refuses names that Windows reads differently: it strips trailing dots and spaces, and a colon names a
 * stream.
 */
function onWindows(root: string, rest: string): Absolute | undefined {
  const names = rest.split(/[\\/]/);
  const plain = names.every((name) => name === "." || name === ".." || !/[. ]$|:/.test(name));
  return plain ? { root: root.toLowerCase(), names: resolved(names) } : undefined;
}

function resolved(names: readonly string[]): readonly string[] {
  const out: string[] = [];
  for (const name of names) {
    if (name === "..") out.pop();
    else if (name !== "" && name !== ".") out.push(name);
  }
  return out;
}

/** The extension of a path in lower case, or "" if its name has none or begins with its only dot. */
export function extensionByPath(path: string): string {
  const name = baseName(path);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : "";
}

/** The last name of a path, with either separator. */
export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}
