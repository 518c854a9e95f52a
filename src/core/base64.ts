/**
 * Base64 by RFC 4648 section 4, strictly: no white space, no URL alphabet, exact padding, no excess bits.
 * Lenient decoders would accept many spellings of the same bytes.
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

/** The number of bytes that base64 text decodes to; undefined if its length is invalid. Decodes nothing. */
export function base64Bytes(text: string): number | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/** An upper bound of {@link base64Bytes} for any text, padded or not, to reject it before decoding. */
export function base64BytesAtMost(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

/** Adds missing padding to base64 text. */
export function padBase64(text: string): string {
  return text.length % 4 === 0 || text.endsWith("=")
    ? text
    : text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}

/**
 * Decodes base64. Returns undefined for invalid text. Linear. Uses the engine's decoder if there is one,
 * which is six times as fast, and detects the errors that it forgives: the result equals {@link
 * decodePortably}.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const length = base64Bytes(text);
  if (length === undefined) return undefined;
  const { fromBase64 } = Uint8Array as unknown as { readonly fromBase64?: EngineDecoder };
  if (typeof fromBase64 === "function") return decodeByEngine(fromBase64, text, length);
  const native = nodeBuffer();
  return native === undefined ? decodePortably(text) : decodeByNode(native, text, length);
}

/** {@link decodeBase64} that also accepts line breaks, missing padding and the URL alphabet. */
export function decodeLooseBase64(text: string): Uint8Array | undefined {
  const digits = text
    .replace(/[\t\n\f\r ]/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/={1,2}$/, "");
  return decodeBase64(digits.padEnd(Math.ceil(digits.length / 4) * 4, "="));
}

type EngineDecoder = (
  text: string,
  options: { readonly alphabet: "base64"; readonly lastChunkHandling: "strict" },
) => Uint8Array;

/**
 * The engine's strict decoder skips white space, which is found by the number of bytes: four skipped
 * characters leave three bytes fewer than the length of the text implies.
 *
 * @see https://tc39.es/proposal-arraybuffer-base64/spec FromBase64 (read 2026-11-22)
 */
function decodeByEngine(decode: EngineDecoder, text: string, length: number): Uint8Array | undefined {
  try {
    const bytes = decode.call(Uint8Array, text, { alphabet: "base64", lastChunkHandling: "strict" });
    return bytes.length === length ? bytes : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Characters per step, so that a step stays in the processor's cache. */
const stepLength = 2 ** 15;

/**
 * Buffer skips unknown characters, accepts the URL alphabet, and drops excess bits. So the bytes are encoded
 * again and compared: valid base64 has one spelling.
 */
function decodeByNode(native: NodeBuffer, text: string, length: number): Uint8Array | undefined {
  const bytes = new Uint8Array(length);
  const out = native.from(bytes.buffer, 0, length);
  let to = 0;
  for (let at = 0; at < text.length; at += stepLength) {
    const piece = text.slice(at, at + stepLength);
    const end = to + out.write(piece, to, "base64");
    if (out.toString("base64", to, end) !== piece) return undefined;
    to = end;
  }
  // Padding within the text shows in the number of bytes.
  return to === length ? bytes : undefined;
}

/** {@link decodeBase64} in plain JavaScript. Allocates only the result. */
export function decodePortably(text: string): Uint8Array | undefined {
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
    // One check for all: only invalid characters have the seventh bit.
    seen |= a | b | c | d;
    bytes[to] = (a << 2) | (b >> 4);
    bytes[to + 1] = (b << 4) | (c >> 2);
    bytes[to + 2] = (c << 6) | d;
  }
  if (length > whole) {
    const a = valueAt(text, at);
    const b = valueAt(text, at + 1);
    const c = length - whole === 2 ? valueAt(text, at + 2) : 0;
    // The excess bits of the last digit must be zero.
    const lost = length - whole === 2 ? c & 0x03 : b & 0x0f;
    if (lost !== 0) return undefined;
    seen |= a | b | c;
    bytes[whole] = (a << 2) | (b >> 4);
    if (length - whole === 2) bytes[whole + 1] = (b << 4) | (c >> 2);
  }
  return seen >= invalid ? undefined : bytes;
}

/** The used members of Node's Buffer. */
interface NodeBuffer {
  from(buffer: ArrayBufferLike, offset: number, length: number): NodeBytes;
  allocUnsafeSlow(length: number): NodeBytes;
}

/** The used members of a Node buffer. */
interface NodeBytes extends Uint8Array {
  toString(encoding?: "base64", start?: number, end?: number): string;
  write(text: string, offset: number, encoding: "latin1" | "base64"): number;
}

const bufferName: string = "Buffer";

/** Node's Buffer, if there is one. Looked up by name, so that bundlers add no polyfill. */
function nodeBuffer(): NodeBuffer | undefined {
  return Reflect.get(globalThis, bufferName);
}

const digits = /* @__PURE__ */ Uint8Array.from(alphabet, (digit) => digit.charCodeAt(0));
const padding = 0x3d;

/**
 * Encodes bytes as base64 with padding. Uses `Uint8Array.prototype.toBase64` or Node's Buffer if there is
 * one, which is ten times as fast.
 *
 * @see https://tc39.es/proposal-arraybuffer-base64 (read 2026-11-21)
 */
export function encodeBase64(bytes: Uint8Array): string {
  const own = (bytes as Uint8Array & { readonly toBase64?: () => string }).toBase64;
  if (typeof own === "function") return own.call(bytes);
  const native = nodeBuffer();
  return native === undefined
    ? encodePortably(bytes)
    : native.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Bytes of a piece: a multiple of three, so that only the last piece is padded. */
const pieceBytes = 3 * 2 ** 18;
/** Bytes per step, so that the text of a step stays in the processor's cache. */
const stepBytes = 3 * 2 ** 13;

/** Encodes bytes as base64 in ASCII bytes, in pieces of a megabyte, without one large string. */
export function* base64Pieces(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    yield encodedBytes(bytes.subarray(at, Math.min(bytes.length, at + pieceBytes)));
  }
}

function encodedBytes(bytes: Uint8Array): Uint8Array {
  const native = nodeBuffer();
  if (native === undefined) return portableDigits(bytes);
  const from = native.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = native.allocUnsafeSlow(Math.ceil(bytes.length / 3) * 4);
  let to = 0;
  for (let at = 0; at < bytes.length; at += stepBytes) {
    to += out.write(from.toString("base64", at, Math.min(bytes.length, at + stepBytes)), to, "latin1");
  }
  return out;
}

/** {@link encodeBase64} in plain JavaScript. */
export function encodePortably(bytes: Uint8Array): string {
  return new TextDecoder().decode(portableDigits(bytes));
}

function portableDigits(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  const whole = bytes.length - (bytes.length % 3);
  let to = 0;
  for (let at = 0; at < whole; at += 3) {
    const three =
      ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    out[to++] = digits[three >> 18] as number;
    out[to++] = digits[(three >> 12) & 63] as number;
    out[to++] = digits[(three >> 6) & 63] as number;
    out[to++] = digits[three & 63] as number;
  }
  if (whole < bytes.length) {
    const rest = ((bytes[whole] as number) << 16) | ((bytes[whole + 1] ?? 0) << 8);
    out[to++] = digits[rest >> 18] as number;
    out[to++] = digits[(rest >> 12) & 63] as number;
    out[to++] = whole + 1 < bytes.length ? (digits[(rest >> 6) & 63] as number) : padding;
    out[to] = padding;
  }
  return out;
}
