import fc from "fast-check";
import { estimateImageTokens, type ImageFamily, imageTokenRules } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { mostImageTokens } from "../../src/content/estimate/message.js";

const families = Object.keys(imageTokenRules) as readonly ImageFamily[];

describe("estimateImageTokens", () => {
  // The providers' own examples, as src/content/estimate/message.ts cites them.
  test.each<[number, number, ImageFamily, number]>([
    [200, 200, "anthropic", 64],
    [1000, 1000, "anthropic", 1296],
    [1920, 1080, "anthropic", 1560],
    [1920, 1080, "anthropicLarge", 2691],
    [3840, 2160, "anthropic", 1560],
    [3840, 2160, "anthropicLarge", 4784],
    [1075, 1520, "anthropic", 33 * 47], // as 924 x 1307
    [3136, 57, "anthropic", 56], // as 1568 x 28.5, which rounds to the even 28
    [1024, 1024, "openaiPatches", 1024],
    [1800, 2400, "openaiPatches", 1452],
    [420, 3920, "openaiPatches", 12 * 112], // 12 whole patches across, whatever a product of fractions says
    [1024, 1024, "openaiMini", Math.ceil(1024 * 1.62)],
    [1800, 2400, "openaiNano", Math.ceil(1452 * 2.46)],
    [1800, 2400, "openaiO4Mini", Math.ceil(1452 * 1.72)],
    [1800, 2400, "openaiOriginal", 57 * 75],
    [12_000, 3200, "openaiOriginal", 188 * 50], // as 6000 x 1600
    [1024, 1024, "openai4o", 765],
    [2048, 4096, "openai4o", 1105],
    [512, 512, "openai4o", 255],
    [1024, 1024, "openai5", 70 + 4 * 140],
    [1024, 1024, "openai4oMini", 2833 + 4 * 5667],
    [1024, 1024, "openaiO", 75 + 4 * 150],
    [384, 384, "gemini2", 258],
    [385, 384, "gemini2", 4 * 258],
    [960, 540, "gemini2", 6 * 258],
    [960, 540, "gemini3Low", 280],
    [960, 540, "gemini3Medium", 560],
    [960, 540, "gemini3", 1120],
    [960, 540, "gemini3Ultra", 2240],
  ])("%i x %i on %s is %i", (width, height, family, tokens) => {
    expect(estimateImageTokens({ width, height }, family)).toBe(tokens);
  });

  test("takes rules of one's own, low detail among them", () => {
    const size = { width: 2048, height: 4096 };
    expect(estimateImageTokens(size, { ...imageTokenRules.openai4o, detail: "low" })).toBe(85);
    expect(estimateImageTokens(size, { kind: "flat", tokens: 7 })).toBe(7);
  });

  const side = fc.oneof(fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 1, max: 2 ** 31 }));

  test("is the same for an image on its side, a whole number, and bounded but for crops", () => {
    fc.assert(
      fc.property(side, side, fc.constantFrom(...families), (width, height, family) => {
        const tokens = estimateImageTokens({ width, height }, family);
        expect(tokens).toBe(estimateImageTokens({ width: height, height: width }, family));
        expect(Number.isInteger(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(1);
        if (imageTokenRules[family].kind !== "crops")
          expect(tokens).toBeLessThanOrEqual(mostImageTokens(family));
      }),
    );
  });

  test("fits Claude's images as the naive search does: the largest size of the shape that fits", () => {
    const cells = (side: number) => Math.ceil(side / 28);
    const round = (value: number) => {
      const [floor, rest] = [Math.floor(value), value % 1];
      return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
    };
    const naive = (width: number, height: number, maxSide: number, maxTokens: number) => {
      const [long, short] = [Math.max(width, height), Math.min(width, height)];
      for (let side = long; ; side--) {
        const across = Math.max(1, cells(round((side * short) / long)));
        if (cells(side) * 28 <= maxSide && cells(side) * across <= maxTokens) return cells(side) * across;
      }
    };
    const sides = fc.integer({ min: 1, max: 5000 });
    fc.assert(
      fc.property(sides, sides, (width, height) => {
        expect(estimateImageTokens({ width, height }, "anthropic")).toBe(naive(width, height, 1568, 1568));
        expect(estimateImageTokens({ width, height }, "anthropicLarge")).toBe(
          naive(width, height, 2576, 4784),
        );
      }),
    );
  });

  test.each([
    [0, 5, "width: expected an integer >= 1, got 0"],
    [5, 2.5, "height: expected an integer >= 1, got 2.5"],
    [Number.NaN, 5, "width: expected an integer >= 1, got NaN"],
  ])("refuses %d x %d", (width, height, message) => {
    expect(() => estimateImageTokens({ width, height }, "gemini3")).toThrow(new RangeError(message));
  });

  test.each([
    [{}, "width: expected an integer >= 1, got undefined"],
    [{ width: 5 }, "height: expected an integer >= 1, got undefined"],
  ])("refuses a size without a side: %j", (size, message) => {
    expect(() => estimateImageTokens(size as never, "anthropic")).toThrow(new RangeError(message));
  });

  test.each([undefined, null, 5])("refuses %s for a size and for a rule", (none) => {
    expect(() => estimateImageTokens(none as never, "anthropic")).toThrow(
      new TypeError(`size: expected an object, got ${none}`),
    );
    expect(() => mostImageTokens(none as never)).toThrow(/^rule: expected one of anthropic, .* got /);
  });

  test("refuses a family that it does not know", () => {
    const size = { width: 1, height: 1 };
    expect(() => estimateImageTokens(size, "toString" as never)).toThrow(
      /^rule: expected one of anthropic, .* got "toString"$/,
    );
    expect(() => estimateImageTokens(size, { kind: "voxels" } as never)).toThrow(TypeError);
  });
});

describe("mostImageTokens", () => {
  test.each<[ImageFamily, number]>([
    ["anthropic", 1568],
    ["anthropicLarge", 4784],
    ["openaiMini", Math.ceil(1536 * 1.62)],
    ["openai4o", 85 + 8 * 170],
    ["gemini2", 16 * 258],
    ["gemini3", 1120],
  ])("of %s is %i", (family, tokens) => {
    expect(mostImageTokens(family)).toBe(tokens);
  });
});
