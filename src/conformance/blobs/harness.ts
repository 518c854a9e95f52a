/** The interface of conformance cases, and the harness that they share. */

import { type BlobStat, type BlobStore, type BlobStoreOptions, digest } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { asFailure, equal } from "../expect.js";

/** The arguments of a case. */
export interface BlobHarness {
  readonly fixture: BlobConformanceFixture;
  /** Opens the storage through an independent handle. */
  open(options?: BlobStoreOptions): Promise<BlobStore>;
}

/** Creates a case. Every failure has the expected and the actual value. */
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

/** Deterministic pseudo-random bytes, by seed. */
export function noise(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** Boundary sizes: 0, 1, and around the block and chunk sizes of stores and file systems. */
export const sizes: readonly number[] = [
  0, 1, 2, 4095, 4096, 4097, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 524_287, 524_288, 524_289,
  1_048_575, 1_048_576, 1_048_577, 2_200_000,
];

/** Yields bytes in chunks, asynchronously. */
export async function* inChunks(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += length) {
    await undefined;
    yield bytes.subarray(at, at + length);
  }
}

/** Collects an iterable. */
export async function collect<T>(source: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}

/** The sorted refs of all blobs. */
export async function refsIn(store: BlobStore): Promise<readonly BlobRef[]> {
  return (await collect(store.list())).map(({ ref }) => ref).sort();
}

/** Fails unless the bytes are equal. The failure has their digests, not a megabyte of bytes. */
export function sameBytes(actual: Uint8Array | undefined, expected: Uint8Array, what: string): void {
  equal(actual?.length, expected.length, `length of ${what}`);
  // Digests of each comparison would take most of the suite's time.
  for (let at = 0; at < expected.length; at++) {
    if (actual?.[at] !== expected[at]) equal(actual && digest(actual), digest(expected), `digest of ${what}`);
  }
}

/** Fails unless both are of one blob and of one touch. Times may be rounded down to whole seconds. */
export function sameStat(actual: BlobStat | undefined, expected: BlobStat | undefined, what: string): void {
  equal([actual?.ref, actual?.size], [expected?.ref, expected?.size], `ref and size of ${what}`);
  const times = [actual?.touchedAt ?? 0, expected?.touchedAt ?? 0] as const;
  const isSame = times[0] === times[1];
  const isSameSecond = Math.floor(times[0] / 1000) === Math.floor(times[1] / 1000);
  const isRounded = times.some((time) => time % 1000 === 0);
  equal(isSame || (isRounded && isSameSecond), true, `whether times ${times.join(" and ")} of ${what} agree`);
}

/**
 * Puts or touches a blob until its time shows that: at once, or at the end of the second if the storage
 * rounds times down.
 */
export async function renewed(
  before: BlobStat,
  renew: () => Promise<BlobStat | undefined>,
): Promise<BlobStat> {
  for (let waited = 0; ; waited += 50) {
    const stat = await renew();
    equal([stat?.ref, stat?.size], [before.ref, before.size], "ref and size of a touched blob");
    if (stat !== undefined && stat.touchedAt > before.touchedAt) return stat;
    const { touchedAt } = before;
    equal(stat?.touchedAt, touchedAt, "time of a touch that does not show yet");
    equal(touchedAt % 1000 === 0 && waited <= 1000, true, `whether a touch after ${touchedAt} shows`);
    await pause(50);
  }
}

/** Resolves with the error of an act. Fails if the act resolves. */
export async function readError(act: () => Promise<unknown>, what: string): Promise<unknown> {
  try {
    await act();
  } catch (error) {
    return error;
  }
  return equal("no error", "an error", what);
}

/** Waits longer than the time resolution of the slowest file system. */
export function pause(ms = 25): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** One empty storage, against which a conformance case runs. */
export interface BlobConformanceFixture {
  /**
   * Opens a store on the storage. Each call returns an independent handle, as of another process. Without
   * `digest` in the options, the fixture chooses one.
   */
  open(options?: BlobStoreOptions): Promise<BlobStore> | BlobStore;
  /** The digest algorithms that the storage supports. Default: both. */
  readonly digests?: readonly ("sha256" | "blake3")[];
  /**
   * Loses the answer of the next write or commit after it took effect, as a connection that breaks does.
   * Absent if the storage has no answers to lose.
   */
  loseAnswer?(): Promise<void> | void;
  /** Replaces the stored bytes of a blob, as a failing disk would. Absent if the storage prevents it. */
  damage?(ref: BlobRef, bytes: Uint8Array): Promise<void> | void;
}

/** A test of one guarantee of blob stores. */
export interface BlobConformanceCase {
  /** The guarantee; unique in the suite. */
  readonly name: string;
  /**
   * Runs the case with a fresh fixture, whose storage is empty. Rejects with an Error that has the expected
   * and the actual value. Resolves with the reason if the fixture does not support the case.
   */
  run(fixture: BlobConformanceFixture): Promise<undefined | { readonly skipped: string }>;
}
