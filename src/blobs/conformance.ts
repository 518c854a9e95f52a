/**
 * The promises of a blob store as cases that any test runner can run: for whoever writes a backend.
 *
 * @module blobs/conformance
 */
import type { BlobStore } from "./types.js";

/** Every promise of a blob store. */
export const blobStoreConformance: readonly {
  readonly name: string;
  run(subject: { open(): BlobStore }): Promise<void>;
}[] = [];
