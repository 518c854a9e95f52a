import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isTooDeep } from "../../src/internal/json.js";
import { jsonValue } from "../arbitraries/values.js";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** A value inside so many arrays. */
const nested = fc.tuple(jsonValue, fc.nat({ max: 20 })).map(([value, times]) => {
  let outer = value;
  for (let at = 0; at < times; at++) outer = at % 2 === 0 ? [outer] : { '[{"': outer };
  return outer;
});

describe("tooDeep", () => {
  test("is what the parsed value says, whatever its strings hold", () => {
    fc.assert(
      fc.property(nested, fc.integer({ min: 0, max: 25 }), fc.boolean(), (value, depth, spaced) => {
        const text = JSON.stringify(value, undefined, spaced ? 1 : 0);
        // What is too short to be too deep is not looked at: brackets that are never closed are no JSON.
        expect(isTooDeep(text, depth)).toBe(depthOf(value) > depth && text.length > 2 * depth);
      }),
    );
  });

  test("counts what is open, not what there is", () => {
    expect(isTooDeep(`[${"[],".repeat(1000)}0]`, 2)).toBe(false);
    expect(isTooDeep(`[${"[],".repeat(1000)}[[]]]`, 2)).toBe(true);
    expect(isTooDeep(`"${"[".repeat(1000)}"`, 2)).toBe(false);
    expect(isTooDeep("[".repeat(1000), 2)).toBe(true);
  });
});
