import { type BlobStoreOptions, blobStore } from "sessile/blobs";
import { blobStoreConformance } from "sessile/blobs/conformance";
import type { S3BlobsOptions } from "sessile/s3";
import { afterAll, beforeAll, describe, test } from "vitest";
import { nodeSha256 } from "../../src/blobs/node/layout.js";
import { s3BlobBackendWith } from "../../src/s3/backend.js";
import { signedFetch } from "../support/s3/client.js";
import { type S3Server, type S3ServerOptions, startS3Server } from "../support/s3/server.js";

const kibibyte = 1024;

/** Servers that differ in what S3 leaves open, and stores with other bounds. */
const setups: Readonly<Record<string, { server: S3ServerOptions; partBytes?: number }>> = {
  "a server with conditions and checksums": { server: { pageKeys: 40 } },
  "a server without them, with small parts and copies by parts": {
    server: {
      conditions: "ignored",
      checksums: false,
      minPartBytes: 100 * kibibyte,
      maxCopyBytes: 500 * kibibyte,
      aheadMs: 3_600_000,
    },
    partBytes: 100 * kibibyte,
  },
  "a versioned server that refuses conditions": { server: { conditions: "refused", versioned: true } },
};

describe.each(Object.entries(setups))("a store on S3, on %s", (_, { server: how, partBytes }) => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server(how);
  });
  afterAll(() => server.close());

  let cases = 0;
  for (const { name, run } of blobStoreConformance) {
    test.concurrent(name, async ({ skip }) => {
      const prefix = `case ${++cases}+äß/`;
      const options: S3BlobsOptions = {
        fetch: signedFetch(),
        url: server.url,
        prefix,
        ...(partBytes === undefined ? {} : { partBytes }),
      };
      const maxCopyBytes = how.maxCopyBytes ?? 5_000_000_000;
      const tuning = {
        minPartBytes: 1,
        copyLimits: { maxCopyBytes, copyPartBytes: Math.min(maxCopyBytes, 2 ** 30) },
      };
      const result = await run({
        open: (more?: BlobStoreOptions) =>
          blobStore(s3BlobBackendWith(options, tuning), { hashes: [nodeSha256], ...more }),
        damage(ref, bytes) {
          server.damage(`${prefix}${ref.slice(0, 6)}/${ref.slice(7, 9)}/${ref.slice(7)}`, bytes);
        },
      });
      if (result !== undefined) skip(result.skipped);
    });
  }
});
