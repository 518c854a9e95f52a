import fc from "fast-check";
import { type BlobBackend, blobStore, digest } from "sessile";
import { afterEach, describe, expect, test, vi } from "vitest";
import { memoryBlobBackend } from "../../src/blobs/memory.js";
import { Quota } from "../../src/blobs/quota.js";
import { fileBlobStoreOn } from "../../src/storage/files/blobs/store-directory.js";
import { temporaryDirectory } from "../session/node/temporary-directory.js";
import { hookedFileSystem } from "../support/hooked-file-system.js";

/** A backend that counts its listings. */
function counted(): { readonly backend: BlobBackend; readonly listings: () => number } {
  const sound = memoryBlobBackend();
  let listings = 0;
  const list = (options?: { readonly signal?: AbortSignal }) => {
    listings++;
    return sound.list(options);
  };
  const backend: BlobBackend = Object.assign(Object.create(sound), { list });
  return { backend, listings: () => listings };
}

const bytesOf = (seed: number) => new Uint8Array(10).fill(seed);

afterEach(() => void vi.useRealTimers());

describe("stores that are opened for one put each", () => {
  test("list the storage once, and keep to the quota together", async () => {
    const { backend, listings } = counted();
    for (let seed = 0; seed < 30; seed++) await blobStore(backend, { quota: 300 }).put(bytesOf(seed));
    expect(listings()).toBe(1);
    const refused = blobStore(backend, { quota: 300 }).put(bytesOf(30));
    await expect(refused).rejects.toMatchObject({
      code: "QUOTA_EXCEEDED",
      details: { used: 300, quota: 300 },
    });
    // Before that it looks again.
    expect(listings()).toBe(2);
    await blobStore(backend, { quota: 310 }).put(bytesOf(30));
  });

  test("count, though the first put finds its bytes there", async () => {
    const { backend } = counted();
    for (let seed = 0; seed < 5; seed++) await blobStore(backend).put(bytesOf(seed));
    await blobStore(backend, { quota: 50 }).put(bytesOf(0));
    await expect(blobStore(backend, { quota: 50 }).put(bytesOf(5))).rejects.toMatchObject({
      code: "QUOTA_EXCEEDED",
    });
  });

  test("share what a directory holds", async () => {
    const dir = temporaryDirectory();
    const listed: string[] = [];
    const disk = hookedFileSystem(({ name, args }) => void (name === "list" && listed.push(String(args[0]))));
    const open = (partition?: string) =>
      fileBlobStoreOn(disk, { dir, quota: 100, ...(partition === undefined ? {} : { partition }) });
    await open().put(bytesOf(0));
    const before = listed.length;
    for (let seed = 1; seed < 10; seed++) await open().put(bytesOf(seed));
    expect(listed.length).toBe(before);
    await expect(open().put(bytesOf(10))).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    // A partition has a quota of its own.
    await open("acme").put(bytesOf(0));
  });

  test("see what other processes put a minute later, without waiting for it", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { backend, listings } = counted();
    await blobStore(backend, { quota: 100 }).put(bytesOf(0));
    // By another process, past this one's count.
    await backend.write(digest(bytesOf(1)), bytesOf(1), {});
    vi.advanceTimersByTime(60_000);
    await blobStore(backend, { quota: 100 }).put(bytesOf(2));
    expect(listings()).toBe(1);
    vi.advanceTimersByTime(1);
    await blobStore(backend, { quota: 100 }).put(bytesOf(3));
    expect(listings()).toBe(2);
    for (let seed = 4; seed < 10; seed++) await blobStore(backend, { quota: 100 }).put(bytesOf(seed));
    expect(listings()).toBe(2);
    await expect(blobStore(backend, { quota: 100 }).put(bytesOf(10))).rejects.toMatchObject({
      details: { used: 100 },
    });
  });
});

describe("a quota", () => {
  test("is never passed by what is set aside and kept, in any order", async () => {
    const step = fc.record({ bytes: fc.nat({ max: 60 }), keep: fc.boolean(), wait: fc.nat({ max: 3 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const backend = memoryBlobBackend();
        const quota = new Quota({ backend, whole: backend, partition: "" }, 100);
        let inUse = 0;
        let stored = 0;
        await Promise.all(
          steps.map(async ({ bytes, keep, wait }, index) => {
            const room = quota.reserve();
            try {
              await room.grow(bytes);
            } catch (error) {
              expect(error).toMatchObject({ code: "QUOTA_EXCEEDED", details: { bytes, quota: 100 } });
              return;
            }
            inUse += bytes;
            expect(inUse).toBeLessThanOrEqual(100);
            for (let turn = 0; turn < wait; turn++) await undefined;
            if (keep) {
              await backend.write(`sha256:${`${index}`.padStart(64, "0")}`, new Uint8Array(bytes), {});
              await room.keep();
              stored += bytes;
            } else {
              inUse -= bytes;
            }
            await room.release();
          }),
        );
        // What was let go can be had again, to the last byte.
        const rest = quota.reserve();
        await rest.grow(100 - stored);
        await expect(quota.reserve().grow(1)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
      }),
    );
  });
});
