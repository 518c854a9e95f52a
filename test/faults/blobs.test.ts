import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BlobRef, type BlobStore, collectGarbage } from "sessile";
import { fileBlobStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { rounds } from "../support/rounds.js";
import { useChildren } from "./start-child.js";

const startChild = useChildren();
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-blobs-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Fails unless each of these is there and is what its name says. */
async function areThere(blobs: BlobStore, refs: Iterable<string>): Promise<void> {
  const report = await blobs.verify({ refs: refs as Iterable<BlobRef> });
  expect(report.missing).toEqual([]);
  expect(report.corrupt).toEqual([]);
}

describe("row 12: twenty processes that put the same and different blobs at once", () => {
  // @covers durability:same-blob
  test("all succeed, and each blob is stored once and whole", async () => {
    const store = join(dir, "twenty");
    const children = Array.from({ length: 20 }, (_, n) => startChild("put", store, `own ${n}`, "6"));
    for (const child of children) expect(await child.ended).toBe(0);
    const said = children.flatMap((child) => child.said);
    expect(said.length).toBe(20 * 12);
    const refs = new Set(said);
    expect(refs.size).toBe(20 * 6 + 6);
    const blobs = fileBlobStore({ dir: store });
    await areThere(blobs, refs);
    expect((await blobs.verify()).checked.count).toBe(refs.size);
    expect(readdirSync(join(store, "tmp"))).toEqual([]);
  });
});

describe("row 1: processes that are killed while they put", () => {
  const atATime = 5;
  const times = rounds(5, 500 / atATime);

  // @covers R88 durability:killed-put
  test("leave every acknowledged blob whole, and nothing that is wrong", {
    timeout: 300_000 + times * 10_000,
  }, async () => {
    const store = join(dir, "killed");
    const blobs = fileBlobStore({ dir: store });
    const acknowledged = new Set<string>();
    for (let round = 0; round < times; round++) {
      const children = Array.from({ length: atATime }, (_, n) =>
        startChild("putForever", store, `round ${round} ${n}`),
      );
      // Each at another moment of its work.
      await Promise.all(
        children.map(async (child, n) => {
          await vi.waitFor(() => expect(child.said.length).toBeGreaterThan((round * 3 + n * 2) % 14), {
            timeout: 60_000,
            interval: 1,
          });
          child.kill("SIGKILL");
          expect(await child.ended).toBe("SIGKILL");
          for (const ref of child.said) acknowledged.add(ref);
        }),
      );
      // The next puts go on in what the last ones left.
      await blobs.put(new Uint8Array([round]));
    }
    expect(acknowledged.size).toBeGreaterThan(times * atATime);
    await areThere(blobs, acknowledged);
    expect((await blobs.verify()).corrupt).toEqual([]);
    const left = readdirSync(join(store, "tmp")).length;
    const marks = [{ root: "said", refs: acknowledged as ReadonlySet<BlobRef>, complete: true }];
    const report = await collectGarbage(blobs, { marks, now: () => Date.now() + 16 * 86_400_000 });
    expect(report.missing.count).toBe(0);
    expect(report.leftovers.count).toBe(left);
    expect(readdirSync(join(store, "tmp"))).toEqual([]);
    await areThere(blobs, acknowledged);
  });
});

describe("row 14: collections beside processes that put and touch what is about to go", () => {
  // @covers durability:collection
  test("take nothing that was acknowledged", async () => {
    const store = join(dir, "collected");
    const graceMs = "1000";
    const writers = [0, 1].map(() => startChild("renewSome", store, graceMs));
    const collectors = [0, 1].map(() => startChild("collect", store, graceMs));
    const trashed = () =>
      collectors.map(
        ({ said }) => (JSON.parse(said.at(-1) ?? '{"trashed":0}') as { trashed: number }).trashed,
      );
    // Both take what the others are about to renew, for some leases.
    await vi.waitFor(() => expect(Math.min(...trashed())).toBeGreaterThan(20), {
      timeout: 120_000,
      interval: 20,
    });
    for (const child of [...writers, ...collectors]) child.process.stdin?.write("\n");
    for (const child of [...writers, ...collectors]) expect(await child.ended).toBe(0);
    for (const { said } of writers) {
      expect(said[1]).toBe("missed 0");
      expect(said[2]).toMatch(/^renewed [1-9]/);
    }
    expect((await fileBlobStore({ dir: store }).verify()).corrupt).toEqual([]);
  });
});
