// What cacache does in the benchmarks of blobs, in a process of its own: node tasks/cacache.mjs TASK INPUT
import { rmSync } from "node:fs";
import cacache from "cacache";
import { randomBlobs } from "./random-blobs.mjs";
import { task } from "./task.mjs";

await task({
  /** @param {{ dir: string, count: number, size: number }} input */
  async put({ dir, ...how }, timed) {
    const all = randomBlobs(how);
    let bytes = 0;
    await timed(async () => {
      for (const [index, blob] of all.entries()) {
        await cacache.put(dir, `blob ${index}`, Buffer.from(blob.buffer, blob.byteOffset, blob.length), {
          algorithms: ["sha256"],
        });
        bytes += blob.length;
      }
    });
    rmSync(dir, { recursive: true });
    return bytes;
  },
});
