import { afterAll, beforeAll, describe, vi } from "vitest";
import { testConformance } from "../../support/s3/conformance.js";

vi.setConfig({ testTimeout: 60_000 });

const kibibyte = 1024;

describe("a store with small parts, on a server that ignores conditions and keeps no checksums", () => {
  const { start, stop } = testConformance(
    {
      conditions: "ignored",
      checksums: false,
      minPartBytes: 100 * kibibyte,
      maxCopyBytes: 500 * kibibyte,
      aheadMs: 3_600_000,
    },
    { partBytes: 100 * kibibyte },
  );
  beforeAll(start);
  afterAll(stop);
});

describe("a store on a versioned bucket of a server that refuses conditions", () => {
  const { start, stop } = testConformance({ conditions: "refused", versioned: true });
  beforeAll(start);
  afterAll(stop);
});
