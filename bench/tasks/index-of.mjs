// A bare search for what tokens begin with: node tasks/index-of.mjs TASK INPUT
import { task } from "./task.mjs";
import { textOf } from "./text.mjs";

await task({
  /** @param {import("./text.mjs").Text & { times: number }} input */
  async parse(input, timed) {
    const text = textOf(input);
    let tokens = 0;
    await timed(() => {
      for (let time = 0; time < input.times; time++) if (text.indexOf("<<context:") !== -1) tokens += 1;
    });
    return tokens;
  },
});
