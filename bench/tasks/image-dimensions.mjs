// What image-dimensions does in the benchmarks, in a process of its own: node tasks/image-dimensions.mjs TASK INPUT
import { readFileSync } from "node:fs";
import { imageDimensionsFromData } from "image-dimensions";
import { task } from "./task.mjs";

await task({
  /** @param {{ path: string, times: number }} input */
  async size({ path, times }, timed) {
    const bytes = new Uint8Array(readFileSync(path));
    const size = await timed(() => {
      let size = imageDimensionsFromData(bytes);
      for (let time = 1; time < times; time++) size = imageDimensionsFromData(bytes);
      return size;
    });
    return size && [size.width, size.height];
  },
});
