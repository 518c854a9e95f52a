/**
 * A session as a turn for Codex: for its command line, and for its SDK.
 *
 * @module projections/codex
 */
export {
  type CodexExec,
  type CodexExecOptions,
  type CodexInputItem,
  codexExec,
} from "./codex-exec.js";
