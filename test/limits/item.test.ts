import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { base64Length, kindOf, measure } from "../../src/limits/item.js";

describe("base64Length", () => {
  test("is the length of the base64, without encoding", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(base64Length(bytes.length)).toBe(Buffer.from(bytes).toString("base64").length);
      }),
    );
  });

  test("agrees with the other direction: floor(limit / 4) * 3 bytes fit, and no more", () => {
    fc.assert(
      fc.property(fc.nat(), (limit) => {
        const fits = Math.floor(limit / 4) * 3;
        expect(base64Length(fits)).toBeLessThanOrEqual(limit);
        expect(base64Length(fits + 1)).toBeGreaterThan(limit);
      }),
    );
  });
});

describe("kindOf", () => {
  test.each([
    ["image/png", undefined, "image"],
    ["application/pdf", undefined, "document"],
    ["text/plain", undefined, "document"],
    ["text/plain", "file", "document"],
    ["text/plain", "text", "text"],
  ])("of %s, %s is %s", (mediaType, kind, expected) => {
    expect(kindOf({ mediaType, size: 1, ...(kind === undefined ? {} : { kind }) })).toBe(expected);
  });
});

describe("measure", () => {
  const image = { mediaType: "image/png", size: 10, width: 30, height: 60 };
  const pdf = { mediaType: "application/pdf", size: 10, pages: 3 };
  const note = { mediaType: "text/plain", size: 10 };
  const caption = { ...note, kind: "text", characters: 9 };
  test.each([
    ["imageBytes", "decodedBytes", [10, undefined, undefined, undefined]],
    ["imageBytes", "base64Bytes", [16, undefined, undefined, undefined]],
    ["documentBytes", "decodedBytes", [undefined, 10, 10, undefined]],
    ["fileBytes", "decodedBytes", [10, 10, 10, undefined]],
    ["imageSide", "pixels", [60, undefined, undefined, undefined]],
    ["imageSideSum", "pixels", [90, undefined, undefined, undefined]],
    ["imageRatio", "ratio", [2, undefined, undefined, undefined]],
    ["imageArea", "pixels", [1800, undefined, undefined, undefined]],
    ["imageCount", "count", [1, undefined, undefined, undefined]],
    ["documentCount", "count", [undefined, 1, 1, undefined]],
    ["documentPages", "pages", [undefined, 3, undefined, undefined]],
    ["bodyBytes", "bodyBytes", [16, 16, 10, 10]],
    ["textCharacters", "characters", [undefined, undefined, undefined, 9]],
  ] as const)("%s in %s", (rule, unit, expected) => {
    expect([image, pdf, note, caption].map((item) => measure(rule, unit, item))).toEqual(expected);
  });

  test("says nothing of sides that are not told", () => {
    expect(measure("imageSide", "pixels", { mediaType: "image/png", size: 1, width: 9000 })).toBeUndefined();
  });
});
