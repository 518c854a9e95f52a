/** Encodes entries and headers as lines, and rewrites lines without touching unchanged members. */

import { integerOption } from "../core/arguments.js";
import { crc32 as crc32OfBytes, encodeUtf8InPool } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import { isRecord, type Problem } from "../core/shape.js";
import type { SessionEntry, SessionHeader, UnknownEntry } from "./entries.js";
import { appendChecksum, checksumLength, checksumPlaceholder } from "./line-json.js";
import { defaultLimits } from "./line-splitter.js";
import { entryProblem, jsonProblem } from "./validate.js";

/** Options of {@link encodeEntry}. */
export interface EncodeOptions {
  /** Whether the line ends with a checksum, which tells damage from a torn line. @default true */
  readonly checksum?: boolean;
  /** Maximum nesting. Minimum: 8. @default 256 */
  readonly maxDepth?: number;
}

/**
 * Encodes an entry as a line without a line feed: `type`, `id`, `parentId` and `timestamp`, then the fields
 * of its type, then the checksum. Returns the stored line of an unknown entry, byte for byte.
 *
 * @throws SessileError INVALID_ENTRY if the fields do not match the type, or contain values outside JSON: an
 *   infinite number, a function, a Date, too much nesting
 * @throws RangeError for an option out of range
 * @example
 * ```ts
 * const place = { id: "00000001", parentId: null, timestamp: "2026-11-21T08:00:00.000Z" };
 * const entry = { type: "custom", ...place, customType: "acme" } as const;
 * parseSession(`${encodeEntry(entry)}\n`).entries.length; // 1
 * ```
 */
export function encodeEntry(entry: SessionEntry | UnknownEntry, options: EncodeOptions = {}): string {
  const maxDepth = integerOption("maxDepth", options.maxDepth, defaultLimits.maxDepth, 8);
  if (entry?.type === "unknown") return entry.raw;
  assertValidEntry(entry, maxDepth);
  return encodeValidEntry(entry, options.checksum ?? true);
}

/** Throws INVALID_ENTRY if an entry cannot be written unchanged. */
export function assertValidEntry(entry: SessionEntry, maxDepth: number = defaultLimits.maxDepth): void {
  const problem = entryProblem(entry) ?? jsonProblem(entry, maxDepth);
  if (problem !== undefined) throw invalidEntry(problem);
}

/** The error for an entry with a problem. */
export function invalidEntry(problem: Problem): SessileError {
  const place = problem.path === "" ? "entry" : problem.path;
  return new SessileError("INVALID_ENTRY", `${place}: expected ${problem.expected}`, { details: problem });
}

/** {@link encodeEntry} for an entry that was validated. */
export function encodeValidEntry(entry: SessionEntry, checksum: boolean): string {
  const line = printEntry(entry);
  return checksum ? appendChecksum(line) : line;
}

/** The bytes of {@link encodeValidEntry} with a line feed. */
export function encodeValidLine(
  entry: SessionEntry,
  checksum: boolean,
  crc32?: (bytes: Uint8Array) => number,
): Uint8Array {
  return encodeLine(entry, { checksum, maxLineBytes: Number.POSITIVE_INFINITY }, crc32);
}

/** The limits of an encoded line. */
export interface LineLimits {
  readonly checksum: boolean;
  readonly maxLineBytes: number;
}

/** Encodes the line of a checked entry, with its line feed. Throws LINE_TOO_LONG. */
export function encodeLine(
  entry: SessionEntry,
  limits: LineLimits,
  crc32?: (bytes: Uint8Array) => number,
): Uint8Array {
  const line = printEntry(entry);
  const lines: Uint8Array[] = [];
  encodePlaced(
    limits.checksum ? `${line.slice(0, -1)}${checksumPlaceholder}\n` : `${line}\n`,
    limits,
    crc32,
    lines,
  );
  return lines[0] as Uint8Array;
}

/**
 * Prints the line of an entry of a known type whose fields were encoded before, for {@link encodePlaced}.
 *
 * @param body the JSON of the fields after the timestamp, from their comma up to the closing brace
 */
export function printPlaced(
  { type, id, parentId, timestamp, prior }: SessionEntry,
  body: string,
  checksum: boolean,
): string {
  const parent = parentId === null ? "null" : JSON.stringify(parentId);
  const head = `{"type":"${type}","id":${JSON.stringify(id)},"parentId":${parent},"timestamp":"${timestamp}"`;
  const end = prior === undefined ? "" : `,"prior":${JSON.stringify(prior)}`;
  return `${head}${body}${end}${checksum ? checksumPlaceholder : "}"}\n`;
}

/**
 * Encodes lines of {@link printPlaced} into one array, and adds each as a part of it. Throws LINE_TOO_LONG.
 *
 * @param crc32 computes the digits of lines that end with {@link checksumPlaceholder}
 */
export function encodePlaced(
  text: string,
  limits: LineLimits,
  crc32: ((bytes: Uint8Array) => number) | undefined,
  lines: Uint8Array[],
): void {
  const bytes = encodeUtf8InPool(text);
  for (let at = 0, end = 0; at < bytes.length; at = end) {
    end = bytes.indexOf(10, at) + 1;
    const length = end - at - 1;
    if (length > limits.maxLineBytes) {
      throw new SessileError(
        "LINE_TOO_LONG",
        `the entry takes ${length} bytes, at most ${limits.maxLineBytes}`,
        {
          details: { bytes: length, maxBytes: limits.maxLineBytes },
        },
      );
    }
    if (limits.checksum) {
      let left = (crc32 ?? crc32OfBytes)(bytes.subarray(at, end - 1 - checksumLength));
      for (let i = end - 4; left !== 0; i--) {
        const digit = left & 0xf;
        bytes[i] = digit < 10 ? 0x30 + digit : 0x57 + digit;
        left >>>= 4;
      }
    }
    lines.push(end - at === bytes.length ? bytes : bytes.subarray(at, end));
  }
}

const headKeys = ["type", "id", "parentId", "timestamp"];

/** Whether JSON.stringify prints the canonical keys first, as for every entry made from a draft. */
function isOrdered(entry: SessionEntry): boolean {
  let at = 0;
  for (const key in entry) {
    if (key !== headKeys[at++]) return false;
    if (at === headKeys.length) return !("crc" in entry) && !hasHiddenMessage(entry);
  }
  return false;
}

/** Whether the message is not enumerable, so that JSON.stringify would omit it. */
function hasHiddenMessage(entry: SessionEntry): boolean {
  return entry.type === "message" && !Object.prototype.propertyIsEnumerable.call(entry, "message");
}

function printEntry(entry: SessionEntry): string {
  if (isOrdered(entry)) return JSON.stringify(entry);
  const { type, id, parentId, timestamp } = entry;
  const ordered: Record<string, unknown> = { type, id, parentId, timestamp };
  for (const [key, value] of Object.entries(entry)) if (key !== "crc") ordered[key] = value;
  if (entry.type === "message") ordered.message = entry.message;
  return JSON.stringify(ordered);
}

/** Encodes a header as a line without a line feed. Throws INVALID_ENTRY for values outside JSON. */
export function encodeHeader(header: SessionHeader): string {
  const problem = isRecord(header)
    ? jsonProblem(header, defaultLimits.maxDepth)
    : { path: "", expected: "an object" };
  if (problem !== undefined) {
    throw new SessileError("INVALID_ENTRY", `header: expected ${problem.expected}`, { details: problem });
  }
  return printHeader(header);
}

/** {@link encodeHeader} for a header that was read. A number beyond the range of a double becomes null. */
export function printHeader({
  type,
  version,
  id,
  timestamp,
  cwd,
  parentSession,
  ...rest
}: SessionHeader): string {
  return JSON.stringify({ type, version, id, timestamp, cwd, parentSession, ...rest });
}

/** A value in JSON text: its range, and the ranges of its members or items. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly members?: ReadonlyMap<string, Span>;
  readonly items?: readonly Span[];
}

/**
 * Prints `after` as JSON, and copies the text of every value that it shares with `before`. So digits beyond a
 * double's precision, and unknown blocks, stay as they are. Objects are compared by identity.
 *
 * @param text the JSON that `before` was read from
 */
export function spliceJson(text: string, before: unknown, after: unknown): string {
  return printSpliced(text, spanAt(text, skipSpace(text, 0)), before, after);
}

function printSpliced(text: string, span: Span, before: unknown, after: unknown): string {
  if (before === after) return text.slice(span.start, span.end);
  if (Array.isArray(before) && Array.isArray(after) && span.items !== undefined) {
    const { items } = span;
    const written = after.map((item: unknown, index) => {
      const known = before[index] === item || !isObject(item) ? index : before.indexOf(item);
      const at = items[known];
      return at === undefined ? JSON.stringify(item) : printSpliced(text, at, before[known], item);
    });
    return `[${written.join(",")}]`;
  }
  if (!isRecord(before) || !isRecord(after) || span.members === undefined) return JSON.stringify(after);
  const members: string[] = [];
  const add = (key: string): void => {
    const member = after[key];
    const at = Object.hasOwn(before, key) ? span.members?.get(key) : undefined;
    if (member === undefined) return;
    const value = at === undefined ? JSON.stringify(member) : printSpliced(text, at, before[key], member);
    members.push(`${JSON.stringify(key)}:${value}`);
  };
  for (const key of span.members.keys()) if (Object.hasOwn(after, key)) add(key);
  for (const key of Object.keys(after)) if (!span.members.has(key)) add(key);
  return `{${members.join(",")}}`;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** The range of the value at `start`, in text that JSON.parse accepts and that is not too deep. */
function spanAt(text: string, start: number): Span {
  switch (text[start]) {
    case "{": {
      const members = new Map<string, Span>();
      let at = skipSpace(text, start + 1);
      while (text[at] !== "}") {
        const end = stringEnd(text, at);
        const key: string = JSON.parse(text.slice(at, end));
        const member = spanAt(text, skipSpace(text, skipSpace(text, end) + 1));
        members.set(key, member);
        at = skipSpace(text, member.end);
        if (text[at] === ",") at = skipSpace(text, at + 1);
      }
      return { start, end: at + 1, members };
    }
    case "[": {
      const items: Span[] = [];
      let at = skipSpace(text, start + 1);
      while (text[at] !== "]") {
        const item = spanAt(text, at);
        items.push(item);
        at = skipSpace(text, item.end);
        if (text[at] === ",") at = skipSpace(text, at + 1);
      }
      return { start, end: at + 1, items };
    }
    case '"':
      return { start, end: stringEnd(text, start) };
    default: {
      let end = start;
      while (end < text.length && !",]} \t\r\n".includes(text[end] as string)) end++;
      return { start, end };
    }
  }
}

/** The index after the string that starts at `start`. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text[at - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\t" || text[at] === "\r" || text[at] === "\n") at++;
  return at;
}
