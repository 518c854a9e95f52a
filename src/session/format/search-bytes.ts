/**
 * A search over the bytes of stored lines. Words of ASCII stand there as they are, but for case, escapes, and
 * characters that hide letters and digits: the normalized and folded forms of `ﬁ`, `½` and `K` (the Kelvin
 * sign) have some.
 */

import { foldCase, normalizedText } from "./search-words.js";

/** Letters from the rarest in English text to the most frequent. Digits are frequent in logs. */
const rareFirst = "zqxjkvbpygfwmucldrhsinoate0123456789";

/** The place in a word of its rarest part of a length. */
export function rarestPart(word: string, length: number): number {
  let rarest = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at + length <= word.length; at++) {
    let frequency = 1;
    for (const character of word.slice(at, at + length)) frequency *= 1 + rareFirst.indexOf(character);
    if (frequency < least) [rarest, least] = [at, frequency];
  }
  return rarest;
}

/** Whether a word of lower case stands in bytes at a place, in any case. */
export function isWordAt(bytes: Uint8Array, start: number, word: string): boolean {
  for (let at = 0; at < word.length; at++) {
    const wanted = word.charCodeAt(at);
    const byte = bytes[start + at] as number;
    if (byte !== wanted && (byte !== wanted - 0x20 || wanted < 0x61)) return false;
  }
  return true;
}

/** The first bytes of characters in UTF-8 beyond ASCII are not below it, and all others are. */
const firstLead = 0xc2;

/** Whether a character of UTF-8 that begins at this byte hides letters. Elsewhere in a character it is false. */
export function hidesLetters(bytes: Uint8Array, at: number): boolean {
  const lead = bytes[at] as number;
  return lead >= firstLead && isHiding(codePointAt(bytes, at, lead));
}

function codePointAt(bytes: Uint8Array, at: number, lead: number): number {
  const next = (offset: number) => (bytes[at + offset] ?? 0) & 0x3f;
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | next(1);
  if (lead < 0xf0) return ((lead & 0x0f) << 12) | (next(1) << 6) | next(2);
  return ((lead & 0x07) << 18) | (next(1) << 12) | (next(2) << 6) | next(3);
}

/** For each code point: 0 not yet known, 1 no letters, 2 letters. */
let known: Uint8Array | undefined;

function isHiding(codePoint: number): boolean {
  known ??= new Uint8Array(0x20_0000);
  const state = known[codePoint] as number;
  if (state > 0) return state === 2;
  const isCharacter = codePoint <= 0x10_ffff && !(codePoint >= 0xd800 && codePoint <= 0xdfff);
  const found = isCharacter && /[a-z0-9]/.test(foldCase(normalizedText(String.fromCodePoint(codePoint))));
  known[codePoint] = found ? 2 : 1;
  return found;
}
