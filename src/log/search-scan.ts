/**
 * A quick test of stored lines: whether the words of a query may be in the text of one. Decoding a line costs
 * several times as much as reading it. The test may pass a line that does not match, and misses none. Words of
 * ASCII stand in a line as they are, but for case, escapes, and characters that hide letters and digits: the
 * normalized and folded forms of `ﬁ`, `½` and `K` (the Kelvin sign) have some.
 */

import { foldCase, maxSoughtLength, normalizedText, type SearchPhrase } from "./search-words.js";

/**
 * Characters whose normalized and folded forms may have ASCII letters or digits: all but these ranges, which
 * have none.
 */
const mayFoldToAscii =
  /[^\0-\u00a9\u00ab-\u00b1\u00b4-\u00b8\u00bb\u00bf-\u00de\u00e0-\u012f\u0134-\u013e\u0141-\u0148\u014a-\u017e\u0370-\u1cff\u2010-\u2046\u2190-\u22ff\u2500-\u27bf\u2e80-\u31ff\u3400-\ua7ef\uac00-\ufaff\u{1f300}-\u{1faff}\u{20000}-\u{2ffff}]/u;
/** An escape that is no control character. */
const escaped = /\\u(?!00[01])/i;

/** The types of lines with a part of the text of a message. */
const ofPart = /"(?:part_update|context_edit)"/;

const decoder = new TextDecoder();

/** Words of a query that a line is tested for. */
const maxWords = 64;
/** The normal form of a longer line may be longer than a string can be. */
const maxFoldedLength = 1 << 20;

/** A test of the lines of a query. */
export interface LineTest {
  /**
   * The first place in a range of whole lines for which a line may pass: a line without one does not. `end` if
   * there is none. A loop over bytes: a decoder and regular expressions take five times as long.
   */
  next(bytes: Uint8Array, from: number, end: number): number;
  /** Whether a line may match. */
  passes(line: Uint8Array): boolean;
}

/** Makes the test of lines for a query. */
export function lineTest(phrases: readonly SearchPhrase[]): LineTest {
  const all = phrases.flatMap((phrase) => phrase.words.map(({ text }) => text.slice(0, maxSoughtLength)));
  const words = [...new Set(all)].slice(0, maxWords);
  const plain = words.filter((word) => !/[^a-z0-9]/.test(word));
  const longest = plain.reduce((one, word) => (word.length > one.length ? word : one), "");
  return {
    next: longest === "" ? (_bytes, from) => from : placesByWord(longest),
    passes(line) {
      const text = decoder.decode(line);
      const isFolded = plain.length < words.length || isHard(text);
      if (isFolded && text.length > maxFoldedLength) return true;
      const folded = isFolded ? foldText(text) : text.toLowerCase();
      // The other words of the message of a part or an edit are in other lines.
      return ofPart.test(folded)
        ? words.some((word) => folded.includes(word))
        : words.every((word) => folded.includes(word));
    },
  };
}

const backslash = 0x5c;
const underscore = 0x5f;
const letterU = 0x75;

function placesByWord(word: string): LineTest["next"] {
  const sought = rarestPart(word, 1);
  /** Whether a byte needs a look. */
  const marked = new Uint8Array(256).fill(1, 0x80);
  const letter = word.charAt(sought);
  for (const character of `\\_${letter}${letter.toUpperCase()}`) marked[character.charCodeAt(0)] = 1;
  return (bytes, from, end) => {
    for (let at = from; at < end; at++) {
      const byte = bytes[at] as number;
      if (marked[byte] === 0) continue;
      if (byte >= 0x80) {
        if (hidesLetters(bytes, at)) return at;
      } else if (byte === backslash) {
        if (bytes[at + 1] === letterU && !isControl(bytes, at + 2)) return at;
      } else if (byte === underscore) {
        if (isWordAt(bytes, at - 5, '"part_update"') || isWordAt(bytes, at - 8, '"context_edit"')) return at;
      } else if (isWordAt(bytes, at - sought, word)) return at;
    }
    return end;
  };
}

/** Whether the digits of an escape are those of a control character. */
function isControl(bytes: Uint8Array, at: number): boolean {
  return isWordAt(bytes, at, "000") || isWordAt(bytes, at, "001");
}

function isHard(text: string): boolean {
  return mayFoldToAscii.test(text) || escaped.test(text);
}

/** The text of a line as the words of its texts are folded. */
function foldText(text: string): string {
  return foldCase(normalizedText(text.includes("\\") ? text.replace(escapes, unescaped) : text));
}

const escapes = /\\(?:u([0-9a-fA-F]{4})|.)/gs;

/** Control characters become spaces, which separate words as they do. */
function unescaped(found: string, code: string | undefined): string {
  if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
  const [, character = ""] = found;
  return /\w/.test(character) ? " " : character;
}

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
