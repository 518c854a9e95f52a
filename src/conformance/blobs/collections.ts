/** Garbage collection. */

import { type BlobMark, type BlobStore, collectGarbage } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { equal, rejects } from "../expect.js";
import { blobCase, collect, noise, pause, refsIn, renewed, sameBytes } from "./harness.js";

const dayMs = 86_400_000;
const mark = (...refs: readonly BlobRef[]): BlobMark => ({ root: "log", refs, complete: true });

/** Runs a garbage collection a number of days from now. */
async function after(days: number, store: BlobStore, ...refs: readonly BlobRef[]) {
  const now = (await store.backend.now()) + days * dayMs;
  return collectGarbage(store, { marks: [mark(...refs)], now: () => now });
}

async function storeTrash(store: BlobStore): Promise<readonly BlobRef[]> {
  return (await collect(store.backend.trash.list())).map(({ ref }) => ref).sort();
}

export const collectionCases = [
  blobCase(
    "what nothing names goes after its grace, first into the trash and then for good",
    async ({ open }) => {
      const store = await open();
      const named = await store.put(noise(1000));
      const garbage = await store.put(noise(300_000));
      const early = await after(13, store, named.ref);
      equal(
        [early.kept.bytes, early.recent.bytes, early.trashed.bytes],
        [1000, 300_000, 0],
        "within the grace",
      );
      const first = await after(15, store, named.ref);
      equal(
        [first.kept.count, first.trashed, first.deleted.count],
        [1, { count: 1, bytes: 300_000 }, 0],
        "after it",
      );
      equal(await refsIn(await open()), [named.ref], "blobs after the first collection");
      equal(await storeTrash(store), [garbage.ref], "the trash after it");
      const second = await after(13, store, named.ref);
      equal([second.waiting.bytes, second.deleted.bytes], [300_000, 0], "within the second grace");
      const third = await after(15, store, named.ref);
      equal(third.deleted, { count: 1, bytes: 300_000 }, "after the second grace");
      equal(await store.get(garbage.ref), undefined, "get of what was deleted");
      equal(await storeTrash(store), [], "the trash in the end");
      sameBytes(await store.get(named.ref), noise(1000), "the blob that is named");
    },
  ),

  blobCase("what is in the trash comes back when it is asked for", async ({ open }) => {
    const ways: Readonly<Record<string, (store: BlobStore, ref: BlobRef) => Promise<unknown>>> = {
      get: (store, ref) => store.get(ref),
      stream: (store, ref) => store.stream(ref),
      stat: (store, ref) => store.stat(ref),
      touch: (store, ref) => store.touch(ref),
      "a mark": (store, ref) => after(30, store, ref),
      "a put": (store) => store.put(noise(10)),
    };
    const store = await open();
    for (const [way, ask] of Object.entries(ways)) {
      const { ref } = await store.put(noise(10));
      await after(15, store);
      equal(await refsIn(store), [], "blobs after the collection");
      await ask(await open(), ref);
      equal(await refsIn(store), [ref], `blobs after ${way}`);
      await after(13, store);
      equal(await refsIn(store), [ref], `blobs within a new grace after ${way}`);
      sameBytes(await store.get(ref), noise(10), `bytes after ${way}`);
      await store.delete(ref);
      equal(await storeTrash(store), [], "the trash after it was deleted");
    }
  }),

  blobCase("delete deletes from the trash too", async ({ open }) => {
    const store = await open();
    const { ref } = await store.put(noise(10));
    await after(15, store);
    equal(await store.delete(ref), true, "whether it was there");
    equal(await storeTrash(store), [], "the trash");
    equal(await store.get(ref), undefined, "get");
  }),

  blobCase("what was touched since it was seen stays", async ({ open }) => {
    const store = await open();
    const { trash } = store.backend;
    for (const renew of ["put", "touch"] as const) {
      const seen = await store.put(noise(10));
      const other = await open();
      await renewed(seen, () => (renew === "put" ? other.put(noise(10)) : other.touch(seen.ref)));
      equal(await trash.take(seen), false, `whether it was taken after a ${renew}`);
      equal(await refsIn(store), [seen.ref], "blobs");
      equal(await storeTrash(store), [], "the trash");
    }
    const [seen] = await collect(store.list());
    equal(seen && (await trash.take(seen)), true, "whether what was not touched was taken");
    equal(seen && (await trash.take(seen)), false, "whether it was taken twice");
  }),

  blobCase("the grace holds in the trash too", async ({ open }) => {
    const store = await open();
    // The state after a collection that crashed after its move, with a lease that a put renewed in between.
    equal(await store.backend.trash.take(await store.put(noise(10))), true, "whether it was taken");
    const collectAfter = async (days: number) => {
      const now = (await store.backend.now()) + days * dayMs;
      return collectGarbage(store, { marks: [mark()], now: () => now, trashMs: 0 });
    };
    const early = await collectAfter(13);
    equal([early.waiting.count, early.deleted.count], [1, 0], "waiting and deleted within the grace");
    equal((await collectAfter(15)).deleted, { count: 1, bytes: 10 }, "deleted after it");
  }),

  blobCase("what came into the trash since it was seen there stays", async ({ open }) => {
    const store = await open();
    const { trash } = store.backend;
    const first = await store.put(noise(10));
    const { ref } = first;
    await after(15, store);
    const [seen] = await collect(trash.list());
    const restored = await renewed(first, () => store.touch(ref));
    equal(await trash.delete(ref, seen), false, "whether it was deleted, while it was in the store");
    const touched = await renewed(restored, () => store.touch(ref));
    equal(await trash.take(touched), true, "whether it was taken again");
    equal(await trash.delete(ref, seen), false, "whether it was deleted as the one that was seen first");
    sameBytes(await store.get(ref), noise(10), "the blob");
    await after(15, store);
    const [again] = await collect(trash.list());
    equal(await trash.delete(ref, again), true, "whether it was deleted as the one that is there");
  }),

  blobCase("a put after the collection looked is not swept", async ({ open }) => {
    const store = await open();
    const first = await store.put(noise(10));
    const { ref, touchedAt } = first;
    const now = (await store.backend.now()) + 15 * dayMs;
    const step = touchedAt % 1000 === 0 ? 1000 : 1;
    const marks = async function* () {
      yield mark();
      // A writer puts the same bytes while the collector reads the logs, by a clock that may be put back.
      const other = await open();
      let again = first;
      for (let puts = 0; puts < 100 && again.touchedAt <= touchedAt + step + 2; puts++) {
        await pause();
        again = await renewed(again, () => other.put(noise(10)));
      }
    };
    // The grace period of the first put has just expired: by its step, and a millisecond.
    const graceMs = Math.floor(now - touchedAt) - step - 1;
    const report = await collectGarbage(store, { marks: marks(), now: () => now, graceMs });
    equal(report.trashed.count, 0, "blobs that were trashed");
    equal(await refsIn(store), [ref], "blobs");
  }),

  blobCase("a put within the second in which a collection begins is not swept", async ({ open }) => {
    const store = await open();
    // The collection begins in the middle of a second, or of a millisecond, in which a blob is put.
    const { ref, touchedAt } = await store.put(noise(10));
    const step = touchedAt % 1000 === 0 ? 1000 : 1;
    const now = touchedAt + (Number.isInteger(touchedAt) ? step * 0.9 : 0);
    const report = await collectGarbage(store, { marks: [mark()], now: () => now, graceMs: 0, trashMs: 0 });
    equal([report.recent.count, report.trashed.count], [1, 0], "recent and trashed blobs");
    equal(await refsIn(store), [ref], "blobs");
  }),

  blobCase(
    "a collection without certainty is refused, with every reason, and changes nothing",
    async ({ open }) => {
      const store = await open();
      const { ref } = await store.put(noise(10));
      const now = () => Date.now() + 100 * dayMs;
      await rejects(
        () => collectGarbage(store, { marks: [], now }),
        "COLLECTION_REFUSED",
        "collection without roots",
      );
      const marks: readonly BlobMark[] = [
        mark(),
        { root: "torn.jsonl", refs: [], complete: false, reason: "line 3 has no end" },
        { root: "odd", refs: ["sha256:x" as BlobRef], complete: true },
      ];
      const details = await rejects(
        () => collectGarbage(store, { marks, now }),
        "COLLECTION_REFUSED",
        "collection with a torn log",
      );
      const { reasons } = details as { readonly reasons: readonly { readonly root: string }[] };
      equal(
        reasons.map(({ root }) => root),
        ["torn.jsonl", "odd"],
        "roots of the reasons",
      );
      equal(await refsIn(store), [ref], "blobs");
      equal(await storeTrash(store), [], "the trash");
    },
  ),

  blobCase("a dry run tells what a run would do, and does nothing", async ({ open }) => {
    const store = await open();
    const kept = await store.put(noise(10));
    const old = await store.put(noise(20, 2));
    await after(15, store, kept.ref);
    const garbage = await store.put(noise(40, 3));
    const now = (await store.backend.now()) + 15 * dayMs;
    const absent = `sha256:${"0".repeat(64)}` as const;
    const marks = [mark(kept.ref, absent), { root: "pins", refs: [kept.ref], complete: true }];
    const dry = await collectGarbage(store, { marks, now: () => now, dryRun: true });
    equal(await refsIn(store), [kept.ref, garbage.ref].sort(), "blobs after the dry run");
    equal(await storeTrash(store), [old.ref], "the trash after the dry run");
    equal(dry.trashed.bytes + dry.deleted.bytes, 60, "bytes that would go");
    const real = await collectGarbage(store, { marks, now: () => now });
    equal({ ...dry, dryRun: false }, real, "the report of the run after it");
    const first = [
      { root: "log", refs: 2 },
      { root: "pins", refs: 1 },
    ];
    equal(real.roots, { count: 2, refs: 3, first }, "roots of the report");
    equal(real.missing, { count: 1, first: [absent] }, "blobs that are named and not there");
  }),

  blobCase("a collection leaves other partitions alone", async ({ open }) => {
    const store = await open();
    const other = await open({ partition: "acme" });
    const { ref } = await other.put(noise(10));
    await store.put(noise(10));
    await after(100, store);
    await after(200, store);
    equal([await refsIn(store), await storeTrash(store)], [[], []], "blobs and trash of the one");
    equal([await refsIn(other), await storeTrash(other)], [[ref], []], "blobs and trash of the other");
  }),
];
