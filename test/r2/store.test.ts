import { blake3 } from "@noble/hashes/blake3.js";
import { sha256 } from "@noble/hashes/sha2.js";
import {
  type BlobRef,
  type BlobStore,
  type BlobStoreOptions,
  blobStore,
  deletePartition,
  eraseBlobs,
  memorySessionStore,
} from "sessile";
import { blobStoreConformance } from "sessile/conformance";
import { r2BlobBackend } from "sessile/r2";
import { beforeEach, describe, expect, it, test, vi } from "vitest";
import { BucketKeys } from "../../src/storage/objects/keys.js";
import { nodeSha256 } from "../support/plain-values.js";
import { MemoryBucket } from "./bucket.js";

const keyOf = (ref: string, prefix = "") => `${prefix}${ref.slice(0, 6)}/${ref.slice(7, 9)}/${ref.slice(7)}`;

// In workerd with a bucket of miniflare: `npm run test:runtimes`.
describe("a store on R2", () => {
  for (const { name, run } of blobStoreConformance) {
    test.concurrent(name, async ({ skip }) => {
      const bucket = new MemoryBucket();
      const result = await run({
        open: (more?: BlobStoreOptions) =>
          blobStore(r2BlobBackend({ bucket, prefix: "a/" }), { hashes: [nodeSha256], ...more }),
        damage: (ref, bytes) => void bucket.store(keyOf(ref, "a/"), bytes),
        loseAnswer() {
          bucket.after = (call) => {
            if (call !== "put" && call !== "complete") return;
            bucket.after = undefined;
            throw new Error("Network connection lost.");
          };
        },
      });
      if (result !== undefined) skip(result.skipped);
    });
  }
});

let bucket: MemoryBucket;
const open = () => blobStore(r2BlobBackend({ bucket }), { hashes: [nodeSha256] });
const noise = (length: number) => new Uint8Array(Buffer.alloc(length, `noise of ${length} bytes, `));

beforeEach(() => {
  bucket = new MemoryBucket();
});

describe("a put", () => {
  it("is one call, with a checksum that R2 compares", async () => {
    const { ref } = await open().put(noise(1000));
    expect(bucket.calls.filter((call) => call === "put")).toHaveLength(1);
    expect([...bucket.objects.keys()]).toEqual([keyOf(ref)]);
    const backend = r2BlobBackend({ bucket });
    await expect(backend.write(ref, noise(999), {})).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: "put into", path: keyOf(ref), errno: "10037" },
    });
  });

  it("of a stream over 5 MiB holds one part, and goes through a key of its own", async () => {
    const bytes = noise(12_000_000);
    const { ref, size } = await open().put(new Blob([bytes]).stream());
    expect(size).toBe(bytes.length);
    expect(bucket.calls.filter((call) => call === "part")).toHaveLength(3);
    expect([...bucket.objects.keys()]).toEqual([keyOf(ref)]);
    expect(await open().get(ref)).toEqual(bytes);
  });

  it("of a short stream is one call, and of a long one leaves nothing behind when it resolves", async () => {
    const short = await open().put(new Blob([noise(3_000_000)]).stream());
    expect(bucket.calls.filter((call) => call === "put" || call === "create")).toEqual(["put"]);
    const remove = bucket.delete.bind(bucket);
    bucket.delete = async (key) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      await remove(key);
    };
    const long = await open().put(new Blob([noise(6_000_000)]).stream());
    expect([...bucket.objects.keys()].sort()).toEqual([keyOf(short.ref), keyOf(long.ref)].sort());
  });

  it.each(["create", "part", "complete", "put"])("whose answer to %s is lost is done once", async (lost) => {
    bucket.after = (call) => {
      if (call !== lost) return;
      bucket.after = undefined;
      throw new Error("Network connection lost.");
    };
    const bytes = noise(6_000_000);
    const { ref } = await open().put(new Blob([bytes]).stream());
    expect(await open().get(ref)).toEqual(bytes);
    expect([...bucket.objects.keys()]).toEqual([keyOf(ref)]);
  });

  it("that fails halfway leaves nothing under a name, and its staged bytes are leftovers", async () => {
    bucket.before = (call, key) => {
      if (call === "put" || (call === "delete" && key.startsWith("staging/"))) throw new Error("no (10002)");
    };
    const put = open().put(new Blob([noise(6_000_000)]).stream());
    await expect(put).rejects.toMatchObject({ code: "STORAGE_FAILED", details: { errno: "10002" } });
    bucket.before = undefined;
    expect([...bucket.objects.keys()]).toEqual([expect.stringMatching(/^staging\//)]);
    const backend = r2BlobBackend({ bucket });
    const before = (await backend.now()) + 1;
    expect(await backend.removeLeftovers?.(before, { dryRun: true })).toEqual({ count: 1, bytes: 6_000_000 });
    expect(bucket.objects.size).toBe(1);
    await backend.removeLeftovers?.(before, { dryRun: false });
    expect(bucket.objects.size).toBe(0);
  });

  it("is repeated after a failure that may pass, and gives up", async () => {
    let failures = 2;
    bucket.before = (call) => {
      if (call === "put" && failures-- > 0) throw new Error("put: We encountered an internal error. (10001)");
    };
    const { ref } = await open().put(noise(10));
    expect(await open().stat(ref)).toBeDefined();
    failures = Number.POSITIVE_INFINITY;
    bucket.calls.length = 0;
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      let isSettled = false;
      const put = open()
        .put(noise(11))
        .finally(() => {
          isSettled = true;
        });
      put.catch(() => undefined);
      while (!isSettled) {
        await vi.advanceTimersByTimeAsync(2000);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await expect(put).rejects.toMatchObject({ details: { errno: "10001" } });
    } finally {
      vi.useRealTimers();
    }
    expect(bucket.calls.filter((call) => call === "put")).toHaveLength(6);
  });
});

describe("a get", () => {
  it("that breaks off continues, also after the blob was touched or collected meanwhile", async () => {
    const bytes = noise(3_000_000);
    const { ref } = await open().put(bytes);
    const backend = r2BlobBackend({ bucket });
    for (const meanwhile of ["nothing", "touch", "rewrite", "trash"]) {
      const reading = await backend.read(ref);
      const found: Uint8Array[] = [];
      bucket.cutAfter = 200_000;
      for await (const chunk of reading?.bytes ?? []) {
        found.push(chunk);
        if (found.length !== 3) continue;
        if (meanwhile === "touch") await backend.touch(ref);
        if (meanwhile === "rewrite") bucket.store(keyOf(ref), bytes);
        const stat = await backend.stat(ref);
        if (meanwhile === "trash" && stat !== undefined) expect(await backend.trash.take(stat)).toBe(true);
      }
      expect(Buffer.concat(found).equals(bytes), meanwhile).toBe(true);
    }
  });

  it("that never comes to its end fails", async () => {
    const { ref } = await open().put(noise(1_000_000));
    const reading = await r2BlobBackend({ bucket }).read(ref);
    bucket.before = (call) => {
      if (call === "get") bucket.cutAfter = 10;
    };
    const all = async () => {
      for await (const _ of reading?.bytes ?? []);
    };
    await expect(all()).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  });
});

describe("a failing read", () => {
  const digests = { sha256, blake3 };

  it("is told as it is, also of a blob that is not there", async () => {
    const backend = r2BlobBackend({ bucket });
    const { ref } = await open().put(noise(10));
    bucket.before = (call) => {
      if (call === "get") throw new Error("get: no rights (10003)");
    };
    for (const each of [ref, `sha256:${"0".repeat(64)}`] as const)
      await expect(backend.read(each)).rejects.toMatchObject({ details: { errno: "10003" } });
  });

  it.each(Object.entries(digests))("of %s moves only what the bucket has damaged", async (name, digest) => {
    const backend = r2BlobBackend({ bucket });
    const bytes = noise(1000);
    const ref = `${name}:${Buffer.from(digest(bytes)).toString("hex")}` as BlobRef;
    const key = keyOf(ref);
    bucket.store(key, bytes);
    const quarantined = async () => (await backend.read(ref))?.quarantine?.();
    expect(await quarantined()).toBeUndefined();
    // A body that ends early says nothing of the object.
    const get = bucket.get.bind(bucket);
    const reading = await backend.read(ref);
    bucket.get = async (...given) => {
      const found = await get(...given);
      return found && { ...found, body: new Blob([bytes.slice(0, 10)]).stream() };
    };
    expect(await reading?.quarantine?.()).toBeUndefined();
    bucket.get = get;
    expect([...bucket.objects.keys()]).toEqual([key]);
    bucket.store(
      key,
      bytes.map((byte) => byte ^ 1),
    );
    const moved = await quarantined();
    expect(moved).toMatch(/^quarantine\//);
    expect([...bucket.objects.keys()]).toEqual([moved]);
  });
});

it("a collection takes a blob that is not touched, and leaves one that is", async () => {
  const store = open();
  const { ref } = await store.put(noise(10));
  const backend = r2BlobBackend({ bucket });
  const seen = await backend.stat(ref);
  if (seen === undefined) throw new Error("no blob");
  bucket.after = (call, key) => {
    // A writer puts the blob again while it is copied to the trash.
    if (call !== "put" || !key.startsWith("trash/")) return;
    bucket.after = undefined;
    bucket.store(keyOf(ref), noise(10));
  };
  expect(await backend.trash.take(seen)).toBe(false);
  expect([...bucket.objects.keys()]).toEqual([keyOf(ref)]);
});

it("an erasure and a deletion of a partition take damaged blobs in quarantine too", async () => {
  const marks = [{ root: "r", refs: [], complete: true }];
  const damaged = async (store: BlobStore, prefix: string) => {
    const { ref } = await store.put(noise(10));
    bucket.store(keyOf(ref, prefix), noise(11));
    await expect(store.get(ref)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
    return ref;
  };
  const store = open();
  const ref = await damaged(store, "");
  bucket.store("other.txt", noise(12));
  expect(await eraseBlobs(store, [ref], { marks })).toEqual({ deleted: [ref], kept: [] });
  for (let n = 0; n < 10; n++) await damaged(store.partition("acme"), "@acme/");
  await store.partition("acme.co").put(noise(10));
  bucket.store("@acme/notes.txt", noise(12));
  expect(bucket.objects.size).toBe(13);
  const { remaining } = await deletePartition(memorySessionStore(), "acme", { blobs: store });
  expect(remaining.join()).toContain("unfinished multipart uploads");
  expect([...bucket.objects.keys()].sort()).toEqual([keyOf(ref, "@acme.co/"), "other.txt"]);
  await expect(store.backend.clear?.()).rejects.toThrow("only a named partition");
});

describe("the trash", () => {
  it("gives back the newest copy, and none over bytes that were put meanwhile", async () => {
    const backend = r2BlobBackend({ bucket });
    const { ref } = await open().put(noise(10));
    const key = keyOf(ref);
    const copies = ["b", "c", "a"].map((id) => `trash/${key}/${id}`);
    const trash = () => copies.map((each, at) => bucket.store(each, noise(20 + at)));
    bucket.objects.delete(key);
    trash();
    expect(await backend.trash.restore(ref)).toBe(true);
    expect(bucket.objects.get(key)?.bytes).toEqual(noise(22));
    expect([...bucket.objects.keys()]).toEqual([key]);
    bucket.objects.delete(key);
    trash();
    bucket.before = (call, at) => {
      if (call !== "put" || at !== key) return;
      bucket.before = undefined;
      bucket.store(key, noise(10));
    };
    expect(await backend.trash.restore(ref)).toBe(true);
    expect(bucket.objects.get(key)?.bytes).toEqual(noise(10));
    expect([...bucket.objects.keys()]).toEqual([key]);
    expect(await backend.trash.restore(ref)).toBe(false);
  });

  it("deletes the copy that was listed, or all of them", async () => {
    const { trash } = r2BlobBackend({ bucket });
    const { ref } = await open().put(noise(10));
    const [first, second] = ["b", "a"].map((id) => bucket.store(`trash/${keyOf(ref)}/${id}`, noise(10)));
    const trashedAt = second?.uploaded.getTime() ?? 0;
    expect(await trash.delete(ref, { ref, size: 10, trashedAt: trashedAt + 1, touchedAt: 0 })).toBe(false);
    expect(await trash.delete(ref, { ref, size: 10, trashedAt, touchedAt: trashedAt })).toBe(true);
    expect([...bucket.objects.keys()]).toEqual([keyOf(ref), first?.key]);
    expect(await trash.delete(ref)).toBe(true);
    expect([...bucket.objects.keys()]).toEqual([keyOf(ref)]);
  });

  it("takes nothing that is deleted or put again while it is taken", async () => {
    const backend = r2BlobBackend({ bucket });
    const { ref } = await open().put(noise(10));
    for (const change of [() => bucket.store(keyOf(ref), noise(10)), () => bucket.objects.clear()]) {
      const seen = await backend.stat(ref);
      bucket.before = (call) => {
        if (call === "get") change();
      };
      expect(seen && (await backend.trash.take(seen))).toBe(false);
      bucket.before = undefined;
      expect([...bucket.objects.keys()].filter((key) => key.startsWith("trash/"))).toEqual([]);
    }
  });
});

it("waits for a random time before each further attempt, which grows", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const random = vi.spyOn(Math, "random").mockReturnValue(0.5);
  try {
    bucket.before = () => {
      throw new Error("Network connection lost.");
    };
    const asked = r2BlobBackend({ bucket }).stat(`sha256:${"0".repeat(64)}`);
    const outcome = expect(asked).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    for (const [attempts, ms] of [50, 100, 200, 400, 800].entries()) {
      await vi.advanceTimersByTimeAsync(ms - 1);
      expect(bucket.calls).toHaveLength(attempts + 1);
      await vi.advanceTimersByTimeAsync(1);
    }
    await outcome;
    expect(bucket.calls).toHaveLength(6);
  } finally {
    random.mockRestore();
    vi.useRealTimers();
  }
});

it("a read that its caller ends cancels the body", async () => {
  const { ref } = await open().put(noise(3_000_000));
  let cancelled = 0;
  const get = bucket.get.bind(bucket);
  bucket.get = async (...given) => {
    const found = await get(...given);
    if (found === null || !("body" in found)) return found;
    const reader = found.body.getReader();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { value } = await reader.read();
        if (value === undefined) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        cancelled++;
        throw new Error("gone already");
      },
    });
    return { ...found, body };
  };
  const reading = await r2BlobBackend({ bucket }).read(ref);
  cancelled = 0;
  let chunks = 0;
  for await (const _ of reading?.bytes ?? []) if (++chunks === 2) break;
  expect(cancelled).toBe(1);
});

it("a failure that stays is told at once, also of staged bytes", async () => {
  const backend = r2BlobBackend({ bucket });
  bucket.store("staging/0", noise(10));
  bucket.calls.length = 0;
  bucket.before = (call) => {
    if (call === "delete") throw new Error("delete: Access denied (10003)");
  };
  await expect(backend.removeLeftovers?.(Number.MAX_SAFE_INTEGER, { dryRun: false })).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    details: { errno: "10003" },
  });
  expect(bucket.calls).toEqual(["list", "delete"]);
});

it("partitions are prefixes, and arguments are checked", async () => {
  const backend = r2BlobBackend({ bucket, prefix: "p/" });
  const { ref } = await blobStore(backend.partition("a")).put(noise(10));
  expect([...bucket.objects.keys()]).toEqual([keyOf(ref, "p/@a/")]);
  expect(await backend.stat(ref)).toBeUndefined();
  expect(() => r2BlobBackend({ bucket: {} as never })).toThrow("bucket: expected a binding of R2");
  for await (const seen of backend.partition("a").list())
    expect(await backend.partition("a").trash.take(seen)).toBe(true);
  // As a store of `sessile/s3` on the same bucket reads it.
  const keys = new BucketKeys("p/").partition("a");
  expect([...bucket.objects.keys()].map((key) => keys.trashedRef(key)?.ref)).toEqual([ref]);
  for (const prefix of ["/a", "a//", "a\0", "a\\", "é".repeat(300)])
    expect(() => r2BlobBackend({ bucket, prefix })).toThrow("prefix: expected");
});
