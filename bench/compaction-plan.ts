import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type Claim, fasterThan, type Row, timesTable } from "./support/claim.js";
import { codingMessageAt, writeSession } from "./support/sessions.js";

/** The last is an answer with a usage. */
const messages = Array.from({ length: 18 }, (_, number) => codingMessageAt(number)).slice(-1);
/** Of how many a target is said. */
const usual = 10_000;
const sizes = [1000, usual, 100_000];
/** So that some 36,000 tokens are in context, as before a compaction of a model with a small window. */
const compactEvery = 600;
/** Ten times as many entries may take so many times as long. */
const growth = 12;

export const compactionPlan: Claim = {
  name: "compaction-plan",
  title: "Plan a compaction in a session that is open, after one more message was appended",
  async measure(runner) {
    const rows: Row[] = [];
    for (const compacted of [false, true]) {
      for (const warm of [0, 8]) {
        const times = new Map<string, number>();
        for (const entries of sizes) {
          // Most of a hundred thousand goes to reading them, so that they are planned once a run.
          if (warm > 0 && entries > usual) continue;
          const measured = await runner.inDirectory("compaction-plan", async (dir) => {
            const path = join(dir, "session.jsonl");
            writeSession(path, {
              entries,
              messages: codingMessageAt,
              ...(compacted ? { compactEvery } : {}),
            });
            const context = compacted ? `compacted every ${compactEvery}` : "all in context";
            const how = warm === 0 ? "the first time" : `after ${warm} others`;
            return runner.comparePis(
              `${entries.toLocaleString("en")} entries, ${context}, ${how}`,
              "plan",
              (round) => {
                const copy = join(dir, `${round}.jsonl`);
                copyFileSync(path, copy);
                return { path: copy, messages, warm };
              },
            );
          });
          for (const [at, row] of measured.entries()) {
            times.set(`${at} ${entries}`, row.ours.ms);
            const ratio = row.ours.ms / (times.get(`${at} ${entries / 10}`) ?? Number.NaN);
            const linear = {
              text: `at most ${growth} times as long as for ${(entries / 10).toLocaleString("en")}: ${ratio.toFixed(1)}`,
              met: ratio <= growth,
            };
            rows.push({
              ...row,
              targets: entries === usual ? [fasterThan("pi", row, 5)] : entries > usual ? [linear] : [],
            });
          }
        }
      }
    }
    return timesTable("pi", rows);
  },
};
