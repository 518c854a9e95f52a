import fc from "fast-check";
import { expect, test } from "vitest";
import type { DiskFile } from "../../../src/session/node/disk.js";
import { readPlaces } from "../../../src/session/node/read-places.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

/** A file whose bytes tell where they lie, and how often it was read. */
function counted(size: number, most = Number.POSITIVE_INFINITY) {
  const disk = new SimulatedDisk();
  const content = Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
  disk.put("/log", content);
  const file = disk.open("/log", "read") as DiskFile;
  const reads: number[] = [];
  const counting: DiskFile = {
    ...file,
    read: (into, at) => {
      reads.push(into.length);
      return file.read(into.subarray(0, most), at);
    },
  };
  return { content, file: counting, reads };
}

test("gives the bytes at any places in any order, undefined for those past the end", async () => {
  const place = fc.record({ at: fc.nat(120_000), length: fc.nat(3000) });
  const { content, file } = counted(100_000);
  await fc.assert(
    fc.asyncProperty(fc.array(place, { maxLength: 20 }), async (places) => {
      const found = await readPlaces(file, places);
      expect(found.length).toBe(places.length);
      for (const [index, { at, length }] of places.entries()) {
        const wanted = at + length <= content.length ? content.slice(at, at + length) : undefined;
        expect(found[index] === undefined ? undefined : Uint8Array.from(found[index])).toEqual(wanted);
      }
    }),
    { numRuns: 60 },
  );
});

test("reads neighbours in one go, and leaves wide gaps out", async () => {
  const { file, reads } = counted(400_000);
  await readPlaces(file, [
    { at: 0, length: 100 },
    { at: 20_000, length: 100 },
    { at: 300_000, length: 100 },
  ]);
  expect(reads).toEqual([20_100, 100]);
  expect(await readPlaces(file, [])).toEqual([]);
});

test("reads on where a read was short, and no run is longer than eight megabytes", async () => {
  const { content, file, reads } = counted(10_000, 700);
  expect(await readPlaces(file, [{ at: 5, length: 5000 }])).toEqual([content.slice(5, 5005)]);
  expect(reads.length).toBe(8);
  const large = counted(9_000_000);
  await readPlaces(
    large.file,
    Array.from({ length: 900 }, (_, at) => ({ at: at * 10_000, length: 9000 })),
  );
  expect(Math.max(...large.reads)).toBeLessThanOrEqual(8 * 1024 * 1024);
  expect(large.reads.length).toBe(2);
});
