import { join } from "node:path";
import fc from "fast-check";
import type { BlobRef } from "sessile";
import { describe, expect, test } from "vitest";
import { partitionFolder } from "../../../src/core/ids.js";
import { flat, type Layout, sharded } from "../../../src/storage/files/blobs/layout.js";

const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 64, maxLength: 64 });
const layouts: Readonly<Record<string, readonly [Layout, readonly ("sha256" | "blake3")[]]>> = {
  sharded: [sharded, ["sha256", "blake3"]],
  "flat by SHA-256": [flat("sha256"), ["sha256"]],
  "flat by BLAKE3": [flat("blake3"), ["blake3"]],
};

describe.each(Object.entries(layouts))("the layout %s", (_, [layout, algorithms]) => {
  const ref = fc
    .tuple(fc.constantFrom(...algorithms), hex)
    .map(([name, digits]): BlobRef => `${name}:${digits}`);

  test("finds by its name what it named", () => {
    fc.assert(
      fc.property(
        ref,
        fc.option(fc.constantFrom("image/png", "text/plain", "a/b"), { nil: undefined }),
        (blob, type) => {
          const name = layout.nameFor(blob, type);
          expect(layout.namesByRef(blob)).toContain(name);
          expect(layout.refAt(layout.folderByRef(blob), name)).toBe(blob);
          expect(join(layout.folderByRef(blob), name).startsWith("blobs")).toBe(true);
        },
      ),
    );
  });

  test("takes no other file for a blob", () => {
    const folder = layout.folderByRef(`${algorithms[0]}:${"ab".repeat(32)}` as BlobRef);
    for (const name of [
      "",
      ".",
      "README.md",
      "ab",
      "AB".repeat(32),
      `${"ab".repeat(32)}.tmp~`,
      "cd".repeat(32),
    ]) {
      expect(layout.refAt(folder, name)).toBeUndefined();
    }
  });
});

test("a flat layout has no name for a blob of the other algorithm", () => {
  expect(flat("sha256").namesByRef(`blake3:${"0".repeat(64)}`)).toEqual([]);
});

test("partitions whose names differ have directories that differ, whatever the case", () => {
  const name = fc.string({ unit: fc.constantFrom(..."abAB._-1"), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(name, name, (a, b) => {
      fc.pre(a !== b);
      expect(partitionFolder(a).toLowerCase()).not.toBe(partitionFolder(b).toLowerCase());
    }),
  );
});
