import { describe } from "../internal/arguments.js";

/**
 * What a value counts for besides its text: more than the marks around it in JSON, its number, or the word for it, which
 * are 28 bytes at most.
 */
const valueBytes = 32;

const quickValues = 512;
const quickDepth = 16;
let left = 0;

/**
 * The bytes that a payload counts for: 32 for each value in it, the length of each string and of each name of a member in
 * UTF-16 code units, and the length of binary data. Base64 and other ASCII text is one byte a unit, in memory as in JSON, and no
 * string is read for it, so that a megabyte takes no longer than a word. Never less than the length of the payload as JSON in
 * which nothing had to be escaped; UTF-8 of other scripts has up to three bytes a unit. A value that is there twice counts twice.
 *
 * @throws TypeError where a value holds itself
 */
export function payloadBytes(payload: unknown): number {
  if (typeof payload !== "object" || payload === null) return leafBytes(payload);
  left = quickValues;
  const bytes = quickBytes(payload, quickDepth);
  return bytes < 0 ? thoroughBytes(payload) : bytes;
}

/** Payloads as they mostly are: small and flat. Below 0 for those that are not, or may hold themselves. */
function quickBytes(value: object, depth: number): number {
  let bytes = valueBytes;
  if (Array.isArray(value)) {
    if (value.length > left) return -1;
    left -= value.length;
    for (const item of value) {
      if (typeof item === "object" && item !== null) {
        const inner = depth === 0 ? -1 : quickBytes(item, depth - 1);
        if (inner < 0) return -1;
        bytes += inner;
      } else bytes += leafBytes(item);
    }
    return bytes;
  }
  if (ArrayBuffer.isView(value)) return valueBytes + value.byteLength;
  // Names that a prototype has count as well, which is rare, and never too little.
  for (const name in value) {
    if (--left < 0) return -1;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    bytes += name.length;
    if (typeof member === "string") bytes += valueBytes + member.length;
    else if (typeof member === "object" && member !== null) {
      const inner = depth === 0 ? -1 : quickBytes(member, depth - 1);
      if (inner < 0) return -1;
      bytes += inner;
    } else bytes += valueBytes;
  }
  return bytes;
}

function leafBytes(value: unknown): number {
  return typeof value === "string" ? valueBytes + value.length : valueBytes;
}

/** An object on the way down, and what was counted of it so far. */
interface Opened {
  readonly value: object;
  readonly inner: readonly unknown[];
  next: number;
  bytes: number;
}

/** Payloads of any size, depth and sharing, in time linear in what there is in memory. */
function thoroughBytes(payload: object): number {
  /** Absent until an object is met, undefined while it is open. */
  const known = new Map<object, number | undefined>();
  const path = [opened(payload)];
  known.set(payload, undefined);
  for (;;) {
    const top = path.at(-1) as Opened;
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
        throw new TypeError(`frame.payload: expected JSON, got ${describe(value)} that holds itself`);
      }
      top.bytes += bytes;
    } else {
      known.set(value, undefined);
      path.push(opened(value));
    }
  }
}

function opened(value: object): Opened {
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
