import fc from "fast-check";
import { escapeContextTokens, parseContextTokens, unescapeContextTokens } from "sessile/context-tokens";
import { describe, expect, test } from "vitest";
import { tokenish } from "../arbitraries/tokens.js";

describe("escapeContextTokens", () => {
  test.each([
    ["<<context:image:/etc/x>>>", "<<\\context:image:/etc/x>>>"],
    ["<<\\context:", "<<\\\\context:"],
    ["<<<<context:<<context:", "<<<<\\context:<<\\context:"],
    ["<<CONTEXT: <context: <<other:", "<<CONTEXT: <context: <<other:"],
  ])("makes %j %j", (text, escaped) => {
    expect(escapeContextTokens(text)).toBe(escaped);
    expect(unescapeContextTokens(escaped)).toBe(text);
  });

  test("makes any string inert, and shows it as it was", () => {
    fc.assert(
      fc.property(tokenish, (text) => {
        const raw = escapeContextTokens(text);
        expect(parseContextTokens(raw)).toEqual(text === "" ? [] : [{ type: "text", raw, text }]);
      }),
      { numRuns: 500 },
    );
  });

  test("is undone as often as it was done, for any string", () => {
    fc.assert(
      fc.property(tokenish, fc.integer({ min: 1, max: 3 }), (text, times) => {
        let escaped = text;
        for (let time = 0; time < times; time++) escaped = escapeContextTokens(escaped);
        for (let time = 0; time < times; time++) escaped = unescapeContextTokens(escaped);
        expect(escaped).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});

describe("unescapeContextTokens", () => {
  test("leaves bare openers alone", () => {
    expect(unescapeContextTokens("<<context:image:/a>>> \\context: <<\\context:")).toBe(
      "<<context:image:/a>>> \\context: <<context:",
    );
  });
});
