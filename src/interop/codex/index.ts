/**
 * The sessions of Codex.
 *
 * @module interop/codex
 */

import type { ForeignFormat } from "../types.js";

/** The format of Codex. */
export const codex: ForeignFormat = {
  name: "codex",
  read() {},
  write: () => ({ files: [], resume: [] }),
};
