import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cleanJson, cleanText, withoutSpaceAtEnd } from "../../src/providers/block-reader.js";
import { isBlank } from "../../src/providers/internal.js";
import { jsonValue, text } from "../arbitraries/values.js";

describe("cleanText", () => {
  test("replaces lone surrogates, NUL where that is refused, and nothing else", () => {
    fc.assert(
      fc.property(text, fc.boolean(), (source, refusesNul) => {
        const clean = cleanText(source, refusesNul);
        expect(clean).toBe(
          Buffer.from(source)
            .toString()
            .replaceAll("\0", refusesNul ? "\ufffd" : "\0"),
        );
      }),
    );
  });
});

describe("isBlank", () => {
  test.each(["", " ", "\n\t\r ", "\u00a0\u2003\u3000\ufeff", "\u2028", "\u0085", "\u001c\u001d\u001e\u001f"])(
    "%j is",
    (blank) => {
      expect(isBlank(blank)).toBe(true);
    },
  );

  test.each([".", " a ", "\0", "\u0007", "\u200b", "\ud83d"])("%j is not", (shown) => {
    expect(isBlank(shown)).toBe(false);
  });
});

describe("withoutSpaceAtEnd", () => {
  test("takes white space from the end alone", () => {
    const piece = fc.constantFrom("a", " ", "\n", "\u00a0", "\u0085", "\u001f", "\0", "\ud83d\ude00");
    fc.assert(
      fc.property(fc.string({ unit: piece, maxLength: 8 }), (text) => {
        const trimmed = withoutSpaceAtEnd(text);
        expect(text.startsWith(trimmed)).toBe(true);
        expect(isBlank(text.slice(trimmed.length))).toBe(true);
        expect(trimmed === "" || !isBlank(trimmed.at(-1) as string)).toBe(true);
      }),
    );
  });
});

describe("cleanJson", () => {
  test("gives JSON with clean strings, and the same value where nothing is wrong", () => {
    fc.assert(
      fc.property(jsonValue, fc.boolean(), (value, refusesNul) => {
        const before = JSON.stringify(value);
        const cleaned = (text: string) => cleanText(text, refusesNul);
        const expected = JSON.parse(before, (_, field) => {
          if (typeof field === "string") return cleaned(field);
          if (typeof field !== "object" || field === null || Array.isArray(field)) return field;
          return Object.fromEntries(Object.entries(field).map(([key, member]) => [cleaned(key), member]));
        });
        const clean = cleanJson(value, refusesNul);
        expect(JSON.stringify(clean)).toBe(JSON.stringify(expected));
        expect(clean === value).toBe(JSON.stringify(expected) === before);
        expect(JSON.stringify(value)).toBe(before);
      }),
      { numRuns: 1000 },
    );
  });

  test("keeps a member named __proto__ as a member", () => {
    const value: unknown = JSON.parse('{"__proto__":{"a":"\\ud800"},"toString":1}');
    const clean = cleanJson(value, false);
    expect(JSON.stringify(clean)).toBe('{"__proto__":{"a":"\ufffd"},"toString":1}');
    expect(Object.getPrototypeOf(clean)).toBe(Object.prototype);
  });

  test.each<[string, unknown, unknown]>([
    ["a bigint is text", { n: 12n }, { n: "12" }],
    ["a number that is none is null", [Number.NaN, Number.POSITIVE_INFINITY], [null, null]],
    ["a function is null in a list", [() => 1, Symbol("s")], [null, null]],
    ["a function is no member", { f: () => 1, s: Symbol("s"), a: 1 }, { a: 1 }],
    ["undefined in a list is null", [undefined, 1], [null, 1]],
    ["a hole is null", Object.assign([], { length: 1 }), [null]],
    ["nothing is null", undefined, null],
    ["a date is as it writes itself", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["a buffer is as it writes itself", Buffer.of(1), { type: "Buffer", data: [1] }],
  ])("what is no JSON: %s", (_, value, expected) => {
    expect(cleanJson(value, false)).toStrictEqual(expected);
  });

  test("a member that is undefined is none, as in JSON", () => {
    const value = { a: undefined, b: 1 };
    expect(cleanJson(value, false)).toBe(value);
    expect(cleanJson({ ...value, c: "\ud800" }, false)).toStrictEqual({ b: 1, c: "\ufffd" });
  });

  test("what stands twice stands twice", () => {
    const twice = { b: "\ud800" };
    expect(cleanJson([twice, twice], false)).toEqual([{ b: "\ufffd" }, { b: "\ufffd" }]);
  });

  test("what holds itself is null, in whatever many ways it does", () => {
    const nodes = Array.from({ length: 30 }, (_, at): Record<string, unknown> => ({ at }));
    for (const node of nodes) for (const [at, other] of nodes.entries()) node[`n${at}`] = other;
    expect(cleanJson(nodes, false)).toBe(null);
    const circle: unknown[] = [1, [2]];
    circle.push(circle, circle);
    expect(cleanJson(circle, false)).toBe(null);
  });

  test("what is deeper than any tool's arguments is null", () => {
    const nested = (depth: number) => JSON.parse(`${'{"a":['.repeat(depth / 2)}${"]}".repeat(depth / 2)}`);
    expect(cleanJson(nested(128), false)).toEqual(nested(128));
    expect(cleanJson(nested(130), false)).toBe(null);
    let deep: unknown = "bottom";
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    expect(cleanJson(deep, false)).toBe(null);
  });
});
