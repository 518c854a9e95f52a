import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryBlobStore } from "../../../src/blobs/index.js";
import { fileBlobStore } from "../../../src/blobs/node/index.js";

test("smoke", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sessile-"));
  for (const blobs of [
    memoryBlobStore(),
    fileBlobStore({ dir: join(dir, "a") }),
    fileBlobStore({ dir: join(dir, "b"), layout: "flat", digest: "blake3" }),
  ]) {
    for (const size of [0, 1, 4096, 300_000, 3_000_000]) {
      const bytes = new Uint8Array(size).fill(7);
      const stat = await blobs.put(bytes, { mediaType: "image/png" });
      expect(stat.size).toBe(size);
      expect(Buffer.compare((await blobs.get(stat.ref)) as Uint8Array, bytes)).toBe(0);
      const again = await blobs.put(
        (async function* () {
          yield bytes;
        })(),
      );
      expect(again.ref).toBe(stat.ref);
    }
  }
  const blobs = fileBlobStore({ dir: join(dir, "a") });
  const { ref } = await blobs.put(new Uint8Array(10));
  const hex = ref.slice(7);
  const path = join(dir, "a", "blobs", "sha256", hex.slice(0, 2), hex);
  chmodSync(path, 0o644);
  writeFileSync(path, "x");
  await expect(blobs.get(ref)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
  expect(await blobs.get(ref)).toBeUndefined();
  console.log(readdirSync(dir, { recursive: true }));
  rmSync(dir, { recursive: true });
});
