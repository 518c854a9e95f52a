import type { BlobRef } from "../../content/index.js";
import type { BlobStoreOptions } from "../store.js";
import type { BlobStore } from "../types.js";

/** What the conformance cases are run against: one empty storage, and ways to it. */
export interface BlobConformanceSubject {
  /**
   * A store over the subject's one storage. Each call gives an independent handle, as another process would have. Without
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
   * Rejects with an Error that says what was expected and what came. Each run wants a fresh subject, its storage empty.
   * Gives why, where the subject cannot show what is promised.
   */
  run(subject: BlobConformanceSubject): Promise<undefined | { readonly skipped: string }>;
}
