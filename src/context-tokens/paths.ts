/**
 * Absolute paths as text: nothing here asks a file system, so links are not known and a Windows path means the same
 * everywhere.
 *
 * @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file (read 2026-11-21)
 */

/** A path taken apart: what it starts from, and the names below that, `.` and `..` resolved. */
interface Absolute {
  readonly root: string;
  readonly names: readonly string[];
}

const drive = /^[A-Za-z]:[\\/]/;
/** `\\server\share`; with slashes, as Windows takes it too, and POSIX leaves its meaning to the system. */
const share = /^(?:\\\\|\/\/)([^\\/]+)[\\/]+([^\\/]+)/;

/** Whether the path is absolute in POSIX, begins with a drive and its separator, or names a UNC share. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith("/") || drive.test(path) || share.test(path);
}

/**
 * A test for paths that lie below `directory`, which is not below itself; undefined where it cannot hold any: it is not
 * absolute, or a device path. Both have to be of one kind, POSIX, drive or UNC. Names are compared exactly, but the letter
 * of a drive and the server and share of UNC in any case.
 */
export function insideOf(directory: string): ((path: string) => boolean) | undefined {
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
    // `\\?\` and `\\.\` lead to devices, and past the rules for names.
    if (server === "?" || server === ".") return undefined;
    return onWindows(`\\\\${server}\\${name}`, path.slice(all.length));
  }
  if (drive.test(path)) return onWindows(path.slice(0, 2), path.slice(2));
  return path.startsWith("/") ? { root: "/", names: resolved(path.split("/")) } : undefined;
}

/** Windows strips dots and spaces at the end of a name, and takes a colon for a stream: such names can mean others. */
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
