import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nameArgument } from "../../src/internal/ids.js";

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
