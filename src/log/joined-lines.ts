/** Finds whole lines within a damaged one: a line feed was lost, or a program wrote after half a line. */

/** A range of a line. */
export interface LineRange {
  readonly start: number;
  readonly end: number;
}

/** A range that may be a line of its own. */
interface FoundRange extends LineRange {
  /** Whether it is an object from its brace to the closing one. */
  readonly isClosed: boolean;
}

const openBrace = 0x7b;
const quote = 0x22;
const backslash = 0x5c;
const typeKey = ascii('{"type":"');
const idKey = ascii('","id":"');
const parentKey = ascii('","parentId":');
const timeKey = ascii(',"timestamp":"');
const headerType = ascii('session",');
const nullValue = ascii("null");
const openQuote = ascii('"');
const maxTextBytes = 200;

/**
 * The ranges of a damaged line in order: objects that may be lines of their own, and what is between them. A
 * line begins at its first brace, or as every writer prints an entry or a header. Linear in the line.
 */
export function* rangesOfLine(bytes: Uint8Array): Generator<FoundRange, void, undefined> {
  const { free, bound } = lineStarts(bytes);
  let nextBound = 0;
  for (let index = 0; index <= free.length; index++) {
    const stop = free[index] ?? bytes.length;
    let at = skipStray(bytes, free[index - 1] ?? 0, stop);
    for (let end = -1; at < stop; at = skipStray(bytes, end, stop)) {
      end = bytes[at] === openBrace ? objectEnd(bytes, at, stop) : -1;
      if (end < 0) break;
      yield { start: at, end, isClosed: true };
    }
    if (at >= stop) continue;
    while ((bound[nextBound] ?? bytes.length) < at) nextBound++;
    const joined = joinedAfterValue(bytes, bound.slice(nextBound, nextBound + maxTries), stop);
    if (joined === undefined) {
      yield { start: at, end: stop, isClosed: false };
      continue;
    }
    yield { start: at, end: joined.start, isClosed: false };
    yield joined;
  }
}

/** Bounds the time for a range with many beginnings. */
const maxTries = 16;

/**
 * The line after one that was torn before a value. A value within a torn line looks the same, and is a copy
 * of an entry: the line that it is in goes on after it.
 */
function joinedAfterValue(
  bytes: Uint8Array,
  starts: readonly number[],
  stop: number,
): FoundRange | undefined {
  for (const start of starts) {
    if (start >= stop) return undefined;
    const end = objectEnd(bytes, start, stop);
    if (end > 0 && bytes[stop - 1] !== 0x09 && skipStray(bytes, end, stop) === stop)
      return { start, end, isClosed: true };
  }
  return undefined;
}

/** The beginnings of lines as writers print them; `bound` if a value of an object or array may begin there. */
function lineStarts(bytes: Uint8Array): { readonly free: readonly number[]; readonly bound: number[] } {
  const free: number[] = [];
  const bound: number[] = [];
  for (let at = bytes.indexOf(openBrace); at >= 0; at = bytes.indexOf(openBrace, at + 1)) {
    if (!isLineStart(bytes, at)) continue;
    const before = bytes[at - 1];
    (before === 0x3a || before === 0x2c || before === 0x5b ? bound : free).push(at);
  }
  return { free, bound };
}

/** Within a string of JSON these quotes would be escaped. */
function isLineStart(bytes: Uint8Array, start: number): boolean {
  const afterType = readEnd(bytes, typeKey, start);
  if (afterType < 0 || readEnd(bytes, headerType, afterType) >= 0) return afterType >= 0;
  const afterId = readEnd(bytes, idKey, textEnd(bytes, afterType));
  const value = afterId < 0 ? -1 : readEnd(bytes, parentKey, textEnd(bytes, afterId));
  if (value < 0) return false;
  const afterNull = readEnd(bytes, nullValue, value);
  const text = readEnd(bytes, openQuote, value);
  const next = afterNull >= 0 ? afterNull : text < 0 ? -1 : textEnd(bytes, text) + 1;
  return next >= 0 && readEnd(bytes, timeKey, next) >= 0;
}

/** The quote after a short text without escapes; the end of the bytes without one. */
function textEnd(bytes: Uint8Array, start: number): number {
  let left = maxTextBytes;
  for (let at = start; at < bytes.length && left >= 0; at++) {
    if (bytes[at] === quote) return at;
    if (bytes[at] === backslash) break;
    if (bytes[at] !== 0) left--;
  }
  return bytes.length;
}

/** The place after some bytes, with any NULs before and within; -1 if others are there. */
function readEnd(bytes: Uint8Array, wanted: Uint8Array, start: number): number {
  let at = start;
  for (const byte of wanted) {
    while (bytes[at] === 0) at++;
    if (bytes[at++] !== byte) return -1;
  }
  return at;
}

function startsWith(bytes: Uint8Array, wanted: Uint8Array, at: number): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

/** The end of the object that begins at a brace, if it closes before `stop`; else -1. */
function objectEnd(bytes: Uint8Array, start: number, stop: number): number {
  let depth = 0;
  let isText = false;
  for (let at = start; at < stop; at++) {
    const byte = bytes[at];
    if (byte === quote) isText = !isText;
    else if (isText) {
      if (byte === backslash) at++;
    } else if (byte === openBrace || byte === 0x5b) depth++;
    else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return at + 1;
  }
  return -1;
}

/** Skips white space, NULs and byte order marks. */
function skipStray(bytes: Uint8Array, start: number, stop: number): number {
  let at = start;
  while (at < stop) {
    const byte = bytes[at] as number;
    if (byte === 0 || byte === 0x20 || byte === 0x09 || byte === 0x0d) at++;
    else if (isBom(bytes, at)) at += 3;
    else break;
  }
  return at;
}

function isBom(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf;
}

/** A line without bytes that no writer puts there. */
export interface CleanLine {
  readonly bytes: Uint8Array;
  /** The number of NULs that were skipped. */
  readonly nuls: number;
  /** The number of byte order marks that were skipped. */
  readonly boms: number;
}

/** The line without NULs, and without byte order marks outside of strings; undefined if it has neither. */
export function withoutStrayBytes(bytes: Uint8Array): CleanLine | undefined {
  if (bytes.indexOf(0) < 0 && bytes.indexOf(0xef) < 0) return undefined;
  const out = new Uint8Array(bytes.length);
  let length = 0;
  let nuls = 0;
  let boms = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === 0) {
      nuls++;
    } else if (byte === 0xef && !isText && isBom(bytes, at)) {
      boms++;
      at += 2;
    } else {
      out[length++] = byte;
      if (byte === quote) isText = !isText;
      else if (byte === backslash && isText && at + 1 < bytes.length && bytes[at + 1] !== 0)
        out[length++] = bytes[++at] as number;
    }
  }
  return nuls + boms === 0 ? undefined : { bytes: out.subarray(0, length), nuls, boms };
}

const parentIdKey = ascii('"parentId":');
const lastByte = parentIdKey.length - 1;
/** How far a search goes on after a byte in the place of the last one of the key (Horspool's algorithm). */
const skips = new Uint8Array(256).fill(parentIdKey.length);
for (let at = 0; at < lastByte; at++) skips[parentIdKey[at] as number] = lastByte - at;

/** The next place of the key of a parent's id; the end without one. */
export function nextParentKey(bytes: Uint8Array, from: number): number {
  for (let at = from; at + lastByte < bytes.length; ) {
    const last = bytes[at + lastByte] as number;
    if (last === 0x3a && startsWith(bytes, parentIdKey, at)) return at;
    at += skips[last] as number;
  }
  return bytes.length;
}

/**
 * {@link nextParentKey} for the lines of a chunk in order. Remembers the last place, which is mostly in the
 * next line.
 */
export class ParentKeyFinder {
  #bytes: Uint8Array | undefined;
  #base = 0;
  #from = 0;
  #next = 0;

  /** @param base the place in the log of the first byte: a reader may fill the same array again */
  next(bytes: Uint8Array, base: number, from: number): number {
    const isKnown = bytes === this.#bytes && base === this.#base && from >= this.#from && from <= this.#next;
    if (!isKnown) this.#next = nextParentKey(bytes, from);
    this.#bytes = bytes;
    this.#base = base;
    this.#from = from;
    return this.#next;
  }
}

function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
