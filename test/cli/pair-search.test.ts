import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pairSearch } from "../../src/cli/pair-search.js";
import { rounds } from "../support/rounds.js";

describe("the search for a pair of letters", () => {
  const size = 4096;
  const search = pairSearch(size);
  const code = (character: string) => character.charCodeAt(0);

  /** The same with one byte at a time. */
  function expected(bytes: Uint8Array, from: number, to: number, first: number, second: number): number {
    for (let at = from; at < to; at++) {
      const byte = bytes[at] as number;
      const next = bytes[at + 1] as number;
      if (byte >= 0x80 || ((byte | 0x20) === first && (next | 0x20) === second)) return at;
      if (byte === code("\\") && next === code("u")) return at;
    }
    return to;
  }

  it("stops where a loop over bytes stops", () => {
    const byte = fc.oneof(
      { arbitrary: fc.constant(code(" ")), weight: 12 },
      { arbitrary: fc.constantFrom(...Array.from('rRyY\\uU9"\n', code)), weight: 3 },
      fc.integer({ min: 0, max: 255 }),
    );
    const pair = fc.constantFrom("ry", "yr", "rr", "r9", "99", "u9");
    let stops = 0;
    fc.assert(
      fc.property(
        fc.array(byte, { maxLength: 100, size: "max" }),
        fc.nat(40),
        fc.nat(40),
        fc.constantFrom(0, size - 100),
        pair,
        (content, from, less, base, letters) => {
          const { bytes, next } = search ?? expect.fail("no instructions");
          bytes.fill(code("r"));
          bytes.set(content, base);
          const to = base + Math.max(0, content.length - less);
          const [first, second] = Array.from(letters, code) as [number, number];
          const found = next(base + from, to, first, second);
          const wanted = expected(bytes, base + from, to, first, second);
          if (wanted < to) stops++;
          expect(found < to ? found : "none").toBe(wanted < to ? wanted : "none");
        },
      ),
      { numRuns: rounds(300, 20_000) },
    );
    expect(stops).toBeGreaterThan(20);
  });

  it("is absent if the memory is", () => {
    expect(pairSearch(2 ** 40)).toBeUndefined();
  });
});
