import { type BlobStoreOptions, blobStore } from "sessile/blobs";
import { blobStoreConformance } from "sessile/blobs/conformance";
import type { S3BlobsOptions } from "sessile/s3";
import { test } from "vitest";
import { nodeSha256 } from "../../../src/blobs/node/layout.js";
import { s3BlobBackendWith } from "../../../src/s3/backend.js";
import { signedFetch } from "./client.js";
import { type S3Server, type S3ServerOptions, startS3Server } from "./server.js";

/** Where the object of a blob is, below a prefix. */
export function keyOf(prefix: string, ref: string): string {
  return `${prefix}${ref.slice(0, 6)}/${ref.slice(7, 9)}/${ref.slice(7)}`;
}

/** Runs the conformance suite as tests, each with a prefix of its own. */
export function testConformance(
  how: S3ServerOptions,
  options: Pick<S3BlobsOptions, "partBytes"> = {},
): { start(): Promise<void>; stop(): Promise<void> } {
  let server: S3Server;
  let cases = 0;
  const maxCopyBytes = how.maxCopyBytes ?? 5_000_000_000;
  const tuning = {
    minPartBytes: 1,
    copyLimits: { maxCopyBytes, copyPartBytes: Math.min(maxCopyBytes, 2 ** 30) },
  };
  for (const { name, run } of blobStoreConformance) {
    test.concurrent(name, async ({ skip }) => {
      const prefix = `case ${++cases}+äß/`;
      const all: S3BlobsOptions = { ...options, fetch: signedFetch(), url: server.url, prefix };
      const result = await run({
        open: (more?: BlobStoreOptions) =>
          blobStore(s3BlobBackendWith(all, tuning), { hashes: [nodeSha256], ...more }),
        damage: (ref, bytes) => server.damage(keyOf(prefix, ref), bytes),
      });
      if (result !== undefined) skip(result.skipped);
    });
  }
  return {
    async start() {
      server = await startS3Server(how);
    },
    stop: () => server.close(),
  };
}
