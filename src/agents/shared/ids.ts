/** Ids and file names that follow from foreign ids by a digest, so that equal input has equal names. */

import { sha256 } from "@noble/hashes/sha2.js";
import { encodeUtf8, toHex } from "../../core/bytes.js";
import { isName } from "../../core/ids.js";

/** The 64 hexadecimal digits of SHA-256 over texts, with a NUL between them. */
export function textDigest(...texts: readonly string[]): string {
  return toHex(sha256(encodeUtf8(texts.join("\0"))));
}

/** The first 128 bits of a digest as a UUID of version 4: validators of agents may refuse later versions. */
export function uuidOfDigest(hex: string): string {
  const variant = ((Number.parseInt(hex[16] ?? "0", 16) & 0x3) | 0x8).toString(16);
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return `${groups.join("-")}-${hex.slice(20, 32)}`;
}

/** A UUID that depends on the texts alone. */
export function textUuid(...texts: readonly string[]): string {
  return uuidOfDigest(textDigest(...texts));
}

/** A foreign session id as one of a session here: the same if it is a name, else a UUID of its digest. */
export function derivedSessionId(format: string, foreignId: string): string {
  return isName(foreignId) ? foreignId : textUuid(format, foreignId);
}

/** Of ext4, APFS and NTFS; the last counts UTF-16 units, of which a name has no more than bytes. */
const maxBytes = 255;
/** A name that is made longer than this is cut. */
const maxLength = 200;

/**
 * Names of devices on Windows, also with an extension.
 *
 * @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file (read 2026-11-23)
 */
const devices = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) {0,255}(?:\.|$)/i;

/** Whether a name is that of a file on every system, and of the same one: no device, not too long. */
export function isFileName(name: string): boolean {
  if (name === "" || devices.test(name) || /[. ]$|\0/.test(name)) return false;
  return name.length <= maxBytes && encodeUtf8(name).length <= maxBytes;
}

/** A name of letters, digits and hyphens that {@link isFileName}: cut or extended by a digest if need be. */
export function toFileName(name: string, source: string): string {
  if (name.length <= maxLength && isFileName(name)) return name;
  return `${name.slice(0, maxLength)}-${textDigest(source).slice(0, 6)}`;
}
