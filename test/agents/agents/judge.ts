/** A check of an agent as a test: one for each version, with a row in docs/reference/interop.md. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { type AgentName, versionsOf } from "./agents.js";
import { type AgentRun, type RunOptions, runAgent } from "./run.js";

/** A row of the table. The reporter adds the outcome and the day. */
export interface JudgeRow {
  readonly agent: AgentName;
  readonly version: string;
  readonly check: string;
  /** A remark about a check that passed. */
  note?: string;
}

declare module "vitest" {
  interface TaskMeta {
    interop?: JudgeRow;
  }
}

export interface JudgeContext {
  readonly version: string;
  /** Runs commands of this version in a fresh home. */
  run(options: RunOptions): Promise<AgentRun>;
}

/**
 * Adds a test for each version of an agent. A text that it resolves with is a remark in the table, such as
 * "images became words".
 *
 * @param versions default: all of package.json
 */
export function judge(
  agent: AgentName,
  check: string,
  body: (context: JudgeContext) => Promise<unknown>,
  versions: readonly string[] = versionsOf(agent),
): void {
  for (const version of versions) {
    test(`${agent} ${version}: ${check}`, async ({ task }) => {
      const row: JudgeRow = { agent, version, check };
      task.meta.interop = row;
      const note = await body({ version, run: (options) => runAgent(agent, version, options) });
      if (typeof note === "string") row.note = note;
    });
  }
}

/**
 * Writes a sample for the unit tests, below test/agents/FORMAT/files, if SESSILE_INTEROP_SAMPLES is set. Without
 * it the samples stay as they are, and tests of a run can be compared with them.
 */
export function keepSample(format: string, path: string, value: unknown): void {
  if (!process.env.SESSILE_INTEROP_SAMPLES) return;
  const full = join(root, "test/agents", format, "files", path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, value instanceof Uint8Array ? value : `${JSON.stringify(value, null, 2)}\n`);
}
