/**
 * The sessions of opencode.
 *
 * @module interop/opencode
 */

import type { ForeignFormat } from "../types.js";

/** The format of opencode. */
export const opencode: ForeignFormat = {
  name: "opencode",
  read() {},
  write: () => ({ files: [], resume: [] }),
};
