import fc from "fast-check";
import { contextGauge, isOverflow, shouldCompact } from "sessile/compaction";
import { describe, expect, test } from "vitest";

const count = fc.oneof(fc.nat({ max: 2_000_000 }), fc.double({ min: 0, max: 2_000_000, noNaN: true }));
const notCounts = [-1, Number.NaN, Number.POSITIVE_INFINITY, "5" as unknown as number];

describe("shouldCompact", () => {
  test.each([
    [83_616, 100_000, {}, false],
    [83_617, 100_000, {}, true],
    [83_616.5, 100_000, {}, true],
    [200_000, 100_000, { enabled: false }, false],
    [90_000, 100_000, { reserveTokens: 10_000 }, false],
    [90_001, 100_000, { reserveTokens: 10_000 }, true],
    [0, 1000, {}, true],
  ])("%d of %d with %j: %s", (tokens, window, settings, expected) => {
    expect(shouldCompact(tokens, window, settings)).toBe(expected);
  });

  test("once it says so, it says so for more tokens, a smaller window and a larger reserve", () => {
    fc.assert(
      fc.property(count, count, count, count, (tokens, window, reserveTokens, more) => {
        fc.pre(shouldCompact(tokens, window, { reserveTokens }));
        expect(shouldCompact(tokens + more, window, { reserveTokens })).toBe(true);
        expect(shouldCompact(tokens, Math.max(0, window - more), { reserveTokens })).toBe(true);
        expect(shouldCompact(tokens, window, { reserveTokens: reserveTokens + more })).toBe(true);
      }),
    );
  });

  test.each(notCounts)("refuses %s as a count", (wrong) => {
    expect(() => shouldCompact(wrong, 1000)).toThrow(/^tokens: /);
    expect(() => shouldCompact(0, wrong)).toThrow(/^window: /);
    expect(() => shouldCompact(0, 1000, { reserveTokens: wrong })).toThrow(RangeError);
  });

  test("leaves 16,384 tokens by default", () => {
    expect([shouldCompact(83_616, 100_000), shouldCompact(83_617, 100_000)]).toEqual([false, true]);
  });
});

describe("isOverflow", () => {
  test.each([
    ["window without the answer", 168_000, { context: 200_000, output: 32_000 }, {}, false],
    ["window without the answer", 168_001, { context: 200_000, output: 32_000 }, {}, true],
    [
      "a reserve is of an input limit alone",
      168_000,
      { context: 200_000, output: 32_000 },
      { reserved: 90_000 },
      false,
    ],
    ["input limit without 20,000", 252_000, { context: 400_000, input: 272_000, output: 128_000 }, {}, false],
    ["input limit without 20,000", 252_001, { context: 400_000, input: 272_000, output: 128_000 }, {}, true],
    [
      "input limit without a small answer",
      264_000,
      { context: 400_000, input: 272_000, output: 8000 },
      {},
      false,
    ],
    [
      "input limit without a small answer",
      264_001,
      { context: 400_000, input: 272_000, output: 8000 },
      {},
      true,
    ],
    [
      "input limit without what is reserved",
      271_000,
      { context: 400_000, input: 272_000 },
      { reserved: 1000 },
      false,
    ],
    [
      "input limit without what is reserved",
      271_001,
      { context: 400_000, input: 272_000 },
      { reserved: 1000 },
      true,
    ],
    ["nothing reserved", 272_000, { context: 400_000, input: 272_000 }, { reserved: 0 }, false],
    ["an answer of 32,000 where none is said", 168_000, { context: 200_000 }, {}, false],
    ["an answer of 32,000 where none is said", 168_001, { context: 200_000, output: 0 }, {}, true],
    ["off", 1_000_000, { context: 200_000 }, { auto: false }, false],
    ["no window", 1_000_000, { context: 0, input: 1 }, {}, false],
  ])("%s: %d of %j with %j is %s", (_, tokens, model, settings, expected) => {
    expect(isOverflow(tokens, model, settings)).toBe(expected);
  });

  test.each(notCounts)("refuses %s as a count", (wrong) => {
    expect(() => isOverflow(wrong, { context: 1 })).toThrow(/^tokens: /);
    expect(() => isOverflow(0, { context: wrong })).toThrow(/^context: /);
    expect(() => isOverflow(0, { context: 1, input: wrong })).toThrow(/^input: /);
    expect(() => isOverflow(0, { context: 1, output: wrong })).toThrow(/^output: /);
    expect(() => isOverflow(0, { context: 1 }, { reserved: wrong, auto: false })).toThrow(/^reserved: /);
  });
});

describe("contextGauge", () => {
  test.each([
    [0, "ok"],
    [139_999, "ok"],
    [140_000, "advisory"],
    [159_999, "advisory"],
    [160_000, "warning"],
    [179_999, "warning"],
    [180_000, "critical"],
    [400_000, "critical"],
  ])("%d of 200,000 is %s", (tokens, level) => {
    expect(contextGauge(tokens, 200_000)).toEqual({
      tokens,
      window: 200_000,
      fraction: tokens / 200_000,
      level,
    });
  });

  test("its level is the highest threshold that the fraction reaches", () => {
    const fraction = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100);
    fc.assert(
      fc.property(fc.nat({ max: 3000 }), fc.tuple(fraction, fraction, fraction), (tokens, limits) => {
        const [advisory, warning, critical] = limits.toSorted((a, b) => a - b) as [number, number, number];
        const { level } = contextGauge(tokens, 1000, { advisory, warning, critical });
        const reached = { ok: 0, advisory, warning, critical };
        const over = (["critical", "warning", "advisory", "ok"] as const).find(
          (name) => tokens >= Math.round(reached[name] * 1000),
        );
        expect(level).toBe(over);
      }),
    );
  });

  test("takes some thresholds and leaves the others", () => {
    const levels = [69, 70, 79, 80, 89, 90].map((tokens) => contextGauge(tokens, 100).level);
    expect(levels).toEqual(["ok", "advisory", "advisory", "warning", "warning", "critical"]);
    expect(contextGauge(50, 100, { advisory: 0.5 }).level).toBe("advisory");
    expect(contextGauge(80, 100, { advisory: 0.5 }).level).toBe("warning");
    // 0.55 * 100 is a little more than 55.
    expect(contextGauge(55, 100, { advisory: 0.55 }).level).toBe("advisory");
  });

  test.each([
    { advisory: 0.9, warning: 0.8 },
    { critical: 0.75 },
    { critical: 1.1 },
    { advisory: -0.1 },
    { warning: Number.NaN },
    { advisory: undefined as unknown as number },
  ])("refuses %j", (thresholds) => {
    expect(() => contextGauge(1, 100, thresholds)).toThrow(RangeError);
  });

  test.each([
    [-1, 100],
    [1, 0],
    [Number.NaN, 1],
    [1, 1.5],
  ])("refuses %d of %d", (tokens, window) => {
    expect(() => contextGauge(tokens, window)).toThrow(RangeError);
  });
});
