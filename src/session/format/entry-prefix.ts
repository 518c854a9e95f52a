/**
 * Reads the canonical prefix of an entry's line, without parsing the line:
 * `{"type":"…","id":"…","parentId":null|"…","timestamp":"…"`, for messages with `,"message":{"role":"…"`.
 * Writers that serialise fields in that order produce it, pi included. Other lines are parsed in whole.
 */

import { hex8 } from "../../internal/bytes.js";
import { messageRoles } from "../../internal/message-shapes.js";
import { entryTypeNames } from "./entry-types.js";

/** The fields of an entry that the tree needs. */
export interface EntryHead {
  readonly type: string;
  readonly id: EntryKey;
  readonly parentId: EntryKey | null;
  /** Milliseconds since 1970 if the stored text is exactly their `toISOString`, else the text. */
  readonly time: number | string;
  /** For messages. */
  readonly role?: string | undefined;
}

const quote = 0x22;
const open = ascii('{"type":"');
const idKey = ascii('","id":"');
const parentKey = ascii('","parentId":');
const nullTimeKey = ascii('null,"timestamp":"');
const timeKey = ascii('","timestamp":"');
const roleKey = ascii('","message":{"role":"');
const isoLength = 24;

/**
 * Reads the head of a canonical line. Returns undefined if the line must be parsed, as one that does not end
 * with `}`: it is torn, joined or padded.
 */
export function parseEntryPrefix(bytes: Uint8Array, start = 0, stop = bytes.length): EntryHead | undefined {
  return lastByte(bytes, start, stop) === 0x7d ? parseTornPrefix(bytes, start, stop) : undefined;
}

/** {@link parseEntryPrefix} of a line that may end before its brace. */
export function parseTornPrefix(bytes: Uint8Array, start = 0, stop = bytes.length): EntryHead | undefined {
  if (!startsWith(bytes, open, start)) return undefined;
  // Comparisons with keys need no bound: a line feed or the end of the bytes follows, and keys have none.
  let at = start + open.length;
  let end = plainEnd(bytes, at, stop);
  if (end < 0 || !startsWith(bytes, idKey, end)) return undefined;
  const type = textOf(bytes, at, end);
  at = end + idKey.length;
  end = plainEnd(bytes, at, stop);
  if (end <= at || !startsWith(bytes, parentKey, end)) return undefined;
  const id = idAt(bytes, at, end);
  at = end + parentKey.length;
  let parentId: EntryKey | null;
  if (bytes[at] === quote) {
    end = plainEnd(bytes, at + 1, stop);
    if (end < 0 || !startsWith(bytes, timeKey, end)) return undefined;
    parentId = idAt(bytes, at + 1, end);
    at = end + timeKey.length;
  } else {
    if (!startsWith(bytes, nullTimeKey, at)) return undefined;
    parentId = null;
    at += nullTimeKey.length;
  }
  end = plainEnd(bytes, at, stop);
  if (end < 0 || type === "session") return undefined;
  const time = end - at === isoLength ? parseIsoTime(bytes, at) : Number.NaN;
  const stamp = Number.isNaN(time) ? textOf(bytes, at, end) : time;
  if (type !== "message") return { type, id, parentId, time: stamp };
  if (!startsWith(bytes, roleKey, end)) return undefined;
  at = end + roleKey.length;
  end = plainEnd(bytes, at, stop);
  return end < 0 ? undefined : { type, id, parentId, time: stamp, role: textOf(bytes, at, end) };
}

const stampBytes = new Uint8Array(isoLength);

/** Converts a stored timestamp to the time of {@link EntryHead}. */
export function parseTimestamp(timestamp: string): number | string {
  if (timestamp.length !== isoLength) return timestamp;
  for (let i = 0; i < isoLength; i++) stampBytes[i] = Math.min(timestamp.charCodeAt(i), 0xff);
  const time = parseIsoTime(stampBytes, 0);
  return Number.isNaN(time) ? timestamp : time;
}

/** The inverse of {@link parseTimestamp}. */
export function printTimestamp(time: number | string): string {
  return typeof time === "string" ? time : new Date(time).toISOString();
}

/** The last byte that is not a space or CR, which editors on Windows add. */
function lastByte(bytes: Uint8Array, start: number, stop: number): number | undefined {
  let at = stop - 1;
  while (at >= start && (bytes[at] === 0x0d || bytes[at] === 0x20)) at--;
  return at < start ? undefined : bytes[at];
}

function startsWith(bytes: Uint8Array, wanted: Uint8Array, at: number): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

const maxPlainLength = 4096;

/** The end of the string at `at`; -1 if it is long, or not all printable ASCII without escapes. */
function plainEnd(bytes: Uint8Array, at: number, stop: number): number {
  const last = Math.min(stop - 1, at + maxPlainLength);
  for (let i = at; i <= last; i++) {
    const byte = bytes[i] as number;
    if (byte === quote) return i;
    if (byte === 0x5c || byte < 0x20 || byte > 0x7e) return -1;
  }
  return -1;
}

function idAt(bytes: Uint8Array, start: number, end: number): EntryKey {
  if (end - start !== 8) return textOf(bytes, start, end);
  let key = 0;
  for (let i = start; i < end; i++) {
    const digit = hexDigit(bytes[i] as number);
    if (digit < 0) return textOf(bytes, start, end);
    key = (key << 4) | digit;
  }
  return key >>> 0;
}

/** Makes a flat string: a slice of a chunk's text would keep the whole chunk in memory. */
function textOf(bytes: Uint8Array, start: number, end: number): string {
  const known = knownWord(bytes, start, end);
  if (known !== undefined) return known;
  return String.fromCharCode.apply(undefined, bytes.subarray(start, end) as unknown as number[]);
}

const words = new Map<number, readonly { readonly text: string; readonly bytes: Uint8Array }[]>();
for (const text of new Set<string>([...entryTypeNames, ...messageRoles])) {
  words.set(text.length, [...(words.get(text.length) ?? []), { text, bytes: ascii(text) }]);
}

function knownWord(bytes: Uint8Array, start: number, end: number): string | undefined {
  const candidates = words.get(end - start);
  if (candidates === undefined) return undefined;
  for (const word of candidates) if (startsWith(bytes, word.bytes, start)) return word.text;
  return undefined;
}

function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Milliseconds of `YYYY-MM-DDTHH:mm:ss.sssZ`; NaN for any text that `toISOString` does not print. */
export function parseIsoTime(b: Uint8Array, at: number): number {
  if (b[at + 4] !== 0x2d || b[at + 7] !== 0x2d || b[at + 10] !== 0x54 || b[at + 13] !== 0x3a)
    return Number.NaN;
  if (b[at + 16] !== 0x3a || b[at + 19] !== 0x2e || b[at + 23] !== 0x5a) return Number.NaN;
  const year = digits(b, at, 4);
  const month = digits(b, at + 5, 2);
  const day = digits(b, at + 8, 2);
  const hour = digits(b, at + 11, 2);
  const minute = digits(b, at + 14, 2);
  const second = digits(b, at + 17, 2);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = (monthDays[month - 1] ?? 0) + (leap && month === 2 ? 1 : 0);
  if (!(day >= 1 && day <= days && hour <= 23 && minute <= 59 && second <= 59)) return Number.NaN;
  return (
    daysSince1970(year, month, day) * 86_400_000 +
    (hour * 3600 + minute * 60 + second) * 1000 +
    digits(b, at + 20, 3)
  );
}

function digits(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let i = at; i < at + count; i++) {
    const digit = (bytes[i] as number) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

/** Days since 1970-01-01 in the Gregorian calendar, in years from March, so that a leap day is the last. */
function daysSince1970(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/**
 * An entry id in the tree: the number of its eight lower-case hexadecimal digits, or else the id itself.
 * Nearly all ids are such numbers, which need no memory for a string.
 */
export type EntryKey = number | string;

/** The key of an id. */
export function entryKeyOf(id: string): EntryKey {
  if (id.length !== 8) return id;
  let key = 0;
  for (let i = 0; i < 8; i++) {
    const code = id.charCodeAt(i);
    if (code >= 0x30 && code <= 0x39) key = (key << 4) | (code - 0x30);
    else if (code >= 0x61 && code <= 0x66) key = (key << 4) | (code - 0x57);
    else return id;
  }
  return key >>> 0;
}

/** The inverse of {@link entryKeyOf}. */
export function entryIdOf(key: EntryKey): string {
  return typeof key === "string" ? key : hex8(key);
}

/** The value of a lower-case hexadecimal digit, or -1. */
export function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}
