import fc from "fast-check";
import {
  type BlobBackend,
  type BlobMark,
  type BlobRef,
  type BlobStat,
  blobStore,
  collectGarbage,
  digest,
} from "sessile";
import { describe, expect, test } from "vitest";
import { memoryBlobBackend } from "../../src/blobs/memory.js";
import { scheduledBackend } from "./scheduled-backend.js";

const bytes = new Uint8Array([1, 2, 3]);
const ref = digest(bytes);
// No whole seconds, which count to the end of the second.
const old = 3;
const present = 1003;
const graceMs = 100;

/** A store whose one blob nothing has named for long, still in it or in its trash. */
async function withOldBlob(
  place: "store" | "trash" | "nowhere",
  clock: { now: number },
): Promise<BlobBackend> {
  clock.now = old;
  const backend = memoryBlobBackend(() => clock.now);
  if (place !== "nowhere") {
    const stat = await backend.write(ref, bytes, {});
    if (place === "trash") await backend.trash.take(stat);
  }
  clock.now = present;
  return backend;
}

/** A log that is written while it is collected by. */
function logOf(refs: Set<BlobRef>): AsyncIterable<BlobMark> {
  return (async function* () {
    yield { root: "log", refs: [...refs], complete: true };
  })();
}

const killed = new Error("killed");

/** The scheduler of a process that is killed when it has made so many calls. */
function mortal(scheduler: fc.Scheduler, calls: number): Pick<fc.Scheduler, "schedule"> {
  let made = 0;
  return {
    schedule: (task, label) => (made++ < calls ? scheduler.schedule(task, label) : Promise.reject(killed)),
  };
}

describe("a collection while others write and read", () => {
  const place = fc.constantFrom("store", "trash", "nowhere" as const);

  // @covers durability:collection
  test("never takes what a put has acknowledged", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        place,
        fc.integer({ min: 1, max: 3 }),
        async (scheduler, where, writers) => {
          const clock = { now: 0 };
          const sound = await withOldBlob(where, clock);
          const backend = scheduledBackend(sound, scheduler);
          const log = new Set<BlobRef>();
          const collector = collectGarbage(blobStore(backend), { marks: logOf(log), graceMs });
          const puts = Array.from({ length: writers }, async () => {
            const store = blobStore(backend);
            expect((await store.put(bytes)).ref).toBe(ref);
            // From here on it has to be there, for everybody.
            expect(await store.get(ref)).toEqual(bytes);
            log.add(ref);
            expect(await store.get(ref)).toEqual(bytes);
          });
          await scheduler.waitFor(Promise.all([collector, ...puts]));
          expect(await blobStore(sound).get(ref)).toEqual(bytes);
          clock.now += 10 * graceMs;
          await collectGarbage(blobStore(sound), { marks: logOf(log), graceMs });
          expect(await blobStore(sound).get(ref)).toEqual(bytes);
        },
      ),
      { numRuns: 150 },
    );
  });

  // @covers durability:collector-killed
  test("never takes what a put has acknowledged, though collections are killed and keep no trash", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 2 }),
        fc.integer({ min: 1, max: graceMs }),
        async (scheduler, lives, later) => {
          const clock = { now: 0 };
          const sound = await withOldBlob("store", clock);
          const marks = () => logOf(new Set());
          const collectors = lives.map((calls) =>
            collectGarbage(blobStore(scheduledBackend(sound, mortal(scheduler, calls))), {
              marks: marks(),
              graceMs,
              trashMs: 0,
            }).catch((error: unknown) => expect(error).toBe(killed)),
          );
          const put = blobStore(scheduledBackend(sound, scheduler)).put(bytes);
          await scheduler.waitFor(Promise.all([put, ...collectors]));
          // Its entry is not in the log yet.
          clock.now += later;
          await collectGarbage(blobStore(sound), { marks: marks(), graceMs, trashMs: 0 });
          expect(await blobStore(sound).get(ref)).toEqual(bytes);
        },
      ),
      { numRuns: 300 },
    );
  });

  // @covers durability:blob-before-grace
  test("never takes what a touch or a read has found, and gives it whole or not at all", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        place,
        fc.constantFrom("touch", "get" as const),
        async (scheduler, where, way) => {
          const clock = { now: 0 };
          const sound = await withOldBlob(where, clock);
          const backend = scheduledBackend(sound, scheduler);
          const collectors = [0, 1].map(() =>
            collectGarbage(blobStore(backend), { marks: logOf(new Set()), graceMs }),
          );
          const store = blobStore(backend);
          const found = (async () => {
            const got = await store[way](ref);
            if (way === "get" && got !== undefined) expect(got).toEqual(bytes);
            return way === "touch" && got !== undefined;
          })();
          await scheduler.waitFor(Promise.all([found, ...collectors]));
          if (await found) expect(await blobStore(sound).get(ref)).toEqual(bytes);
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe("collectGarbage", () => {
  test("goes by the time before the marks were read", async () => {
    const clock = { now: present };
    const store = blobStore(memoryBlobBackend(() => clock.now));
    const marks = (async function* (): AsyncGenerator<BlobMark> {
      await store.put(bytes);
      clock.now += 10 * graceMs;
      yield { root: "slow log", refs: [], complete: true };
    })();
    const report = await collectGarbage(store, { marks, graceMs });
    expect(report).toMatchObject({ now: present, recent: { count: 1, bytes: 3 }, trashed: { count: 0 } });
  });

  // @covers R68 durability:blob-without-entry durability:collection
  test("keeps exactly what a root names or the grace covers", async () => {
    const blob = fc.record({
      size: fc.integer({ min: 0, max: 40 }),
      age: fc.integer({ min: 0, max: 300 }),
      named: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(blob, { selector: ({ size }) => size, maxLength: 12 }),
        async (blobs) => {
          const clock = { now: 0 };
          const store = blobStore(memoryBlobBackend(() => clock.now));
          const named: BlobRef[] = [];
          const staying: BlobRef[] = [];
          const going = { count: 0, bytes: 0 };
          for (const { size, age, named: isNamed } of blobs) {
            clock.now = present - age;
            const stat = await store.put(new Uint8Array(size));
            if (isNamed) named.push(stat.ref);
            if (isNamed || age <= graceMs) staying.push(stat.ref);
            else {
              going.count++;
              going.bytes += size;
            }
          }
          clock.now = present;
          const report = await collectGarbage(store, {
            marks: named
              .map((each, index) => ({ root: `${index}`, refs: [each], complete: true }))
              .concat({
                root: "empty",
                refs: [],
                complete: true,
              }),
            graceMs,
          });
          expect(report.trashed).toEqual(going);
          const left: BlobStat[] = [];
          for await (const stat of store.list()) left.push(stat);
          expect(left.map((stat) => stat.ref).sort()).toEqual(staying.sort());
          expect(report.missing).toEqual({ count: 0, first: [] });
        },
      ),
    );
  });

  test("deletes from the trash what has been there for longer than the time, to the millisecond", async () => {
    const marks: BlobMark[] = [{ root: "log", refs: [], complete: true }];
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 1000 }), fc.nat({ max: 1000 }), async (trashMs, ageMs) => {
        const clock = { now: old };
        const store = blobStore(memoryBlobBackend(() => clock.now));
        await store.put(bytes);
        clock.now = present;
        expect((await collectGarbage(store, { marks, graceMs })).trashed.count).toBe(1);
        for (const age of [trashMs, ageMs, trashMs + 1]) {
          clock.now = present + age;
          const report = await collectGarbage(store, { marks, graceMs, trashMs, dryRun: true });
          expect([report.waiting.count, report.deleted.count]).toEqual(age <= trashMs ? [1, 0] : [0, 1]);
        }
      }),
    );
  });

  test("keeps in the trash what was touched within the grace, to the millisecond", async () => {
    const marks: BlobMark[] = [{ root: "log", refs: [], complete: true }];
    const clock = { now: present };
    const store = blobStore(memoryBlobBackend(() => clock.now));
    expect(await store.backend.trash.take(await store.put(bytes))).toBe(true);
    for (const late of [0, 1]) {
      clock.now = present + graceMs + late;
      const report = await collectGarbage(store, { marks, graceMs, trashMs: 0 });
      expect([report.waiting.count, report.deleted.count]).toEqual([1 - late, late]);
    }
  });

  test.each([
    { touchedAt: 5000, stays: 5999.9, goes: 6000 },
    { touchedAt: 5001, stays: 5001.9, goes: 5002 },
    { touchedAt: 5001.5, stays: 5001.5, goes: 5001.6 },
  ])("counts the lease of a touch told as $touchedAt to the end of its step", async (times) => {
    const marks: BlobMark[] = [{ root: "log", refs: [], complete: true }];
    const store = blobStore(memoryBlobBackend(() => times.touchedAt));
    await store.put(bytes);
    const inStore = { marks, graceMs: 0, dryRun: true };
    expect((await collectGarbage(store, { ...inStore, now: () => times.stays })).recent.count).toBe(1);
    expect((await collectGarbage(store, { ...inStore, now: () => times.goes })).trashed.count).toBe(1);
    for await (const stat of store.list()) await store.backend.trash.take(stat);
    expect((await collectGarbage(store, { ...inStore, now: () => times.stays })).waiting.count).toBe(1);
    expect((await collectGarbage(store, { ...inStore, now: () => times.goes })).deleted.count).toBe(1);
  });

  test("tells how far it has come, and ends with the signal's reason", async () => {
    const store = blobStore(memoryBlobBackend());
    for (let size = 0; size < 5; size++) await store.put(new Uint8Array(size));
    const marks: BlobMark[] = [{ root: "log", refs: [], complete: true }];
    const told: number[] = [];
    await collectGarbage(store, { marks, onProgress: ({ blobs }) => void told.push(blobs) });
    expect(told).toEqual([1, 2, 3, 4, 5]);
    const controller = new AbortController();
    const ended = collectGarbage(store, {
      marks,
      signal: controller.signal,
      onProgress: () => controller.abort(new RangeError("enough")),
    });
    await expect(ended).rejects.toThrow(new RangeError("enough"));
  });

  test("names the option that is wrong", async () => {
    const store = blobStore(memoryBlobBackend());
    const marks: BlobMark[] = [{ root: "log", refs: [], complete: true }];
    await expect(collectGarbage(store, { marks, graceMs: -1 })).rejects.toThrow(
      new RangeError("graceMs: expected an integer >= 0, got -1"),
    );
    await expect(collectGarbage(store, { marks, trashMs: 0.5 })).rejects.toThrow(
      new RangeError("trashMs: expected an integer >= 0, got 0.5"),
    );
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, "0", undefined])(
    "takes nothing by a clock that gives %s",
    async (time) => {
      const store = blobStore(memoryBlobBackend());
      await store.put(bytes);
      const collected = collectGarbage(store, {
        marks: [{ root: "log", refs: [], complete: true }],
        now: () => time as number,
      });
      await expect(collected).rejects.toThrow(/^now: expected a function that gives a finite number, got /);
      await expect(collected).rejects.toThrow(RangeError);
      expect(await store.stat(ref)).toBeDefined();
    },
  );
});
