import fc from "fast-check";
import { expect, test } from "vitest";
import { nodePlatform } from "../../../src/session/node/platform.js";

test("encodes as UTF-8, and what was encoded stays as it was whatever is encoded after it", () => {
  // Some fit in what is kept for them, some do not, and together they are more than that.
  const length = fc.constantFrom(0, 1, 500, 20_000, 22_000, 400_000);
  const text = fc
    .tuple(fc.constantFrom("a", "é", "漢", "🙂"), length)
    .map(([character, length]) => character.repeat(length));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 60 }), (texts) => {
      const encoded = texts.map((each) => nodePlatform.encode(each));
      for (const [at, each] of texts.entries())
        expect(Buffer.compare(encoded[at] as Uint8Array, Buffer.from(each))).toBe(0);
    }),
    { numRuns: 50 },
  );
});

test("texts that come to more than is kept for them are whole, each", () => {
  const text = "漢".repeat(20_000);
  const encoded = Array.from({ length: 60 }, () => nodePlatform.encode(text));
  expect(encoded.map(({ length }) => length)).toEqual(encoded.map(() => 60_000));
});

test("gives the texts of lines that are ASCII, of whatever buffers they lie in", () => {
  const lines = ["one", "zwö", "three"].map((text) => new TextEncoder().encode(text));
  const shared = Buffer.from("four five");
  const all = [...lines, undefined, shared.subarray(0, 4), shared.subarray(5)];
  expect(nodePlatform.asciiTexts?.(all)).toEqual(["one", undefined, "three", undefined, "four", "five"]);
});
