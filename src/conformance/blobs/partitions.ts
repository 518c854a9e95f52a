/** Partitions and quotas. */

import { equal, refuses, rejects } from "../expect.js";
import { blobCase, inChunks, noise, refsIn, sameBytes } from "./harness.js";

export const partitionCases = [
  blobCase("a partition sees nothing of another, even by name", async ({ open }) => {
    const bytes = noise(1000);
    const unnamed = await open();
    const names = ["acme", "Acme", "beta", "a.b-c_d"];
    const { ref } = await unnamed.put(bytes);
    for (const [index, name] of names.entries()) {
      const store = await open({ partition: name });
      equal(await store.get(ref), undefined, `get from ${name}`);
      equal(await store.stat(ref), undefined, `stat in ${name}`);
      equal(await store.touch(ref), undefined, `touch in ${name}`);
      equal(await store.delete(ref), false, `delete from ${name}`);
      equal(await refsIn(store), [], `blobs of ${name}`);
      const own = await store.put(noise(10, index + 10));
      equal(await refsIn(await open({ partition: name })), [own.ref], `blobs of ${name} after a put`);
      await store.put(bytes);
      await store.delete(ref);
    }
    sameBytes(await unnamed.get(ref), bytes, "bytes of the partition without a name");
    equal(await refsIn(unnamed), [ref], "blobs of the partition without a name");
  }),

  blobCase("partition gives the store that the option does", async ({ open }) => {
    const store = await open({ maxBytes: 100 });
    const { ref } = await store.partition("acme").put(noise(10));
    sameBytes(await (await open({ partition: "acme" })).get(ref), noise(10), "bytes of the partition");
    equal(await store.get(ref), undefined, "get from the partition without a name");
    const sibling = store.partition("acme").partition("beta");
    equal(await sibling.get(ref), undefined, "get from another partition");
    await sibling.put(noise(20));
    equal((await refsIn(await open({ partition: "beta" }))).length, 1, "blobs of the other partition");
    await rejects(() => sibling.put(noise(101)), "BLOB_TOO_LARGE", "put with the options of the first");
    for (const name of ["", "..", "a/b", "a\\b", "-a", ".a", "a.", "a\0", "x".repeat(129)]) {
      await refuses(async () => store.partition(name), `partition ${JSON.stringify(name)}`);
    }
  }),

  blobCase("a quota refuses what does not fit, and nothing of it is stored", async ({ open }) => {
    const store = await open({ quota: 1_000_000 });
    const { ref } = await store.put(noise(700_000));
    for (const source of [noise(300_001), inChunks(noise(300_001), 50_000), noise(2_000_000)]) {
      await rejects(() => store.put(source), "QUOTA_EXCEEDED", "put of a byte too many");
    }
    equal(await refsIn(store), [ref], "blobs");
    const small = await store.put(noise(300_000, 2));
    await rejects(() => store.put(noise(1)), "QUOTA_EXCEEDED", "put into a full store");
    equal((await store.put(noise(0))).size, 0, "size of an empty blob, which takes no room");
    equal((await store.put(noise(700_000))).ref, ref, "ref of bytes that are there, which take none");
    equal((await store.put(noise(300_000, 2))).ref, small.ref, "ref of other bytes that are there");
    await (await open()).delete(ref);
    equal(
      (await store.put(noise(700_000, 3))).size,
      700_000,
      "size of a put into the room of a deleted blob",
    );
  }),

  blobCase("a put whose answer is lost counts against the quota, and once", async ({ open, fixture }) => {
    if (fixture.loseAnswer === undefined) return { skipped: "this storage has no answers to lose" };
    const store = await open({ quota: 1_000_000 });
    for (const [seed, source] of [noise(300_000), inChunks(noise(400_000, 2), 50_000)].entries()) {
      await fixture.loseAnswer();
      await store.put(source).catch(() => undefined);
      const rest = seed === 0 ? 700_000 : 300_000;
      await rejects(() => store.put(noise(rest + 1, 9)), "QUOTA_EXCEEDED", `put of ${rest + 1} bytes`);
    }
    equal((await store.put(noise(300_000))).size, 300_000, "size of a second put");
    equal((await store.put(noise(300_000, 3))).size, 300_000, "size of a put that fits to the last byte");
    equal((await refsIn(store)).length, 3, "blobs");
    return undefined;
  }),

  blobCase("puts at once do not pass a quota together", async ({ open }) => {
    const store = await open({ quota: 1_000_000 });
    const puts = Array.from({ length: 20 }, (_, seed) => store.put(noise(seed % 2 ? 90_000 : 300_000, seed)));
    const results = await Promise.allSettled(puts);
    let bytes = 0;
    for await (const { size } of store.list()) bytes += size;
    equal(bytes <= 1_000_000, true, "whether what is stored keeps to the quota");
    equal(bytes > 600_000, true, "whether the quota was used");
    const stored = results.filter(({ status }) => status === "fulfilled").length;
    equal((await refsIn(store)).length, stored, "blobs, one for each put that was acknowledged");
  }),
];
