import { utimesSync } from "node:fs";
import { join } from "node:path";
import { type BlobStore, collectGarbage } from "sessile";
import { fileBlobStore } from "sessile/node";
import { afterEach, describe, expect, test, vi } from "vitest";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { fileClock } from "../../support/file-clock.js";

const bytes = new Uint8Array([1, 2, 3]);
const dayMs = 86_400_000;
const marks = [{ root: "log", refs: [], complete: true }];

afterEach(() => void vi.restoreAllMocks());

describe("a lease is by the file system's clock", () => {
  const ways: Readonly<Record<string, (blobs: BlobStore, old: () => void) => Promise<unknown>>> = {
    async put(blobs, old) {
      await blobs.put(bytes);
      old();
      await blobs.put(bytes);
    },
    async touch(blobs, old) {
      const { ref } = await blobs.put(bytes);
      old();
      await blobs.touch(ref);
    },
    async restore(blobs, old) {
      const { ref } = await blobs.put(bytes);
      old();
      await collectGarbage(blobs, { marks });
      await blobs.backend.trash.restore(ref);
    },
  };
  const cases = Object.keys(ways).flatMap((way) => [-20, 20].map((days) => ({ way, days })));

  test.each(cases)("after a $way by a machine that is off by $days days", async ({ way, days }) => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir, durability: "os" });
    const real = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => real() + days * dayMs);
    let path = "";
    await ways[way]?.(blobs, () => {
      const hex = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81";
      path = join(dir, "blobs", "sha256", hex.slice(0, 2), hex);
      utimesSync(path, 1000, 1000);
    });
    for await (const stat of blobs.list())
      expect(Math.abs(stat.touchedAt - fileClock())).toBeLessThan(60_000);
    expect((await collectGarbage(blobs, { marks })).recent.count).toBe(1);
  });
});
