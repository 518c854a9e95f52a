// What image-dimensions does in the benchmarks, in a process of its own: node tasks/image-dimensions.mjs TASK INPUT
import { readFileSync } from "node:fs";
import { imageDimensionsFromData } from "image-dimensions";
import { task } from "./task.mjs";

await task({
  /** @param {{ path: string, times: number }} input */
  async size({ path, times }, timed) {
    const bytes = new Uint8Array(readFileSync(path));
    const repeat = (/** @type {number} */ count) => {
      let size = imageDimensionsFromData(bytes);
      for (let time = 1; time < count; time++) size = imageDimensionsFromData(bytes);
      return size;
    };
    // What is compiled on the way counts for neither side.
    repeat(times / 10);
    const size = await timed(() => repeat(times));
    return size && [size.width, size.height];
  },
});
