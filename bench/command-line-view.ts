import { copyFileSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildViewer } from "../scripts/viewer.mjs";
import { fixture } from "../test/support/fixtures.js";
import { withProgram } from "./command-line.js";
import { type Claim, fasterThan, type Row, timesTable } from "./support/claim.js";
import { writeSession } from "./support/sessions.js";

const sides = { ours: "view", peer: "pi-export" };
const real = fixture("agents/claude-code/claude-code-viewer/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl");

/** Whole programs, from their start to the end of the file. pi's is only what its `--export` needs. */
export const commandLineView: Claim = {
  name: "command-line-view",
  title: "sessile view of a session as one HTML file, beside the export of pi 0.73.1",
  async measure(runner) {
    return withProgram(runner, (program) =>
      runner.inDirectory("view", async (dir) => {
        await addViewer(program);
        const rows: Row[] = [];
        for (const entries of [200, 20_000]) {
          const path = join(dir, `${entries}.jsonl`);
          writeSession(path, { entries });
          const input = (round: string) => ({ program, path, out: join(dir, `${entries}-${round}.html`) });
          await runner.once(sides.ours, "view", input("first"));
          await runner.once(sides.peer, "view", input("peer"));
          const what = `${entries.toLocaleString("en")} entries, ${sizeOf(path)}; ${sizeOf(input("first").out)}, of pi ${sizeOf(input("peer").out)}`;
          const row = await runner.compare(what, "view", input, sides);
          rows.push({ ...row, targets: entries < 1000 ? [] : [fasterThan("pi", row, 1)] });
        }
        return timesTable("pi", rows);
      }),
    );
  },
};

/** The peers for files of Claude Code are programs in Python, which the benchmarks do not install. */
export const commandLineViewReal: Claim = {
  name: "command-line-view-real",
  title: "sessile view of a real session of Claude Code, with five subagents",
  async measure(runner) {
    return withProgram(runner, (program) =>
      runner.inDirectory("view-real", async (dir) => {
        if (real.absent !== undefined) return timesTable(undefined, []);
        await addViewer(program);
        const path = join(dir, "claude-code.jsonl");
        copyFileSync(real.path, path);
        let round = 0;
        const input = () => ({ program, path, out: join(dir, `${round++}.html`) });
        const row = await runner.alone("", "view", input, sides.ours);
        const what = `a file of ${sizeOf(path)}; ${sizeOf(join(dir, "0.html"))}`;
        return timesTable(undefined, [{ ...row, what, targets: [] }]);
      }),
    );
  },
};

async function addViewer(program: string): Promise<void> {
  const template = join(dirname(program), "..", "viewer", "app.html");
  mkdirSync(dirname(template), { recursive: true });
  writeFileSync(template, await buildViewer());
}

function sizeOf(path: string): string {
  return `${(statSync(path).size / 1e6).toFixed(2)} MB`;
}
