import fc from "fast-check";
import { expect, test } from "vitest";
import { sealedLine, sealLength, withChecksum } from "../../../src/session/codec/json.js";
import { nodePlatform } from "../../../src/session/node/platform.js";

test("seals lines as the portable way does, and what was sealed stays as it was whatever is sealed after it", () => {
  // Some fit in what is kept for them, some do not, and together they are more than that.
  const length = fc.constantFrom(0, 1, 500, 20_000, 22_000, 400_000);
  const text = fc
    .tuple(fc.constantFrom("a", "é", "漢", "🙂"), length)
    .map(([character, length]) => character.repeat(length));
  const head = fc.constantFrom("", '{"type":"message","message":');
  fc.assert(
    fc.property(fc.array(fc.tuple(head, text), { maxLength: 60 }), (lines) => {
      const sealed = lines.map(([head, rest]) => nodePlatform.sealedLine(head, rest));
      for (const [at, [head, rest]] of lines.entries()) {
        const bytes = sealed[at] as Uint8Array;
        expect(Buffer.compare(bytes, sealedLine(head, rest))).toBe(0);
        expect(Buffer.compare(bytes, Buffer.from(`${withChecksum(`${head}${rest}}`)}\n`))).toBe(0);
      }
    }),
    { numRuns: 50 },
  );
});

test("lines that come to more than is kept for them are whole, each", () => {
  const text = "漢".repeat(20_000);
  const sealed = Array.from({ length: 60 }, () => nodePlatform.sealedLine("", text));
  expect(sealed.map(({ length }) => length)).toEqual(sealed.map(() => 60_000 + sealLength + 1));
});

test("gives the texts of lines that are ASCII, of whatever buffers they lie in", () => {
  const lines = ["one", "zwö", "three"].map((text) => new TextEncoder().encode(text));
  const shared = Buffer.from("four five");
  const all = [...lines, undefined, shared.subarray(0, 4), shared.subarray(5)];
  expect(nodePlatform.asciiTexts?.(all)).toEqual(["one", undefined, "three", undefined, "four", "five"]);
});
