/** Ids that follow from foreign ids by a digest, so that equal input has equal ids. */

import { sha256 } from "@noble/hashes/sha2.js";
import { encodeUtf8, toHex } from "../../internal/bytes.js";
import { isName } from "../../internal/ids.js";

/** The 64 hexadecimal digits of SHA-256 over texts, with a NUL between them. */
export function digestOf(...texts: readonly string[]): string {
  return toHex(sha256(encodeUtf8(texts.join("\0"))));
}

/** The first 128 bits of a digest as a UUID of version 4: validators of agents may refuse later versions. */
export function uuidOfDigest(hex: string): string {
  const variant = ((Number.parseInt(hex[16] ?? "0", 16) & 0x3) | 0x8).toString(16);
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return `${groups.join("-")}-${hex.slice(20, 32)}`;
}

/** A UUID that depends on the texts alone. */
export function uuidOf(...texts: readonly string[]): string {
  return uuidOfDigest(digestOf(...texts));
}

/** A foreign session id as one of a session here: the same if it is a name, else a UUID of its digest. */
export function sessionIdOf(format: string, foreignId: string): string {
  return isName(foreignId) ? foreignId : uuidOf(format, foreignId);
}
