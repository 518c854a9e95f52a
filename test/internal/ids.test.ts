import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { randomHex8, uuidv7 } from "../../src/internal/ids.js";

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
