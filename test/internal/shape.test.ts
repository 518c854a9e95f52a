import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  anything,
  type Check,
  either,
  fields,
  finite,
  flag,
  isRecord,
  joinPath,
  listOf,
  nonEmptyText,
  nullable,
  oneOf,
  optional,
  recordOf,
  text,
} from "../../src/internal/shape.js";

const samples: readonly unknown[] = [
  undefined,
  null,
  "",
  "a",
  0,
  1.5,
  Number.NaN,
  Infinity,
  true,
  [],
  {},
  "b",
];
const taken = (check: Check) => samples.filter((value) => check(value) === undefined);

describe("checks", () => {
  test.each<[string, Check, readonly unknown[]]>([
    ["anything", anything, samples],
    ["text", text, ["", "a", "b"]],
    ["nonEmptyText", nonEmptyText, ["a", "b"]],
    ["finite", finite, [0, 1.5]],
    ["flag", flag, [true]],
    ["oneOf", oneOf("a", "c"), ["a"]],
    ["optional", optional(flag), [undefined, true]],
    ["nullable", nullable(flag), [null, true]],
    ["either", either(flag, finite), [0, 1.5, true]],
    ["listOf", listOf(flag), [[]]],
    ["recordOf", recordOf(flag), [{}]],
    ["fields", fields({ a: optional(text) }), [{}]],
  ])("%s takes what it names and nothing else", (_, check, values) => {
    expect(taken(check)).toEqual(values);
  });

  test("never throw, whatever they are given", () => {
    const nested = fields({
      a: listOf(either(text, recordOf(nullable(finite)))),
      b: optional(oneOf("x")),
    });
    const value = fc.oneof(
      fc.anything({ withNullPrototype: true, withBigInt: true, withMap: true }),
      fc.record({ a: fc.array(fc.anything()), b: fc.anything() }),
    );
    fc.assert(
      fc.property(value, (value) => {
        const problem = nested(value);
        if (problem !== undefined) expect(problem.expected).not.toBe("");
      }),
    );
  });

  test("name the first wrong place", () => {
    const check = fields({
      list: listOf(fields({ name: text, tags: optional(recordOf(text)) })),
      end: flag,
    });
    expect(check({ list: [{ name: "a" }, { name: 1 }], end: 5 })).toEqual({
      path: "list[1].name",
      expected: "a string",
    });
    expect(check({ list: [{ name: "a", tags: { x: "y", z: 1 } }], end: true })).toMatchObject({
      path: "list[0].tags.z",
    });
    expect(check({ list: [], end: 5 })).toEqual({ path: "end", expected: "a boolean" });
    expect(check([])).toEqual({ path: "", expected: "an object" });
    expect(check({ list: {} })).toEqual({ path: "list", expected: "an array" });
  });

  test("leave other fields alone", () => {
    expect(fields({ a: text })({ a: "", b: Symbol("later") })).toBeUndefined();
  });

  test("of one of two say what the second wanted", () => {
    expect(either(text, finite)(true)).toEqual({ path: "", expected: "a finite number" });
  });

  test("say what strings they take", () => {
    expect(oneOf("a", "b")("c")?.expected).toBe('one of "a", "b"');
  });
});

describe("isRecord", () => {
  test("takes objects that are no lists", () => {
    expect(samples.filter(isRecord)).toEqual([{}]);
    expect(isRecord(Object.create(null))).toBe(true);
  });
});

describe("joinPath", () => {
  test.each([
    ["a", "b", "a.b"],
    ["a", "[0]", "a[0]"],
    ["a", "", "a"],
    ["", "b", "b"],
    ["[0]", "b", "[0].b"],
    ["[0]", "[1].c", "[0][1].c"],
  ])("of %j and %j", (base, rest, path) => {
    expect(joinPath(base, rest)).toBe(path);
  });
});
