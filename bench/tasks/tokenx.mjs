// What tokenx does in the benchmarks of tokens, in a process of its own: node tasks/tokenx.mjs TASK INPUT
import { readFileSync } from "node:fs";
import { estimateTokenCount } from "tokenx";
import { task } from "./task.mjs";

await task({
  /** @param {{ path: string, times: number }} input */
  async estimate({ path, times }, timed) {
    const texts = JSON.parse(readFileSync(path, "utf8"));
    let counted = 0;
    await timed(() => {
      for (let i = 0; i < times; i++)
        for (const text of texts) counted += estimateTokenCount(text) > 0 ? 1 : 0;
    });
    return counted;
  },
});
