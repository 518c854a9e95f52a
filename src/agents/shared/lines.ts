/** JSON Lines of a foreign file, with the bounds of this library's own codec. */

import { concatBytes, encodeTexts } from "../../core/bytes.js";
import { parseLine, shortLineDamage } from "../../log/internal.js";
import { recordsIn } from "./damaged-line.js";
import { type ForeignObject, parseJson, readObject } from "./values.js";

/** Nesting of a foreign line: less than the maximum of an entry, which it becomes a part of. */
export const maxLineDepth = 240;

/** A line of a foreign file. */
export type ForeignLine = {
  /** From 1. */
  readonly line: number;
} & (
  | {
      readonly kind: "record";
      readonly value: ForeignObject;
      readonly bytes: Uint8Array;
      /** The index among the records of a damaged line, unless it is the first. */
      readonly part?: number;
    }
  | { readonly kind: "unreadable"; readonly reason: string }
  | { readonly kind: "tooLong"; readonly length: number }
);

const notBlank = /[^ \t\r]/;
const shortText = new TextDecoder();

/**
 * Yields the lines of a file, split at 0x0A, without blank ones. A last line without a line feed counts. The
 * value has no `__proto__` key. A byte order mark is ignored at the start. A damaged line is unreadable, and
 * the whole records in it follow.
 */
export function* readLines(bytes: Uint8Array, maxLineBytes: number): Generator<ForeignLine, void, undefined> {
  let line = 0;
  let start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const firstKeys = new Set<string>();
  while (start < bytes.length) {
    const feed = bytes.indexOf(10, start);
    const end = feed < 0 ? bytes.length : feed;
    line++;
    const text = bytes.subarray(start, end);
    const found = readLine(text, line, maxLineBytes);
    if (found?.kind === "unreadable") yield* damagedLine(text, found, firstKeys);
    else if (found !== undefined) yield found;
    if (found?.kind === "record" && firstKeys.size < maxFirstKeys)
      for (const key in found.value) {
        firstKeys.add(key);
        break;
      }
    start = end + 1;
  }
}

/** Keys with which records of a file begin. */
const maxFirstKeys = 20;

/** A damaged line as a finding, and its records. */
function* damagedLine(
  bytes: Uint8Array,
  found: ForeignLine & { readonly kind: "unreadable" },
  firstKeys: ReadonlySet<string>,
): Generator<ForeignLine> {
  const { line, reason } = found;
  const first = bytes.indexOf(0x7b);
  // Most damaged lines have one beginning, and nothing to skip.
  const isWorth = first > 0 || (first === 0 && (bytes.indexOf(0x7b, 1) > 0 || bytes.indexOf(0) > 0));
  const { records, lost } = isWorth
    ? recordsIn(bytes, maxLineDepth, (key) => firstKeys.has(key))
    : { records: [], lost: 0 };
  if (records.length === 0) yield found;
  else yield { ...found, reason: `${reason}; read without ${lost} bytes: ${records.length}` };
  for (const [part, record] of records.entries())
    yield { kind: "record", line, ...record, ...(part === 0 ? {} : { part }) };
}

const headBytes = 64 * 1024;
/** Lines at the start of a file that are looked at. */
const maxHeadLines = 20;

/**
 * The form of the JSON in a file: objects one a line, or one value, which may be printed over several lines.
 * The content decides, and the path for a file of one line. Undefined for other content.
 */
export function formByPath(path: string, bytes: Uint8Array): "lines" | "value" | undefined {
  const head = new TextDecoder().decode(bytes.subarray(0, headBytes));
  const named = path.endsWith(".jsonl") ? "lines" : path.endsWith(".json") ? "value" : undefined;
  const lines = head.split("\n", maxHeadLines).filter((line) => notBlank.test(line));
  // A cut line is not looked at.
  if (bytes.length > headBytes && lines.length > 1 && !head.endsWith("\n")) lines.pop();
  if (lines.length > 1) {
    const isWhole = (line: string) => line.startsWith("{") && readObject(parseJson(line)) !== undefined;
    if (lines.some(isWhole)) return "lines";
    return /^[[{]$/.test((lines[0] as string).trim()) ? "value" : named;
  }
  const [only] = lines;
  if (only === undefined || !/^[[{]/.test(only.trimStart())) return named;
  // The first line may be longer than the head.
  const isOne = bytes.indexOf(10, Math.min(bytes.length, headBytes)) < 0;
  return isOne ? (named ?? "lines") : "lines";
}

function readLine(bytes: Uint8Array, line: number, maxLineBytes: number): ForeignLine | undefined {
  if (bytes.length > maxLineBytes) return { kind: "tooLong", line, length: bytes.length };
  // Most damage of short lines is found without an exception, which costs more than the line.
  if (bytes.length <= 64) {
    if (!notBlank.test(shortText.decode(bytes))) return undefined;
    const damage = shortLineDamage(bytes);
    if (damage !== undefined) {
      return { kind: "unreadable", line, reason: damage.diagnostics[0].message };
    }
  }
  const parsed = parseLine(bytes, maxLineDepth, { unchecked: true });
  if (!parsed.ok) return { kind: "unreadable", line, reason: parsed.message };
  const value = readObject(parsed.value);
  if (value === undefined) return { kind: "unreadable", line, reason: "the line is JSON, but not an object" };
  return { kind: "record", line, value, bytes };
}

/** Records as lines. */
export function encodeRecords(
  records: AsyncIterable<ForeignObject>,
): AsyncGenerator<Uint8Array, void, undefined> {
  async function* texts() {
    for await (const record of records) yield `${JSON.stringify(record)}\n`;
  }
  return encodeTexts(texts());
}

/** Bytes after others, on a line of their own. */
export function appended(bytes: Uint8Array, more: Uint8Array): Uint8Array {
  const isEnded = bytes.length === 0 || bytes.at(-1) === 10;
  return concatBytes(isEnded ? [bytes, more] : [bytes, new Uint8Array([10]), more]);
}
