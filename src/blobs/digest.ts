/** The hash functions that run anywhere, and the digest of bytes. */

import { blake3 } from "@noble/hashes/blake3.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { BlobRef } from "../content/index.js";
import { describe } from "../core/arguments.js";
import { type DigestAlgorithm, digestArgument, type HashFunction, refFrom } from "./ref.js";

/** SHA-256 and BLAKE3 that run anywhere; some tens of times slower than native ones. */
export const portable: Readonly<Record<DigestAlgorithm, HashFunction>> = {
  sha256: { name: "sha256", create: () => sha256.create() },
  blake3: { name: "blake3", create: () => blake3.create() },
};

/**
 * The name of bytes: their digest.
 *
 * @param hash an algorithm, default `sha256`, or an implementation of one
 * @throws TypeError if `bytes` is not a Uint8Array, or the algorithm is unknown
 * @example
 * ```ts
 * digest(new Uint8Array()); // "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
 * ```
 */
export function digest(bytes: Uint8Array, hash: DigestAlgorithm | HashFunction = "sha256"): BlobRef {
  if (!(bytes instanceof Uint8Array)) {
    throw new TypeError(`bytes: expected a Uint8Array, got ${describe(bytes)}`);
  }
  const chosen = typeof hash === "string" ? portable[digestArgument("hash", hash)] : hash;
  const hasher = chosen.create();
  hasher.update(bytes);
  return refFrom(chosen, hasher);
}
