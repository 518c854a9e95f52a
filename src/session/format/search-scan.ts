/**
 * A quick test of stored lines: whether the words of a query may be in the text of one. Decoding a line costs
 * several times as much as reading it. The test may pass a line that does not match, and misses none.
 */

import { foldCase, normalizedText, type SearchPhrase } from "./search-words.js";

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

/** Makes the test of lines for a query. */
export function lineTest(phrases: readonly SearchPhrase[]): {
  /** Whether a range of whole lines may have one that passes. */
  mayHave(bytes: Uint8Array): boolean;
  /** Whether a line may match. */
  passes(line: Uint8Array): boolean;
} {
  const words = [...new Set(phrases.flatMap((phrase) => phrase.words.map(({ text }) => text)))];
  const plain = words.filter((word) => /^[a-z0-9]+$/.test(word));
  const longest = plain.reduce((one, word) => (word.length > one.length ? word : one), "");
  return {
    mayHave(bytes) {
      if (longest === "") return true;
      const text = decoder.decode(bytes);
      return text.toLowerCase().includes(longest) || isHard(text) || ofPart.test(text);
    },
    passes(line) {
      const text = decoder.decode(line);
      const folded = isHard(text) || plain.length < words.length ? foldText(text) : text.toLowerCase();
      // The other words of the message of a part or an edit are in other lines.
      return ofPart.test(folded)
        ? words.some((word) => folded.includes(word))
        : words.every((word) => folded.includes(word));
    },
  };
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
