/**
 * The records of foreign files: JSON Lines with the bounds of this library's own codec, damaged lines,
 * originals read again, and the first and last bytes by which the rows of agents describe a session.
 */

import { concatBytes, encodeTexts } from "../../core/bytes.js";
import { isTooDeep } from "../../core/json.js";
import { collapsed } from "../../core/text.js";
import { parseLine, shortLineDamage, withoutStrayBytes } from "../../log/internal.js";
import type { SessionEntry } from "../../session/index.js";
import type { AgentWindows, AppendSource, EntryBuilder, ForeignRecord, ForeignSource } from "../types.js";
import { type ForeignObject, parseJson, readObject, readText, toArray } from "./values.js";

/** Nesting of a foreign line: less than the maximum of an entry, which it becomes a part of. */
export const maxLineDepth = 240;

/** A line of a foreign file. */
type ForeignLine = {
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

// The records in a damaged line: a line feed was lost, a program wrote on after half a line, or a crash left
// NULs. Only what is damaged is lost.

/** A record of a damaged line, with its bytes. */
interface FoundRecord {
  readonly value: ForeignObject;
  readonly bytes: Uint8Array;
}

const brace = 0x7b;
const quote = 0x22;
const backslash = 0x5c;
/** Bounds the attempts in a piece with many objects. */
const maxTries = 16;

/**
 * The whole records of a line that is not JSON, in order, and the number of bytes in none of them. Linear.
 *
 * @param isKnown whether a record of the file begins with this key. A value within half a line is no record.
 */
function recordsIn(
  line: Uint8Array,
  maxDepth: number,
  isKnown: (firstKey: string) => boolean,
): { readonly records: readonly FoundRecord[]; readonly lost: number } {
  const bytes = withoutStrayBytes(line)?.bytes ?? line;
  const parse = (start: number, end: number): FoundRecord | undefined => {
    const found = bytes.subarray(start, end);
    const parsed = parseLine(found, maxDepth, { unchecked: true });
    const value = parsed.ok ? readObject(parsed.value) : undefined;
    return value === undefined ? undefined : { value, bytes: found };
  };
  const { free, bound } = startsIn(bytes);
  const records: FoundRecord[] = [];
  let next = 0;
  for (const [at, start] of free.entries()) {
    const stop = free[at + 1] ?? bytes.length;
    const end = readEnd(bytes, start, stop);
    const whole = end < 0 ? undefined : parse(start, end);
    if (whole !== undefined) records.push(whole);
    while ((bound[next] ?? bytes.length) < start) next++;
    // Half a line that ended before a value, and the record behind it.
    for (let tries = 0; end < 0 && tries < maxTries && (bound[next + tries] ?? stop) < stop; tries++) {
      const from = bound[next + tries] as number;
      const inner = isTail(bytes, readEnd(bytes, from, stop), stop) ? parse(from, stop) : undefined;
      if (inner === undefined || !isKnown(Object.keys(inner.value)[0] ?? "")) continue;
      records.push(inner);
      break;
    }
  }
  return { records, lost: line.length - records.reduce((sum, record) => sum + record.bytes.length, 0) };
}

/** The places of objects: `bound` if a value may begin there. In a string the quote would be escaped. */
function startsIn(bytes: Uint8Array): {
  readonly free: readonly number[];
  readonly bound: readonly number[];
} {
  const free: number[] = [];
  const bound: number[] = [];
  /** The last byte that is no space. */
  let before = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte <= 0x20) continue;
    if (byte === brace && isKeyAt(bytes, at + 1)) {
      if (before === 0x3a || before === 0x2c || before === 0x5b) bound.push(at);
      else free.push(at);
    }
    before = byte;
  }
  return { free, bound };
}

const maxKeyBytes = 64;

/** Whether a short key and a colon are here. */
function isKeyAt(bytes: Uint8Array, start: number): boolean {
  let at = start;
  while (at < bytes.length && (bytes[at] as number) <= 0x20) at++;
  if (bytes[at] !== quote) return false;
  const limit = Math.min(bytes.length, at + maxKeyBytes);
  for (at++; at < limit && bytes[at] !== quote; at++) if (bytes[at] === backslash) return false;
  for (at++; at < bytes.length && (bytes[at] as number) <= 0x20; at++);
  return bytes[at] === 0x3a;
}

/** The end of the object at a brace; -1 if it is not closed before `stop`. */
function readEnd(bytes: Uint8Array, start: number, stop: number): number {
  let depth = 0;
  let isText = false;
  for (let at = start; at < stop; at++) {
    const byte = bytes[at];
    if (byte === quote) isText = !isText;
    else if (isText) {
      if (byte === backslash) at++;
    } else if (byte === brace) depth++;
    else if (byte === 0x7d && --depth === 0) return at + 1;
  }
  return -1;
}

function isTail(bytes: Uint8Array, end: number, stop: number): boolean {
  if (end < 0) return false;
  for (let at = end; at < stop; at++) if ((bytes[at] as number) > 0x20) return false;
  return true;
}

// Reads the original of a session once more, for the records that its entries are of: their ids alone do not
// tell them.

/**
 * A source with the files of an original. Its builders give the entries of the import their ids again, in the
 * order in which they were added.
 */
export function sourceAgain({ files, original, header }: AppendSource): ForeignSource {
  const sessions = [original, ...original.children];
  const builders = new Map<string, EntryBuilder>();
  return {
    files: files.map(({ path, bytes }) => {
      const form = formByPath(path, bytes);
      return form === undefined ? { path } : { path, form };
    }),
    sessionId: header.id,
    instructions: false,
    records: (path) => fileRecords(files, path),
    json: () => undefined,
    sqlite: () => Promise.resolve(undefined),
    find: () => {},
    count: () => {},
    countCost: () => {},
    session: ({ id }) => {
      const known = builders.get(id) ?? sessionBuilder(sessions[builders.size], id);
      builders.set(id, known);
      return known;
    },
  };
}

function* fileRecords(files: AppendSource["files"], path: string): Generator<ForeignRecord> {
  const bytes = files.find((file) => file.path === path)?.bytes ?? new Uint8Array();
  for (const found of readLines(bytes, bytes.length + 1))
    if (found.kind === "record") {
      const { line, value, part } = found;
      yield { file: path, line, value, ...(part === undefined ? {} : { part }) };
    }
}

/** A builder that gives the ids of entries that were made before, in their order. */
function sessionBuilder(session: AppendSource["original"] | undefined, foreignId: string): EntryBuilder {
  const entries: readonly SessionEntry[] = session?.entries ?? [];
  const ids = new Map<string, string>();
  const known = new Set<string>();
  const keyByRecordId = (recordId: string, part: string | number = "") => `${recordId}\0${part}`;
  let last: string | null = null;
  return {
    get last() {
      return last;
    },
    sessionId: session?.header.id ?? foreignId,
    time: (timestamp) => (typeof timestamp === "number" ? timestamp : 0),
    add: (_draft, { recordId, part }) => {
      const key = keyByRecordId(recordId, part);
      const id = ids.get(key) ?? entries[ids.size]?.id ?? "";
      ids.set(key, id);
      known.add(id);
      last = id;
      return id;
    },
    idByRecordId: (recordId, part) => ids.get(keyByRecordId(recordId, part)),
    has: (id) => known.has(id),
    setLeaf: () => {},
  };
}

// Records in the first and last bytes of a file, as the rows of agents describe a session by them.

/** Lines of the start that are looked at. */
const maxLines = 100;

/** The texts of windows, which several looks at one session share: to decode one takes as long as to look at it. */
const windowTexts = new WeakMap<Uint8Array, string>();

function windowText(bytes: Uint8Array): string {
  const known = windowTexts.get(bytes) ?? new TextDecoder().decode(bytes);
  windowTexts.set(bytes, known);
  return known;
}

/** The objects of the lines of a window. A first line that is cut at its start is no JSON, and left out. */
export function* readRecords(bytes: Uint8Array, lines = maxLines): Generator<ForeignObject> {
  const text = windowText(bytes);
  let at = 0;
  for (let line = 0; line < lines && at < text.length; line++) {
    const feed = text.indexOf("\n", at);
    const end = feed < 0 ? text.length : feed;
    const value = readObject(parseCutJson(text.slice(at, end)));
    if (value !== undefined) yield value;
    at = end + 1;
  }
}

/** The records of the tail that have one of some texts, last first. The others are not parsed. */
export function* lastRecords(
  { head, tail }: AgentWindows,
  texts: readonly string[],
): Generator<ForeignObject> {
  const text = windowText(tail);
  if (!texts.some((each) => text.includes(each))) return;
  const start = head === tail ? 0 : text.indexOf("\n") + 1;
  for (let end = text.length; end > start; ) {
    const at = Math.max(text.lastIndexOf("\n", end - 1) + 1, start);
    const line = text.slice(at, end);
    const value = texts.some((each) => line.includes(each)) ? readObject(parseCutJson(line)) : undefined;
    if (value !== undefined) yield value;
    end = at - 1;
  }
}

/** The first value that a function finds in some records. */
export function recordFirst<T>(
  records: Iterable<ForeignObject>,
  find: (record: ForeignObject) => T | undefined,
) {
  for (const record of records) {
    const found = find(record);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The name of a file without its folders and the extensions of sessions. */
export function nameByPath(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.jsonl?(?:\.zst)?$/, "");
}

/** The folder of a file; "" for one without. */
export function folderByPath(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

const maxTitle = 200;

/** One line without control characters. */
export function textTitle(text: string | undefined): string | undefined {
  const clean = collapsed(text?.slice(0, 1000) ?? "", /[\p{Cc}\s]{1,1000}/gu).trim();
  if (clean === "") return undefined;
  // A cut may be within a surrogate pair.
  return clean.length <= maxTitle ? clean : clean.slice(0, maxTitle).replace(/[\ud800-\udbff]$/, "");
}

/** The text of a content: text, or blocks with one. */
export function textIn(content: unknown): string | undefined {
  if (typeof content === "string") return readText(content);
  for (const block of toArray(content)) {
    const text = readText(readObject(block)?.text);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** The version of an agent in a record, as a member of what was detected. */
export function readVersion(value: unknown): { readonly agentVersion?: string } {
  const agentVersion = readText(value)?.slice(0, 100);
  return agentVersion === undefined || agentVersion === "" ? {} : { agentVersion };
}

// JSON that may be cut off at its end, as the first bytes of a file are.

/**
 * The value of a text; of a cut one the members that are whole. Undefined for a text that is not JSON. Never
 * throws.
 */
export function parseCutJson(text: string): unknown {
  if (isTooDeep(text, maxLineDepth)) return undefined;
  const whole = parseJson(text);
  if (whole !== undefined) return whole;
  const closed = closedJson(text);
  return closed === undefined ? undefined : parseJson(closed);
}

/** The text up to its last complete member, with the brackets that are open there closed. */
function closedJson(text: string): string | undefined {
  const open: string[] = [];
  let end = -1;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (inString) {
      if (character === "\\") at++;
      else if (character === '"') inString = false;
    } else if (character === '"') {
      inString = true;
    } else if (character === "{" || character === "[") {
      open.push(character === "{" ? "}" : "]");
      end = at + 1;
    } else if (character === "}" || character === "]") {
      if (open.pop() !== character) return undefined;
      if (open.length === 0) return text.slice(0, at + 1);
      end = at + 1;
    } else if (character === ",") {
      // The member before a comma is whole.
      end = at;
    }
  }
  return end < 0 || open.length === 0 ? undefined : text.slice(0, end) + open.reverse().join("");
}
