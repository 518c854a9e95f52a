/** Text of models and other writers as data: cleaned, quoted line by line, compared by lines. */

import { spaced, stripped } from "../core/text.js";

const lineEnds = /\r\n?|[\v\f\u0085\u2028\u2029]/g;

/**
 * Controls but tab and line feed, bidirectional controls, invisible characters, tags and supplementary
 * variation selectors, which hide text from people. The joiners stay: scripts and emoji need them.
 */
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
  /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e0fff}]/gu;

/**
 * A text as the memory stores and shows it: well-formed, with line feeds alone, without hidden characters,
 * without white space at the ends of lines and blank lines at its ends. Cleaning again changes nothing.
 */
export function cleanText(text: string): string {
  const lines = text.toWellFormed().replace(lineEnds, "\n").replace(hidden, "").split("\n");
  return stripped(lines.map((line) => line.trimEnd()).join("\n"), "\n");
}

/** A text as one line of at most `max` characters. */
export function cleanLine(text: string, max: number): string {
  const characters = Array.from(spaced(cleanText(text)).slice(0, 2 * max + 2));
  return characters.length <= max ? characters.join("") : `${characters.slice(0, max - 1).join("")}…`;
}

/**
 * Quotes a text: each line starts with `> `. A heading, a fence or a tag in it is then inside the quote, and
 * no line of it reads as a line of the program.
 */
export function quoted(text: string): string {
  return cleanText(text)
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** Whether a text has these lines as whole, consecutive lines. */
export function hasLines(text: string, lines: string): boolean {
  return lines !== "" && `\n${text}\n`.includes(`\n${lines}\n`);
}

/** The number of places where `part` occurs in a text, counted up to 2. */
export function occurrences(text: string, part: string): number {
  const first = text.indexOf(part);
  if (first < 0) return 0;
  return text.indexOf(part, first + 1) < 0 ? 1 : 2;
}
