/** Refs, which name a blob by its digest: `sha256:…`, `blake3:…`. */

import type { BlobRef } from "../content/index.js";
import { describe } from "../core/arguments.js";

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
