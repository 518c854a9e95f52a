import { join } from "node:path";
import { type Claim, fasterThan, type Row, timesTable } from "./support/claim.js";
import { messageAt } from "./support/sessions.js";

const messages = Array.from({ length: 40 }, (_, number) => messageAt(number));

export const append: Claim = {
  name: "append",
  title: 'Append messages one at a time, each awaited, durability "os", to a session that has 40',
  async measure(runner) {
    const rows: Row[] = [];
    for (const count of [1_000, 10_000, 100_000]) {
      await runner.inDirectory(`append-${count}`, async (dir) => {
        const row = await runner.compare(`${count.toLocaleString("en")} appends`, "append", (round) => ({
          dir: join(dir, round),
          messages,
          count,
        }));
        rows.push({ ...row, targets: count === 100_000 ? [fasterThan("pi", row, 1.5)] : [] });
      });
    }
    return timesTable("pi", rows);
  },
};
