import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { toSchema } from "../../src/core/schema.js";
import {
  anything,
  array,
  boolean,
  type Check,
  custom,
  integerFrom,
  isRecord,
  joinPath,
  matching,
  nonEmptyString,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  string,
  stringAmong,
  union,
  variants,
} from "../../src/core/shape.js";
import { mutationOf } from "../arbitraries/mutations.js";
import { jsonValue } from "../arbitraries/values.js";

describe("shapes", () => {
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
});

describe("schemas of shapes", () => {
  /** A shape, and values that pass it. */
  interface Sample {
    readonly shape: Shape;
    readonly value: fc.Arbitrary<unknown>;
  }

  const leaves: readonly Sample[] = [
    { shape: anything, value: jsonValue },
    { shape: string, value: fc.string() },
    { shape: nonEmptyString, value: fc.string({ minLength: 1 }) },
    { shape: number, value: fc.double({ noNaN: true, noDefaultInfinity: true }) },
    { shape: boolean, value: fc.boolean() },
    { shape: integerFrom(1), value: fc.integer({ min: 1 }) },
    { shape: matching(/^[a-c]{2}$/), value: fc.constantFrom("ab", "cc") },
    { shape: oneOf("text", "link"), value: fc.constantFrom("text", "link") },
    { shape: oneOf(1), value: fc.constant(1) },
  ];

  const names = ["type", "a", "b", "toString"];

  function objectOf(members: readonly (readonly [string, Sample])[], optionals: readonly boolean[]): Sample {
    const entries = members.map(([name, { shape, value }], i) => ({
      name,
      shape: optionals[i] ? optional(shape) : shape,
      value,
    }));
    const shape = object(Object.fromEntries(entries.map(({ name, shape }) => [name, shape])));
    const model = Object.fromEntries(entries.map(({ name, value }) => [name, value]));
    const requiredKeys = entries.filter((_, i) => !optionals[i]).map(({ name }) => name);
    return { shape, value: fc.record(model, { requiredKeys }) };
  }

  const sample: fc.Arbitrary<Sample> = fc.letrec<{ any: Sample; record: Sample }>((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(...leaves),
      tie("any").map(({ shape, value }) => ({
        shape: nullable(shape),
        value: fc.oneof(value, fc.constant(null)),
      })),
      tie("any").map(({ shape, value }) => ({
        shape: array(shape),
        value: fc.array(value, { maxLength: 3 }),
      })),
      tie("any").map(({ shape, value }) => ({
        shape: record(shape),
        value: fc.dictionary(fc.constantFrom(...names), value),
      })),
      fc.tuple(tie("any"), tie("any")).map(([a, b]) => ({
        shape: union(a.shape, b.shape),
        value: fc.oneof(a.value, b.value),
      })),
      tie("record"),
    ),
    record: fc
      .tuple(
        fc.uniqueArray(fc.tuple(fc.constantFrom(...names), tie("any")), {
          selector: ([name]) => name,
          maxLength: 3,
        }),
        fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
      )
      .map(([members, optionals]) => objectOf(members, optionals)),
  })).any;

  describe("the schema of a shape", () => {
    test("takes and refuses what the check does", () => {
      let refused = 0;
      fc.assert(
        fc.property(
          sample.chain(({ shape, value }) =>
            fc.tuple(fc.constant(shape), fc.oneof(value, mutationOf(value), jsonValue)),
          ),
          ([shape, value]) => {
            const passes = shape(value) === undefined;
            if (!passes) refused++;
            expect(toSchema(shape).safeParse(value).success).toBe(passes);
          },
        ),
        { numRuns: 600 },
      );
      expect(refused).toBeGreaterThan(150);
    });

    test.each([
      ["nullable", nullable(anything)],
      ["a union", union(string, anything)],
    ])("lets a member of any value be absent: %s", (_, member) => {
      const shape = object({ a: member });
      expect(shape({})).toBeUndefined();
      expect(toSchema(shape).safeParse({}).success).toBe(true);
    });

    test("gives a value that passes back as it is, with members that it does not know", () => {
      const shape = object({ list: array(object({ name: optional(string) })), more: anything });
      const value = { list: [{ name: "a", later: 1 }, {}], more: [1], later: { deep: true } };
      expect(toSchema(shape).parse(value)).toEqual(value);
    });

    const known = [object({ type: oneOf("a", "b"), n: number }), object({ type: oneOf("c.d") })] as const;
    const other = object({ type: nonEmptyString, n: string });

    test.each([
      ["closed", variants("type", known)],
      ["open", variants("type", [...known, other])],
      ["single", variants("type", [known[0]])],
    ])("of %s variants takes and refuses what the check does", (_, shape) => {
      const type = fc.oneof(fc.constantFrom("a", "b", "c.d", "cXd", "", "toString"), jsonValue);
      const value = fc.record(
        { type, n: fc.oneof(fc.integer(), fc.string(), jsonValue) },
        { requiredKeys: [] },
      );
      fc.assert(
        fc.property(fc.oneof(value, jsonValue), (value) => {
          expect(toSchema(shape).safeParse(value).success).toBe(shape(value) === undefined);
        }),
        { numRuns: 500 },
      );
    });

    test("holds a string with listed values to them, which the check leaves to its caller", () => {
      const shape = stringAmong<string>("image/png");
      expect(shape("image/bmp")).toBeUndefined();
      expect(toSchema(shape).safeParse("image/bmp").success).toBe(false);
      expect(z.toJSONSchema(toSchema(shape))).toMatchObject({ enum: ["image/png"] });
    });

    test("cannot be had of a check by hand", () => {
      expect(() => toSchema(custom(() => undefined))).toThrow(TypeError);
    });
  });
});
