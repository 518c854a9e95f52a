/** Ids, names that are safe in file names, blob ids in text, and directories as paths. */

import { describe } from "./arguments.js";
import { crc32Hex, encodeUtf8, hex8 } from "./bytes.js";

const pool = new Uint32Array(256);
let used = pool.length;

function random32(): number {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  return pool[used++] as number;
}

/**
 * Eight hexadecimal digits that are unique and no secret: V8 seeds `Math.random` from the system. Web Crypto takes
 * 3.3 ms to load, a third of the open of 100 entries (Node 24, fresh process).
 */
export function uniqueHex8(): string {
  return hex8(Math.random() * 2 ** 32);
}

/** Eight random hexadecimal digits. */
export function randomHex8(): string {
  return hex8(random32());
}

/**
 * A UUID of version 7: milliseconds since 1970, then random bits, so that ids sort by time.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562 section 5.7 (read 2026-11-21)
 */
export function uuidv7(now: number): string {
  const time = now.toString(16).padStart(12, "0");
  const a = (0x7000 | (random32() & 0x0fff)).toString(16);
  const b = (0x8000 | (random32() & 0x3fff)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-${a}-${b}-${randomHex8()}${randomHex8().slice(4)}`;
}

/** The first 128 bits of a digest as a UUID of version 4: validators of agents may refuse later versions. */
export function uuidOfDigest(hex: string): string {
  const variant = ((Number.parseInt(hex[16] ?? "0", 16) & 0x3) | 0x8).toString(16);
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return `${groups.join("-")}-${hex.slice(20, 32)}`;
}

const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;

/** Whether a value is safe as part of a file name. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value.length <= 128 && namePattern.test(value);
}

/** Returns a name that is safe as part of a file name. Throws a TypeError naming the argument. */
export function nameArgument(name: string, value: unknown): string {
  if (isName(value)) return value;
  const expected =
    "at most 128 letters, digits, dots, underscores and hyphens with no dot or hyphen at the ends";
  throw new TypeError(`${name}: expected ${expected}, got ${describe(value)}`);
}

/** The logs beside a session's: the lease of its turn, and the reply that is being written. */
export type SideKind = "claim" | "reply";

/** The kinds of logs beside a session's. */
export const sideKinds: readonly SideKind[] = ["claim", "reply"];

/** The longest id whose side logs have it in whole: theirs fit into a column for names too. */
const maxSideBase = 120;

/** The id of a log beside that of a session. No session has it: a tilde is not in a name. */
export function sideLogId(id: string, kind: SideKind): string {
  const base = id.length <= maxSideBase ? id : `${id.slice(0, maxSideBase - 9)}.${crc32Hex(encodeUtf8(id))}`;
  return `${base}~${kind}`;
}

/** Whether an id is that of a log beside a session's. */
export function isSideLogId(id: string): boolean {
  if (!id.includes("~")) return false;
  const [base, kind, ...rest] = id.split("~");
  return isName(base) && sideKinds.includes(kind as SideKind) && rest.length === 0;
}

/** The directory of a partition. Escapes upper case, which some file systems do not distinguish. */
export function partitionFolder(name: string): string {
  return `@${name.replace(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`)}`;
}

/** The inverse of {@link partitionFolder}; undefined for another directory. */
export function partitionOfFolder(folder: string): string | undefined {
  const name = folder.slice(1).replace(/!([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return isName(name) && partitionFolder(name) === folder ? name : undefined;
}

// Any character may precede the id, such as the letter of a JSON escape in "see:\nsha256:…".
const anyRef = /(?:sha256|blake3):[0-9a-f]{64}(?![0-9A-Za-z])/g;

type BlobRef = `${"sha256" | "blake3"}:${string}`;

/**
 * Finds every blob id in a text: the roots of a garbage collection. Ignores the format of the text, so that
 * ids written by a newer version count. It may find too many, which only keeps a blob longer.
 *
 * @example
 * ```ts
 * [...blobRefsIn(`{"note":"sha256:${"0".repeat(64)}"}`)].length; // 1
 * ```
 */
export function blobRefsIn(text: string): ReadonlySet<BlobRef> {
  return new Set(text.match(anyRef) as BlobRef[] | null);
}

// Directories as paths: two spellings of one path are one directory.

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
