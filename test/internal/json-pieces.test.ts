import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonPieces } from "../../src/internal/json.js";

const joined = (value: unknown) => [...jsonPieces(value)].join("");

describe("jsonPieces", () => {
  test("is JSON.stringify, in pieces", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(joined(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  test("is JSON.stringify of long strings with surrogates, whole and lone, at the seams", () => {
    const unit = fc.constantFrom("a", '"', "\n", "\ud83d\ude00", "\ud83d", "\ude00", "é");
    fc.assert(
      fc.property(
        fc.array(unit, { minLength: 1, maxLength: 7 }),
        fc.integer({ min: 4000, max: 4200 }),
        (units, length) => {
          const text = units.join("").repeat(Math.ceil(length / units.join("").length));
          const value = { [text]: [text, { text }] };
          expect(joined(value) === JSON.stringify(value)).toBe(true);
        },
      ),
      { numRuns: 100 },
    );
  });

  test("never has a large piece", () => {
    const value = {
      lines: Array.from({ length: 5000 }, (_, at) => `line ${at}`),
      whole: "x".repeat(100_000),
    };
    const lengths = [...jsonPieces(value)].map(({ length }) => length);
    expect(lengths.length).toBeGreaterThan(20);
    expect(Math.max(...lengths)).toBeLessThan(10_000);
  });

  test.each([
    [undefined, "null"],
    [Number.NaN, "null"],
    [{ a: undefined, b: () => 1, c: [undefined] }, '{"c":[null]}'],
    [-0, "0"],
  ])("writes what JSON cannot hold as JSON.stringify does within a value: %s", (value, expected) => {
    expect(joined(value)).toBe(expected);
  });

  test("ends on a value within itself, and on a deep one", () => {
    const cycle: { self?: unknown; list: unknown[] } = { list: [] };
    cycle.self = cycle;
    cycle.list.push(cycle, 1);
    expect(joined(cycle)).toBe('{"list":[null,1],"self":null}');
    let deep: unknown = 1;
    for (let i = 0; i < 50_000; i++) deep = [deep];
    expect(joined(deep).length).toBe(100_001);
  });

  test("writes the same object twice where it is no cycle", () => {
    const shared = { a: 1 };
    expect(joined([shared, shared])).toBe('[{"a":1},{"a":1}]');
  });
});
