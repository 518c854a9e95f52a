/**
 * Paths as text, normalised to one spelling. No file system is asked: symbolic links are not resolved, and
 * names are compared exactly, on Windows too.
 *
 * @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file and
 *   https://www.rfc-editor.org/rfc/rfc8089 for `file:` URLs (read 2026-11-22)
 */

/**
 * The limit of Linux (`PATH_MAX`, https://man7.org/linux/man-pages/man0/limits.h.0p.html, read 2026-11-22).
 */
const maxPathCharacters = 4096;

/** A normalised path, and a key that shows which paths lie below which. */
export interface PathKey {
  /** Relative to the working directory if inside it, else absolute; with `/`. */
  readonly path: string;
  /**
   * Root and names joined by NUL, which no path contains: a path below this one starts with this `full` and a
   * NUL.
   */
  readonly full: string;
}

/** Normalises the paths of one working directory. */
export interface Paths {
  /**
   * The key of a path; undefined if it is invalid: empty, with a NUL, or longer than 4096 characters. Never
   * throws.
   */
  keyByPath(path: string): PathKey | undefined;
  /** The key with this `full`; undefined if its path would be too long. */
  keyOfFull(full: string): PathKey | undefined;
}

interface Parsed {
  /** `/`, `C:`, `//server/share`; empty for a relative path. */
  readonly root: string;
  readonly names: readonly string[];
}

const drivePath = /^[A-Za-z]:[\\/]/;
const driveStart = /^[A-Za-z]:/;
const share = /^\/\/([^/]{1,255})\/{1,255}([^/]{1,255})/;

/** The paths relative to a working directory; without an absolute one, relative paths stay relative. */
export function pathsFrom(cwd?: string): Paths {
  const base = cwd === undefined ? undefined : parseDirectory(cwd);
  // The start of `full` of a path inside the working directory.
  const inside = base === undefined ? "\0" : `${fullPath(base)}\0`;
  /** A session repeats the same paths. */
  const cache = new Map<string, PathKey | undefined>();

  function keyOfFull(full: string): PathKey | undefined {
    const path = printed(full);
    return path.length > maxPathCharacters ? undefined : { path, full };
  }

  function printed(full: string): string {
    if (`${full}\0` === inside) return ".";
    if (full.startsWith(inside)) {
      const path = full.slice(inside.length).replaceAll("\0", "/");
      // A name that looks like a drive would be parsed as absolute.
      const drive = base === undefined ? drivePath : driveStart;
      return base?.root !== "/" && drive.test(path) ? `./${path}` : path;
    }
    const [root = "", ...names] = full.split("\0");
    return root === "/" ? `/${names.join("/")}` : `${root}/${names.join("/")}`;
  }

  function parsedKey(path: string): PathKey | undefined {
    const plain = withoutScheme(path, base);
    if (plain === "" || plain.includes("\0")) return undefined;
    const parsed = parse(plain, base);
    if (parsed.root !== "" || base === undefined) {
      return keyOfFull(fullPath({ root: parsed.root, names: resolved(parsed.names, parsed.root === "") }));
    }
    return keyOfFull(fullPath({ root: base.root, names: resolved([...base.names, ...parsed.names], false) }));
  }

  return {
    keyOfFull,
    keyByPath(path) {
      if (path === "" || path.length > maxPathCharacters) return undefined;
      let key = cache.get(path);
      if (key === undefined && !cache.has(path)) {
        key = parsedKey(path);
        cache.set(path, key);
      }
      return key;
    },
  };
}

function fullPath({ root, names }: Parsed): string {
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

/** The path of a local `file:` URL, percent-decoded; any other text unchanged. */
function withoutScheme(path: string, base: Parsed | undefined): string {
  if (!/^file:\/\//i.test(path)) return path;
  const [address = ""] = path.slice("file://".length).split(/[?#]/, 1);
  const slash = address.indexOf("/");
  const host = slash < 0 ? address : address.slice(0, slash);
  const encoded = address.slice(host.length);
  const local = host === "" || host.toLowerCase() === "localhost";
  const posix = base?.root === "/";
  if (!local && (base === undefined || posix)) return path;
  let decoded = encoded;
  try {
    decoded = decodeURIComponent(encoded);
  } catch {
    // A stray percent sign: the path is not encoded.
  }
  if (!local) return `//${host}${decoded}`;
  return !posix && /^\/[A-Za-z]:[\\/]/.test(decoded) ? decoded.slice(1) : decoded;
}

/**
 * Parses a path by the rules of the working directory's system; without one, only a path with a drive is a
 * Windows path.
 */
function parse(path: string, base: Parsed | undefined): Parsed {
  if (base === undefined ? drivePath.test(path) : base.root !== "/") return parseWindows(path, base);
  return { root: path.startsWith("/") ? "/" : "", names: path.split("/") };
}

/** A path without `//?/`, the prefix of an ordinary path, which may be repeated. */
function withoutPrefix(path: string): string {
  let plain = path;
  while (plain.startsWith("//?/")) {
    let at = "//?/".length;
    while (plain[at] === "/") at++;
    const rest = plain.slice(at, at + 4);
    if (/^[A-Za-z]:/.test(rest)) plain = plain.slice(at);
    else if (/^UNC(?:\/|$)/i.test(rest)) plain = `//${plain.slice(at + 4)}`;
    else break;
  }
  return plain;
}

function parseWindows(path: string, base: Parsed | undefined): Parsed {
  const plain = withoutPrefix(path.replaceAll("\\", "/"));
  if (driveStart.test(plain)) {
    const root = plain.slice(0, 2).toUpperCase();
    // `C:name` is relative to the current directory of that drive, which is known for one drive at most.
    return { root: plain[2] !== "/" && base?.root === root ? "" : root, names: plain.slice(2).split("/") };
  }
  const match = share.exec(plain);
  if (match !== null) {
    const [all, server, name] = match;
    return { root: `//${server}/${name}`.toLowerCase(), names: plain.slice(all.length).split("/") };
  }
  return { root: plain.startsWith("/") ? (base?.root ?? "") : "", names: plain.split("/") };
}

/** The names without empty ones, `.` and `..`; a leading `..` of a relative path stays. */
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
