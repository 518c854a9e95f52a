import { join } from "node:path";
import { type Claim, fasterThan, type Row, timesTable } from "./support/claim.js";
import { messageAt } from "./support/sessions.js";

const messages = Array.from({ length: 40 }, (_, number) => messageAt(number));

/** The first thousands are compiled as they run; what an append takes after that is what it takes. */
const runs: readonly {
  readonly count: number;
  readonly warm: number;
  readonly target?: number;
  /** Otherwise all are called at once, and what waits together is one write. */
  readonly isAwaited?: false;
}[] = [
  { count: 1, warm: 0 },
  { count: 1_000, warm: 0 },
  { count: 10_000, warm: 0 },
  { count: 100_000, warm: 0 },
  { count: 100_000, warm: 20_000, target: 0.9 },
  { count: 10_000, warm: 0, isAwaited: false },
];

export const append: Claim = {
  name: "append",
  title:
    'Append messages one at a time, each awaited if not named otherwise, durability "os", to a session that has 40',
  async measure(runner) {
    const rows: Row[] = [];
    for (const { count, warm, target, isAwaited = true } of runs) {
      await runner.inDirectory(`append-${count}-${warm}-${isAwaited}`, async (dir) => {
        const what = `${count.toLocaleString("en")} append${count === 1 ? "" : "s"}${warm === 0 ? "" : `, after ${warm.toLocaleString("en")} others`}${isAwaited ? "" : ", not awaited"}`;
        const input = (round: string) => ({ dir: join(dir, round), messages, count, warm, isAwaited });
        for (const row of await runner.comparePis(what, "append", input))
          rows.push({ ...row, targets: target === undefined ? [] : [fasterThan("pi", row, target)] });
      });
    }
    return timesTable("pi", rows);
  },
};
