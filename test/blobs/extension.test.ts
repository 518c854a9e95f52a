import { expect, test } from "vitest";
import { knownExtensions, mediaTypeExtension } from "../../src/storage/files/blobs/layout.js";

// @covers R62
test.each([
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
  ["text/plain", "txt"],
  ["Text/Plain; charset=UTF-8", "txt"],
  [" IMAGE/PNG ", "png"],
  ["application/pdf", "pdf"],
  ["application/octet-stream", "bin"],
  ["image/../../x", "bin"],
  ["constructor", "bin"],
  ["", "bin"],
  [undefined, "bin"],
])("%j gives the extension %s", (mediaType, extension) => {
  expect(mediaTypeExtension(mediaType)).toBe(extension);
  expect(knownExtensions).toContain(extension);
});

test("every extension is one that a flat store takes for its own", () => {
  for (const extension of knownExtensions) expect(extension).toMatch(/^[a-z0-9]{1,8}$/);
  expect(new Set(knownExtensions).size).toBe(knownExtensions.length);
});
