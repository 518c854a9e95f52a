/**
 * The sessions of Claude Code.
 *
 * @module claude-code
 */

import type { ForeignFormat } from "../types.js";
import { appendClaudeCode } from "./append.js";
import { readClaudeCode } from "./read.js";
import { resumeWords, writeClaudeCode } from "./write.js";

/** The format of Claude Code. */
export const claudeCode: ForeignFormat = {
  name: "claude-code",
  read: (source) => void readClaudeCode(source),
  write: writeClaudeCode,
  resume: resumeWords,
  append: appendClaudeCode,
};
