import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Claim, fasterThan, timesTable } from "./support/claim.js";
import { messageAt } from "./support/sessions.js";

const sides = { ours: "messages", peer: "ai-sdk" };
/** The last one is the user's. */
const count = 10_001;

export const projection: Claim = {
  name: "projection",
  title: `From ${count.toLocaleString("en")} messages without images, as each side keeps them, to the body of a request to Anthropic`,
  async measure(runner) {
    return runner.inDirectory("projection", async (dir) => {
      const path = join(dir, "messages.json");
      writeFileSync(path, JSON.stringify(Array.from({ length: count }, (_, number) => messageAt(number))));
      const of = (what: string, task: string, warm: number) =>
        runner.compare(what, task, () => ({ path, warm }), sides);
      const warm = await of("in a program that has done so before", "request", 20);
      const cold = await of("the first time", "request", 0);
      const unchecked = await of(
        "with nothing validated there: functions it does not offer",
        "unchecked",
        20,
      );
      return timesTable("AI SDK", [
        { ...warm, targets: [fasterThan("the AI SDK", warm, 1)] },
        { ...cold, targets: [fasterThan("the AI SDK", cold, 1)] },
        { ...unchecked, targets: [] },
      ]);
    });
  },
};
