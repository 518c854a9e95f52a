import { expect, test } from "vitest";
import { geminiVersion } from "../../../src/projections/gemini/shapes.js";

test.each([
  ["gemini-2.5-pro", 2.5],
  ["models/gemini-2.0-flash-001", 2],
  ["gemini-3-pro-preview", 3],
  ["publishers/google/models/gemini-3.1-flash", 3.1],
  ["gemini-flash-latest", Number.POSITIVE_INFINITY],
  ["tunedModels/mine-7", Number.POSITIVE_INFINITY],
])("the version of %s is %d", (model, version) => {
  expect(geminiVersion(model)).toBe(version);
});
