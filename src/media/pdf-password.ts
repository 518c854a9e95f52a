/** Whether an encrypted PDF opens without a password: many only restrict printing or copying. */

import { md5 } from "@noble/hashes/legacy.js";
import { sha256, sha384, sha512 } from "@noble/hashes/sha2.js";
import { concatBytes } from "../internal/bytes.js";
import { type PdfDictionary, stringAt } from "./pdf-syntax.js";

/** The encryption dictionary of a file, and the offset of its id. */
export interface PdfEncryption {
  readonly source: Uint8Array;
  readonly encrypt?: PdfDictionary;
  readonly id?: number;
}

/**
 * Whether the empty user password opens a file, by the entry `U` of its standard security handler. False for
 * any other handler, or if an entry is missing.
 *
 * @see https://opensource.adobe.com/dc-acrobat-sdk-docs/pdfstandards/PDF32000_2008.pdf section 7.6.3,
 *   algorithms 2, 4 and 5; ISO 32000-2 section 7.6.4.3.4, algorithm 2.B, after
 *   https://github.com/mozilla/pdf.js (read 2026-11-28)
 */
export function opensWithoutPassword({ source, encrypt, id }: PdfEncryption): boolean {
  if (encrypt === undefined || encrypt.entries.get("Filter")?.name !== "Standard") return false;
  const { entries } = encrypt;
  const number = (key: string) => entries.get(key)?.numbers[0] ?? 0;
  const text = (key: string) => {
    const value = entries.get(key);
    return (value && stringAt(encrypt.source, value.at, 127)) ?? new Uint8Array();
  };
  const user = text("U");
  const revision = number("R");
  if (revision === 5 || revision === 6) {
    if (user.length < 48) return false;
    const salt = user.subarray(32, 40);
    const hash = revision === 5 ? sha256(salt) : hardened(salt);
    return isSame(hash, user.subarray(0, 32));
  }
  if (revision < 2 || revision > 4 || user.length < 16) return false;
  const first = id === undefined ? new Uint8Array() : firstOf(source, id);
  const isMetadataPlain =
    revision === 4 && entries.has("EncryptMetadata") && !entries.get("EncryptMetadata")?.isTrue;
  const permissions = number("P") | 0;
  const bits = Uint8Array.from([0, 8, 16, 24], (shift) => permissions >>> shift);
  const plain = isMetadataPlain ? new Uint8Array(4).fill(0xff) : new Uint8Array();
  const version = number("V");
  const stated = version === 4 ? 16 : version === 1 || version === 0 ? 5 : (number("Length") || 40) / 8;
  const length = Math.min(16, Math.max(5, Math.floor(stated)));
  let key: Uint8Array = md5(concatBytes([padding, text("O").subarray(0, 32), bits, first, plain]));
  if (revision === 2) return isSame(rc4(key.subarray(0, length), padding), user.subarray(0, 32));
  for (let round = 0; round < 50; round++) key = md5(key.subarray(0, length));
  key = key.subarray(0, length);
  let check: Uint8Array = md5(concatBytes([padding, first]));
  for (let round = 0; round < 20; round++)
    check = rc4(
      key.map((byte) => byte ^ round),
      check,
    );
  return isSame(check, user.subarray(0, 16));
}

/** The first string of the array at an offset. */
function firstOf(source: Uint8Array, at: number): Uint8Array {
  const start = source.subarray(at, at + 8).indexOf(0x5b);
  return (start < 0 ? undefined : stringAt(source, at + start + 1, 1024)) ?? new Uint8Array();
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
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

/** The hash of revision 6 for an empty password. Ends after 287 rounds at most. */
function hardened(salt: Uint8Array): Uint8Array {
  let key: Uint8Array = sha256(salt);
  for (let round = 0, last = 0; round < 64 || last > round - 32; round++) {
    const encrypted = encryptedCopies(key);
    // As 256 is 1 modulo 3, the sum of the digits has the remainder of the number.
    const remainder = encrypted.subarray(0, 16).reduce((sum, byte) => sum + byte, 0) % 3;
    key = [sha256, sha384, sha512][remainder]?.(encrypted) ?? key;
    last = encrypted.at(-1) as number;
  }
  return key.subarray(0, 32);
}

/** 64 copies of a key, encrypted under its own first half by AES-128 in CBC mode. */
function encryptedCopies(key: Uint8Array): Uint8Array {
  const out = new Uint8Array(64 * key.length);
  const rounds = expanded(key.subarray(0, 16));
  const block = key.slice(16, 32);
  const scratch = new Uint8Array(16);
  for (let at = 0; at < out.length; at += 16) {
    for (let place = 0; place < 16; place++) {
      block[place] = (block[place] as number) ^ (key[(at + place) % key.length] as number);
    }
    encryptBlock(block, rounds, scratch);
    out.set(block, at);
  }
  return out;
}

/** Doubles in the field of AES. */
const doubled = (byte: number) => ((byte << 1) ^ (byte & 0x80 ? 0x1b : 0)) & 0xff;

/** The S-box: inverses by powers of 3 and its inverse, then the affine step. FIPS 197, section 5.1.1. */
const substitutes = /* @__PURE__ */ ((): Uint8Array => {
  const box = new Uint8Array(256);
  let [p, q] = [1, 1];
  do {
    p ^= doubled(p);
    q ^= q << 1;
    q ^= q << 2;
    q ^= q << 4;
    q &= 0xff;
    if (q & 0x80) q ^= 0x09;
    const turned = (bits: number) => ((q << bits) | (q >> (8 - bits))) & 0xff;
    box[p] = q ^ turned(1) ^ turned(2) ^ turned(3) ^ turned(4) ^ 0x63;
  } while (p !== 1);
  box[0] = 0x63;
  return box;
})();

const substitute = (byte: number | undefined) => substitutes[byte as number] as number;

function expanded(key: Uint8Array): Uint8Array {
  const out = new Uint8Array(176);
  out.set(key);
  let constant = 1;
  for (let at = 16; at < out.length; at++) {
    const word = at >> 2;
    let byte = out[at - 4] as number;
    if (word % 4 === 0) {
      byte = substitute(out[(at & 3) === 3 ? at - 7 : at - 3]);
      if ((at & 3) === 0) {
        byte ^= constant;
        constant = doubled(constant);
      }
    }
    out[at] = (out[at - 16] as number) ^ byte;
  }
  return out;
}

/** Encrypts a block in place. FIPS 197, section 5.1. */
function encryptBlock(block: Uint8Array, keys: Uint8Array, scratch: Uint8Array): void {
  for (let at = 0; at < 16; at++) block[at] = (block[at] as number) ^ (keys[at] as number);
  for (let round = 1; round <= 10; round++) {
    for (let at = 0; at < 16; at++)
      scratch[at] = substitutes[block[(at + 4 * (at & 3)) & 15] as number] as number;
    for (let at = 0; at < 16; at++) {
      const column = at & 12;
      const own = scratch[at] as number;
      const next = scratch[column | ((at + 1) & 3)] as number;
      const others =
        (scratch[column] as number) ^
        (scratch[column + 1] as number) ^
        (scratch[column + 2] as number) ^
        (scratch[column + 3] as number);
      const mixed = round === 10 ? own : own ^ others ^ doubled(own ^ next);
      block[at] = mixed ^ (keys[16 * round + at] as number);
    }
  }
}
