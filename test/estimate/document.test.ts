import { estimatePdfTokens } from "sessile/estimate";
import { expect, test } from "vitest";

test("estimatePdfTokens counts by the page", () => {
  expect(estimatePdfTokens(0, "gemini")).toBe(0);
  expect(estimatePdfTokens(10, "gemini")).toBe(2580);
  expect(estimatePdfTokens(2, "anthropic")).toBe(2 * (3000 + 1568));
  expect(() => estimatePdfTokens(1.5, "gemini")).toThrow(
    new RangeError("pages: expected an integer >= 0, got 1.5"),
  );
});

test("estimatePdfTokens refuses to count what it is not told", () => {
  expect(() => estimatePdfTokens(undefined as never, "gemini")).toThrow(
    new RangeError("pages: expected an integer >= 0, got undefined"),
  );
  for (const family of ["openai", "toString", undefined]) {
    expect(() => estimatePdfTokens(1, family as never)).toThrow(TypeError);
    expect(() => estimatePdfTokens(1, family as never)).toThrow(
      /^family: expected one of anthropic, gemini, got /,
    );
  }
});
