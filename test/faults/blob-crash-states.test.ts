import { type BlobMark, type BlobRef, type BlobStore, collectGarbage } from "sessile";
import { describe, expect, test, vi } from "vitest";
import { type Check, checkCrashes, Witness } from "../support/crash-states.js";
import { SimulatedDisk } from "../support/simulated-disk.js";
import { seeded } from "./mutants.js";

/** More of each by hand, by SESSILE_FAULT_ROUNDS. */
const rounds = Number(process.env.SESSILE_FAULT_ROUNDS ?? 1);
vi.setConfig({ testTimeout: 300_000 * rounds });

const dir = "/home/agent/blobs";
const dayMs = 86_400_000;
const layouts = ["sharded", "flat"] as const;
type LayoutName = (typeof layouts)[number];

function storeOn(disk: SimulatedDisk, layout: LayoutName): BlobStore {
  return disk.blobs({ dir, layout });
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Chunks that come one after the other, as from a network. */
async function* streamed(text: string): AsyncGenerator<Uint8Array> {
  for (const part of text.match(/.{1,7}/gs) ?? []) yield bytesOf(part);
}

/** A disk of which nothing is lost any more, with these blobs. */
async function diskWith(
  layout: LayoutName,
  ...texts: readonly string[]
): Promise<[SimulatedDisk, BlobRef[]]> {
  const disk = new SimulatedDisk();
  const refs: BlobRef[] = [];
  for (const text of texts) refs.push((await storeOn(disk, layout).put(bytesOf(text))).ref);
  return [settled(disk), refs];
}

function settled(disk: SimulatedDisk): SimulatedDisk {
  const [left] = disk.afterPowerCut({ limit: 1 });
  return left as SimulatedDisk;
}

/** The disk when all of it was synced in the end. */
function synced(disk: SimulatedDisk): SimulatedDisk {
  return [...disk.afterPowerCut({ limit: 2 })].at(-1) as SimulatedDisk;
}

/** Whatever was being done: each blob that is there is what its name says, and work goes on. */
const isSound =
  (layout: LayoutName): Check =>
  async (left) => {
    const store = storeOn(left, layout);
    const report = await store.verify();
    expect(report.corrupt).toEqual([]);
    for await (const { ref, size } of store.list()) expect((await store.get(ref))?.length).toBe(size);
    const { ref } = await store.put(bytesOf("after"));
    expect(await storeOn(left, layout).get(ref)).toEqual(bytesOf("after"));
  };

/** A blob that was promised is there, whole, and can be put once more and found again. */
const has =
  (layout: LayoutName, ref: BlobRef, text: string): Check =>
  async (left) => {
    const store = storeOn(left, layout);
    expect(await store.get(ref)).toEqual(bytesOf(text));
    expect((await store.stat(ref))?.size).toBe(text.length);
    expect((await store.put(bytesOf(text))).ref).toBe(ref);
    expect(await storeOn(left, layout).get(ref)).toEqual(bytesOf(text));
  };

const hasNot =
  (layout: LayoutName, ref: BlobRef): Check =>
  async (left) => {
    expect(await storeOn(left, layout).get(ref)).toBeUndefined();
  };

const marks = (...refs: readonly BlobRef[]): BlobMark[] => [{ root: "log", refs, complete: true }];

/** Puts, and collects what nothing named: what whoever comes back does. */
const recover =
  (layout: LayoutName, ...kept: readonly BlobRef[]) =>
  async (disk: SimulatedDisk): Promise<void> => {
    const store = storeOn(disk, layout);
    const { ref } = await store.put(bytesOf("recovered"));
    await collectGarbage(store, {
      marks: marks(ref, ...kept),
      now: () => disk.clock() + 40 * dayMs,
      graceMs: dayMs,
    });
  };

async function checked(witness: Witness, ...again: Parameters<typeof recover>): Promise<number> {
  const reboot = () => undefined;
  const options = { limit: 14 * rounds, random: seeded(4), reboot, recover: recover(...again) };
  return checkCrashes(witness, { ...options, seconds: 14 * rounds });
}

describe.each(layouts)(
  "row 4: every state a crash can leave of a %s store, and a second crash while it is used again",
  (layout) => {
    // @covers durability:power-cut-blob
    test.each(["bytes", "stream"])("the first put of all, of %s: with its directories", async (kind) => {
      const disk = new SimulatedDisk();
      const witness = new Witness(disk, [isSound(layout)]);
      const text = "the first of all";
      const store = storeOn(disk, layout);
      const { ref } = await store.put(kind === "bytes" ? bytesOf(text) : streamed(text), {
        mediaType: "image/png",
      });
      witness.promise(has(layout, ref, text));
      // Into the same folders, some of which nobody need sync again.
      const second = await store.put(bytesOf("another"));
      witness.promise(has(layout, second.ref, "another"));
      expect(await checked(witness, layout, ref, second.ref)).toBeGreaterThan(150);
    });

    // @covers durability:power-cut-blob
    test("a put of what is there, and of what is there and damaged", async () => {
      const [disk, [ref]] = await diskWith(layout, "there already");
      const whole = new Witness(disk, [isSound(layout), has(layout, ref as BlobRef, "there already")]);
      await storeOn(disk, layout).put(bytesOf("there already"));
      whole.promise(has(layout, ref as BlobRef, "there already"));
      expect(await checked(whole, layout, ref as BlobRef)).toBeGreaterThan(2);

      const path = disk.paths().find((name) => name.includes((ref as BlobRef).slice(7))) ?? "";
      disk.onChange = undefined;
      disk.put(path, "there alr");
      const cut = new Witness(settled(disk), []);
      await storeOn(cut.disk, layout).put(bytesOf("there already"));
      cut.promise(has(layout, ref as BlobRef, "there already"));
      expect(await checked(cut, layout, ref as BlobRef)).toBeGreaterThan(20);
    });

    // @covers durability:power-cut-blob
    test("deleting: whole or gone, gone when it resolves, and the others stay", async () => {
      const [disk, refs] = await diskWith(layout, "to go", "to stay");
      const [gone, stays] = refs as [BlobRef, BlobRef];
      const witness = new Witness(disk, [isSound(layout), has(layout, stays, "to stay")]);
      expect(await storeOn(disk, layout).delete(gone)).toBe(true);
      witness.promise(hasNot(layout, gone));
      expect(await checked(witness, layout, stays)).toBeGreaterThan(5);
    });

    // @covers durability:power-cut-blob durability:trash-power-cut
    test("a collection, from the store to the trash, back, and out of it: what a root names is there throughout", async () => {
      const [disk, refs] = await diskWith(layout, "named", "garbage", "named again", "old garbage");
      const [named, garbage, again, old] = refs as [BlobRef, BlobRef, BlobRef, BlobRef];
      const collect = (days: number, ...kept: readonly BlobRef[]) =>
        collectGarbage(storeOn(disk, layout), {
          marks: marks(...kept),
          now: () => disk.clock() + days * dayMs,
          graceMs: dayMs,
        });
      expect((await collect(2, named, garbage)).trashed.count).toBe(2);
      const begun = new Witness(synced(disk), [
        isSound(layout),
        has(layout, named, "named"),
        has(layout, again, "named again"),
      ]);
      const report = await collectGarbage(storeOn(begun.disk, layout), {
        marks: marks(named, again),
        now: () => begun.disk.clock() + 4 * dayMs,
        graceMs: dayMs,
      });
      expect([report.trashed.count, report.restored.count, report.deleted.count]).toEqual([1, 1, 1]);
      begun.promise(hasNot(layout, old));
      // In the trash, from where it comes back when it is asked for. No promise of it outlives a crash: this disk may lose
      // both names of what was moved from one folder to another, which none with a journal does.
      await has(layout, garbage, "garbage")(begun.disk.copy());
      expect(await checked(begun, layout, named, garbage, again)).toBeGreaterThan(20);
    });
  },
);
