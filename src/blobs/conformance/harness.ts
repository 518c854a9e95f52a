import type { BlobRef } from "../../content/index.js";
import { asFailure, equal } from "../../internal/expect.js";
import { digest } from "../hash.js";
import type { BlobStoreOptions } from "../store.js";
import type { BlobStore } from "../types.js";

/** One run of a case. */
export interface BlobHarness {
  readonly fixture: BlobConformanceFixture;
  /** A handle on the storage that is independent of those before. */
  open(options?: BlobStoreOptions): Promise<BlobStore>;
}

/** A case whose failures all say what was expected. */
export function blobCase(
  name: string,
  run: (harness: BlobHarness) => ReturnType<BlobConformanceCase["run"]>,
): BlobConformanceCase {
  return {
    name,
    async run(fixture) {
      try {
        return await run({ fixture, open: async (options) => fixture.open(options) });
      } catch (error) {
        throw asFailure(error);
      }
    },
  };
}

/** Bytes that look random and are the same each time; of another seed, others. */
export function noise(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** Sizes at which something changes: nothing, one, and around the limits that stores and file systems like. */
export const sizes: readonly number[] = [
  0, 1, 2, 4095, 4096, 4097, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 524_287, 524_288, 524_289,
  1_048_575, 1_048_576, 1_048_577, 2_200_000,
];

/** Bytes in chunks, a turn of the event loop between them. */
export async function* inChunks(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += length) {
    await undefined;
    yield bytes.subarray(at, at + length);
  }
}

/** All that an async iterable gives. */
export async function collect<T>(source: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}

/** The refs of all blobs, sorted. */
export async function refsIn(store: BlobStore): Promise<readonly BlobRef[]> {
  return (await collect(store.list())).map(({ ref }) => ref).sort();
}

/** Fails unless these are the same bytes. Compared by digest, so that a failure does not print a megabyte. */
export function sameBytes(actual: Uint8Array | undefined, expected: Uint8Array, what: string): void {
  equal(actual?.length, expected.length, `length of ${what}`);
  equal(actual && digest(actual), digest(expected), `digest of ${what}`);
}

/** Resolves with what an act rejects with; fails where it does not. */
export async function errorOf(act: () => Promise<unknown>, what: string): Promise<unknown> {
  try {
    await act();
  } catch (error) {
    return error;
  }
  return equal("no error", "an error", what);
}

/** Lets the clock of the slowest file system move on. */
export function pause(ms = 25): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What the conformance cases are run against: one empty storage, and ways to it. */
export interface BlobConformanceFixture {
  /**
   * A store over the fixture's one storage. Each call gives an independent handle, as another process would have. Without
   * a `digest` in the options, any.
   */
  open(options?: BlobStoreOptions): Promise<BlobStore> | BlobStore;
  /** The algorithms that stores of this storage can be opened with. Default both. */
  readonly digests?: readonly ("sha256" | "blake3")[];
  /** Puts other bytes in the place of a stored blob's, as a failing disk would. Absent where the storage prevents it. */
  damage?(ref: BlobRef, bytes: Uint8Array): Promise<void> | void;
}

/** One promise of a blob store, as a program that fails where it is not kept. */
export interface BlobConformanceCase {
  /** What is promised; unique in the suite. */
  readonly name: string;
  /**
   * Rejects with an Error that says what was expected and what came. Each run wants a fresh fixture, its storage empty.
   * Gives why, where the fixture cannot show what is promised.
   */
  run(fixture: BlobConformanceFixture): Promise<undefined | { readonly skipped: string }>;
}
