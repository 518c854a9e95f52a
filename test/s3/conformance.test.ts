import { afterAll, beforeAll, describe } from "vitest";
import { signedFetch } from "../support/s3/client.js";
import { testConformance } from "../support/s3/conformance.js";
import { type S3Server, startS3Server } from "../support/s3/server.js";

// All cases run at the same time.

// Other servers and bounds are in test/faults/s3.
describe("a store on S3", () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server({ pageKeys: 40 });
  });
  afterAll(() => server.close());
  testConformance(() => ({ ...server, options: { fetch: signedFetch(), url: server.url } }));
});
