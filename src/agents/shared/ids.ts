/**
 * Ids and file names that follow from foreign ids by a digest, so that equal input has equal names, and the
 * ids of imported entries.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { encodeUtf8, hex8, toHex } from "../../core/bytes.js";
import { isName, uuidOfDigest } from "../../core/ids.js";

/** The 64 hexadecimal digits of SHA-256 over texts, with a NUL between them. */
export function textDigest(...texts: readonly string[]): string {
  return toHex(sha256(encodeUtf8(texts.join("\0"))));
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

// The ids of imported entries: equal for equal content at an equal place. An agent goes on writing a reply
// that was imported before it was complete, and changes records by later ones; then the entry is another one.

/** More of a text at both ends is as good as all of it: texts of agents grow, and have their length. */
const textEnd = 32;
const maxDepth = 512;

/**
 * A hash of 64 bits, of which an id has 32. It need not be safe: two states that get one id lose only an
 * update, and two places that do are told apart by the builder. SHA-256 would take three times as long.
 */
export class EntryHash {
  readonly #firstA: number;
  readonly #firstB: number;
  #a = 0x9e3779b9;
  #b = 0x85ebca6b;

  /** @param first the texts that are before all others */
  constructor(...first: readonly string[]) {
    for (const text of first) this.#text(text, text.length);
    this.#firstA = this.#a;
    this.#firstB = this.#b;
  }

  /**
   * Eight hexadecimal digits of texts, and of a value of JSON. Of the value, times do not count, nor the middle
   * of a long text beside its length.
   */
  textId(texts: readonly string[], content?: unknown): string {
    this.#a = this.#firstA;
    this.#b = this.#firstB;
    for (const text of texts) this.#text(text, text.length);
    if (content !== undefined) this.#add(content, 0);
    // Each bit of both halves comes to bear on each digit.
    let mixed = Math.imul(this.#a ^ (this.#a >>> 16), 0x85ebca6b) ^ this.#b;
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return hex8((mixed ^ (mixed >>> 16)) >>> 0);
  }

  #add(value: unknown, depth: number): void {
    if (typeof value === "string") this.#text(value, textEnd);
    else if (typeof value === "object" && value !== null && depth < maxDepth) this.#members(value, depth);
    else this.#text(String(value), textEnd);
  }

  #members(value: object, depth: number): void {
    if (Array.isArray(value)) {
      this.#text(`[${value.length}`, textEnd);
      for (const item of value) this.#add(item, depth + 1);
      return;
    }
    for (const name in value) {
      const member = (value as Readonly<Record<string, unknown>>)[name];
      if (name === "timestamp" || member === undefined) continue;
      this.#text(name, textEnd);
      this.#add(member, depth + 1);
    }
    this.#text("}", textEnd);
  }

  /** Adds a text, of a long one `end` characters at both ends. Locals make this twice as fast as members would. */
  #text(text: string, end: number): void {
    const { length } = text;
    let a = Math.imul(this.#a ^ length, 0x9e3779b1);
    let b = Math.imul(this.#b ^ length, 0x85ebca77);
    const head = length <= 2 * end ? length : end;
    for (let at = 0; at < length; at += 2) {
      if (at === head) at = length - end;
      const second = at + 1 < length ? text.charCodeAt(at + 1) : 0;
      const pair = text.charCodeAt(at) | (second << 16);
      a = Math.imul(((a << 15) | (a >>> 17)) ^ pair, 0x9e3779b1);
      b = Math.imul((b << 13) | (b >>> 19), 0x85ebca77) ^ pair;
    }
    this.#a = a;
    this.#b = b;
  }
}
