/** Puts. */

import { digest } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { equal, rejects } from "../expect.js";
import { blobCase, inChunks, noise, refsIn, sameBytes, sizes } from "./harness.js";

/** Test vectors of FIPS 180-4 and of BLAKE3. */
const known: readonly [text: string, sha256: BlobRef, blake3: BlobRef][] = [
  [
    "",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
  ],
  [
    "abc",
    "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "blake3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
  ],
];

/** Chunk lengths of streams: above, at and below the chunk size of stores. */
const chunkSizes = [1_000_000, 65_536, 4093, 262_144, 524_288];

export const putCases = [
  blobCase("bytes of any size come back to another handle", async ({ open }) => {
    const store = await open();
    for (const size of sizes) {
      const bytes = noise(size);
      const { ref, size: told } = await store.put(bytes);
      equal(told, size, `size that put gives for ${size} bytes`);
      sameBytes(await (await open()).get(ref), bytes, `${size} bytes read back`);
    }
  }),

  blobCase("a stream of any size is the same blob as its bytes", async ({ open }) => {
    const store = await open();
    for (const [index, size] of sizes.entries()) {
      const bytes = noise(size, 2);
      const stat = await store.put(inChunks(bytes, chunkSizes[index % chunkSizes.length] as number));
      const again = await (await open()).put(bytes);
      equal([stat.ref, stat.size], [again.ref, size], `ref and size of a stream of ${size} bytes`);
      sameBytes(await (await open()).get(stat.ref), bytes, `a stream of ${size} bytes read back`);
    }
  }),

  blobCase("a blob's name is the digest of its bytes", async ({ open, fixture }) => {
    for (const algorithm of fixture.digests ?? ["sha256", "blake3"]) {
      const store = await open({ digest: algorithm });
      for (const [text, sha256, blake3] of known) {
        const { ref } = await store.put(new TextEncoder().encode(text));
        equal(ref, algorithm === "sha256" ? sha256 : blake3, `ref of ${JSON.stringify(text)}`);
        equal((await (await open({ digest: algorithm })).stat(ref))?.ref, ref, "ref of what is stored");
      }
    }
  }),

  blobCase("the same bytes are stored once", async ({ open }) => {
    const [one, other] = [await open(), await open()];
    const refs = [];
    for (const size of [10, 300_000]) {
      const bytes = noise(size);
      const { ref } = await one.put(bytes);
      refs.push(ref);
      equal((await one.put(bytes)).ref, ref, "ref of the same bytes");
      equal((await other.put(inChunks(bytes, 1000))).ref, ref, "ref of the same bytes from another handle");
    }
    equal(await refsIn(await open()), refs.sort(), "blobs");
  }),

  blobCase("puts of the same and of different bytes at once all succeed", async ({ open }) => {
    const puts = [];
    for (let i = 0; i < 24; i++) {
      const store = await open();
      const bytes = noise(i % 2 === 0 ? 5000 : 300_000, i % 6);
      puts.push(store.put(i % 4 === 1 ? inChunks(bytes, 70_000) : bytes));
    }
    const refs = new Set((await Promise.all(puts)).map(({ ref }) => ref));
    equal(refs.size, 6, "different refs");
    const store = await open();
    equal(await refsIn(store), [...refs].sort(), "blobs");
    equal((await store.verify()).corrupt, [], "corrupt blobs");
  }),

  blobCase("a put whose answer is lost leaves a whole blob, once", async ({ open, fixture }) => {
    if (fixture.loseAnswer === undefined) return { skipped: "this storage has no answers to lose" };
    const refs = [];
    for (const size of [10, 300_000, 2_000_000]) {
      const bytes = noise(size, 7);
      const ways: Readonly<Record<string, () => Uint8Array | AsyncIterable<Uint8Array>>> = {
        bytes: () => bytes,
        "a stream": () => inChunks(bytes, 100_000),
      };
      for (const [way, source] of Object.entries(ways)) {
        const store = await open();
        for (const when of ["before it is stored", "after it was stored"]) {
          await fixture.loseAnswer();
          try {
            await store.put(source());
          } catch (error) {
            await rejects(() => Promise.reject(error), "STORAGE_FAILED", `put of ${way} ${when}`);
          }
          const { ref } = await store.put(bytes);
          sameBytes(await (await open()).get(ref), bytes, `${size} bytes of ${way}, lost ${when}`);
          refs.push(ref);
        }
        await fixture.loseAnswer();
        await store.put(source()).catch(() => undefined);
        sameBytes(await store.get(refs.at(-1) as BlobRef), bytes, `${size} bytes after a lost answer`);
      }
    }
    equal(await refsIn(await open()), [...new Set(refs)].sort(), "blobs");
    return undefined;
  }),

  blobCase("a source that fills the same array again is stored as it came", async ({ open }) => {
    const store = await open();
    for (const size of [1000, 400_000]) {
      const bytes = noise(size, 3);
      const source = async function* () {
        const chunk = new Uint8Array(100_000);
        for (let at = 0; at < size; at += chunk.length) {
          const part = bytes.subarray(at, at + chunk.length);
          chunk.set(part);
          yield chunk.subarray(0, part.length);
          chunk.fill(0);
        }
      };
      const { ref } = await store.put(source());
      sameBytes(await (await open()).get(ref), bytes, `${size} bytes read back`);
    }
  }),

  blobCase("what is put is not the caller's array", async ({ open }) => {
    const store = await open();
    for (const bytes of [noise(10), noise(300_000)]) {
      const before = bytes.slice();
      const { ref } = await store.put(bytes);
      bytes.fill(0);
      sameBytes(await store.get(ref), before, "bytes read back after the caller's array changed");
    }
  }),

  blobCase("a size that was declared wrongly is refused, and nothing is stored", async ({ open }) => {
    const store = await open();
    for (const length of [10, 300_000]) {
      const bytes = noise(length);
      for (const size of [length - 1, length + 1]) {
        for (const source of [bytes, inChunks(bytes, 1000)]) {
          const details = await rejects(
            () => store.put(source, { size }),
            "BLOB_MISMATCH",
            "put of another size",
          );
          equal((details as { what?: unknown }).what, "size", "what was declared wrongly");
        }
      }
    }
    equal(await refsIn(store), [], "blobs");
    equal((await store.put(noise(10), { size: 10 })).size, 10, "size of what was declared rightly");
  }),

  blobCase("a digest that was declared wrongly is refused, and nothing is stored", async ({ open }) => {
    const store = await open();
    for (const length of [10, 300_000]) {
      const bytes = noise(length);
      for (const algorithm of ["sha256", "blake3"] as const) {
        const ref = digest(noise(length, 9), algorithm);
        for (const source of [bytes, inChunks(bytes, 1000)]) {
          const details = await rejects(
            () => store.put(source, { ref }),
            "BLOB_MISMATCH",
            "put under another name",
          );
          const actual = digest(bytes, algorithm);
          equal(details, { what: "digest", expected: ref, actual }, "details of the refusal");
        }
        equal(await refsIn(store), [], "blobs");
      }
    }
    for (const algorithm of ["sha256", "blake3"] as const) {
      const { size } = await store.put(noise(10), { ref: digest(noise(10), algorithm) });
      equal(size, 10, `size of what was declared rightly in ${algorithm}`);
    }
  }),

  blobCase(
    "more bytes than the store or the caller takes are refused, and nothing is stored",
    async ({ open }) => {
      const store = await open({ maxBytes: 300_000 });
      const wide = await open();
      for (const source of [noise(300_001), inChunks(noise(300_001), 100_000)]) {
        await rejects(() => store.put(source), "BLOB_TOO_LARGE", "put of a byte more than the store takes");
      }
      for (const source of [noise(11), inChunks(noise(11), 3)]) {
        await rejects(() => wide.put(source, { maxBytes: 10 }), "BLOB_TOO_LARGE", "put of a byte too many");
      }
      await rejects(
        () => store.put(noise(10), { size: 300_001 }),
        "BLOB_TOO_LARGE",
        "put of a declared size",
      );
      equal(await refsIn(store), [], "blobs");
      equal((await store.put(noise(300_000))).size, 300_000, "size of a put of all that the store takes");
      equal(
        (await store.put(noise(10), { maxBytes: 10 })).size,
        10,
        "size of a put of all that the caller takes",
      );
    },
  ),

  blobCase("progress is told, up to all bytes", async ({ open }) => {
    const store = await open();
    for (const source of [noise(10), noise(1_500_000), inChunks(noise(1_500_000, 2), 1_000_000)]) {
      const told: number[] = [];
      const { ref, size } = await store.put(source, { onProgress: ({ bytes }) => void told.push(bytes) });
      equal(told.at(-1), size, "last progress of the put");
      equal(
        [...told].sort((a, b) => a - b),
        told,
        "progress, in order",
      );
      told.length = 0;
      await store.get(ref, { onProgress: ({ bytes }) => void told.push(bytes) });
      equal(told.at(-1), size, "last progress of the get");
    }
  }),
];
