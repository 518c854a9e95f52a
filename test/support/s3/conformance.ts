import { type BlobStore, type BlobStoreOptions, blobStore } from "sessile";
import { blobStoreConformance } from "sessile/conformance";
import type { S3BlobsOptions } from "sessile/s3";
import { test } from "vitest";
import { type S3Tuning, s3BlobBackendWith } from "../../../src/storage/objects/s3/driver.js";
import { nodeSha256 } from "../plain-values.js";

/** A bucket to test against. */
export interface TestBucket {
  readonly options: Pick<S3BlobsOptions, "fetch" | "url" | "partBytes">;
  readonly tuning?: S3Tuning;
  /** Stores bytes under a key, as another program would. */
  damage(key: string, bytes: Uint8Array): Promise<void> | void;
  /** Loses the answer of the next write. */
  loseAnswer(): void;
}

/** A store whose waits, and the sizes that S3 sets, are those of a test. */
export function tunedStore(options: S3BlobsOptions, tuning: S3Tuning, more?: BlobStoreOptions): BlobStore {
  return blobStore(s3BlobBackendWith(options, tuning), { hashes: [nodeSha256], ...more });
}

/** Where the object of a blob is, below a prefix. */
export function keyOf(prefix: string, ref: string): string {
  return `${prefix}${ref.slice(0, 6)}/${ref.slice(7, 9)}/${ref.slice(7)}`;
}

/** Runs the conformance suite as tests, all at the same time, each with a prefix of its own. */
export function testConformance(bucket: () => TestBucket): void {
  let cases = 0;
  for (const { name, run } of blobStoreConformance) {
    test.concurrent(name, async ({ skip }) => {
      const prefix = `case ${++cases}+äß/`;
      const { options, tuning = {}, damage, loseAnswer } = bucket();
      const result = await run({
        open: (more?: BlobStoreOptions) => tunedStore({ ...options, prefix }, tuning, more),
        damage: (ref, bytes) => damage(keyOf(prefix, ref), bytes),
        loseAnswer,
      });
      if (result !== undefined) skip(result.skipped);
    });
  }
}
