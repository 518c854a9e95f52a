import { SessileError } from "../../errors/index.js";
import { integerOption } from "../../internal/arguments.js";
import { encodeUtf8 } from "../../internal/bytes.js";
import { isRecord } from "../../internal/shape.js";
import type { SessionEntry, SessionHeader, UnknownEntry } from "../api/entries.js";
import { entryKeyOf, parseTimestamp } from "./entry-prefix.js";
import { appendChecksum, encodeLineWithChecksum } from "./line-json.js";
import { defaultLimits } from "./line-splitter.js";
import { entryProblem, jsonProblem } from "./validate.js";

/** Options of {@link encodeEntry}. */
export interface EncodeOptions {
  /** End the line with a checksum of itself, so that damage can be told from a torn end. Default true. */
  readonly checksum?: boolean;
  /** Nesting allowed. Minimum 8, default 256. */
  readonly maxDepth?: number;
}

/**
 * The line of an entry, without its line feed: `type`, `id`, `parentId`, `timestamp` first, then the fields of its
 * type, then the checksum. An unknown entry gives its stored line back, byte for byte.
 *
 * @throws SessileError INVALID_ENTRY where the entry does not fit its type, or holds what JSON cannot: a number that is
 *   not finite, a function, a Date, too deep a nesting.
 * @throws RangeError for an option that is out of range
 * @example
 * ```ts
 * const entry = { type: "custom", id: "00000001", parentId: null, timestamp: "2026-11-21T08:00:00.000Z", customType: "acme" } as const;
 * parseSession(`${encodeEntry(entry)}\n`).entries.length; // 1
 * ```
 */
export function encodeEntry(entry: SessionEntry | UnknownEntry, options: EncodeOptions = {}): string {
  const maxDepth = integerOption("maxDepth", options.maxDepth, defaultLimits.maxDepth, 8);
  if (entry?.type === "unknown") return entry.raw;
  assertValidEntry(entry, maxDepth);
  return encodeValidEntry(entry, options.checksum ?? true);
}

/** Throws INVALID_ENTRY where an entry cannot be written as it is. */
export function assertValidEntry(entry: SessionEntry, maxDepth: number = defaultLimits.maxDepth): void {
  const problem = entryProblem(entry) ?? jsonProblem(entry, maxDepth);
  if (problem !== undefined) {
    const place = problem.path === "" ? "entry" : problem.path;
    throw new SessileError("INVALID_ENTRY", `${place}: expected ${problem.expected}`, { details: problem });
  }
}

/** {@link encodeEntry} for an entry that was checked. */
export function encodeValidEntry(entry: SessionEntry, checksum: boolean): string {
  const [head, rest] = printed(entry);
  const line = `${head}${rest}}`;
  return checksum ? appendChecksum(line) : line;
}

/** The bytes of {@link encodeValidEntry} with a line feed. */
export function encodeValidLine(
  entry: SessionEntry,
  checksum: boolean,
  crc32?: (bytes: Uint8Array) => number,
): Uint8Array {
  const [head, rest] = printed(entry);
  return checksum ? encodeLineWithChecksum(head, rest, crc32) : encodeUtf8(`${head}${rest}}\n`);
}

/** The line of an entry without the brace at its end, in two parts, the first of which is all ASCII. */
function printed(entry: SessionEntry): readonly [head: string, rest: string] {
  if (entry.type === "message") {
    const head = messageHead(entry);
    if (head !== undefined) return [head, JSON.stringify(entry.message)];
  }
  return ["", printEntry(entry).slice(0, -1)];
}

/**
 * What stands before the message in the line of a message whose fields are the canonical ones and no other, or undefined.
 * Most lines are messages, and the head of a line put together by hand takes a fifth less than all of it by JSON.stringify.
 */
function messageHead(entry: SessionEntry): string | undefined {
  let at = 0;
  for (const key in entry) if (key !== messageKeys[at++]) return undefined;
  const { id, parentId, timestamp } = entry;
  // Eight digits need no escapes, and a time that is read as one is one.
  if (!isHexId(id) || !(parentId === null || isHexId(parentId)) || !isStamp(timestamp)) return undefined;
  const parent = parentId === null ? "null" : `"${parentId}"`;
  return `{"type":"message","id":"${id}","parentId":${parent},"timestamp":"${timestamp}","message":`;
}

function isHexId(id: string): boolean {
  return typeof entryKeyOf(id) === "number";
}

let lastStamp = "";

/** Entries of one millisecond share theirs. */
function isStamp(timestamp: string): boolean {
  if (timestamp === lastStamp) return true;
  if (typeof parseTimestamp(timestamp) === "string") return false;
  lastStamp = timestamp;
  return true;
}

const headKeys = ["type", "id", "parentId", "timestamp"];
const messageKeys = [...headKeys, "message"];

/** Whether the canonical keys come first, as in every entry that was made of a draft. */
function isOrdered(entry: SessionEntry): boolean {
  let at = 0;
  for (const key in entry) {
    if (key !== headKeys[at++]) return false;
    if (at === headKeys.length) return !("crc" in entry);
  }
  return false;
}

function printEntry(entry: SessionEntry): string {
  if (isOrdered(entry)) return JSON.stringify(entry);
  const { type, id, parentId, timestamp } = entry;
  const ordered: Record<string, unknown> = { type, id, parentId, timestamp };
  for (const [key, value] of Object.entries(entry)) if (key !== "crc") ordered[key] = value;
  return JSON.stringify(ordered);
}

/** The line of a header, without its line feed. Throws INVALID_ENTRY where it holds what JSON cannot. */
export function encodeHeader(header: SessionHeader): string {
  const problem = isRecord(header)
    ? jsonProblem(header, defaultLimits.maxDepth)
    : { path: "", expected: "an object" };
  if (problem !== undefined) {
    throw new SessileError("INVALID_ENTRY", `header: expected ${problem.expected}`, { details: problem });
  }
  return printHeader(header);
}

/** {@link encodeHeader} for a header that was read. A number that is too large for JavaScript becomes null. */
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

/** A value in a text of JSON: where it stands, and what it is made of. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly members?: ReadonlyMap<string, Span>;
  readonly items?: readonly Span[];
}

/**
 * The JSON of `after`, in the words of `text` wherever `after` has what `before` has: digits that a number cannot hold,
 * and blocks that `before` only names, stay as they are written. Objects are the same by identity.
 *
 * @param text JSON that parses to `before`, but for what its reader left out or put in the place of something unknown
 */
export function spliceJson(text: string, before: unknown, after: unknown): string {
  return write(text, spanAt(text, skipSpace(text, 0)), before, after);
}

function write(text: string, span: Span, before: unknown, after: unknown): string {
  if (before === after) return text.slice(span.start, span.end);
  if (Array.isArray(before) && Array.isArray(after) && span.items !== undefined) {
    const { items } = span;
    const written = after.map((item: unknown, index) => {
      const known = before[index] === item || !isObject(item) ? index : before.indexOf(item);
      const at = items[known];
      return at === undefined ? JSON.stringify(item) : write(text, at, before[known], item);
    });
    return `[${written.join(",")}]`;
  }
  if (!isRecord(before) || !isRecord(after) || span.members === undefined) return JSON.stringify(after);
  const members: string[] = [];
  const add = (key: string): void => {
    const member = after[key];
    const at = Object.hasOwn(before, key) ? span.members?.get(key) : undefined;
    if (member === undefined) return;
    members.push(
      `${JSON.stringify(key)}:${at === undefined ? JSON.stringify(member) : write(text, at, before[key], member)}`,
    );
  };
  for (const key of span.members.keys()) if (Object.hasOwn(after, key)) add(key);
  for (const key of Object.keys(after)) if (!span.members.has(key)) add(key);
  return `{${members.join(",")}}`;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Of text that JSON.parse takes, no deeper than a line may be. */
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

/** Behind the quote that ends the string that begins at `start`. */
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
