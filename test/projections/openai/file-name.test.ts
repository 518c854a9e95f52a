import { expect, test } from "vitest";
import { fileName } from "../../../src/projections/openai/file-name.js";

test.each([
  ["a.pdf", "application/pdf", "a.pdf"],
  ["A.PDF", "application/pdf", "A.PDF"],
  ["a \n b\u0000.x", "application/pdf", "a b .x.pdf"],
  ["\ud83d", "text/plain", "\ufffd.txt"],
  [" ", "text/markdown", "document.md"],
  [undefined, "application/pdf", "document.pdf"],
  [undefined, "application/x-made-up", "document.txt"],
])("%j of %s is called %j", (name, mediaType, expected) => {
  expect(fileName(name, mediaType)).toBe(expected);
});
