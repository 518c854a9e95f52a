/**
 * The sessions of Codex: rollouts of every version, their forks, subagents and names.
 *
 * @module codex
 */

import type { ForeignFormat } from "../types.js";
import { codexAgent } from "./agent.js";
import { readCodex } from "./read.js";
import { appendCodex, writeCodex } from "./write.js";

export { type CodexExec, codexExec } from "./codex-exec.js";

/**
 * The format of Codex.
 *
 * @example
 * ```ts
 * const imported = await importSession([{ path: "rollout.jsonl", bytes }], { from: codex });
 * ```
 */
export const codex: ForeignFormat = {
  name: codexAgent.name,
  read: readCodex,
  write: writeCodex,
  append: appendCodex,
};
