/**
 * The sessions of Claude Code.
 *
 * @module claude-code
 */

import type { ForeignFormat } from "../types.js";
import { claudeAgent } from "./agent.js";
import { readClaudeCode } from "./read.js";
import { appendClaudeCode, writeClaudeCode } from "./write.js";

/** The format of Claude Code. */
export const claudeCode: ForeignFormat = {
  name: claudeAgent.name,
  read: (source) => void readClaudeCode(source),
  write: writeClaudeCode,
  append: appendClaudeCode,
};
