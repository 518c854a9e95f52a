/**
 * The sessions of Gemini CLI.
 *
 * @module interop/gemini
 */

import type { ForeignFormat } from "../types.js";
import { readGemini } from "./read.js";

/** The format of Gemini CLI. */
export const gemini: ForeignFormat = {
  name: "gemini",
  read: readGemini,
  write: () => ({ files: [], resume: [] }),
};
