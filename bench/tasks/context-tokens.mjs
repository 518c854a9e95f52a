// What this library does with the text of a message: node tasks/context-tokens.mjs TASK INPUT
import { task } from "./task.mjs";
import { textOf } from "./text.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/context-tokens")} */
const { parseContextTokens } = await import(`${built}/context-tokens.js`);

await task({
  /** @param {import("./text.mjs").Text & { times: number }} input */
  async parse(input, timed) {
    const text = textOf(input);
    let tokens = 0;
    await timed(() => {
      for (let time = 0; time < input.times; time++) {
        for (const { type } of parseContextTokens(text)) if (type === "token") tokens += 1;
      }
    });
    return tokens;
  },
});
