import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  describe as described,
  integerArgument,
  integerOption,
  oneOfOption,
  stringArgument,
  unreachable,
} from "../../src/core/arguments.js";
import { nameArgument, randomHex8, uuidv7 } from "../../src/core/ids.js";

describe("arguments", () => {
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
});

describe("unreachable", () => {
  test("unreachable names what came past the types", () => {
    expect(() => unreachable({ kind: "new" } as never)).toThrow(new TypeError('unexpected value: "new"'));
    expect(() => unreachable("new" as never)).toThrow(new TypeError('unexpected value: "new"'));
    expect(() => unreachable(null as never)).toThrow(new TypeError("unexpected value: null"));
  });
});

describe("ids", () => {
  /** Until the year 10889, when the 48 bits end. */
  const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });

  describe("uuidv7", () => {
    test("has the version, the variant and the time of RFC 9562", () => {
      fc.assert(
        fc.property(time, (now) => {
          const id = uuidv7(now);
          expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
          expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(now);
        }),
      );
    });

    test("sorts by time", () => {
      fc.assert(
        fc.property(time, time, (a, b) => {
          fc.pre(a !== b);
          expect(uuidv7(a) < uuidv7(b)).toBe(a < b);
        }),
      );
    });

    test("differs within a millisecond", () => {
      expect(new Set(Array.from({ length: 5000 }, () => uuidv7(1))).size).toBe(5000);
    });

    test("is random in every bit that is not fixed", () => {
      const seen = Array.from({ length: 200 }, () => BigInt(`0x${uuidv7(0).replaceAll("-", "").slice(12)}`));
      const ones = seen.reduce((all, bits) => all | bits, 0n);
      const zeros = seen.reduce((all, bits) => all | ~bits, 0n) & ((1n << 80n) - 1n);
      const fixed = (0xfn << 76n) | (0x3n << 62n);
      expect(ones & ~fixed).toBe(((1n << 80n) - 1n) & ~fixed);
      expect(zeros & ~fixed).toBe(((1n << 80n) - 1n) & ~fixed);
    });
  });

  describe("randomHex8", () => {
    test("gives eight digits, hardly ever the same ones", () => {
      const ids = Array.from({ length: 2000 }, randomHex8);
      expect(ids.filter((id) => !/^[0-9a-f]{8}$/.test(id))).toEqual([]);
      expect(new Set(ids).size).toBeGreaterThan(1990);
    });
  });
});

describe("names", () => {
  const letters = [..."ABCXYZabcxyz0189"];
  const inner = fc.string({ unit: fc.constantFrom(...letters, ".", "_", "-"), maxLength: 126 });
  const letter = fc.constantFrom(...letters);
  const name = fc.oneof(
    letter,
    fc.tuple(letter, inner, letter).map((parts) => parts.join("")),
  );

  describe("nameArgument", () => {
    it("takes letters, digits, dots, underscores and hyphens between letters and digits", () => {
      fc.assert(
        fc.property(name, (value) => {
          expect(nameArgument("id", value)).toBe(value);
        }),
      );
    });

    it("refuses a name with any other character in it", () => {
      fc.assert(
        fc.property(name, fc.string({ unit: "binary", minLength: 1, maxLength: 1 }), name, (a, other, b) => {
          fc.pre(!/^[A-Za-z0-9._-]$/.test(other));
          for (const value of [a + other + b, other + a, a + other]) {
            expect(() => nameArgument("id", value)).toThrow(TypeError);
          }
        }),
      );
    });

    it.each([
      ["", "an empty string"],
      [".", '"."'],
      ["..", '".."'],
      ["-a", '"-a"'],
      ["a-", '"a-"'],
      ["a.", '"a."'],
      ["_", '"_"'],
      ["__proto__", '"__proto__"'],
      ["a/../b", '"a/../b"'],
      ["a\n", '"a\\n"'],
      [undefined, "undefined"],
      [null, "null"],
      [7, "7"],
      [["a"], "an array of 1"],
      ["a".repeat(129), `"${"a".repeat(40)}"`],
    ])("refuses %j, naming the argument and what came", (value, shown) => {
      const expected = "letters, digits, dots, underscores and hyphens with no dot or hyphen at the ends";
      expect(() => nameArgument("partition", value)).toThrow(
        new TypeError(`partition: expected at most 128 ${expected}, got ${shown}`),
      );
    });

    it("takes 128 characters", () => {
      expect(nameArgument("id", "a".repeat(128))).toHaveLength(128);
    });
  });
});
