// What this library does in the benchmarks of blobs, in a process of its own: node tasks/blobs.mjs TASK INPUT
import { rmSync } from "node:fs";
import { randomBlobs } from "./random-blobs.mjs";
import { task } from "./task.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/node")} */
const { fileBlobStore } = await import(`${built}/node.js`);

await task({
  /** @param {{ dir: string, count: number, size: number }} input */
  async put({ dir, ...how }, timed) {
    const all = randomBlobs(how);
    const blobs = fileBlobStore({ dir });
    let bytes = 0;
    await timed(async () => {
      for (const blob of all) bytes += (await blobs.put(blob)).size;
    });
    rmSync(dir, { recursive: true });
    return bytes;
  },
});
