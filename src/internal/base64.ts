/**
 * Base64 as RFC 4648 section 4 has it, strictly: no white space, no URL alphabet, padding where it belongs, no bits set
 * that would be lost. Decoders that forgive let one value have many spellings.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4648 sections 3 and 4 (read 2026-11-21)
 */
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const invalid = 64;
/** The value of each character code below 128. */
const values: Uint8Array = /* @__PURE__ */ (() => {
  const table = new Uint8Array(128).fill(invalid);
  for (let value = 0; value < 64; value++) table[alphabet.charCodeAt(value)] = value;
  return table;
})();

const valueAt = (text: string, at: number): number => values[text.charCodeAt(at)] ?? invalid;

/** How many bytes base64 text stands for, without decoding it; undefined where its length alone is wrong. */
export function base64Bytes(text: string): number | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/** The bytes of base64 text, or undefined where it is none. Linear, and allocates the bytes alone. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const length = base64Bytes(text);
  if (length === undefined) return undefined;
  const bytes = new Uint8Array(length);
  const whole = Math.floor(length / 3) * 3;
  let at = 0;
  let seen = 0;
  for (let to = 0; to < whole; to += 3, at += 4) {
    const a = valueAt(text, at);
    const b = valueAt(text, at + 1);
    const c = valueAt(text, at + 2);
    const d = valueAt(text, at + 3);
    // One look for all: only what is no digit has the seventh bit.
    seen |= a | b | c | d;
    bytes[to] = (a << 2) | (b >> 4);
    bytes[to + 1] = (b << 4) | (c >> 2);
    bytes[to + 2] = (c << 6) | d;
  }
  if (length > whole) {
    const a = valueAt(text, at);
    const b = valueAt(text, at + 1);
    const c = length - whole === 2 ? valueAt(text, at + 2) : 0;
    // What is left over of the last digit must be nothing.
    const lost = length - whole === 2 ? c & 0x03 : b & 0x0f;
    if (lost !== 0) return undefined;
    seen |= a | b | c;
    bytes[whole] = (a << 2) | (b >> 4);
    if (length - whole === 2) bytes[whole + 1] = (b << 4) | (c >> 2);
  }
  return seen >= invalid ? undefined : bytes;
}
