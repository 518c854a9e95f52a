/**
 * The sessions of opencode.
 *
 * @module opencode
 */

import type { ForeignFormat } from "../types.js";
import { opencodeAgent } from "./agent.js";
import { readOpencode } from "./read.js";
import { writeOpencode } from "./write.js";

/**
 * The format of opencode: its exchange file, the folders of 1.1 and, with `sqlite`, the database of 1.2 on.
 * Writes the exchange file, which `opencode import` takes.
 *
 * @see https://opencode.ai/docs/cli/ (read 2026-11-23)
 */
export const opencode: ForeignFormat = {
  name: opencodeAgent.name,
  read: readOpencode,
  write: writeOpencode,
};
