import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  anything,
  array,
  boolean,
  type Check,
  isRecord,
  joinPath,
  nonEmptyString,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  string,
  union,
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
    ["text", string, ["", "a", "b"]],
    ["nonEmptyText", nonEmptyString, ["a", "b"]],
    ["finite", number, [0, 1.5]],
    ["flag", boolean, [true]],
    ["oneOf", oneOf("a", "c"), ["a"]],
    ["optional", optional(boolean), [undefined, true]],
    ["nullable", nullable(boolean), [null, true]],
    ["either", union(boolean, number), [0, 1.5, true]],
    ["listOf", array(boolean), [[]]],
    ["recordOf", record(boolean), [{}]],
    ["fields", object({ a: optional(string) }), [{}]],
  ])("%s takes what it names and nothing else", (_, check, values) => {
    expect(taken(check)).toEqual(values);
  });

  test("never throw, whatever they are given", () => {
    const nested = object({
      a: array(union(string, record(nullable(number)))),
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
    const check = object({
      list: array(object({ name: string, tags: optional(record(string)) })),
      end: boolean,
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
    expect(object({ a: string })({ a: "", b: Symbol("later") })).toBeUndefined();
  });

  test("of one of two say what the second wanted", () => {
    expect(union(string, number)(true)).toEqual({ path: "", expected: "a finite number" });
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
