import { join } from "node:path";
import { type Claim, fasterThan, lighterThan, type Row, timesTable } from "./support/claim.js";
import { codingMessageAt, writeSession } from "./support/sessions.js";

export const openLinear: Claim = {
  name: "open-linear",
  title: "Open a session and build its context: one branch, no compaction, so that every entry is in context",
  async measure(runner) {
    const rows: Row[] = [];
    for (const entries of [100, 1_000, 10_000, 100_000]) {
      await runner.inDirectory(`linear-${entries}`, async (dir) => {
        const path = join(dir, "session.jsonl");
        writeSession(path, { entries });
        const what = `${entries.toLocaleString("en")} entries`;
        for (const row of await runner.comparePis(what, "open", () => ({ path }))) {
          const targets = entries === 100_000 ? [fasterThan("pi", row, 2.5), lighterThan("pi", row)] : [];
          rows.push({ ...row, targets });
        }
      });
    }
    for (const isMigrated of [false, true]) {
      await runner.inDirectory(`coding-${isMigrated}`, async (dir) => {
        const path = join(dir, "session.jsonl");
        writeSession(path, { entries: 914, messages: codingMessageAt, isMigrated });
        const what = `a coding session of 914 messages${isMigrated ? ", as pi migrates it: the id behind the message" : ""}`;
        for (const row of await runner.comparePis(what, "open", () => ({ path })))
          rows.push({ ...row, targets: [] });
      });
    }
    return timesTable("pi", rows);
  },
};
