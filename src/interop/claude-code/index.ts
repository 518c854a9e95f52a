/**
 * The sessions of Claude Code.
 *
 * @module interop/claude-code
 */

import type { ForeignFormat } from "../types.js";
import { readClaudeCode } from "./read.js";

/** The format of Claude Code. */
export const claudeCode: ForeignFormat = {
  name: "claude-code",
  read: readClaudeCode,
  write: () => ({ files: [], resume: [] }),
};
