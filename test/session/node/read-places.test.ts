import fc from "fast-check";
import { expect, test } from "vitest";
import type { OpenFile } from "../../../src/internal/node/file-system.js";
import { readRanges } from "../../../src/session/node/read-lines.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

/** A file whose bytes tell where they lie, and how often it was read. */
function counted(size: number, most = Number.POSITIVE_INFINITY) {
  const disk = new SimulatedDisk();
  const content = Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
  disk.put("/log", content);
  const file = disk.open("/log", "read") as OpenFile;
  const reads: number[] = [];
  const counting: OpenFile = {
    ...file,
    read: (into, at) => {
      reads.push(into.length);
      return file.read(into.subarray(0, most), at);
    },
  };
  return { content, file: counting, reads };
}

test("gives the bytes at any places in any order, undefined for those past the end", async () => {
  const place = fc.record({ at: fc.nat(120_000), length: fc.integer({ min: 1, max: 3000 }) });
  const { content, file } = counted(100_000);
  await fc.assert(
    fc.asyncProperty(fc.array(place, { maxLength: 20 }), async (places) => {
      const found = await readRanges(file, places);
      expect(found.length).toBe(places.length);
      for (const [index, { at, length }] of places.entries()) {
        const isThere = at + length <= content.length;
        expect(found[index] !== undefined).toBe(isThere);
        if (isThere)
          expect(Buffer.compare(found[index] as Uint8Array, content.subarray(at, at + length))).toBe(0);
      }
    }),
    { numRuns: 60 },
  );
});

test("reads neighbours in one go, and leaves wide gaps out", async () => {
  const { file, reads } = counted(400_000);
  await readRanges(file, [
    { at: 0, length: 100 },
    { at: 20_000, length: 100 },
    { at: 300_000, length: 100 },
  ]);
  expect(reads).toEqual([20_100, 100]);
  expect(await readRanges(file, [])).toEqual([]);
});

test("reads on where a read was short", async () => {
  const { content, file, reads } = counted(10_000, 700);
  expect(await readRanges(file, [{ at: 5, length: 5000 }])).toEqual([content.slice(5, 5005)]);
  expect(reads.length).toBe(8);
});

test("a run of neighbours is bounded; a line that is longer than that is read all the same", async () => {
  const { content, file, reads } = counted(2_000_000);
  const places = Array.from({ length: 200 }, (_, at) => ({ at: at * 10_000, length: 9000 }));
  await readRanges(file, places);
  expect(Math.max(...reads)).toBeLessThanOrEqual(1024 * 1024);
  expect(reads.length).toBeLessThan(20);
  const [long] = await readRanges(file, [{ at: 1, length: 1_000_000 }]);
  expect(Buffer.from(long ?? []).equals(Buffer.from(content.subarray(1, 1_000_001)))).toBe(true);
});
