/** The formats of other agents, which are loaded when a session of one is read. */

import { claudeCode } from "../agents/claude-code/index.js";
import { codex } from "../agents/codex/index.js";
import { gemini } from "../agents/gemini-cli/index.js";
import type { ForeignFormat } from "../agents/index.js";
import { opencode } from "../agents/opencode/index.js";

export { importSession } from "../agents/index.js";

/** The formats by the names of their agents, as `--to` and `--agent` have them. */
export const formats: Readonly<Record<string, ForeignFormat>> = {
  "claude-code": claudeCode,
  codex,
  gemini,
  opencode,
};
