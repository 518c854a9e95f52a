import { join } from "node:path";
import { type Claim, fasterThan, lighterThan, timesTable } from "./support/claim.js";
import { writeSession } from "./support/sessions.js";

const sessions = 10_000;
const limit = 50;
const cwd = "/work/project";

export const list: Claim = {
  name: "list",
  title: "List the newest sessions of a project, a page of 50",
  async measure(runner) {
    return runner.inDirectory("list", async (dir) => {
      const project = join(dir, "--work-project--");
      for (let number = 0; number < sessions; number++) {
        const id = `session-${String(number).padStart(5, "0")}`;
        writeSession(join(project, `2026-01-01T00-00-00-000Z_${id}.jsonl`), { id, cwd, entries: 20 });
      }
      const what = `of ${sessions.toLocaleString("en")} sessions of 20 entries`;
      const row = await runner.compare(what, "list", () => ({ dir, project, cwd, limit }));
      return timesTable("pi", [{ ...row, targets: [fasterThan("pi", row, 5), lighterThan("pi", row)] }]);
    });
  },
};
