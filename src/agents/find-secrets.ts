/**
 * The places of secrets in a text: literal, behind escapes and disguises, and in base64 and
 * hexadecimal, also wrapped over lines. Each view of the text has a map back to
 * it, and views are searched in views.
 */

import type { SecretRule } from "./secret-rules.js";

/** A place in a text that a rule found. */
interface FoundSecret {
  readonly start: number;
  readonly end: number;
  /** The index of the rule. */
  readonly rule: number;
}

/** JSON in JSON in base64 is three views deep; colours of a terminal in it are one more. */
const maxDepth = 5;
/** Shorter texts hold no secret. */
const minText = 8;
/** Texts up to this length, such as names of members, are often the same. */
const maxRemembered = 48;

/** Makes a search by rules. Its result is ordered, without overlaps; the first rule of a place counts. */
export function secretFinder(rules: readonly SecretRule[]): (text: string) => readonly FoundSecret[] {
  const candidates = candidateFinder(rules);
  const clean = new Set<string>();
  return (text) => {
    if (clean.has(text)) return [];
    const found = [...search(text, rules, candidates, 0)].sort((a, b) => a.start - b.start || b.end - a.end);
    if (found.length === 0 && text.length <= maxRemembered && clean.size < 10_000) clean.add(text);
    const merged: FoundSecret[] = [];
    for (const secret of found) {
      const last = merged.at(-1);
      if (last === undefined || secret.start >= last.end) merged.push(secret);
      else {
        const { start } = last;
        const rule = Math.min(last.rule, secret.rule);
        merged[merged.length - 1] = { start, end: Math.max(last.end, secret.end), rule };
      }
    }
    return merged;
  };
}

function* search(
  text: string,
  rules: readonly SecretRule[],
  candidates: (text: string) => Iterable<number>,
  depth: number,
): Generator<FoundSecret> {
  if (text.length < minText && depth > 0) return;
  for (const rule of candidates(text)) {
    for (const [start, end] of rules[rule]?.find(text) ?? []) yield { start, end, rule };
  }
  if (depth === maxDepth || text.length < minText) return;
  const shown = withoutDisguises(text);
  for (const plain of shown === undefined ? [unescaped(text), percentDecoded(text)] : [shown]) {
    if (plain === undefined) continue;
    for (const { start, end, rule } of search(plain.text, rules, candidates, depth + 1)) {
      yield { start: plain.place(start), end: plain.end(end), rule };
    }
  }
  // The other views are of the shown text alone: each of both would be two more views.
  if (shown !== undefined) return;
  for (const run of base64Runs(text)) {
    for (const { text: part, from } of hexParts(run.characters)) {
      for (const { start, end, rule } of search(part, rules, candidates, depth + 1))
        yield { start: run.place(from + 2 * start), end: run.end(from + 2 * end - 1), rule };
    }
    for (let offset = 0; offset < 4; offset++) {
      for (const { text: part, from } of printableParts(decoded(run.characters, offset))) {
        for (const { start, end, rule } of search(part, rules, candidates, depth + 1)) {
          const first = offset + Math.floor((from + start) / 3) * 4;
          const last = offset + Math.ceil((from + end) / 3) * 4 - 1;
          yield { start: run.place(first), end: run.end(last), rule };
        }
      }
    }
  }
}

/** Folds ASCII letters to lower case; 0 for all else that is not ASCII. */
const fold = (code: number): number => (code >= 65 && code <= 90 ? code + 32 : code < 128 ? code : 0);

/**
 * The rules whose literals a text has, and those without literals. One pass over pairs of
 * characters takes a tenth of the time of a search for each literal.
 */
function candidateFinder(rules: readonly SecretRule[]): (text: string) => Iterable<number> {
  const always = rules.flatMap(({ has = [] }, rule) => (has.length === 0 ? [rule] : []));
  const byPair = new Map<number, { readonly literal: string; readonly rule: number }[]>();
  const begins = new Uint8Array(1 << 14);
  for (const [rule, { has = [] }] of rules.entries()) {
    for (const literal of has.map((each) => each.toLowerCase())) {
      const pair = (literal.charCodeAt(0) << 7) | literal.charCodeAt(1);
      begins[pair] = 1;
      byPair.set(pair, [...(byPair.get(pair) ?? []), { literal, rule }]);
    }
  }
  return (text) => {
    const found = new Set(always);
    let before = 0;
    for (let index = 0; index < text.length; index++) {
      const code = fold(text.charCodeAt(index));
      const pair = (before << 7) | code;
      before = code;
      if (begins[pair] === 0) continue;
      for (const { literal, rule } of byPair.get(pair) ?? []) {
        if (found.has(rule)) continue;
        const from = index - 1;
        if (text.slice(from, from + literal.length).toLowerCase() === literal) found.add(rule);
      }
    }
    return found;
  };
}

const minRun = 12;
/** Of a line that is not the last of its run: shorter lines are not wrapped base64. */
const minWrapped = 16;
/** By code: the value of a digit of base64 in either alphabet, and 64 for any other character of ASCII. */
const values = new Uint8Array(128).fill(64);
for (const [value, character] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries())
  values[character.charCodeAt(0)] = value;

values["-".charCodeAt(0)] = 62;
values["_".charCodeAt(0)] = 63;
const isBase64 = (code: number): boolean => (values[code] ?? 64) < 64;

/** The end of a run. By hand: the engine keeps a place for each character that an expression repeats. */
function endOfRun(text: string, start: number, isIn: (code: number) => boolean): number {
  let end = start;
  while (end < text.length && isIn(text.charCodeAt(end))) end++;
  return end;
}

/** Between lines of wrapped base64: a line feed, as it is or as JSON has it, and the number of a line. */
const wrap = /(?:\r?\n|(?:\\{1,8}r)?\\{1,8}n|\\\r?\n)(?:[ \t]{0,16}\d{1,7}(?:→|\t|[:|] ?))?[ \t+>#]{0,64}/y;

interface Base64Run {
  readonly characters: string;
  /** The place in the text of a character of the run. */
  place(index: number): number;
  /** The place after a character of the run, or after the padding if it is the last. */
  end(index: number): number;
}

/** Runs of base64, in either alphabet, with wrapped lines joined. */
function* base64Runs(text: string): Generator<Base64Run> {
  for (let at = 0; at < text.length; at++) {
    if (!isBase64(text.charCodeAt(at))) continue;
    /** By line: the place in the text and in the run. */
    const places: number[] = [at];
    const starts: number[] = [0];
    let line = text.slice(at, endOfRun(text, at, isBase64));
    const lines = [line];
    at += line.length;
    let length = line.length;
    while (line.length >= minWrapped) {
      wrap.lastIndex = at;
      if (wrap.exec(text) === null) break;
      const start = wrap.lastIndex;
      line = text.slice(start, endOfRun(text, start, isBase64));
      if (line === "") break;
      places.push(start);
      starts.push(length);
      lines.push(line);
      length += line.length;
      at = start + line.length;
    }
    if (length >= minRun) {
      const stop = at;
      const place = (index: number): number => {
        let low = 0;
        let high = starts.length;
        while (low < high) {
          const middle = (low + high) >>> 1;
          if ((starts[middle] ?? 0) <= index) low = middle + 1;
          else high = middle;
        }
        return (places[low - 1] ?? 0) + index - (starts[low - 1] ?? 0);
      };
      const padded = stop + (/^={1,2}/.exec(text.slice(stop, stop + 2))?.[0].length ?? 0);
      const last = length - 1;
      yield {
        characters: lines.join(""),
        place,
        end: (index) => (index >= last ? padded : place(index) + 1),
      };
    }
  }
}

/** Digits of two characters or more for each of the shortest part. */
const minDigits = 16;
const isHex = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);

/** The printable parts of hexadecimal digits, with their places among the digits. */
function* hexParts(characters: string): Generator<{ readonly text: string; readonly from: number }> {
  for (let end = 0; end < characters.length; end++) {
    const index = end;
    end = endOfRun(characters, index, isHex);
    if (end - index < minDigits) continue;
    const digits = characters.slice(index, end);
    for (const offset of [0, 1]) {
      const bytes = new Uint8Array((digits.length - offset) >> 1);
      for (let at = 0; at < bytes.length; at++)
        bytes[at] = Number.parseInt(digits.slice(offset + 2 * at, offset + 2 * at + 2), 16);
      for (const { text, from } of printableParts(bytes)) yield { text, from: index + offset + 2 * from };
    }
  }
}

/** Shorter parts hold no secret, and eight random bytes are rarely printable. */
const minPart = 8;
/** Printable ASCII and white space. */
const printable = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  if ((byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d) printable[byte] = 1;
}
const ascii = new TextDecoder("latin1");

/** The parts of bytes that are printable, with their places. */
function* printableParts(bytes: Uint8Array): Generator<{ readonly text: string; readonly from: number }> {
  let from = 0;
  for (let at = 0; at <= bytes.length; at++) {
    if (at < bytes.length && printable[bytes[at] ?? 0] === 1) continue;
    if (at - from >= minPart) yield { text: ascii.decode(bytes.subarray(from, at)), from };
    from = at + 1;
  }
}

/** The bytes of base64 without padding, from a character on. */
function decoded(characters: string, offset: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, Math.floor(((characters.length - offset) * 3) / 4)));
  let bits = 0;
  let at = 0;
  for (let index = offset; index < characters.length; index++) {
    bits = ((bits << 6) | (values[characters.charCodeAt(index)] ?? 0)) & 0xffffff;
    const rest = (index - offset) % 4;
    // The second character of four completes the first byte.
    if (rest > 0) bytes[at++] = bits >> (6 - rest * 2);
  }
  return bytes;
}

// Texts without the disguises of a secret: escapes of JSON, C, URLs and HTML, sequences of terminals, and
// characters without a width. Each has a map back to its original.

/** A text with parts of an original replaced. */
interface PlainText {
  readonly text: string;
  /** The place in the original of a character. */
  place(index: number): number;
  /** The place in the original after the character before an index. */
  end(index: number): number;
}

const jsonEscape = /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["\\/bfnrt]))/g;
const letters: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** The text without escapes of JSON, and `\x` with two digits, if it has any. Need not be JSON. */
function unescaped(text: string): PlainText | undefined {
  if (!text.includes("\\")) return undefined;
  return substituted(text, jsonEscape, ([, unit, byte, letter = ""]) => {
    const hex = unit ?? byte;
    return hex === undefined ? (letters[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16));
  });
}

/** A CSI or OSC sequence, or a sequence of two characters; ECMA-48, 5th edition, section 5. */
const sequence = String.raw`\u001b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\u0007\u001b]{0,256}(?:\u0007|\u001b\\)|[@-Z\\^_])`;
/** Soft hyphens, joiners, marks of direction, variation selectors, a byte order mark. */
const invisible = String.raw`[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]`;
const unseen = new RegExp(`${sequence}|${invisible}`, "g");
const reference = /&(?:#0{0,8}(\d{1,5})|#[xX]0{0,8}([0-9a-fA-F]{1,4})|(amp|lt|gt|quot|apos));/g;
const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** The text without sequences of terminals and invisible characters; else without references of HTML. */
function withoutDisguises(text: string): PlainText | undefined {
  const seen = substituted(text, unseen, () => "");
  if (seen !== undefined || !text.includes("&")) return seen;
  return substituted(text, reference, ([, decimal, hex, name = ""]) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    return decimal === undefined ? (named[name] ?? "") : String.fromCharCode(Number(decimal));
  });
}

const percent = /%([0-9a-fA-F]{2})/g;

/** The text without percent-encoding. */
function percentDecoded(text: string): PlainText | undefined {
  if (!text.includes("%")) return undefined;
  return substituted(text, percent, ([, hex = ""]) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** A text with matches replaced by a character or nothing; undefined without a match. */
function substituted(
  text: string,
  pattern: RegExp,
  replace: (match: RegExpExecArray) => string,
): PlainText | undefined {
  /** By match: its ends in both texts, and whether a character is left. */
  const plainEnds: number[] = [];
  const original: number[] = [];
  const isLeft: boolean[] = [];
  const parts: string[] = [];
  let length = 0;
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const { 0: whole, index } = match;
    const character = replace(match);
    parts.push(text.slice(from, index), character);
    length += index - from + character.length;
    from = index + whole.length;
    plainEnds.push(length);
    original.push(from);
    isLeft.push(character !== "");
  }
  if (plainEnds.length === 0) return undefined;
  parts.push(text.slice(from));
  /** The number of matches that end at or before an index. */
  const countTo = (index: number): number => {
    let low = 0;
    let high = plainEnds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((plainEnds[middle] ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const place = (index: number): number => {
    const count = countTo(index);
    return count === 0 ? index : (original[count - 1] ?? 0) + index - (plainEnds[count - 1] ?? 0);
  };
  return {
    text: parts.join(""),
    place,
    end(index) {
      // The match whose character is the last one; removed parts after it stay.
      for (let at = countTo(index) - 1; at >= 0 && plainEnds[at] === index; at--)
        if (isLeft[at] === true) return original[at] ?? 0;
      return place(index - 1) + 1;
    },
  };
}
