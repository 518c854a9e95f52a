/**
 * Paths as text, brought to one spelling. Nothing here asks a file system: links are not known, and names are compared
 * exactly, on Windows too.
 *
 * @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file and
 * https://www.rfc-editor.org/rfc/rfc8089 for `file:` URLs (read 2026-11-22)
 */

/** Linux takes no longer path (`PATH_MAX`, https://man7.org/linux/man-pages/man0/limits.h.0p.html, read 2026-11-22). */
const maxPathCharacters = 4096;

/** A path in its one spelling, and what tells which paths lie below which. */
export interface Place {
  /** Relative to the working directory inside it, else absolute; with `/`. */
  readonly key: string;
  /** Root and names with NUL between, which no path has: what lies below a place begins with its `full` and a NUL. */
  readonly full: string;
}

/** The paths of one working directory. */
export interface Paths {
  /** The place of a path; undefined where no file can have it: empty, with a NUL, or above 4096 characters. Never throws. */
  place(path: string): Place | undefined;
  /** The place with this `full`; undefined where its path would be too long. */
  placeOf(full: string): Place | undefined;
}

interface Parsed {
  /** `/`, `C:`, `//server/share`; empty for a relative path. */
  readonly root: string;
  readonly names: readonly string[];
}

const drivePath = /^[A-Za-z]:[\\/]/;
const driveStart = /^[A-Za-z]:/;
const share = /^\/\/([^/]+)\/+([^/]+)/;

/** The paths that start from a working directory; without an absolute one, relative paths stay relative. */
export function pathsFrom(cwd?: string): Paths {
  const base = cwd === undefined ? undefined : parseDirectory(cwd);
  // What the place of a path inside the working directory begins with.
  const inside = base === undefined ? "\0" : `${fullOf(base)}\0`;
  /** A session names the same files again and again. */
  const known = new Map<string, Place | undefined>();

  function placeOf(full: string): Place | undefined {
    const key = keyOf(full);
    return key.length > maxPathCharacters ? undefined : { key, full };
  }

  function keyOf(full: string): string {
    if (`${full}\0` === inside) return ".";
    if (full.startsWith(inside)) {
      const key = full.slice(inside.length).replaceAll("\0", "/");
      // What reads as a drive would be absolute the next time.
      const drive = base === undefined ? drivePath : driveStart;
      return base?.root !== "/" && drive.test(key) ? `./${key}` : key;
    }
    const [root = "", ...names] = full.split("\0");
    return root === "/" ? `/${names.join("/")}` : `${root}/${names.join("/")}`;
  }

  function parsedPlace(path: string): Place | undefined {
    const plain = withoutScheme(path, base);
    if (plain === "" || plain.includes("\0")) return undefined;
    const parsed = parse(plain, base);
    if (parsed.root !== "" || base === undefined) {
      return placeOf(fullOf({ root: parsed.root, names: resolved(parsed.names, parsed.root === "") }));
    }
    return placeOf(fullOf({ root: base.root, names: resolved([...base.names, ...parsed.names], false) }));
  }

  return {
    placeOf,
    place(path) {
      if (path === "" || path.length > maxPathCharacters) return undefined;
      let place = known.get(path);
      if (place === undefined && !known.has(path)) {
        place = parsedPlace(path);
        known.set(path, place);
      }
      return place;
    },
  };
}

function fullOf({ root, names }: Parsed): string {
  return [root, ...names].join("\0");
}

function parseDirectory(cwd: string): Parsed | undefined {
  const plain = withoutScheme(cwd, undefined);
  if (plain.includes("\0")) return undefined;
  const windows: Parsed = { root: "C:", names: [] };
  const isShare = plain.startsWith("\\\\") && share.test(plain.replaceAll("\\", "/"));
  const { root, names } = parse(plain, isShare ? windows : undefined);
  return root === "" ? undefined : { root, names: resolved(names, false) };
}

/** The path of a `file:` URL of this machine, percent-decoded; anything else as it is. */
function withoutScheme(path: string, base: Parsed | undefined): string {
  const match = /^file:\/\/([^/?#]*)([^?#]*)/i.exec(path);
  if (match === null) return path;
  const [, host = "", encoded = ""] = match;
  const local = host === "" || host.toLowerCase() === "localhost";
  const posix = base?.root === "/";
  if (!local && (base === undefined || posix)) return path;
  let decoded = encoded;
  try {
    decoded = decodeURIComponent(encoded);
  } catch {
    // A stray percent sign: the path is meant as it stands.
  }
  if (!local) return `//${host}${decoded}`;
  return !posix && /^\/[A-Za-z]:[\\/]/.test(decoded) ? decoded.slice(1) : decoded;
}

/** Takes a path apart as the system of the working directory does; without one, only what begins with a drive is Windows. */
function parse(path: string, base: Parsed | undefined): Parsed {
  if (base === undefined ? drivePath.test(path) : base.root !== "/") return parseWindows(path, base);
  return { root: path.startsWith("/") ? "/" : "", names: path.split("/") };
}

function parseWindows(path: string, base: Parsed | undefined): Parsed {
  let plain = path.replaceAll("\\", "/");
  // `\\?\` goes before a path that is otherwise written as usual.
  if (/^\/\/\?\/[A-Za-z]:/.test(plain)) plain = plain.slice(4);
  else if (/^\/\/\?\/UNC\//i.test(plain)) plain = `//${plain.slice(8)}`;
  if (driveStart.test(plain)) {
    const root = plain.slice(0, 2).toUpperCase();
    // `C:name` starts from the current directory of that drive, which is known for one drive at most.
    return { root: plain[2] !== "/" && base?.root === root ? "" : root, names: plain.slice(2).split("/") };
  }
  const match = share.exec(plain);
  if (match !== null) {
    const [all, server, name] = match;
    return { root: `//${server}/${name}`.toLowerCase(), names: plain.slice(all.length).split("/") };
  }
  return { root: plain.startsWith("/") ? (base?.root ?? "") : "", names: plain.split("/") };
}

/** Names without empty ones, `.` and `..`; a `..` that leads above a relative start stays. */
function resolved(names: readonly string[], relative: boolean): readonly string[] {
  const out: string[] = [];
  for (const name of names) {
    if (name === "" || name === ".") continue;
    if (name !== "..") out.push(name);
    else if (out.length > 0 && out.at(-1) !== "..") out.pop();
    else if (relative) out.push(name);
  }
  return out;
}
