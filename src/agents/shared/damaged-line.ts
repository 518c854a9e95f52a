/**
 * The records in a damaged line: a line feed was lost, a program wrote on after half a line, or a crash left
 * NULs. Only what is damaged is lost.
 */

import { parseLine, withoutStrayBytes } from "../../log/internal.js";
import { type ForeignObject, readObject } from "./values.js";

/** A record of a damaged line, with its bytes. */
export interface FoundRecord {
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
export function recordsIn(
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
