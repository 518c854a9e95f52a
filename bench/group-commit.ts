import { join } from "node:path";
import { type Claim, type Row, timesTable } from "./support/claim.js";
import { messageAt } from "./support/sessions.js";

const messages = Array.from({ length: 40 }, (_, number) => messageAt(number));
const atLeast = 50;

/** Both sides are this library: the same messages, awaited one by one, and 256 at a time. */
export const groupCommit: Claim = {
  name: "group-commit",
  title: 'Append 5,120 messages with durability "disk": one at a time, and 256 at a time, which share a sync',
  async measure(runner) {
    return runner.inDirectory("group-commit", async (dir) => {
      const side = (what: string, at: number) =>
        runner.alone(what, "appendTogether", { dir: join(dir, String(at)), messages, count: 5_120, at });
      const alone = await side("one at a time", 1);
      const together = await side("256 at a time", 256);
      const times = alone.ours.ms / together.ours.ms;
      const row: Row = {
        ...together,
        targets: [
          {
            text: `at least ${atLeast} times the rate of one at a time (${times.toFixed(0)} times)`,
            met: times >= atLeast,
          },
        ],
      };
      return timesTable(undefined, [{ ...alone, targets: [] }, row]);
    });
  },
};
