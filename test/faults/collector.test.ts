import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collectGarbage } from "sessile";
import { fileBlobStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { rounds } from "../support/rounds.js";
import { type Child, useChildren } from "./start-child.js";

const startChild = useChildren();
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-collector-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Each is some 500 ms. */
const times = rounds(8, 100);
vi.setConfig({ testTimeout: 300_000 + times * 5000 });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("row 14: a collector that is killed when it has moved a blob and not yet looked at it again", () => {
  // @covers durability:collector-killed
  test("loses no put that was acknowledged in between, though the next one keeps no trash", async () => {
    const store = join(dir, "moved");
    const go = join(dir, "go");
    const graceMs = 3_600_000;
    const blobs = fileBlobStore({ dir: store });
    const bytes = new TextEncoder().encode("put again in time");
    const { ref } = await blobs.put(bytes);
    const hex = ref.slice("sha256:".length);
    utimesSync(join(store, "blobs", "sha256", hex.slice(0, 2), hex), 1000, 1000);
    const collector = startChild("collectAndDie", store, String(graceMs), go);
    await collector.saying("moving");
    await blobs.put(bytes);
    writeFileSync(go, "");
    expect(await collector.ended).toBe("SIGKILL");
    expect(readdirSync(join(store, "trash"))).toEqual([`sha256-${hex}`]);
    // The entry that names it is on its way, and may be for the length of the grace.
    const marks = [{ root: "nothing", refs: [], complete: true }];
    const next = await collectGarbage(blobs, { marks, graceMs, trashMs: 0 });
    expect([next.waiting.count, next.deleted.count]).toEqual([1, 0]);
    expect(await blobs.get(ref)).toEqual(new Uint8Array(bytes));
  });
});

describe("row 14: collectors that are killed or stopped in the middle", () => {
  // @covers R68 durability:collector-killed
  test(`take nothing that was acknowledged, and leave a whole store (${times} rounds)`, async () => {
    const store = join(dir, "collected");
    const graceMs = "1000";
    const writers = [0, 1].map(() => startChild("renewSome", store, graceMs));
    const collect = async () => {
      const child = startChild("collect", store, graceMs);
      await child.sayingSoMany(1);
      return child;
    };
    for (const writer of writers) await writer.saying("begins");
    const collectors: Child[] = [await collect(), await collect()];
    const trashed = () => readdirSync(join(store, "trash")).length;
    for (let round = 0; round < times || trashed() === 0; round++) {
      await pause(200 + Math.random() * 400);
      const [child] = collectors.splice(round % 2, 1) as [Child];
      if (round % 3 === 2) {
        await child.stop();
        await pause(Math.random() * 500);
        child.kill("SIGCONT");
        collectors.push(child);
        continue;
      }
      child.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      collectors.push(await collect());
    }
    for (const writer of writers) {
      writer.process.stdin?.write("\n");
      expect(await writer.ended).toBe(0);
      expect(writer.said[1]).toBe("missed 0");
    }
    for (const child of collectors) {
      child.kill("SIGKILL");
      await child.ended;
    }
    const blobs = fileBlobStore({ dir: store });
    expect((await blobs.verify()).corrupt).toEqual([]);
    // Killed in the middle of a move, none is in two places or under a name of its own.
    let left = 0;
    for await (const _ of blobs.list()) left++;
    const kept = trashed();
    expect(kept).toBeGreaterThan(0);
    const marks = [{ root: "nothing", refs: [], complete: true }];
    const dayMs = 86_400_000;
    const later = (days: number) => () => Date.now() + days * dayMs;
    const first = await collectGarbage(blobs, { marks, now: later(15) });
    expect([first.trashed.count, first.deleted.count]).toEqual([left, kept]);
    const second = await collectGarbage(blobs, { marks, now: later(40) });
    expect(second.deleted.count).toBe(left);
    for (const name of ["trash", "tmp"]) expect(readdirSync(join(store, name))).toEqual([]);
  });
});
