/**
 * Texts without the disguises of a secret: escapes of JSON, C, URLs and HTML, sequences of terminals, and
 * characters without a width. Each has a map back to its original.
 */

/** A text with parts of an original replaced. */
export interface PlainText {
  readonly text: string;
  /** The place in the original of a character. */
  place(index: number): number;
  /** The place in the original after the character before an index. */
  end(index: number): number;
}

const jsonEscape = /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["\\/bfnrt]))/g;
const letters: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** The text without escapes of JSON, and `\x` with two digits, if it has any. Need not be JSON. */
export function unescaped(text: string): PlainText | undefined {
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
export function withoutDisguises(text: string): PlainText | undefined {
  const seen = substituted(text, unseen, () => "");
  if (seen !== undefined || !text.includes("&")) return seen;
  return substituted(text, reference, ([, decimal, hex, name = ""]) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    return decimal === undefined ? (named[name] ?? "") : String.fromCharCode(Number(decimal));
  });
}

const percent = /%([0-9a-fA-F]{2})/g;

/** The text without percent-encoding. */
export function percentDecoded(text: string): PlainText | undefined {
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
