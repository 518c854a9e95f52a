import { nodeBuffer } from "./node-buffer.js";

const digits = /* @__PURE__ */ Uint8Array.from(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
  (digit) => digit.charCodeAt(0),
);
const padding = 0x3d;

/**
 * The base64 of bytes, as RFC 4648 section 4 has it, with padding. By the engine's own encoder where there is one, since it is
 * some ten times as fast: `Uint8Array.prototype.toBase64` of newer engines, or Node's Buffer.
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

/** Bytes of a piece, a multiple of three, so that only the last one is padded. */
const pieceBytes = 3 * 2 ** 18;
/** What is encoded at a time: its text stays in the processor's cache until it is written. */
const stepBytes = 3 * 2 ** 13;

/** The base64 of bytes as bytes, in pieces of a megabyte: never one large string, and never all of it at once. */
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

/** The same, by what every engine has. */
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
