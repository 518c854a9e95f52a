/** Bytes and text: UTF-8, concatenation, hexadecimal digits, CRC-32. */

const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Encodes text as UTF-8. A lone surrogate becomes U+FFFD, so callers escape those first. */
export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text);
}

let pool = new Uint8Array(0);
let used = 0;
const poolBytes = 1 << 14;

/**
 * {@link encodeUtf8} into a part of an array that other texts share, if the text is short: 46 ms in place of 68 for
 * 20,000 lines (Node 24).
 */
export function encodeUtf8InPool(text: string): Uint8Array {
  const maxBytes = text.length * 3;
  if (maxBytes > poolBytes / 4) return encoder.encode(text);
  if (used + maxBytes > pool.length) {
    pool = new Uint8Array(poolBytes);
    used = 0;
  }
  const start = used;
  used += encoder.encodeInto(text, pool.subarray(start, start + maxBytes)).written;
  return pool.subarray(start, used);
}

/** Decodes UTF-8 strictly. Returns undefined for invalid bytes. Keeps a byte order mark. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Decodes UTF-16 with a byte order mark; undefined for other bytes, and for text with NUL. */
export function decodeUtf16(bytes: Uint8Array): string | undefined {
  const mark = ((bytes[0] as number) << 8) | (bytes[1] as number);
  if (bytes.length % 2 !== 0 || (mark !== 0xfffe && mark !== 0xfeff)) return undefined;
  try {
    const label = mark === 0xfffe ? "utf-16le" : "utf-16be";
    const text = new TextDecoder(label, { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Characters of short texts that are encoded at once. */
const chunkLength = 64 * 1024;

/** Encodes texts one after the other, in chunks: all of them may be longer than the longest string. */
export async function* encodeTexts(
  texts: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let pending = "";
  for await (const text of texts) {
    if (pending.length + text.length > chunkLength && pending !== "") {
      yield encoder.encode(pending);
      pending = "";
    }
    pending += text;
  }
  if (pending !== "") yield encoder.encode(pending);
}

/** The bytes of a stream. */
export async function collectBytes(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  const [only] = all;
  return all.length === 1 && only !== undefined ? only : concatBytes(all);
}

/** Concatenates parts in a new array. */
export function concatBytes(parts: readonly Uint8Array[], total?: number): Uint8Array {
  const out = new Uint8Array(total ?? parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Whether two arrays have the same bytes. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** Encodes bytes as lower-case hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  let out = "";
  for (const byte of bytes) out += pairs[byte] as string;
  return out;
}

const pairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/**
 * Prints an unsigned 32-bit number as eight hexadecimal digits, three times as fast as toString and padStart.
 */
export function hex8(value: number): string {
  const high = (pairs[value >>> 24] as string) + (pairs[(value >>> 16) & 0xff] as string);
  return high + (pairs[(value >>> 8) & 0xff] as string) + (pairs[value & 0xff] as string);
}

// CRC-32 as in zlib and PNG: reflected polynomial EDB88320, initial value and final xor FFFFFFFF.
//
// @see https://www.rfc-editor.org/rfc/rfc1952 section 8 (read 2026-11-21)

/** Signed, so that the arithmetic stays in 32-bit integers. */
type Table = Int32Array;

type Tables = readonly [Table, Table, Table, Table, Table, Table, Table, Table];

/** Made by the first checksum: Node has its own. */
let tables: Tables | undefined;

function makeTables(): Tables {
  const table = (next: (n: number) => number): Table => Int32Array.from({ length: 256 }, (_, n) => next(n));
  const t0 = table((n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    return c;
  });
  // Slicing by eight: each table is the one before, advanced by a zero byte.
  const after = (t: Table): Table =>
    table((n) => (t0[(t[n] as number) & 0xff] as number) ^ ((t[n] as number) >>> 8));
  const t1 = after(t0);
  const t2 = after(t1);
  const t3 = after(t2);
  const t4 = after(t3);
  const t5 = after(t4);
  const t6 = after(t5);
  return [t0, t1, t2, t3, t4, t5, t6, after(t6)];
}

/** The checksum of `bytes` from `start` up to `end`, as an unsigned number. */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length): number {
  tables ??= makeTables();
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables;
  let crc = -1;
  let i = start;
  for (; i + 8 <= end; i += 8) {
    crc ^=
      (bytes[i] as number) |
      ((bytes[i + 1] as number) << 8) |
      ((bytes[i + 2] as number) << 16) |
      ((bytes[i + 3] as number) << 24);
    crc =
      (t7[crc & 0xff] as number) ^
      (t6[(crc >>> 8) & 0xff] as number) ^
      (t5[(crc >>> 16) & 0xff] as number) ^
      (t4[crc >>> 24] as number) ^
      (t3[bytes[i + 4] as number] as number) ^
      (t2[bytes[i + 5] as number] as number) ^
      (t1[bytes[i + 6] as number] as number) ^
      (t0[bytes[i + 7] as number] as number);
  }
  for (; i < end; i++) crc = (t0[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The checksum as eight lower-case hexadecimal digits. */
export function crc32Hex(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return hex8(crc32(bytes, start, end));
}
