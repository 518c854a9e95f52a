import { afterAll, beforeAll, describe } from "vitest";
import { signedFetch } from "../../support/s3/client.js";
import { testConformance } from "../../support/s3/conformance.js";
import { type S3Server, startS3Server } from "../../support/s3/server.js";

const kibibyte = 1024;

describe("a store with small parts, on a server that ignores conditions and keeps no checksums", () => {
  const copyLimits = { maxCopyBytes: 500 * kibibyte, copyPartBytes: 500 * kibibyte };
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server({
      conditions: "ignored",
      checksums: false,
      minPartBytes: 100 * kibibyte,
      maxCopyBytes: copyLimits.maxCopyBytes,
      aheadMs: 3_600_000,
    });
  });
  afterAll(() => server.close());
  testConformance(() => ({
    ...server,
    options: { fetch: signedFetch(), url: server.url, partBytes: 100 * kibibyte },
    tuning: { minPartBytes: 1, copyLimits },
  }));
});
