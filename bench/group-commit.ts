import { join } from "node:path";
import { type Claim, type Row, timesTable } from "./support/claim.js";
import { messageAt } from "./support/sessions.js";

const messages = Array.from({ length: 40 }, (_, number) => messageAt(number));
const atLeast = 50;
/** So many at a time, and as many batches in either case. */
const together = 256;
const batches = 400;
/** Appends before those that are timed. */
const warm = 25_600;

/** Both sides are this library: messages awaited one by one, and 256 at a time. */
export const groupCommit: Claim = {
  name: "group-commit",
  title: `Append messages with durability "disk", each to be on the disk: one at a time, and ${together} at a time, which share a sync`,
  async measure(runner) {
    return runner.inDirectory("group-commit", async (dir) => {
      const side = (what: string, at: number, warm: number) =>
        runner.alone(`${(batches * at).toLocaleString("en")} ${what}`, "appendTogether", {
          dir: join(dir, String(at)),
          messages,
          count: batches * at,
          at,
          warm,
        });
      const alone = await side("one at a time", 1, 500);
      const row = await side(`${together} at a time`, together, warm);
      const times = (together * alone.ours.ms) / row.ours.ms;
      const target = {
        text: `at least ${atLeast} times the rate of one at a time (${times.toFixed(0)} times)`,
        met: times >= atLeast,
      };
      const rows: readonly Row[] = [
        { ...alone, targets: [] },
        { ...row, targets: [target] },
      ];
      return timesTable(undefined, rows);
    });
  },
};
