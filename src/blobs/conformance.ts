/**
 * The promises of a blob store as cases that any test runner can run: for whoever writes a backend.
 *
 * @module blobs/conformance
 */
import { collectionCases } from "./conformance/collections.js";
import type { BlobConformanceCase } from "./conformance/harness.js";
import { partitionCases } from "./conformance/partitions.js";
import { putCases } from "./conformance/puts.js";
import { readCases } from "./conformance/reads.js";
import { streamCases } from "./conformance/streams.js";

export type { BlobConformanceCase, BlobConformanceFixture } from "./conformance/harness.js";

/**
 * Every promise of a blob store, one case each, free of any test runner. A backend is right when `blobStore` on it passes
 * all of them, each with a fresh fixture.
 *
 * @example
 * ```ts
 * import { test } from "vitest";
 *
 * for (const { name, run } of blobStoreConformance) {
 *   test(name, async ({ skip }) => {
 *     const result = await run({ open: (options) => blobStore(blobBackend, options) });
 *     if (result !== undefined) skip(result.skipped);
 *   });
 * }
 * ```
 */
export const blobStoreConformance: readonly BlobConformanceCase[] = [
  ...putCases,
  ...readCases,
  ...streamCases,
  ...partitionCases,
  ...collectionCases,
];
