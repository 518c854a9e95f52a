/**
 * The sessions of opencode.
 *
 * @module opencode
 */

import type { ForeignFormat } from "../types.js";
import { readOpencode } from "./read.js";
import { writeOpencode } from "./write.js";

/**
 * The format of opencode: its exchange file, the folders of 1.1 and, with `sqlite`, the database of 1.2 on.
 * Writes the exchange file, which `opencode import` takes.
 *
 * @see https://opencode.ai/docs/cli/ (read 2026-11-23)
 */
export const opencode: ForeignFormat = {
  name: "opencode",
  read: readOpencode,
  write: writeOpencode,
  resume(sessionId, [file, ...others]) {
    const isExchange = others.length === 0 && file?.path.endsWith(".json") === true;
    return isExchange ? ["opencode", "import", file.path] : ["opencode", "--session", sessionId];
  },
};
