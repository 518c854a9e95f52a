import { createHash } from "node:crypto";
import { blake3 } from "@noble/hashes/blake3.js";
import fc from "fast-check";
import { blobStore, digest, type HashFunction } from "sessile";
import { describe, expect, test } from "vitest";
import { hashTable } from "../../src/blobs/internal.js";
import { memoryBlobBackend } from "../../src/blobs/memory.js";
import { nodeSha256 } from "../../src/storage/files/blobs/layout.js";

describe("digest", () => {
  // @covers R5
  test("is SHA-256 as Node has it, by either implementation", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const expected = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
        expect(digest(bytes)).toBe(expected);
        expect(digest(bytes, "sha256")).toBe(expected);
        expect(digest(bytes, nodeSha256)).toBe(expected);
      }),
    );
  });

  // The input is the bytes 0, 1, 2, … 250, 0, 1, …
  // https://github.com/BLAKE3-team/BLAKE3/blob/master/test_vectors/test_vectors.json (read 2026-11-21)
  test.each([
    [0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"],
    [1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"],
    [1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"],
    [1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"],
  ])("is BLAKE3 of %i bytes as its test vectors have it", (length, hex) => {
    const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
    expect(digest(bytes, "blake3")).toBe(`blake3:${hex}`);
  });

  test("names what is no argument of it", () => {
    expect(() => digest("text" as unknown as Uint8Array)).toThrow(
      new TypeError('bytes: expected a Uint8Array, got "text"'),
    );
    expect(() => digest(new Uint8Array(), "md5" as "sha256")).toThrow(
      new TypeError('hash: expected "sha256" or "blake3", got "md5"'),
    );
  });
});

describe("hash functions that are injected", () => {
  test("are used for naming and for verifying", async () => {
    let made = 0;
    const counting: HashFunction = {
      name: "blake3",
      create() {
        made++;
        return blake3.create();
      },
    };
    const store = blobStore(memoryBlobBackend(), { digest: "blake3", hashes: [counting] });
    const { ref } = await store.put(new Uint8Array(3));
    expect(ref).toBe(digest(new Uint8Array(3), "blake3"));
    await store.get(ref);
    expect(made).toBe(2);
  });

  test.each([
    [{ name: "md5", create: () => undefined }],
    [{ name: "toString", create: () => undefined }],
    [{ name: "sha256" }],
    [undefined],
    ["sha256"],
  ])("are refused where they are %j", (hash) => {
    expect(() => hashTable([hash as unknown as HashFunction])).toThrow(TypeError);
  });
});
