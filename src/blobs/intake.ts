/** The intake of bytes: chunks of a source, hashed and checked against limits and declared facts. */

import type { BlobRef } from "../content/index.js";
import { describe, integerOption } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import { type Hasher, type HashFunction, refFrom } from "./hash.js";
import { type DigestAlgorithm, partsByRef, refArgument } from "./ref.js";
import type { PutOptions } from "./types.js";

/** The conditions for incoming bytes. */
export interface Conditions {
  readonly maxBytes: number;
  /** The declared size and digest. */
  readonly size: number | undefined;
  readonly ref: BlobRef | undefined;
}

/**
 * Checks the conditions of a put. Throws TypeError, RangeError; BLOB_TOO_LARGE if the declared size exceeds
 * the maximum.
 */
export function readConditions(options: PutOptions, storeMaxBytes: number): Conditions {
  const maxBytes = Math.min(
    storeMaxBytes,
    integerOption("maxBytes", options.maxBytes, Number.MAX_SAFE_INTEGER, 0),
  );
  const size = options.size === undefined ? undefined : integerOption("size", options.size, 0, 0);
  if (size !== undefined && size > maxBytes) throw tooLarge(size, maxBytes);
  return { maxBytes, size, ref: options.ref === undefined ? undefined : refArgument("ref", options.ref) };
}

/** Measures incoming bytes, and refuses them as soon as they violate a condition. */
export class Intake {
  readonly #conditions: Conditions;
  readonly #hash: HashFunction;
  readonly #hasher: Hasher;
  /** The hash of the declared digest, if it is of the other algorithm. */
  readonly #second: { readonly hash: HashFunction; readonly hasher: Hasher } | undefined;
  #size = 0;

  constructor(
    conditions: Conditions,
    hash: HashFunction,
    hashes: Readonly<Record<DigestAlgorithm, HashFunction>>,
  ) {
    this.#conditions = conditions;
    this.#hash = hash;
    this.#hasher = hash.create();
    const declared = conditions.ref === undefined ? hash.name : partsByRef(conditions.ref).algorithm;
    if (declared !== hash.name) this.#second = { hash: hashes[declared], hasher: hashes[declared].create() };
  }

  /** Bytes admitted so far. */
  get size(): number {
    return this.#size;
  }

  /** Counts bytes before they are written. */
  admit(bytes: number): void {
    const { maxBytes, size } = this.#conditions;
    const total = this.#size + bytes;
    if (total > maxBytes) throw tooLarge(total, maxBytes);
    if (size !== undefined && total > size) throw mismatch("size", size, total);
    this.#size = total;
  }

  /** Adds admitted bytes to the digest. */
  hash(bytes: Uint8Array): void {
    this.#hasher.update(bytes);
    this.#second?.hasher.update(bytes);
  }

  /** The ref of all bytes, at the end. */
  seal(): BlobRef {
    const { size, ref: declared } = this.#conditions;
    if (size !== undefined && this.#size !== size) throw mismatch("size", size, this.#size);
    const ref = refFrom(this.#hash, this.#hasher);
    const actual = this.#second === undefined ? ref : refFrom(this.#second.hash, this.#second.hasher);
    if (declared !== undefined && actual !== declared) throw mismatch("digest", declared, actual);
    return ref;
  }
}

/** Returns a chunk of a source; throws a TypeError that names the actual value. */
export function readChunk(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`source: expected chunks that are Uint8Array, got ${describe(value)}`);
}

function tooLarge(bytes: number, maxBytes: number): SessileError {
  return new SessileError("BLOB_TOO_LARGE", `source: ${bytes} bytes or more, at most ${maxBytes}`, {
    details: { bytes, maxBytes },
  });
}

function mismatch(what: "size" | "digest", expected: number | string, actual: number | string): SessileError {
  const message = `the ${what} was declared as ${expected} and is ${actual}${what === "size" ? " or more" : ""}`;
  return new SessileError("BLOB_MISMATCH", message, { details: { what, expected, actual } });
}
