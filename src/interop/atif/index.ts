/**
 * ATIF, an exchange format of trajectories.
 *
 * @module interop/atif
 */

import type { ExportSource } from "../types.js";

/** One path of a session as an ATIF trajectory. */
export function toAtif(_source: ExportSource): unknown {
  return undefined;
}
