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
