// What this library does in the benchmarks of tokens, in a process of its own: node tasks/estimate.mjs TASK INPUT
import { readFileSync } from "node:fs";
import { task } from "./task.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/estimate")} */
const { estimateTextTokens } = await import(`${built}/estimate/index.js`);

await task({
  /** @param {{ path: string, times: number }} input */
  async estimate({ path, times }, timed) {
    const texts = JSON.parse(readFileSync(path, "utf8"));
    let counted = 0;
    await timed(() => {
      for (let i = 0; i < times; i++)
        for (const text of texts) counted += estimateTextTokens(text) > 0 ? 1 : 0;
    });
    return counted;
  },
});
