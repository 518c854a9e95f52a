import { join } from "node:path";
import { type Claim, fasterThan, lighterThan, type Row, timesTable } from "./support/claim.js";
import type { Runner } from "./support/runner.js";
import { writeSession } from "./support/sessions.js";

const sessions = 10_000;
const limit = 50;
const cwd = "/work/project";

/** Every one of 500 sessions: its name, first message and times. */
async function allOfFewer(runner: Runner): Promise<readonly Row[]> {
  return runner.inDirectory("list-500", async (dir) => {
    const project = join(dir, "--work-project--");
    for (let number = 0; number < 500; number++) {
      const id = `session-${String(number).padStart(3, "0")}`;
      writeSession(join(project, `2026-01-01T00-00-00-000Z_${id}.jsonl`), { id, cwd, entries: 200 });
    }
    const input = () => ({ dir, project, cwd, limit: 500 });
    const rows = await runner.comparePis("all of 500 sessions of 200 entries", "list", input);
    return rows.map((row) => ({ ...row, targets: [fasterThan("pi", row, 10)] }));
  });
}

export const list: Claim = {
  name: "list",
  title: "List the sessions of a project: the newest page of 50, and all",
  async measure(runner) {
    return runner.inDirectory("list", async (dir) => {
      const project = join(dir, "--work-project--");
      for (let number = 0; number < sessions; number++) {
        const id = `session-${String(number).padStart(5, "0")}`;
        writeSession(join(project, `2026-01-01T00-00-00-000Z_${id}.jsonl`), { id, cwd, entries: 20 });
      }
      const what = `of ${sessions.toLocaleString("en")} sessions of 20 entries`;
      const rows = await runner.comparePis(what, "list", () => ({ dir, project, cwd, limit }));
      const first = rows.map((row) => ({
        ...row,
        targets: [fasterThan("pi", row, 5), lighterThan("pi", row)],
      }));
      return timesTable("pi", [...first, ...(await allOfFewer(runner))]);
    });
  },
};
