import fc from "fast-check";
import type { BlobRef } from "sessile";
import { expect, test } from "vitest";
import { RefSet } from "../../src/blobs/collect.js";
import { rounds } from "../support/rounds.js";

/** Few digests, which share most bytes, in both algorithms. */
const ref = fc
  .record({
    algorithm: fc.constantFrom("sha256", "blake3"),
    at: fc.nat({ max: 63 }),
    digit: fc.constantFrom("0", "9", "a", "f"),
  })
  .map(
    ({ algorithm, at, digit }) => `${algorithm}:${"0".repeat(at)}${digit}${"0".repeat(63 - at)}` as BlobRef,
  );

test("a set of refs does what a Set of strings does", () => {
  fc.assert(
    fc.property(fc.array(ref, { maxLength: 80 }), fc.array(ref, { maxLength: 40 }), (added, looked) => {
      const set = new RefSet();
      for (const each of added) set.add(each);
      const model = new Set(added);
      expect(set.size).toBe(model.size);
      const left = new Set(model);
      for (const each of looked) {
        expect(set.find(each)).toBe(model.has(each));
        left.delete(each);
      }
      expect(set.unfound).toBe(left.size);
      expect([...set.allUnfound()]).toEqual([...left]);
    }),
    { numRuns: rounds(100, 3000) },
  );
});

test("a set of refs grows", () => {
  const set = new RefSet();
  const refOf = (n: number): BlobRef => `sha256:${n.toString(16).padStart(64, "0")}`;
  for (let n = 0; n < 100_000; n++) set.add(refOf(n));
  for (let n = 0; n < 100_000; n += 2) set.add(refOf(n));
  expect(set.size).toBe(100_000);
  for (let n = 1; n < 100_000; n++) expect(set.find(refOf(n))).toBe(true);
  expect(set.find(refOf(100_000))).toBe(false);
  expect([set.unfound, ...set.allUnfound()]).toEqual([1, refOf(0)]);
});
