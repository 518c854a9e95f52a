import fc from "fast-check";
import { expect, test } from "vitest";
import { type EntryKey, entryIdOf } from "../../../src/session/format/entry-prefix.js";
import { KeyIndex, noRow } from "../../../src/session/tree/entry-table.js";

const key: fc.Arbitrary<EntryKey> = fc.oneof(
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 0, max: 0xffff_ffff }),
  fc.constantFrom("", "a", "constructor", "__proto__", "0000000A"),
);

test("knows the rows that a Map knows, whatever the keys", () => {
  fc.assert(
    fc.property(fc.array(key, { maxLength: 600 }), fc.array(key), (added, asked) => {
      const index = new KeyIndex();
      const map = new Map<EntryKey, number>();
      for (const each of added) {
        expect(index.add(each)).toBe(map.has(each) ? noRow : map.size);
        if (!map.has(each)) map.set(each, map.size);
      }
      expect(index.size).toBe(map.size);
      for (const [each, row] of map) {
        expect([index.row(each), index.key(row), index.id(row)]).toEqual([row, each, entryIdOf(each)]);
      }
      for (const each of asked) expect(index.row(each)).toBe(map.get(each) ?? noRow);
    }),
  );
});

test("keeps a hundred thousand keys in a row, and as many far from each other", () => {
  const index = new KeyIndex();
  const keys = Array.from({ length: 200_000 }, (_, i) => (i % 2 === 0 ? i : i * 0x1_0000) >>> 0);
  const rows = new Map<number, number>();
  for (const each of keys) if (!rows.has(each)) rows.set(each, index.add(each));
  for (const [each, row] of rows) expect(index.row(each)).toBe(row);
});
