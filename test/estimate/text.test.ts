import fc from "fast-check";
import { estimateTextTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { textEstimators } from "../../src/content/estimate/text.js";
import { golden } from "./golden.js";

const { fitted, upperBound, "chars/4": charsBy4 } = textEstimators;

/** Texts of what agents see, lone surrogates among it. */
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.string({ unit: "grapheme", maxLength: 100 }),
  fc.string({ unit: fc.constantFrom(..."aZ9 \n\t.-=é我д\ud83d\ude00"), maxLength: 300 }),
);

describe("fitted", () => {
  test.each(golden)("is within 15 % of o200k_base on $kind", ({ text, tokens }) => {
    expect(Math.abs(fitted(text) / tokens - 1)).toBeLessThan(0.15);
  });

  test("is nearer than a quarter of the length, at its worst and on average", () => {
    const errors = (estimator: (text: string) => number) =>
      golden.map(({ text, tokens }) => Math.abs(Math.log(estimator(text) / tokens)));
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(Math.max(...errors(fitted))).toBeLessThan(Math.max(...errors(charsBy4)) / 5);
    expect(mean(errors(fitted))).toBeLessThan(mean(errors(charsBy4)) / 5);
  });

  test("counts nothing for nothing, and for anything else something that its length bounds", () => {
    expect(fitted("")).toBe(0);
    fc.assert(
      fc.property(anyText, (text) => {
        const tokens = fitted(text);
        expect(Number.isFinite(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(0);
        expect(tokens).toBeLessThanOrEqual(2.5 * text.length);
      }),
    );
  });

  test("adds up over lines, but for what a mark at a line's end takes in", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom(..."ab1 "), minLength: 1 })), (lines) => {
        const words = lines.map((line) => `w${line}w`);
        const sum = words.reduce((total, line) => total + fitted(`${line}\n`), 0);
        expect(fitted(words.map((line) => `${line}\n`).join(""))).toBeCloseTo(sum, 6);
      }),
    );
  });

  test("knows that long runs of one character are few tokens", () => {
    // o200k_base: 8, 61, 16, 61 and 16 for a thousand of each
    for (const [character, least, most] of [
      [" ", 5, 12],
      ["\n", 50, 70],
      ["=", 10, 120],
      ["─", 40, 90],
    ] as const) {
      const tokens = fitted(`a${character.repeat(1000)}a`);
      expect(tokens, JSON.stringify(character)).toBeGreaterThan(least);
      expect(tokens, JSON.stringify(character)).toBeLessThan(most);
    }
  });
});

describe("upperBound", () => {
  test.each(golden)("does not fall short on $kind", ({ text, tokens }) => {
    expect(upperBound(text)).toBeGreaterThanOrEqual(tokens);
  });

  test("is a token for each Chinese, Japanese and Korean character, and 15 % on top", () => {
    expect(upperBound("图书馆")).toBeCloseTo(3 * 1.15, 9);
    expect(upperBound("としょかん")).toBeCloseTo(5 * 1.15, 9);
    expect(upperBound("도서관")).toBeCloseTo(3 * 1.15, 9);
  });

  test("is at least 15 % more than fitted on any text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(upperBound(text)).toBeGreaterThanOrEqual(fitted(text) * 1.15 - 1e-9);
      }),
    );
  });
});

describe("estimateTextTokens", () => {
  test("rounds up, with the fitted estimator by default", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(estimateTextTokens(text)).toBe(Math.ceil(fitted(text)));
        expect(estimateTextTokens(text, "chars/4")).toBe(Math.ceil(text.length / 4));
      }),
    );
  });

  // @covers R127
  test("takes an estimator of one's own", () => {
    expect(estimateTextTokens("one two", (text) => text.split(" ").length + 0.1)).toBe(3);
  });

  test.each([["toString"], ["byRuns"], [null], [5]])("refuses an estimator %j", (estimator) => {
    expect(() => estimateTextTokens("a", estimator as never)).toThrow(TypeError);
    expect(() => estimateTextTokens("a", estimator as never)).toThrow(
      /^estimator: expected a function, \{ model \} or one of/,
    );
  });

  test.each([[5], [null], [undefined], [{ length: 3 }]])("refuses %j", (text) => {
    expect(() => estimateTextTokens(text as never)).toThrow(/^text: expected a string, got /);
    expect(() => estimateTextTokens(text as never)).toThrow(TypeError);
  });
});
