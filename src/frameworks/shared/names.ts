/**
 * Names of sessions for the keys of frameworks. A key is any string: a thread id with slashes, an empty text.
 * A name is safe as part of a file name, also if the file system ignores case.
 */

import { digest } from "../../blobs/index.js";
import { decodeUtf8, encodeUtf8 } from "../../core/bytes.js";

const plainName = /^[a-z0-9](?:[a-z0-9.-]{0,98}[a-z0-9])?$/;
/** Prefixes of names that are not the key itself. */
const [escaped, hashed] = ["x.", "k."] as const;
const maxEscapedLength = 120;

/**
 * The name of a key. Injective: two keys never share a name.
 * - The key itself, if it is plain: at most 100 of `a-z 0-9 . -`, with a letter or digit at the ends.
 * - Else `x.` and its UTF-8 bytes, with `_` and two hexadecimal digits for every other byte.
 * - Else `k.` and a SHA-256: of a long key, the empty one, and ill-formed text.
 */
export function nameByKey(key: string): string {
  if (isPlain(key)) return key;
  if (key !== "" && key.isWellFormed()) {
    const name = escaped + escapedBytes(encodeUtf8(key));
    if (name.length <= maxEscapedLength) return name;
  }
  // JSON text escapes lone surrogates, which UTF-8 would replace.
  return hashedName(JSON.stringify(key));
}

/** A name for several keys together, which no key alone has. */
export function joinedName(...keys: readonly string[]): string {
  return hashedName(JSON.stringify(keys));
}

/** The key of a name; undefined if the name is a digest, or {@link nameByKey} never gives it. */
export function keyOfName(name: string): string | undefined {
  if (isPlain(name)) return name;
  const bytes: number[] = [];
  for (let at = escaped.length; at < name.length; at++) {
    if (name[at] !== "_") bytes.push(name.charCodeAt(at));
    else {
      bytes.push(Number.parseInt(name.slice(at + 1, at + 3), 16));
      at += 2;
    }
  }
  const key = decodeUtf8(Uint8Array.from(bytes));
  return key !== undefined && nameByKey(key) === name ? key : undefined;
}

/** Whether a name is a digest, so that only the session itself has the key. */
export function isHashedName(name: string): boolean {
  return name.startsWith(hashed);
}

function isPlain(key: string): boolean {
  return plainName.test(key) && !key.startsWith(escaped) && !key.startsWith(hashed);
}

function hashedName(text: string): string {
  return hashed + digest(encodeUtf8(text)).slice("sha256:".length);
}

function escapedBytes(bytes: Uint8Array): string {
  let name = "";
  for (const [at, byte] of bytes.entries()) {
    const character = String.fromCharCode(byte);
    const isLast = at === bytes.length - 1;
    const isKept = isLast ? /[a-z0-9]/.test(character) : /[a-z0-9.-]/.test(character);
    name += isKept ? character : `_${byte.toString(16).padStart(2, "0")}`;
  }
  return name;
}
