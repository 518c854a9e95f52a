import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  describe as described,
  integerArgument,
  integerOption,
  oneOfOption,
  stringArgument,
} from "../../src/internal/arguments.js";

describe("integerArgument", () => {
  test("has no fallback", () => {
    expect(integerArgument("pages", 5, 0, 5)).toBe(5);
    expect(() => integerArgument("pages", undefined as never, 0)).toThrow(
      new RangeError("pages: expected an integer >= 0, got undefined"),
    );
  });
});

describe("integerOption", () => {
  test("gives the value, or the fallback where there is none", () => {
    expect(integerOption("limit", 5, 1, 0)).toBe(5);
    expect(integerOption("limit", undefined, 1, 0)).toBe(1);
  });

  test("takes exactly the safe integers in its bounds", () => {
    const bounds = fc.tuple(fc.integer({ min: -20, max: 0 }), fc.nat({ max: 20 }));
    const value = fc.oneof(fc.integer({ min: -30, max: 30 }), fc.double(), fc.constant(2 ** 53));
    fc.assert(
      fc.property(bounds, value, ([min, max], value) => {
        const take = () => integerOption("n", value, 0, min, max);
        if (Number.isInteger(value) && value >= min && value <= max) expect(take()).toBe(value);
        else expect(take).toThrow(RangeError);
      }),
    );
  });

  test("says the name, what was expected and what came", () => {
    expect(() => integerOption("maxLineBytes", 0, 1, 1024)).toThrow(
      new RangeError("maxLineBytes: expected an integer >= 1024, got 0"),
    );
    expect(() => integerOption("depth", 9.5, 1, 1, 8)).toThrow(
      new RangeError("depth: expected an integer from 1 to 8, got 9.5"),
    );
    expect(() => integerOption("n", Number.NaN, 1, 0)).toThrow(/got NaN$/);
    expect(() => integerOption("n", "5" as never, 1, 0)).toThrow(RangeError);
    expect(() => integerOption("n", 2 ** 53, 1, 0)).toThrow(RangeError);
  });
});

describe("stringArgument", () => {
  test("gives a string that is not empty", () => {
    expect(stringArgument("id", "a")).toBe("a");
  });

  test.each([
    ["", "an empty string"],
    [undefined, "undefined"],
    [5, "5"],
    [["a"], "an array of 1"],
  ])("refuses %j", (value, got) => {
    expect(() => stringArgument("id", value)).toThrow(
      new TypeError(`id: expected a non-empty string, got ${got}`),
    );
  });
});

describe("describe", () => {
  test.each([
    [null, "null"],
    [undefined, "undefined"],
    [1.5, "1.5"],
    [10n, "10"],
    [true, "true"],
    ["", "an empty string"],
    ["a\n", '"a\\n"'],
    [[1, 2], "an array of 2"],
    [{ secret: 1 }, "an object"],
    [() => 1, "a function"],
    [Symbol("s"), "a symbol"],
  ])("says of %s that it is %s", (value, text) => {
    expect(described(value)).toBe(text);
  });

  test("is short, one line, and never throws", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true }), (value) => {
        const text = described(value);
        expect(text).not.toMatch(/[\n\r]/);
        if (typeof value === "string") expect(text.length).toBeLessThanOrEqual(2 + 6 * 40);
      }),
    );
    expect(described("x".repeat(1000))).toHaveLength(42);
  });
});

describe("oneOfOption", () => {
  test("gives the value, or the first choice where there is none", () => {
    expect(oneOfOption("mode", "write", ["read", "write"])).toBe("write");
    expect(oneOfOption("mode", undefined, ["read", "write"])).toBe("read");
  });

  test("names what was expected and what came", () => {
    expect(() => oneOfOption<string>("mode", "append", ["read", "write"])).toThrow(
      new TypeError('mode: expected "read" or "write", got "append"'),
    );
    expect(() => oneOfOption("mode", null as never, ["read"])).toThrow(TypeError);
  });
});
