import fc from "fast-check";
import { type BlobBackend, type BlobQuotas, type BlobStore, blobStore, collectGarbage } from "sessile";
import { SessileError } from "sessile/errors";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ProcessQuotas } from "../../src/blobs/internal.js";
import { memoryBlobBackend } from "../../src/blobs/memory.js";
import { holdAgainstModel } from "../support/blob-quotas.js";
import { rounds } from "../support/rounds.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const leaseMs = 15 * 60_000;
const noise = (size: number, seed: number) => new Uint8Array(size).fill(seed);

async function* inChunks(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.slice(at, at + length);
}

async function bytesIn(backend: BlobBackend): Promise<number> {
  let bytes = 0;
  for await (const { size } of backend.list()) bytes += size;
  return bytes;
}

/** Used and reserved bytes. */
async function countedBy(quotas: BlobQuotas): Promise<number> {
  const probe = { id: "probe", bytes: Number.MAX_SAFE_INTEGER };
  return (await quotas.reserve("", probe, { quota: 0, leaseMs: 0 })).used ?? 0;
}

/** A process that is killed at its call number `calls`: before the call takes effect, or behind it. */
class Process {
  readonly #backend: BlobBackend;
  readonly #quotas: BlobQuotas;
  #calls: number;

  constructor(backend: BlobBackend, quotas: BlobQuotas, calls = Number.POSITIVE_INFINITY) {
    this.#backend = backend;
    this.#quotas = quotas;
    this.#calls = calls;
  }

  get store(): BlobStore {
    return blobStore(this.#mortal(this.#backend), { quota: 1000, quotas: this.#mortal(this.#quotas) });
  }

  #mortal<T extends object>(sound: T): T {
    return new Proxy(sound, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name === "create") {
          return async (hints: object) => {
            const writer = await (target as BlobBackend).create(hints);
            return this.#mortal(writer);
          };
        }
        if (typeof value !== "function" || name === "list") return value;
        return async (...args: unknown[]) => {
          if (--this.#calls < 0) throw new Error("killed");
          const result: unknown = await value.apply(target, args);
          if (--this.#calls < 0) throw new Error("killed");
          return result;
        };
      },
    });
  }
}

describe("the quotas of one process", () => {
  test("do what the model does", async () => {
    vi.useRealTimers();
    await holdAgainstModel(() => new ProcessQuotas(), rounds(300, 5000));
  });
});

describe("a quota that several processes share", () => {
  test("is never passed, counts never too little, and exactly after a recount, though processes are killed", async () => {
    const put = fc.record({
      seed: fc.nat({ max: 7 }),
      asStream: fc.boolean(),
      calls: fc.option(fc.nat({ max: 14 }), { nil: Number.POSITIVE_INFINITY }),
    });
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.array(put, { minLength: 1, maxLength: 5 }).map((puts) => ({ puts })) },
      { weight: 2, arbitrary: fc.nat({ max: 7 }).map((deleted) => ({ deleted })) },
      { weight: 1, arbitrary: fc.constant({ collects: true as const }) },
      { weight: 1, arbitrary: fc.constant({ waits: true as const }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const backend = memoryBlobBackend();
        const quotas = new ProcessQuotas();
        const bytesOf = (seed: number) => noise(100 + 37 * seed, seed);
        for (const each of steps) {
          if ("puts" in each) {
            await Promise.allSettled(
              each.puts.map(({ seed, asStream, calls }) => {
                const { store } = new Process(backend, quotas, calls);
                return store.put(asStream ? inChunks(bytesOf(seed), 50) : bytesOf(seed));
              }),
            );
          } else if ("deleted" in each) {
            const { store } = new Process(backend, quotas);
            const { ref } = await blobStore(memoryBlobBackend()).put(bytesOf(each.deleted));
            await store.delete(ref);
          } else if ("collects" in each) {
            const now = () => Date.now() + 60_000;
            const marks = [{ root: "none", refs: [], complete: true }];
            await collectGarbage(new Process(backend, quotas).store, { marks, graceMs: 0, trashMs: 0, now });
          } else vi.advanceTimersByTime(leaseMs);
          const actual = await bytesIn(backend);
          expect(actual).toBeLessThanOrEqual(1000);
          if ((await quotas.usage("")).used !== undefined)
            expect(await countedBy(quotas)).toBeGreaterThanOrEqual(actual);
        }
        // What killed processes reserved comes back, and a listing counts exactly.
        vi.advanceTimersByTime(leaseMs);
        const { store } = new Process(backend, quotas);
        await store.put(noise(1, 99)).catch((error: unknown) => {
          if (!SessileError.is(error, "QUOTA_EXCEEDED")) throw error;
        });
        for await (const _ of store.list());
        const actual = await bytesIn(backend);
        expect((await quotas.usage("")).used).toBe(actual);
        expect(await countedBy(quotas)).toBe(actual);
        await store.put(noise(1000 - actual, 98));
        await expect(store.put(noise(1, 97))).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
      }),
      { numRuns: rounds(150, 3000) },
    );
  });

  test("counts by one listing a partition, not a store", async () => {
    const sound = memoryBlobBackend();
    let listings = 0;
    const list: BlobBackend["list"] = (options) => {
      listings++;
      return sound.list(options);
    };
    const backend: BlobBackend = Object.assign(Object.create(sound), { list });
    const quotas = new ProcessQuotas();
    for (let seed = 0; seed < 10; seed++)
      await blobStore(backend, { quota: 100, quotas }).put(noise(10, seed));
    await expect(blobStore(backend, { quota: 100, quotas }).put(noise(1, 10))).rejects.toMatchObject({
      code: "QUOTA_EXCEEDED",
      details: { bytes: 1, used: 100, quota: 100 },
    });
    vi.advanceTimersByTime(3_600_000);
    await blobStore(backend, { quota: 200, quotas }).put(noise(10, 11));
    expect(listings).toBe(1);
  });

  test("gives back what is deleted, collected or quarantined, and counts what comes back from the trash", async () => {
    const backend = memoryBlobBackend();
    const quotas = new ProcessQuotas();
    const store = blobStore(backend, { quotas });
    const used = async () => (await quotas.usage("")).used;
    const one = await store.put(noise(10, 1));
    const two = await store.put(noise(20, 2));
    const three = await store.put(noise(40, 3));
    expect(await used()).toBe(70);
    await store.delete(one.ref);
    await store.delete(one.ref);
    expect(await used()).toBe(60);
    const now = () => Date.now() + 60_000;
    const marks = [{ root: "log", refs: [three.ref], complete: true }];
    await collectGarbage(store, { marks, graceMs: 0, now });
    expect(await used()).toBe(40);
    expect(await store.get(two.ref)).toHaveLength(20);
    expect(await used()).toBe(60);
    await backend.delete(three.ref);
    await backend.write(three.ref, noise(40, 4), {});
    await expect(store.get(three.ref)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
    expect(await used()).toBe(20);
  });

  test("is one a partition", async () => {
    const quotas = new ProcessQuotas();
    const store = blobStore(memoryBlobBackend(), { quota: 10, quotas });
    await store.put(noise(10, 1));
    const acme = store.partition("acme");
    await acme.put(noise(10, 2));
    await expect(acme.put(noise(1, 3))).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    const { ref } = await store.put(noise(10, 1));
    await acme.backend.delete(ref);
    expect([(await quotas.usage("")).used, (await quotas.usage("acme")).used]).toEqual([10, 10]);
    await store.backend.partition("acme").delete((await acme.put(noise(10, 2))).ref);
    expect((await quotas.usage("acme")).used).toBe(0);
  });

  test("reserves a stream's bytes ahead, and to the last byte when ahead no longer fits", async () => {
    const quotas = new ProcessQuotas();
    let reserves = 0;
    const counted: BlobQuotas = new Proxy(quotas, {
      get(target, name) {
        if (name === "reserve") reserves++;
        const value = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        return value.bind(target);
      },
    });
    const wide = blobStore(memoryBlobBackend(), { quota: 100_000_000, quotas: counted });
    await wide.put(inChunks(noise(4_000_000, 1), 65_536));
    // The first finds no count; then one ahead, and one with the name.
    expect(reserves).toBe(3);
    const tight = blobStore(memoryBlobBackend(), { quota: 4_000_000, quotas: new ProcessQuotas() });
    await tight.put(inChunks(noise(4_000_000, 1), 65_536));
    await expect(tight.put(noise(1, 2))).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  });
});
