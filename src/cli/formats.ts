/** The formats of other agents, which are loaded when a session of one is read. */

import { claudeCode } from "../interop/claude-code/index.js";
import { codex } from "../interop/codex/index.js";
import { gemini } from "../interop/gemini/index.js";
import type { ForeignFormat } from "../interop/index.js";
import { opencode } from "../interop/opencode/index.js";

export { importSession } from "../interop/index.js";

/** The formats by the names of their agents, as `--to` and `--agent` have them. */
export const formats: Readonly<Record<string, ForeignFormat>> = {
  "claude-code": claudeCode,
  codex,
  gemini,
  opencode,
};
