import fc from "fast-check";
import { byLength, byRuns, byRunsCautiously, estimateTextTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { golden } from "./golden.js";

/** Texts of what agents see, lone surrogates among it. */
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.string({ unit: "grapheme", maxLength: 100 }),
  fc.string({ unit: fc.constantFrom(..."aZ9 \n\t.-=é我д\ud83d\ude00"), maxLength: 300 }),
);

describe("byRuns", () => {
  test.each(golden)("is within 15 % of o200k_base on $kind", ({ text, tokens }) => {
    expect(Math.abs(byRuns(text) / tokens - 1)).toBeLessThan(0.15);
  });

  test("is nearer than a quarter of the length, at its worst and on average", () => {
    const errors = (estimator: (text: string) => number) =>
      golden.map(({ text, tokens }) => Math.abs(Math.log(estimator(text) / tokens)));
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(Math.max(...errors(byRuns))).toBeLessThan(Math.max(...errors(byLength)) / 5);
    expect(mean(errors(byRuns))).toBeLessThan(mean(errors(byLength)) / 5);
  });

  test("counts nothing for nothing, and for anything else something that its length bounds", () => {
    expect(byRuns("")).toBe(0);
    fc.assert(
      fc.property(anyText, (text) => {
        const tokens = byRuns(text);
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
        const sum = words.reduce((total, line) => total + byRuns(`${line}\n`), 0);
        expect(byRuns(words.map((line) => `${line}\n`).join(""))).toBeCloseTo(sum, 6);
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
      const tokens = byRuns(`a${character.repeat(1000)}a`);
      expect(tokens, JSON.stringify(character)).toBeGreaterThan(least);
      expect(tokens, JSON.stringify(character)).toBeLessThan(most);
    }
  });
});

describe("byRunsCautiously", () => {
  test.each(golden)("does not fall short on $kind", ({ text, tokens }) => {
    expect(byRunsCautiously(text)).toBeGreaterThanOrEqual(tokens);
  });

  test("is a token for each Chinese, Japanese and Korean character, and 15 % on top", () => {
    expect(byRunsCautiously("图书馆")).toBeCloseTo(3 * 1.15, 9);
    expect(byRunsCautiously("としょかん")).toBeCloseTo(5 * 1.15, 9);
    expect(byRunsCautiously("도서관")).toBeCloseTo(3 * 1.15, 9);
  });

  test("is at least 15 % more than byRuns on any text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(byRunsCautiously(text)).toBeGreaterThanOrEqual(byRuns(text) * 1.15 - 1e-9);
      }),
    );
  });
});

describe("estimateTextTokens", () => {
  test("rounds up, by runs where no estimator is named", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(estimateTextTokens(text)).toBe(Math.ceil(byRuns(text)));
        expect(estimateTextTokens(text, byLength)).toBe(Math.ceil(text.length / 4));
      }),
    );
  });

  test("takes an estimator of one's own", () => {
    expect(estimateTextTokens("one two", (text) => text.split(" ").length + 0.1)).toBe(3);
  });

  test.each([[5], [null], [undefined], [{ length: 3 }]])("refuses %j", (text) => {
    expect(() => estimateTextTokens(text as never)).toThrow(/^text: expected a string, got /);
    expect(() => estimateTextTokens(text as never)).toThrow(TypeError);
  });
});
