import type { ImageBounds } from "sessile";
import { checkLimits, type LimitRow } from "sessile/limits";
import { describe, expect, test } from "vitest";
import { violationBounds } from "../../src/providers/enforce-limits.js";
import { row } from "./samples.js";

const item = (of: Omit<Parameters<typeof row>[0], "scope">) =>
  row({ ...of, scope: "item" } as Parameters<typeof row>[0]);
const gif = { mediaType: "image/gif", size: 3000, width: 900, height: 800, animated: true };

/** What a large GIF has to become to keep limits. */
function bounds(...rows: readonly LimitRow[]): ImageBounds | undefined {
  return violationBounds(checkLimits([gif], { name: "test", transports: ["only"], rows }));
}

const side = (value: number) => item({ rule: "imageSide", value, unit: "pixels" });

describe("boundsOf", () => {
  test.each<[string, LimitRow, ImageBounds]>([
    ["a side", side(100), { maxSide: 100 }],
    ["an area", item({ rule: "imageArea", value: 1000, unit: "pixels" }), { maxArea: 1000 }],
    ["bytes", item({ rule: "imageBytes", value: 1000, unit: "decodedBytes" }), { maxBytes: 1000 }],
    ["bytes of any file", item({ rule: "fileBytes", value: 1000, unit: "decodedBytes" }), { maxBytes: 1000 }],
    // As many as fit into so many characters of base64.
    ["characters", item({ rule: "imageBytes", value: 1003, unit: "base64Bytes" }), { maxBytes: 750 }],
    [
      "types",
      item({ rule: "imageTypes", value: ["image/png"], unit: "mediaType" }),
      { mediaTypes: ["image/png"] },
    ],
    ["one frame", item({ rule: "animation", value: false, unit: "presence" }), { still: true }],
  ])("asks for %s", (_, limit, expected) => {
    expect(bounds(limit)).toEqual(expected);
  });

  test("asks for all at once, the tightest of each", () => {
    const bytes = item({ rule: "imageBytes", value: 2000, unit: "decodedBytes" });
    const characters = item({ rule: "imageBytes", value: 1600, unit: "base64Bytes" });
    const file = item({ rule: "fileBytes", value: 1300, unit: "decodedBytes" });
    expect(bounds(side(500), bytes, characters, file)).toEqual({ maxSide: 500, maxBytes: 1200 });
  });

  test("asks for nothing where no resizing helps", () => {
    const ratio = item({ rule: "imageRatio", value: 1, unit: "ratio" });
    const count = row({ rule: "imageCount", value: 0, unit: "count", scope: "request" });
    const types = item({ rule: "fileTypes", value: ["text/plain"], unit: "mediaType" });
    for (const limit of [ratio, count, types]) expect(bounds(side(100), limit)).toBe(undefined);
  });
});
