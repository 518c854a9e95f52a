import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copyJson, isTooDeep, jsonPieces } from "../../src/core/json.js";
import { jsonValue } from "../arbitraries/values.js";

describe("pieces", () => {
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
});

describe("depth", () => {
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

  describe("isTooDeep", () => {
    test("is what the parsed value says, whatever its strings hold", () => {
      fc.assert(
        fc.property(nested, fc.integer({ min: 0, max: 25 }), fc.boolean(), (value, depth, spaced) => {
          const text = JSON.stringify(value, undefined, spaced ? 1 : 0);
          // What is too short to be too deep is not looked at: brackets that are never closed are no JSON.
          expect(isTooDeep(text, depth)).toBe(depthOf(value) > depth && text.length > 2 * depth);
        }),
      );
    });

    test("reads a text that is no JSON character by character: escapes count in strings only", () => {
      const read = (text: string, maxDepth: number): boolean => {
        let depth = 0;
        let inString = false;
        for (let at = 0; at < text.length; at++) {
          const character = text[at] as string;
          if (inString && character === "\\") at++;
          else if (character === '"') inString = !inString;
          else if (!inString && "[{".includes(character) && ++depth > maxDepth) return true;
          else if (!inString && "]}".includes(character)) depth--;
        }
        return false;
      };
      const characters = fc.constantFrom('"', "\\", "[", "{", "]", "}", "a", "\u00e9", "\u4e2d");
      fc.assert(
        fc.property(
          fc.array(characters, { minLength: 9, maxLength: 60 }),
          fc.integer({ min: 0, max: 4 }),
          (all, depth) => {
            expect(isTooDeep(all.join(""), depth)).toBe(read(all.join(""), depth));
          },
        ),
        { numRuns: 300 },
      );
    });

    test("counts what is open, not what there is", () => {
      expect(isTooDeep(`[${"[],".repeat(1000)}0]`, 2)).toBe(false);
      expect(isTooDeep(`[${"[],".repeat(1000)}[[]]]`, 2)).toBe(true);
      expect(isTooDeep(`"${"[".repeat(1000)}"`, 2)).toBe(false);
      expect(isTooDeep("[".repeat(1000), 2)).toBe(true);
    });
  });
});

describe("copies", () => {
  test("gives an equal value that shares nothing", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = copyJson(value);
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
        for (const [mine, theirs] of Object.entries(copy ?? {}).map(([name, field]) => [
          field,
          (value as Record<string, unknown>)[name],
        ])) {
          if (typeof mine === "object" && mine !== null) expect(mine).not.toBe(theirs);
        }
      }),
    );
  });

  test("keeps an own member named __proto__, and leaves prototypes alone", () => {
    const copy = copyJson(JSON.parse('{"__proto__": {"a": [1]}}'));
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":[1]}}');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  test("leaves out what JSON does not have", () => {
    expect(copyJson({ a: undefined, b: () => 1, c: [undefined, Number.NaN], d: 1n })).toEqual({
      c: [null, null],
      d: null,
    });
  });
});
