/**
 * The conformance suite of blob stores, for authors of backends. Its cases run in any test runner.
 */
import { collectionCases } from "./collections.js";
import type { BlobConformanceCase } from "./harness.js";
import { partitionCases } from "./partitions.js";
import { putCases } from "./puts.js";
import { readCases } from "./reads.js";
import { streamCases } from "./streams.js";

export type { BlobConformanceCase, BlobConformanceFixture } from "./harness.js";

/**
 * The conformance suite of blob stores: one case for each guarantee, independent of test runners. A backend
 * is correct if `blobStore` on it passes all cases, each with a fresh fixture.
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
