// What sniff does in the benchmarks, in a process of its own: node tasks/media.mjs TASK INPUT
import { readFileSync } from "node:fs";
import { task } from "./task.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/media")} */
const { sniff } = await import(`${built}/media.js`);

await task({
  /** @param {{ path: string, times: number }} input */
  async size({ path, times }, timed) {
    const bytes = new Uint8Array(readFileSync(path));
    const repeat = (/** @type {number} */ count) => {
      let media = sniff(bytes);
      for (let time = 1; time < count; time++) media = sniff(bytes);
      return media;
    };
    // What is compiled on the way counts for neither side.
    repeat(times / 10);
    const media = await timed(() => repeat(times));
    return media?.kind === "image" ? [media.width, media.height] : undefined;
  },
});
