// What this library does in the benchmarks of tokens, in a process of its own: node tasks/estimate.mjs TASK INPUT
import { readFileSync } from "node:fs";
import { task } from "./task.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/estimate")} */
const { estimateTextTokens } = await import(`${built}/estimate.js`);

await task({
  /** @param {{ path: string, times: number }} input */
  async estimate({ path, times }, timed) {
    /** @type {readonly string[]} */
    const texts = JSON.parse(readFileSync(path, "utf8"));
    const pass = () => texts.filter((text) => estimateTextTokens(text) > 0).length;
    // Not timed: a program that estimates does so again and again.
    for (let i = 0; i < 3; i++) pass();
    let counted = 0;
    await timed(() => {
      for (let i = 0; i < times; i++) counted += pass();
    });
    return counted;
  },
});
