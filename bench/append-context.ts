import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type Claim, fasterThan, timesTable } from "./support/claim.js";
import { messageAt, writeSession } from "./support/sessions.js";

const entries = 10_000;
const count = 200;
const messages = Array.from({ length: 40 }, (_, number) => messageAt(number));

export const appendContext: Claim = {
  name: "append-context",
  title:
    "Append a message and build the context, again and again, in a session that is open and was read once",
  async measure(runner) {
    return runner.inDirectory("append-context", async (dir) => {
      const path = join(dir, "session.jsonl");
      writeSession(path, { entries });
      const rows = await runner.comparePis(
        `${count} times at ${entries.toLocaleString("en")} entries, all in context`,
        "appendContext",
        (round) => {
          const copy = join(dir, `${round}.jsonl`);
          copyFileSync(path, copy);
          return { path: copy, messages, count };
        },
      );
      return timesTable(
        "pi",
        rows.map((row) => ({ ...row, targets: [fasterThan("pi", row, 10)] })),
      );
    });
  },
};
