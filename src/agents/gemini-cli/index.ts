/**
 * The sessions of Gemini CLI.
 *
 * @module gemini-cli
 */

import type { ForeignFormat } from "../types.js";
import { geminiAgent } from "./agent.js";
import { readGemini } from "./read.js";
import { appendGemini, writeGemini } from "./write.js";

/** The format of Gemini CLI. */
export const gemini: ForeignFormat = {
  name: geminiAgent.name,
  read: (source) => {
    readGemini(source);
  },
  write: writeGemini,
  append: appendGemini,
};
