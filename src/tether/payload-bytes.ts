/** The size of a payload without serializing it, for the bound of a ring. */

import { describe } from "../core/arguments.js";

/** The bytes of a value besides its text. JSON needs at most 28 for punctuation and a number or literal. */
const valueBytes = 32;

const maxSmallValues = 512;
const maxSmallDepth = 16;
let remaining = 0;

/**
 * Measures a payload: 32 bytes a value, the length of each string and member name in UTF-16 code units, and
 * the length of binary data. No string is read, so that a megabyte takes as long as a word. The result is at
 * least the length as JSON without escapes. ASCII, such as base64, has one byte a unit; UTF-8 of other
 * scripts has up to three. A shared value counts each time.
 *
 * @throws TypeError for a circular payload
 */
export function payloadBytes(payload: unknown): number {
  if (typeof payload !== "object" || payload === null) return leafBytes(payload);
  remaining = maxSmallValues;
  const bytes = smallPayloadBytes(payload, maxSmallDepth);
  return bytes < 0 ? anyPayloadBytes(payload) : bytes;
}

/**
 * Measures a small and flat payload, as most are, without the allocations of {@link anyPayloadBytes}. Returns
 * -1 for a payload that is larger, deeper, or may be circular.
 */
function smallPayloadBytes(value: object, depth: number): number {
  let bytes = valueBytes;
  if (Array.isArray(value)) {
    if (value.length > remaining) return -1;
    remaining -= value.length;
    for (const item of value) {
      if (typeof item === "object" && item !== null) {
        const inner = depth === 0 ? -1 : smallPayloadBytes(item, depth - 1);
        if (inner < 0) return -1;
        bytes += inner;
      } else bytes += leafBytes(item);
    }
    return bytes;
  }
  if (ArrayBuffer.isView(value)) return valueBytes + value.byteLength;
  // Inherited members count too: an upper bound, and cheaper than Object.keys.
  for (const name in value) {
    if (--remaining < 0) return -1;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    bytes += name.length;
    if (typeof member === "string") bytes += valueBytes + member.length;
    else if (typeof member === "object" && member !== null) {
      const inner = depth === 0 ? -1 : smallPayloadBytes(member, depth - 1);
      if (inner < 0) return -1;
      bytes += inner;
    } else bytes += valueBytes;
  }
  return bytes;
}

function leafBytes(value: unknown): number {
  return typeof value === "string" ? valueBytes + value.length : valueBytes;
}

/** An object whose members are being measured. */
interface OpenValue {
  readonly value: object;
  readonly inner: readonly unknown[];
  next: number;
  bytes: number;
}

/**
 * Measures a payload of any size, depth and sharing, without recursion, in time linear in its size in memory.
 */
function anyPayloadBytes(payload: object): number {
  /** Absent before the first visit of an object, undefined while it is open. */
  const known = new Map<object, number | undefined>();
  const path = [openValue(payload)];
  known.set(payload, undefined);
  for (;;) {
    const top = path.at(-1) as OpenValue;
    if (top.next === top.inner.length) {
      known.set(top.value, top.bytes);
      path.pop();
      const outer = path.at(-1);
      if (outer === undefined) return top.bytes;
      outer.bytes += top.bytes;
      continue;
    }
    const value = top.inner[top.next++];
    if (typeof value !== "object" || value === null) {
      top.bytes += leafBytes(value);
    } else if (known.has(value)) {
      const bytes = known.get(value);
      if (bytes === undefined) {
        throw new TypeError(`frame.payload: expected JSON, got ${describe(value)} that contains itself`);
      }
      top.bytes += bytes;
    } else {
      known.set(value, undefined);
      path.push(openValue(value));
    }
  }
}

function openValue(value: object): OpenValue {
  if (Array.isArray(value)) return { value, inner: value, next: 0, bytes: valueBytes };
  if (ArrayBuffer.isView(value)) {
    return { value, inner: [], next: 0, bytes: valueBytes + value.byteLength };
  }
  let bytes = valueBytes;
  const inner: unknown[] = [];
  for (const name in value) {
    bytes += name.length;
    inner.push((value as Readonly<Record<string, unknown>>)[name]);
  }
  return { value, inner, next: 0, bytes };
}
