/** The name of a blob: its digest, and the hash functions that make it. */

import type { BlobRef } from "../content/index.js";
import { describe } from "../core/arguments.js";
import { toHex } from "../core/bytes.js";

/** The algorithm of a ref: SHA-256, or BLAKE3 of 256 bits. */
export type DigestAlgorithm = "sha256" | "blake3";

const refPattern = /^(sha256|blake3):[0-9a-f]{64}$/;
const digits = /^[0-9a-f]{64}$/;

/**
 * Whether a value is the name of a blob: an algorithm and 64 lower-case hexadecimal digits. Names come from
 * logs and from outside, and become paths and keys, so that nothing else may pass.
 *
 * @example
 * ```ts
 * isBlobRef("sha256:../../../etc/passwd"); // false
 * ```
 */
export function isBlobRef(value: unknown): value is BlobRef {
  // `$` would take a line feed after the last digit in other languages; not in this one, without the flag m.
  return typeof value === "string" && refPattern.test(value);
}

/** Returns a ref; a TypeError names the argument otherwise. */
export function refArgument(name: string, value: unknown): BlobRef {
  if (isBlobRef(value)) return value;
  throw new TypeError(
    `${name}: expected "sha256:" or "blake3:" and 64 lower-case hexadecimal digits, got ${describe(value)}`,
  );
}

/** The two halves of a ref. */
export function partsByRef(ref: BlobRef): { readonly algorithm: DigestAlgorithm; readonly hex: string } {
  return { algorithm: ref.slice(0, 6) as DigestAlgorithm, hex: ref.slice(7) };
}

/** The ref of two halves; undefined where they make none. */
export function toRef(algorithm: string, hex: string): BlobRef | undefined {
  if ((algorithm !== "sha256" && algorithm !== "blake3") || !digits.test(hex)) return undefined;
  return `${algorithm}:${hex}`;
}

// Digests: the hash functions of refs, built in or passed in.

/** A digest that is being computed. Node's `createHash` gives one, and so do hashes of @noble/hashes. */
export interface Hasher {
  /** Takes the next bytes. */
  update(bytes: Uint8Array): unknown;
  /** 32 bytes. */
  digest(): Uint8Array;
}

/** How to compute a digest: a seam for a faster implementation than the one built in. */
export interface HashFunction {
  readonly name: DigestAlgorithm;
  /** Begins a digest. */
  create(): Hasher;
}

/** Hash functions by algorithm, where they were given. */
export type HashTable = Readonly<Partial<Record<DigestAlgorithm, HashFunction>>>;

/** The given hash functions. */
export function hashTable(given: readonly HashFunction[] = []): HashTable {
  const table: Partial<Record<DigestAlgorithm, HashFunction>> = {};
  for (const hash of given) {
    if ((hash?.name !== "sha256" && hash?.name !== "blake3") || typeof hash.create !== "function") {
      throw new TypeError(
        `hashes: expected objects with a name "sha256" or "blake3" and create(), got ${describe(hash)}`,
      );
    }
    table[hash.name] = hash;
  }
  return table;
}

let portable: Readonly<Record<DigestAlgorithm, HashFunction>> | undefined;

/**
 * The hash function of an algorithm: the given one, or a portable one. Those are loaded when one is first needed: they
 * are a tenth of the import of `sessile/node`, which has its own SHA-256.
 */
export function hashFor(table: HashTable, algorithm: DigestAlgorithm): HashFunction | Promise<HashFunction> {
  const known = table[algorithm] ?? portable?.[algorithm];
  if (known !== undefined) return known;
  return import("./digest.js").then((loaded) => {
    portable = loaded.portable;
    return portable[algorithm];
  });
}

/** The ref that a finished hasher gives. */
export function refFrom(hash: HashFunction, hasher: Hasher): BlobRef {
  return `${hash.name}:${toHex(hasher.digest())}`;
}

/** Returns an algorithm; a TypeError names the argument otherwise. */
export function digestArgument(name: string, value: unknown): DigestAlgorithm {
  if (value === "sha256" || value === "blake3") return value;
  throw new TypeError(`${name}: expected "sha256" or "blake3", got ${describe(value)}`);
}
