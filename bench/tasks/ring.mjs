// A ring of frames in the benchmarks, in a process of its own: node tasks/ring.mjs TASK INPUT
import { turns } from "./frames.mjs";
import { task } from "./task.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/tether")} */
const { FrameRing } = await import(`${built}/tether.js`);

const frames = turns(1000);
/** Room for so many frames, whatever their images. @param {number} maxFrames */
const ringOf = (maxFrames) => new FrameRing({ maxFrames, maxBytes: 2 ** 50 });

// What is compiled on the way counts for neither side.
const warm = ringOf(500);
for (let round = 0; round < 50; round++) for (const frame of frames) warm.append(frame);

await task({
  /** A ring that is full goes on and on; one that holds nothing takes all. @param {{ held: number, rounds: number }} input */
  async append({ held, rounds }, timed) {
    const ring = ringOf(held === 0 ? rounds * frames.length : held);
    for (let at = 0; at < held; at++) ring.append(/** @type {any} */ (frames[at % frames.length]));
    await timed(() => {
      for (let round = 0; round < rounds; round++) for (const frame of frames) ring.append(frame);
    });
    return rounds * frames.length;
  },

  /** In each round a new ring takes as many as it can hold. @param {{ rounds: number }} input */
  async fill({ rounds }, timed) {
    let count = 0;
    await timed(() => {
      for (let round = 0; round < rounds; round++) {
        const ring = ringOf(frames.length);
        for (const frame of frames) ring.append(frame);
        count += ring.size;
      }
    });
    return count;
  },
});
