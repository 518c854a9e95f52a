/** Reads. */

import { type BlobStat, digest } from "../../blobs/index.js";
import { partsByRef } from "../../blobs/internal.js";
import type { BlobRef } from "../../content/index.js";
import { concatBytes } from "../../core/bytes.js";
import { equal, refuses, rejects } from "../expect.js";
import { blobCase, collect, inChunks, noise, refsIn, renewed, sameBytes, sameStat } from "./harness.js";

/** The maximum difference of a time and the clock: rounding, and the steps of several touches in a row. */
const slackMs = 10_000;

const absent = digest(noise(77, 77));

/** Invalid refs; some would escape the directory as a path. */
const noRefs: readonly unknown[] = [
  "",
  "sha256:",
  "sha256:../../../../etc/passwd",
  `sha256:${"0".repeat(63)}`,
  `sha256:${"0".repeat(65)}`,
  `sha256:${"A".repeat(64)}`,
  `SHA256:${"a".repeat(64)}`,
  `sha256:${"0".repeat(64)}\n`,
  ` sha256:${"0".repeat(64)}`,
  `sha256:${"0".repeat(61)}/..`,
  `sha256:${"0".repeat(63)}\0`,
  `md5:${"0".repeat(64)}`,
  `sha512:${"0".repeat(64)}`,
  "0".repeat(64),
  undefined,
  null,
  {},
];

/** Damaged bytes of a blob, by fault. */
const faults: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  "one bit flipped at the start": (bytes) => flipped(bytes, 0),
  "one bit flipped at the end": (bytes) => flipped(bytes, bytes.length - 1),
  "cut in the middle": (bytes) => bytes.slice(0, bytes.length >> 1),
  emptied: () => new Uint8Array(),
  "a byte longer": (bytes) => concatBytes([bytes, new Uint8Array(1)]),
  "zeros of the same length": (bytes) => new Uint8Array(bytes.length),
  "another blob's bytes": (bytes) => noise(bytes.length, 8),
};

/** Those that a backend may miss at one size and find at another. */
const sizeFaults: ReadonlySet<string> = new Set(["one bit flipped at the end", "cut in the middle"]);

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const copy = bytes.slice();
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
}

export const readCases = [
  blobCase("get returns a copy", async ({ open }) => {
    const store = await open();
    for (const bytes of [noise(10), noise(300_000)]) {
      const { ref } = await store.put(bytes);
      (await store.get(ref))?.fill(0);
      for await (const chunk of (await store.stream(ref)) ?? []) chunk.fill(0);
      sameBytes(await store.get(ref), bytes, "bytes read after a copy was changed");
    }
  }),

  blobCase("what is not there is undefined", async ({ open }) => {
    const store = await open();
    for (const there of [[], [noise(1)]]) {
      const refs = [];
      for (const bytes of there) refs.push((await store.put(bytes)).ref);
      equal(await store.get(absent), undefined, "get");
      equal(await store.stream(absent), undefined, "stream");
      equal(await store.stat(absent), undefined, "stat");
      equal(await store.touch(absent), undefined, "touch");
      equal(await store.delete(absent), false, "delete");
      equal(await refsIn(store), refs, "list");
    }
  }),

  blobCase("an empty blob is there like any other", async ({ open }) => {
    for (const source of [() => new Uint8Array(), () => inChunks(new Uint8Array(), 1)]) {
      const store = await open();
      const stat = await store.put(source(), { size: 0 });
      const { ref } = stat;
      const other = await open();
      sameStat(await other.stat(ref), stat, "stat");
      const listed = await collect(other.list());
      equal(listed.length, 1, "blobs in the list");
      sameStat(listed[0], stat, "the blob in the list");
      equal((await other.stream(ref)) === undefined, false, "whether there is no stream of it");
      equal(
        await other.verify({ refs: [ref] }),
        { checked: { count: 1, bytes: 0 }, corrupt: [], missing: [] },
        "of it",
      );
      equal((await other.touch(ref))?.size, 0, "size that touch gives");
      equal(await store.delete(ref), true, "whether it was there to delete");
      equal(await other.stat(ref), undefined, "stat after it was deleted");
    }
  }),

  blobCase("the same digits of another algorithm are another blob", async ({ open }) => {
    const store = await open();
    const bytes = noise(10);
    const { ref } = await store.put(bytes);
    const { algorithm, hex } = partsByRef(ref);
    const other = `${algorithm === "sha256" ? "blake3" : "sha256"}:${hex}` as BlobRef;
    equal(
      [await store.get(other), await store.stat(other)],
      [undefined, undefined],
      "get and stat of the other",
    );
    equal(await store.delete(other), false, "whether the other was there to delete");
    sameBytes(await store.get(ref), bytes, "the one that is there");
  }),

  blobCase("what is no name of a blob is a TypeError, before anything is looked at", async ({ open }) => {
    const store = await open();
    for (const value of noRefs) {
      const ref = value as BlobRef;
      for (const act of ["get", "stream", "stat", "touch", "delete"] as const) {
        await refuses(() => store[act](ref), `${act} of ${JSON.stringify(value)}`);
      }
      if (value !== undefined) await refuses(() => store.put(noise(1), { ref }), "put under it");
    }
  }),

  blobCase("a stream gives the bytes of a get", async ({ open }) => {
    const store = await open();
    for (const size of [0, 1, 262_145, 2_200_000]) {
      const bytes = noise(size, 5);
      const { ref } = await store.put(bytes);
      const chunks = await collect((await store.stream(ref)) ?? []);
      sameBytes(concatBytes(chunks), bytes, `a stream of ${size} bytes`);
      equal(chunks.filter(({ length }) => length === 0).length, 0, "empty chunks");
    }
  }),

  blobCase("stat gives a blob's size, and touch renews its lease", async ({ open }) => {
    const store = await open();
    for (const size of [10, 300_000]) {
      const bytes = noise(size, size);
      const first = await store.put(bytes);
      const { ref } = first;
      equal(first.size, size, "size that put gives");
      sameStat(await store.stat(ref), first, "stat after the put");
      const touched = await renewed(first, async () => (await open()).touch(ref));
      sameStat(await store.stat(ref), touched, "stat after the touch");
      const again = await renewed(touched, () => store.put(bytes));
      sameStat(await store.stat(ref), again, "stat after the second put");
    }
  }),

  blobCase("touchedAt is the time of the last put or touch, by the clock of now", async ({ open }) => {
    const store = await open();
    const { backend } = store;
    const bytes = noise(10);
    let last = Number.NEGATIVE_INFINITY;
    const { ref } = await store.put(bytes);
    const acts: Readonly<Record<string, () => Promise<BlobStat | undefined>>> = {
      "a put": () => store.put(bytes),
      "a put of a stream": async () => (await open()).put(inChunks(bytes, 3)),
      "a touch": () => store.touch(ref),
    };
    for (const [act, run] of Object.entries(acts)) {
      const before = await backend.now();
      const stat = await run();
      const after = await backend.now();
      const { touchedAt = Number.NaN } = stat ?? {};
      const isNow = touchedAt > before - slackMs && touchedAt < after + slackMs;
      equal(isNow, true, `whether the time ${touchedAt} of ${act} is between ${before} and ${after}`);
      equal(touchedAt >= last, true, `whether the time of ${act} is not before ${last}`);
      last = touchedAt;
      const [listed] = await collect(store.list());
      sameStat(listed, stat, `the blob in the list after ${act}`);
    }
  }),

  blobCase("list gives every blob once, with what stat says", async ({ open }) => {
    const store = await open();
    const stats = await Promise.all(Array.from({ length: 100 }, (_, size) => store.put(noise(size))));
    const listed = await collect((await open()).list());
    equal(listed.map(({ ref }) => ref).sort(), stats.map(({ ref }) => ref).sort(), "refs of the list");
    for (const stat of listed) sameStat(stat, await store.stat(stat.ref), "a blob in the list");
  }),

  blobCase("a deleted blob is gone for every handle, and can be put again", async ({ open }) => {
    const [store, other] = [await open(), await open()];
    const { ref } = await store.put(noise(10));
    equal(await other.delete(ref), true, "whether it was there");
    equal(await other.delete(ref), false, "whether it still was");
    equal(await store.get(ref), undefined, "get");
    equal(await refsIn(store), [], "blobs");
    await store.put(noise(10));
    sameBytes(await other.get(ref), noise(10), "bytes after another put");
  }),

  blobCase("bytes that are not what their name says never come back", async ({ open, fixture }) => {
    if (fixture.damage === undefined) return { skipped: "the fixture cannot damage what is stored" };
    for (const size of [1000, 1_100_000]) {
      for (const [fault, change] of Object.entries(faults)) {
        const store = await open();
        const bytes = noise(size, 4);
        const { ref } = await store.put(bytes);
        const wrong = change(bytes);
        const actual = digest(wrong, partsByRef(ref).algorithm);
        await fixture.damage(ref, wrong);
        const details = await rejects(() => store.get(ref), "BLOB_CORRUPT", `get of what is ${fault}`);
        const { quarantined: _, ...rest } = details as { readonly quarantined?: string };
        equal(rest, { expected: ref, actual, size: wrong.length }, `details of what is ${fault}`);
        await store.delete(ref);

        await store.put(bytes);
        await fixture.damage(ref, wrong);
        let streamed = 0;
        await rejects(
          async () => {
            for await (const { length } of (await store.stream(ref)) ?? []) streamed += length;
          },
          "BLOB_CORRUPT",
          `stream of what is ${fault}`,
        );
        equal(streamed < Math.max(1, wrong.length), true, "whether the stream failed before its end");
        await store.delete(ref);
      }
    }
    return undefined;
  }),

  blobCase("a corrupt blob is mended by a put of its bytes", async ({ open, fixture }) => {
    if (fixture.damage === undefined) return { skipped: "the fixture cannot damage what is stored" };
    const store = await open();
    const bytes = noise(1000);
    const { ref } = await store.put(bytes);
    // Detected by its size.
    await fixture.damage(ref, bytes.slice(0, 500));
    await store.put(bytes);
    sameBytes(await store.get(ref), bytes, "what was cut, and put again");
    // Detected by a read, and quarantined.
    await fixture.damage(ref, noise(1000, 2));
    await rejects(() => store.get(ref), "BLOB_CORRUPT", "get of what is corrupt");
    await store.put(bytes);
    sameBytes(await store.get(ref), bytes, "what was corrupt, and put again");
    return undefined;
  }),

  blobCase("a put over damaged bytes heals them, though nobody has read them", async ({ open, fixture }) => {
    if (fixture.damage === undefined) return { skipped: "the fixture cannot damage what is stored" };
    for (const size of [1000, 262_144, 1_100_000]) {
      const bytes = noise(size, 6);
      const puts = {
        "a put": async () => (await open()).put(bytes),
        "a put of a stream": async () => (await open()).put(inChunks(bytes, 100_000)),
        "a put as another type": async () => (await open()).put(bytes, { mediaType: "image/gif" }),
      };
      for (const [way, put] of Object.entries(puts)) {
        for (const [fault, change] of Object.entries(faults)) {
          if (size > 1000 && !sizeFaults.has(fault)) continue;
          const store = await open();
          const { ref } = await store.put(bytes, { mediaType: "image/png" });
          await fixture.damage(ref, change(bytes));
          equal((await put()).ref, ref, "ref of the second put");
          sameBytes(await store.get(ref), bytes, `what was ${fault}, after ${way}`);
          equal(await refsIn(store), [ref], "blobs");
          await store.delete(ref);
        }
      }
    }
    return undefined;
  }),

  blobCase("verify names what is corrupt and what is missing", async ({ open, fixture }) => {
    const store = await open();
    const good = await store.put(noise(1000, 2));
    const bad = await store.put(noise(300_000));
    const whole = await store.verify();
    equal(whole, { checked: { count: 2, bytes: 301_000 }, corrupt: [], missing: [] }, "of whole blobs");
    equal((await store.verify({ refs: [absent, good.ref] })).missing, [absent], "missing blobs");
    if (fixture.damage === undefined) return { skipped: "the fixture cannot damage what is stored" };
    await fixture.damage(bad.ref, noise(300_000, 3));
    const [one, ...others] = (await store.verify()).corrupt;
    const actual = digest(noise(300_000, 3), partsByRef(bad.ref).algorithm);
    equal([one?.ref, one?.actual, others.length], [bad.ref, actual, 0], "the corrupt blob");
    equal(await store.get(good.ref).then((bytes) => bytes?.length), 1000, "bytes of the other");
    return undefined;
  }),
];
