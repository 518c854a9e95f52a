// The same by hand in the benchmarks, unchecked, in a process of its own: node tasks/by-hand.mjs TASK INPUT
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import { task } from "./task.mjs";
import { imageFrame } from "./tether-frame.mjs";

/** Lasting, as the store's files are: beside its name, synced, renamed, and the name synced. @param {string} dir */
async function write(dir, /** @type {string} */ name, /** @type {Uint8Array} */ bytes) {
  const temporary = join(dir, `${name}.tmp`);
  const file = await open(temporary, "wx");
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(dir, name));
  const folder = await open(dir);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Decodes, hashes, writes, and encodes again what is in memory still. @param {import("./tether-frame.mjs").Frame} frame @param {string} dir */
async function carry({ payload }, dir) {
  mkdirSync(dir, { recursive: true });
  const images = payload.images.map(({ data }) => Buffer.from(data, "base64"));
  const digests = images.map((bytes) => createHash("sha256").update(bytes).digest("hex"));
  await Promise.all(images.map((bytes, at) => write(dir, /** @type {string} */ (digests[at]), bytes)));
  return { digests, encoded: images.map((bytes) => bytes.toString("base64")) };
}

await task({
  /** @param {{ dir: string, count: number, size: number, warm: number }} input */
  async carry({ dir, warm, count, size }, timed) {
    for (let at = 0; at < warm; at++) await carry(imageFrame({ count, size: 3000 }), join(dir, `warm-${at}`));
    const frame = imageFrame({ count, size });
    const { digests, encoded } = await timed(() => carry(frame, join(dir, "timed")));
    if (encoded.some((data, at) => data !== frame.payload.images[at]?.data))
      throw new Error("expected the same");
    return digests;
  },
});
