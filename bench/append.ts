import { join } from "node:path";
import { type Claim, fasterThan, timesTable } from "./support/claim.js";
import { messageAt } from "./support/sessions.js";

const count = 20_000;
const messages = Array.from({ length: 40 }, (_, number) => messageAt(number));

export const append: Claim = {
  name: "append",
  title: 'Append messages one at a time, each awaited, durability "os", to a session that has 40',
  async measure(runner) {
    return runner.inDirectory("append", async (dir) => {
      const row = await runner.compare(`${count.toLocaleString("en")} appends`, "append", (round) => ({
        dir: join(dir, round),
        messages,
        count,
      }));
      return timesTable("pi", [{ ...row, targets: [fasterThan("pi", row, 1)] }]);
    });
  },
};
