import fc from "fast-check";
import { expect, test } from "vitest";
import { LiveSet } from "../../../src/compaction/file-ledger/ledger-builder.js";

test("the next number of a set is that of a plain set", () => {
  const change = fc.record({ index: fc.nat(40), inside: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 41 }), fc.array(change), fc.nat(45), (size, changes, from) => {
      const set = new LiveSet(size);
      const plain = new Set<number>();
      for (const { index, inside } of changes) {
        if (index >= size) continue;
        set.set(index, inside);
        if (inside) plain.add(index);
        else plain.delete(index);
      }
      const after = [...plain].filter((each) => each >= from);
      expect(set.next(from)).toBe(after.length === 0 ? undefined : Math.min(...after));
    }),
  );
});
