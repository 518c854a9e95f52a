/** JSON Lines of a foreign file, with the bounds of this library's own codec. */

import { parseLine, shortLineDamage } from "../../session/internal.js";
import { type ForeignObject, objectOf } from "./values.js";

/** Nesting of a foreign line: less than the maximum of an entry, which it becomes a part of. */
export const maxLineDepth = 240;

/** A line of a foreign file. */
export type ForeignLine = {
  /** From 1. */
  readonly line: number;
} & (
  | { readonly kind: "record"; readonly value: ForeignObject; readonly bytes: Uint8Array }
  | { readonly kind: "unreadable"; readonly reason: string }
  | { readonly kind: "tooLong"; readonly length: number }
);

const blank = /^[ \t\r]*$/;
const shortText = new TextDecoder();

/**
 * Yields the lines of a file, split at 0x0A, without blank ones. A last line without a line feed counts. The
 * value has no `__proto__` key. A byte order mark is ignored at the start.
 */
export function* readLines(bytes: Uint8Array, maxLineBytes: number): Generator<ForeignLine, void, undefined> {
  let line = 0;
  let start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (start < bytes.length) {
    const feed = bytes.indexOf(10, start);
    const end = feed < 0 ? bytes.length : feed;
    line++;
    const found = lineOf(bytes.subarray(start, end), line, maxLineBytes);
    if (found !== undefined) yield found;
    start = end + 1;
  }
}

function lineOf(bytes: Uint8Array, line: number, maxLineBytes: number): ForeignLine | undefined {
  if (bytes.length > maxLineBytes) return { kind: "tooLong", line, length: bytes.length };
  // Most damage of short lines is found without an exception, which costs more than the line.
  if (bytes.length <= 64) {
    if (blank.test(shortText.decode(bytes))) return undefined;
    const damage = shortLineDamage(bytes);
    if (damage !== undefined) {
      return { kind: "unreadable", line, reason: damage.diagnostics[0].message };
    }
  }
  const parsed = parseLine(bytes, maxLineDepth, { unchecked: true });
  if (!parsed.ok) return { kind: "unreadable", line, reason: parsed.message };
  const value = objectOf(parsed.value);
  if (value === undefined) return { kind: "unreadable", line, reason: "the line is JSON, but not an object" };
  return { kind: "record", line, value, bytes };
}
