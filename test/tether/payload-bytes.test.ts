import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { payloadBytes } from "../../src/tether/payload-bytes.js";
import { text } from "../arbitraries/values.js";
import { naiveBytes } from "./naive-ring.js";

const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    text,
    fc.constantFrom(null, true, false),
    fc.double(),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(text, tie("value"), { maxKeys: 5, noNullPrototype: true }),
  ),
})).value;

/** A list in a list, and so on. */
function nested(depth: number): unknown {
  let value: unknown = "x";
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

describe("payloadBytes", () => {
  test("is 32 for each value, and the length of strings and names", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(payloadBytes(value)).toBe(naiveBytes(value));
      }),
    );
  });

  test("is the same for what is large or deep, where it is counted in another way", () => {
    fc.assert(
      fc.property(anyJson, fc.integer({ min: 1, max: 600 }), fc.boolean(), (value, count, wide) => {
        let payload: unknown = value;
        let inner = 0;
        if (wide) payload = Array.from({ length: count }, () => value);
        else for (; inner < count; inner++) payload = inner % 2 === 0 ? [payload] : { member: payload };
        expect(payloadBytes(payload)).toBe(naiveBytes(payload));
      }),
    );
  });

  test("is never less than the JSON, each escape in it counted as the one unit that it stands for", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const json = JSON.stringify(value).replace(/\\(?:u[0-9a-f]{4}|.)/g, "x");
        expect(payloadBytes(value)).toBeGreaterThanOrEqual(json.length);
      }),
    );
    for (const value of [-Number.MAX_VALUE, { a: -Number.MAX_VALUE }, [[], {}], false]) {
      expect(payloadBytes(value)).toBeGreaterThanOrEqual(JSON.stringify(value).length);
    }
  });

  test("counts a million values, and a depth of 200,000, without a stack", () => {
    expect(payloadBytes(new Array(1_000_000).fill(1))).toBe(32 + 32_000_000);
    expect(payloadBytes(nested(200_000))).toBe(33 + 32 * 200_000);
  });

  test("counts what is there twice twice, however often that is", () => {
    let shared: unknown = "";
    for (let level = 0; level < 40; level++) shared = [shared, shared];
    expect(payloadBytes(shared)).toBe(32 * (2 ** 41 - 1));
    // Wide, so that it is large before it is deep.
    for (const isList of [true, false]) {
      let wide: unknown = 0;
      let bytes = 32;
      for (let level = 0; level < 8; level++) {
        wide = isList
          ? Array(50).fill(wide)
          : Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, wide]));
        bytes = 32 + 50 * bytes + (isList ? 0 : 10 * 2 + 40 * 3);
      }
      expect(payloadBytes(wide)).toBe(bytes);
    }
  });

  test("counts binary data by its length, small and large", () => {
    for (const size of [0, 3, 5_000_000]) {
      expect(payloadBytes(new Uint8Array(size))).toBe(32 + size);
      expect(payloadBytes([nested(20), { data: new Uint8Array(size) }])).toBe(
        32 + naiveBytes(nested(20)) + 32 + 4 + 32 + size,
      );
    }
  });

  test("counts what JSON does not have as a value, and what is not there too", () => {
    for (const value of [undefined, () => 1, Symbol("s"), 10n, Number.NaN]) {
      expect(payloadBytes(value)).toBe(32);
      expect(payloadBytes({ value })).toBe(32 + 5 + 32);
      expect(payloadBytes([value])).toBe(64);
    }
  });

  test("refuses what holds itself, near and far", () => {
    const ring: { next?: unknown } = {};
    ring.next = [{ ring }];
    const far: unknown[] = [];
    far.push(Array.from({ length: 1000 }, (_, at) => (at === 999 ? [far] : at)));
    for (const value of [ring, far, { far }]) {
      expect(() => payloadBytes(value)).toThrow(TypeError);
      expect(() => payloadBytes(value)).toThrow(/^frame\.payload: expected JSON, got .* that holds itself$/);
    }
  });
});
