import { type BlobBackend, type BlobStoreOptions, blobStore, memoryBlobStore } from "sessile";
import { describe, expect, test } from "vitest";
import { memoryBlobBackend } from "../../src/blobs/memory.js";

const bytes = new Uint8Array([1, 2, 3]);

describe("the options of a store", () => {
  test.each([
    [{ digest: "md5" }, 'digest: expected "sha256" or "blake3", got "md5"'],
    [{ maxBytes: -1 }, "maxBytes: expected an integer >= 0, got -1"],
    [{ quota: 0.5 }, "quota: expected an integer >= 0, got 0.5"],
    [{ quota: Number.NaN }, "quota: expected an integer >= 0, got NaN"],
    [{ partition: "../x" }, "partition: expected at most 128 letters"],
    [{ hashes: [{}] }, "hashes: expected objects"],
  ])("are named where they are wrong: %j", (options, message) => {
    expect(() => memoryBlobStore(options as BlobStoreOptions)).toThrow(message);
  });

  test("of a put are named too, before anything is written", async () => {
    const store = memoryBlobStore();
    await expect(store.put(bytes, { maxBytes: -1 })).rejects.toThrow(RangeError);
    await expect(store.put(bytes, { size: 1.5 })).rejects.toThrow(RangeError);
    await expect(store.put(bytes, { ref: "sha256:x" })).rejects.toThrow(TypeError);
    expect((await store.verify()).checked.count).toBe(0);
  });

  test("with a clock give its times", async () => {
    let now = 5;
    const store = memoryBlobStore({ now: () => now });
    expect((await store.put(bytes)).touchedAt).toBe(5);
    now = 9;
    expect((await store.put(bytes)).touchedAt).toBe(9);
  });
});

describe("a store", () => {
  test("asks its backend for nothing when a ref is none", async () => {
    const backend = new Proxy({} as BlobBackend, {
      // A method may be looked for, and not called.
      get: () => () => {
        throw new Error("the backend was asked");
      },
    });
    const store = blobStore(backend);
    for (const act of ["get", "stream", "stat", "touch", "delete"] as const) {
      await expect(store[act]("sha256:../x")).rejects.toThrow(TypeError);
    }
  });

  test("names few bytes before it writes, and hands them on in one piece", async () => {
    const sound = memoryBlobBackend();
    const calls: string[] = [];
    const backend: BlobBackend = Object.assign(Object.create(sound), {
      write: (...args: Parameters<BlobBackend["write"]>) => {
        calls.push(`write ${args[1].length}`);
        return sound.write(...args);
      },
      create: (...args: Parameters<BlobBackend["create"]>) => {
        calls.push("create");
        return sound.create(...args);
      },
    });
    const store = blobStore(backend);
    await store.put(new Uint8Array(262_144));
    await store.put(new Uint8Array(262_145));
    await store.put(
      (async function* () {
        yield bytes;
        yield bytes;
      })(),
    );
    expect(calls).toEqual(["write 262144", "create", "write 6"]);
  });

  test("does not let go of a writer while a piece is being written, though hashing fails", async () => {
    const events: string[] = [];
    const sound = memoryBlobBackend();
    const backend: BlobBackend = Object.assign(Object.create(sound), {
      async create() {
        return {
          async write() {
            await new Promise((resolve) => setTimeout(resolve, 5));
            events.push("written");
          },
          async discard() {
            events.push("discarded");
          },
        };
      },
    });
    const failing = {
      name: "sha256",
      create: () => ({
        update() {
          throw new Error("no");
        },
        digest: () => new Uint8Array(32),
      }),
    } as const;
    const store = blobStore(backend, { hashes: [failing] });
    await expect(store.put(new Uint8Array(300_000))).rejects.toThrow("no");
    expect(events).toEqual(["written", "discarded"]);
  });

  test("says that a blob is corrupt though it cannot be put aside", async () => {
    const sound = memoryBlobBackend();
    const backend: BlobBackend = Object.assign(Object.create(sound), {
      async read(ref: `sha256:${string}`) {
        const reading = await sound.read(ref);
        return reading && { ...reading, quarantine: () => Promise.reject(new Error("read-only")) };
      },
    });
    const ref = `sha256:${"0".repeat(64)}` as const;
    await sound.write(ref, bytes, {});
    await expect(blobStore(backend).get(ref)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
  });

  test("counts a partition once, by however many names of it bytes come in", async () => {
    const store = blobStore(memoryBlobBackend(), { quota: 100, partition: "a" });
    const doors = [store, ...["a", "a", "b"].map((name) => store.partition(name))];
    doors.push((doors[3] as typeof store).partition("a"));
    const puts = doors.flatMap((door, at) =>
      [0, 1].map((more) => door.put(new Uint8Array(40).fill(2 * at + more))),
    );
    const results = await Promise.allSettled(puts);
    const refused = results.map((result) => (result.status === "rejected" ? result.reason.code : ""));
    // Two of the eight into "a", and both into "b".
    expect(refused.filter((code) => code === "")).toHaveLength(4);
    expect(refused.filter((code) => code === "QUOTA_EXCEEDED")).toHaveLength(6);
    expect(refused.slice(6, 8)).toEqual(["", ""]);
  });
});
