/** The results of `npm run interop` as rows of docs/reference/interop.md. A check that did not run keeps its row. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Reporter, TestModule } from "vitest/node";
import { root } from "../../../scripts/entries.mjs";
import { versionsOf } from "./agents.js";
import type { JudgeRow } from "./judge.js";
import { parseResults, printResults, type ResultRow, replaceResults } from "./results.js";

const page = join(root, "docs/reference/interop.md");

export default class ResultsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const day = new Date().toISOString().slice(0, 10);
    const rows = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test): readonly ResultRow[] => {
        const row: JudgeRow | undefined = test.meta().interop;
        const { state } = test.result();
        if (row === undefined || (state !== "passed" && state !== "failed")) return [];
        const { agent, version, check, note } = row;
        return [{ agent, version, check, result: state === "failed" ? "no" : (note ?? "yes"), day }];
      }),
    );
    if (rows.length === 0) return;
    const text = readFileSync(page, "utf8");
    const ran = new Set(rows.map(keyOf));
    const kept = parseResults(text).filter((row) => !ran.has(keyOf(row)));
    const all = [...kept, ...rows].filter(({ agent, version }) => versionsOf(agent).includes(version));
    writeFileSync(page, replaceResults(text, printResults(all)));
  }
}

const keyOf = ({ agent, version, check }: ResultRow): string => [agent, version, check].join("\n");
