import { join } from "node:path";
import { type Claim, fasterThan, lighterThan, type Row, timesTable } from "./support/claim.js";
import { writeSession } from "./support/sessions.js";

export const openCompacted: Claim = {
  name: "open-compacted",
  title:
    "Open a session and build its context: a compaction every 1,000 entries that keeps the last 20, by another program or by an open session, which records what is in force",
  async measure(runner) {
    const rows: Row[] = [];
    for (const isOwn of [false, true]) {
      for (const entries of [1_000, 10_000, 100_000]) {
        await runner.inDirectory(`compacted-${entries}-${isOwn}`, async (dir) => {
          const path = join(dir, "session.jsonl");
          writeSession(path, { entries, compactEvery: 1_000, isOwn });
          const what = `${entries.toLocaleString("en")} entries${isOwn ? "" : ", by another program"}`;
          for (const row of await runner.comparePis(what, "open", () => ({ path }))) {
            const targets = entries === 100_000 ? [fasterThan("pi", row, 10), lighterThan("pi", row, 3)] : [];
            rows.push({ ...row, targets });
          }
        });
      }
    }
    return timesTable("pi", rows);
  },
};
