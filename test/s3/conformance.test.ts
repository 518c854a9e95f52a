import { afterAll, beforeAll, describe } from "vitest";
import { testConformance } from "../support/s3/conformance.js";

// Other servers and bounds are in test/faults/s3.
describe("a store on S3", () => {
  const { start, stop } = testConformance({ pageKeys: 40 });
  beforeAll(start);
  afterAll(stop);
});
