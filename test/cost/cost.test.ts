import fc from "fast-check";
import { assistantMessage, type Usage } from "sessile/content";
import { costOf, type ModelPrice, modelPrices, priceOf } from "sessile/cost";
import { describe, expect, test } from "vitest";

const usage = { input: 1_000, output: 500, cacheRead: 90_000, cacheWrite: 2_000 };
const count = fc.nat({ max: 10_000 });
const anyUsage: fc.Arbitrary<Usage> = fc
  .record({ input: count, output: count, cacheRead: count, cacheWrite: count, cacheWrite1h: count })
  .map((tokens) => ({ ...tokens, cacheWrite1h: Math.min(tokens.cacheWrite, tokens.cacheWrite1h) }));
const row = fc.constantFrom(...modelPrices);
const own = (model: string, input: number, provider?: string): ModelPrice => ({
  model,
  ...(provider === undefined ? {} : { provider }),
  ...{ input, cacheRead: input, cacheWrite: input, output: input },
  ...{ source: "contract", asOf: "2026-11-22" },
});

describe("modelPrices", () => {
  test.each(modelPrices.map((price) => [price.model, price] as const))(
    "%s has a source and sane rates",
    (_, price) => {
      expect(price.source).toMatch(/^https:\/\//);
      expect(price.asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      for (const rates of [price, ...(price.long?.rates === undefined ? [] : [price.long.rates])]) {
        expect(rates.cacheRead).toBeGreaterThan(0);
        expect(rates.cacheRead).toBeLessThan(rates.input);
        expect(rates.input).toBeLessThanOrEqual(rates.cacheWrite);
        expect(rates.cacheWrite).toBeLessThanOrEqual(rates.cacheWrite1h ?? rates.cacheWrite);
        expect(rates.input).toBeLessThan(rates.output);
      }
    },
  );

  test("no model has two rows", () => {
    expect(new Set(modelPrices.map(({ model }) => model)).size).toBe(modelPrices.length);
  });
});

describe("costOf", () => {
  test("multiplies tokens by the rates of the model", () => {
    const cost = costOf(usage, "claude-opus-5-5");
    expect(cost?.input).toBeCloseTo(0.004, 12);
    expect(cost?.output).toBeCloseTo(0.01, 12);
    expect(cost?.cacheRead).toBeCloseTo(0.018, 12);
    expect(cost?.cacheWrite).toBeCloseTo(0.01, 12);
    expect(cost?.total).toBeCloseTo(0.042, 12);
  });

  test("a write of an hour has its own rate", () => {
    const tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 1_000_000 };
    expect(costOf(tokens, "claude-opus-4-8")?.total).toBeCloseTo(6.25, 12);
    expect(costOf({ ...tokens, cacheWrite1h: 1_000_000 }, "claude-opus-4-8")?.total).toBeCloseTo(10, 12);
    expect(costOf({ ...tokens, cacheWrite1h: 400_000 }, "claude-opus-4-8")?.total).toBeCloseTo(7.75, 12);
  });

  test("a long prompt costs its rates in whole, or is unknown", () => {
    const long = { input: 10_000, output: 1_000_000, cacheRead: 190_001, cacheWrite: 0 };
    expect(costOf(long, "gemini-2.5-pro")?.output).toBe(15);
    expect(costOf({ ...long, cacheRead: 190_000 }, "gemini-2.5-pro")?.output).toBe(10);
    expect(costOf({ ...long, cacheRead: 300_000 }, "gpt-6-sol")).toBeUndefined();
  });

  test("a date behind the name makes no difference; another name or another provider does", () => {
    expect(costOf(usage, "claude-sonnet-4-5-20250929")).toEqual(costOf(usage, "claude-sonnet-4-5"));
    expect(costOf(usage, "gpt-6.2-sol-2026-11-17")).toEqual(costOf(usage, "gpt-6.2-sol"));
    expect(costOf(usage, "claude-sonnet-4@20250514")).toEqual(costOf(usage, "claude-sonnet-4"));
    for (const model of ["claude-sonnet-4-9", "gpt-6.2", "", "toString"])
      expect(costOf(usage, model)).toBeUndefined();
    const reply = assistantMessage({ provider: "openrouter", model: "claude-opus-5" }, "x");
    expect(costOf(usage, reply)).toBeUndefined();
    expect(costOf(usage, { ...reply, provider: "anthropic" })).toBeDefined();
  });

  test("the caller's rows win, and serve models that are in no table", () => {
    const prices = [own("claude-opus-5-5", 1), own("mine", 2, "local")];
    expect(costOf(usage, "claude-opus-5-5", { prices })?.total).toBeCloseTo(0.0935, 12);
    expect(costOf(usage, { provider: "local", model: "mine" }, { prices })?.total).toBeCloseTo(0.187, 12);
    expect(costOf(usage, { provider: "other", model: "mine" }, { prices })).toBeUndefined();
    expect(priceOf("claude-opus-5", { prices })).toBe(priceOf("claude-opus-5"));
  });

  test("is additive in one tier: two usages cost what they cost together", () => {
    fc.assert(
      fc.property(row, anyUsage, anyUsage, (model, a, b) => {
        const sum = {
          input: a.input + b.input,
          output: a.output + b.output,
          cacheRead: a.cacheRead + b.cacheRead,
          cacheWrite: a.cacheWrite + b.cacheWrite,
          cacheWrite1h: (a.cacheWrite1h ?? 0) + (b.cacheWrite1h ?? 0),
        };
        const total = (tokens: Usage) => costOf(tokens, model)?.total ?? Number.NaN;
        expect(total(sum)).toBeCloseTo(total(a) + total(b), 9);
      }),
    );
  });

  test("is never NaN or negative, its parts sum to the total, and nothing costs nothing", () => {
    const odd = fc.oneof(fc.double(), fc.constantFrom(-1, Number.NaN, Number.POSITIVE_INFINITY));
    const tokens = fc.record({ input: odd, output: odd, cacheRead: odd, cacheWrite: odd, cacheWrite1h: odd });
    fc.assert(
      fc.property(row, tokens, (model, value) => {
        const cost = costOf(value, model);
        if (cost === undefined) return;
        for (const part of Object.values(cost)) expect(part).toBeGreaterThanOrEqual(0);
        expect(cost.total).toBe(cost.input + cost.output + cost.cacheRead + cost.cacheWrite);
      }),
    );
    for (const model of modelPrices)
      expect(costOf({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, model)?.total).toBe(0);
  });
});
