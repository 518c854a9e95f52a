import type { DecodedLine, LineDiagnostic } from "./decode.js";

type BadLine = DecodedLine & { readonly kind: "bad" };

/**
 * Short lines that are no entry, told without `JSON.parse`: its error costs as much as parsing a hundred times the bytes,
 * and a file of a few megabytes has millions of such lines.
 */
export const maxShortLine = 64;
/** `{"type":""}`: anything shorter is neither an entry nor a header. */
const minEntry = 11;

const bad = (note: LineDiagnostic, parsed: boolean): BadLine => ({
  kind: "bad",
  diagnostics: [note],
  parsed,
});
const notUtf8 = bad({ code: "INVALID_UTF8", message: "the line is not UTF-8" }, false);
const notJson = bad({ code: "INVALID_JSON", message: "the line is no JSON" }, false);
const notAnObject = bad({ code: "NOT_AN_OBJECT", message: "the line is JSON, but no object" }, true);
const notAnEntry = bad(
  { code: "INVALID_ENTRY", message: "an entry needs a type, an id and a parentId" },
  true,
);

/** What a line of at most {@link maxShortLine} bytes is where it is no entry; undefined where it may be one. */
export function shortLine(bytes: Uint8Array): BadLine | undefined {
  if (!isUtf8(bytes)) return notUtf8;
  const end = spaces(bytes, valueEnd(bytes, 0));
  if (end !== bytes.length) return notJson;
  if (bytes.length >= minEntry) return undefined;
  const first = bytes[spaces(bytes, 0)];
  return first === 0x7b ? notAnEntry : notAnObject;
}

/** Whether bytes are UTF-8, by table 3-7 of the Unicode Standard. */
function isUtf8(bytes: Uint8Array): boolean {
  const { length } = bytes;
  for (let at = 0; at < length; ) {
    const byte = bytes[at++] as number;
    if (byte < 0x80) continue;
    let more = byte >= 0xc2 && byte <= 0xdf ? 1 : byte >= 0xe0 && byte <= 0xef ? 2 : 3;
    if (more === 3 && !(byte >= 0xf0 && byte <= 0xf4)) return false;
    const low = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
    const high = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
    const second = bytes[at++];
    if (second === undefined || second < low || second > high) return false;
    for (; more > 1; more--) {
      const next = bytes[at++];
      if (next === undefined || (next & 0xc0) !== 0x80) return false;
    }
  }
  return true;
}

// A value of JSON by RFC 8259. Each function gives where what begins at `at` ends, or -1. Depth is bounded by the length.

function valueEnd(bytes: Uint8Array, start: number): number {
  const at = spaces(bytes, start);
  switch (bytes[at]) {
    case 0x7b:
      return membersEnd(bytes, at + 1, 0x7d);
    case 0x5b:
      return membersEnd(bytes, at + 1, 0x5d);
    case 0x22:
      return stringEnd(bytes, at + 1);
    case 0x74:
      return wordEnd(bytes, at, "true");
    case 0x66:
      return wordEnd(bytes, at, "false");
    case 0x6e:
      return wordEnd(bytes, at, "null");
    default:
      return numberEnd(bytes, at);
  }
}

function membersEnd(bytes: Uint8Array, start: number, close: number): number {
  let at = spaces(bytes, start);
  if (bytes[at] === close) return at + 1;
  for (;;) {
    if (close === 0x7d) {
      at = spaces(bytes, at);
      if (bytes[at] !== 0x22) return -1;
      at = spaces(bytes, stringEnd(bytes, at + 1));
      if (at < 0 || bytes[at] !== 0x3a) return -1;
      at++;
    }
    at = spaces(bytes, valueEnd(bytes, at));
    if (at < 0) return -1;
    if (bytes[at] === close) return at + 1;
    if (bytes[at] !== 0x2c) return -1;
    at++;
  }
}

function stringEnd(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === 0x22) return at + 1;
    if (byte < 0x20) return -1;
    if (byte !== 0x5c) continue;
    const escaped = bytes[++at];
    if (escaped === 0x75) {
      for (const end = at + 4; at < end; ) if (!isHexDigit(bytes[++at])) return -1;
    } else if (escaped === undefined || !simpleEscapes.has(escaped)) {
      return -1;
    }
  }
  return -1;
}

const simpleEscapes: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (each) => each.charCodeAt(0)));

function isHexDigit(byte: number | undefined): boolean {
  return byte !== undefined && (isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66));
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function wordEnd(bytes: Uint8Array, at: number, word: string): number {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word.charCodeAt(i)) return -1;
  return at + word.length;
}

function numberEnd(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  if (!isDigit(bytes[at])) return -1;
  at = bytes[at] === 0x30 ? at + 1 : digitsEnd(bytes, at);
  if (bytes[at] === 0x2e) {
    if (!isDigit(bytes[at + 1])) return -1;
    at = digitsEnd(bytes, at + 1);
  }
  if (((bytes[at] ?? 0) | 0x20) !== 0x65) return at;
  const sign = bytes[at + 1];
  at += sign === 0x2b || sign === 0x2d ? 2 : 1;
  return isDigit(bytes[at]) ? digitsEnd(bytes, at) : -1;
}

function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at++;
  return at;
}

/** Where white space that begins at `start` ends; -1 stays -1. */
function spaces(bytes: Uint8Array, start: number): number {
  let at = start;
  if (at < 0) return at;
  for (let byte = bytes[at]; byte === 0x20 || byte === 0x09 || byte === 0x0d; byte = bytes[at]) at++;
  return at;
}
