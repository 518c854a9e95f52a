// An array of frames in the benchmarks, in a process of its own: node tasks/array.mjs TASK INPUT
import { turns } from "./frames.mjs";
import { task } from "./task.mjs";

const frames = turns(1000);

// What is compiled on the way counts for neither side.
/** @type {unknown[]} */
const warm = [];
for (let round = 0; round < 50; round++) for (const frame of frames) warm.push(frame);

await task({
  /** @param {{ rounds: number }} input */
  async append({ rounds }, timed) {
    /** @type {unknown[]} */
    const array = [];
    await timed(() => {
      for (let round = 0; round < rounds; round++) for (const frame of frames) array.push(frame);
    });
    return array.length;
  },

  /** @param {{ rounds: number }} input */
  async fill({ rounds }, timed) {
    let count = 0;
    await timed(() => {
      for (let round = 0; round < rounds; round++) {
        /** @type {unknown[]} */
        const array = [];
        for (const frame of frames) array.push(frame);
        count += array.length;
      }
    });
    return count;
  },
});
