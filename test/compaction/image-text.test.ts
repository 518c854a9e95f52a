import fc from "fast-check";
import { expect, test } from "vitest";
import { imageText } from "../../src/compaction/serialize.js";

test("says what an image was and how large, and no id", () => {
  const text = imageText({ type: "image", data: "a".repeat(4096), mimeType: "image/png" });
  expect(text).toBe("[image, image/png, 3 kB]");
});

test("stays short and on one line, whatever the image claims to be", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 500 }), fc.string(), (mimeType, data) => {
      const text = imageText({ type: "image", data, mimeType });
      expect(text.length).toBeLessThan(300);
      expect(text).toMatch(/^\[[^\n\r]*\]$/);
    }),
  );
});
