/** Whether an encrypted PDF opens without a password: many only restrict printing or copying. */

import { md5 } from "@noble/hashes/legacy.js";
import { concatBytes, equalBytes } from "../../core/bytes.js";
import { readEncryption, stringAt } from "./pdf.js";

/**
 * Whether an encrypted PDF opens with a password alone: the empty user password does not agree with the entry
 * `U` of its standard security handler. True for any other handler, or if an entry is missing. False for AES
 * of 256 bits if the platform has no WebCrypto, as a page without TLS.
 *
 * Not a part of `sniff`: few callers send PDFs, and hashes are more code than all formats together.
 *
 * @see https://opensource.adobe.com/dc-acrobat-sdk-docs/pdfstandards/PDF32000_2008.pdf section 7.6.3,
 *   algorithms 2, 4 and 5; ISO 32000-2 section 7.6.4.3.4, algorithm 2.B, after
 *   https://github.com/mozilla/pdf.js (read 2026-11-28)
 */
export async function needsPassword(bytes: Uint8Array): Promise<boolean> {
  const { encrypt, id } = readEncryption(bytes) ?? {};
  if (encrypt === undefined || encrypt.entries.get("Filter")?.name !== "Standard") return true;
  const { entries } = encrypt;
  const number = (key: string) => entries.get(key)?.numbers[0] ?? 0;
  const text = (key: string) => {
    const value = entries.get(key);
    return (value && stringAt(encrypt.source, value.at, 127)) ?? new Uint8Array();
  };
  const user = text("U");
  const revision = number("R");
  if (revision === 5 || revision === 6) {
    if (user.length < 48) return true;
    const subtle = globalThis.crypto?.subtle;
    if (subtle === undefined) return false;
    const salt = user.slice(32, 40);
    const hash = revision === 5 ? await sha(subtle, 256, salt) : await hardened(subtle, salt);
    return !equalBytes(hash, user.subarray(0, 32));
  }
  if (revision < 2 || revision > 4 || user.length < 16) return true;
  const first = id === undefined ? new Uint8Array() : firstMatch(bytes, id);
  const isMetadataPlain =
    revision === 4 && entries.has("EncryptMetadata") && !entries.get("EncryptMetadata")?.isTrue;
  const permissions = number("P") | 0;
  const bits = Uint8Array.from([0, 8, 16, 24], (shift) => permissions >>> shift);
  const plain = isMetadataPlain ? new Uint8Array(4).fill(0xff) : new Uint8Array();
  const version = number("V");
  const stated = version === 4 ? 16 : version === 1 || version === 0 ? 5 : (number("Length") || 40) / 8;
  const length = Math.min(16, Math.max(5, Math.floor(stated)));
  let key: Uint8Array = md5(concatBytes([padding, text("O").subarray(0, 32), bits, first, plain]));
  if (revision === 2) return !equalBytes(rc4(key.subarray(0, length), padding), user.subarray(0, 32));
  for (let round = 0; round < 50; round++) key = md5(key.subarray(0, length));
  key = key.subarray(0, length);
  let check: Uint8Array = md5(concatBytes([padding, first]));
  for (let round = 0; round < 20; round++)
    check = rc4(
      key.map((byte) => byte ^ round),
      check,
    );
  return !equalBytes(check, user.subarray(0, 16));
}

/** The first string of the array at an offset. */
function firstMatch(source: Uint8Array, at: number): Uint8Array {
  const start = source.subarray(at, at + 8).indexOf(0x5b);
  return (start < 0 ? undefined : stringAt(source, at + start + 1, 1024)) ?? new Uint8Array();
}

/** What a password is filled up with. */
const padding = /* @__PURE__ */ Uint8Array.from([
  0x28, 0xbf, 0x4e, 0x5e, 0x4e, 0x75, 0x8a, 0x41, 0x64, 0x00, 0x4e, 0x56, 0xff, 0xfa, 0x01, 0x08, 0x2e, 0x2e,
  0x00, 0xb6, 0xd0, 0x68, 0x3e, 0x80, 0x2f, 0x0c, 0xa9, 0xfe, 0x64, 0x53, 0x69, 0x7a,
]);

function rc4(key: Uint8Array, data: Uint8Array): Uint8Array {
  const state = Uint8Array.from({ length: 256 }, (_, at) => at);
  const swap = (a: number, b: number) => {
    const held = state[a] as number;
    state[a] = state[b] as number;
    state[b] = held;
  };
  for (let a = 0, b = 0; a < 256; a++) {
    b = (b + (state[a] as number) + (key[a % key.length] as number)) & 0xff;
    swap(a, b);
  }
  let [a, b] = [0, 0];
  return data.map((byte) => {
    a = (a + 1) & 0xff;
    b = (b + (state[a] as number)) & 0xff;
    swap(a, b);
    return byte ^ (state[((state[a] as number) + (state[b] as number)) & 0xff] as number);
  });
}

type Bytes = Uint8Array<ArrayBuffer>;

async function sha(subtle: SubtleCrypto, bits: 256 | 384 | 512, bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await subtle.digest(`SHA-${bits}`, bytes));
}

/** The hash of revision 6 for an empty password. Ends after 287 rounds at most. */
async function hardened(subtle: SubtleCrypto, salt: Bytes): Promise<Bytes> {
  let key = await sha(subtle, 256, salt);
  for (let round = 0, last = 0; round < 64 || last > round - 32; round++) {
    const aes = await subtle.importKey("raw", key.slice(0, 16), "AES-CBC", false, ["encrypt"]);
    const copies = concatBytes(Array.from({ length: 64 }, () => key)) as Bytes;
    const padded = await subtle.encrypt({ name: "AES-CBC", iv: key.slice(16, 32) }, aes, copies);
    const encrypted = new Uint8Array(padded, 0, copies.length);
    // As 256 is 1 modulo 3, the sum of the digits has the remainder of the number.
    const remainder = encrypted.subarray(0, 16).reduce((sum, byte) => sum + byte, 0) % 3;
    key = await sha(subtle, remainder === 0 ? 256 : remainder === 1 ? 384 : 512, encrypted);
    last = encrypted.at(-1) as number;
  }
  return key.slice(0, 32);
}
