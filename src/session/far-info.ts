import type { SessionReader } from "./codec/reader.js";
import { treeRows } from "./tree/tree.js";

/** How far from the end of a log a list looks for its last session_info, at least. Bytes. */
const listReach = 32 * 1024;

/**
 * Whether the last session_info lies so far from the end that a list, which reads only the two ends of a log, would miss
 * it. Then it is written again when the session is closed.
 */
export function isInfoFar(reader: SessionReader): boolean {
  const rows = treeRows(reader.tree);
  const info = rows.kindCode("session_info");
  let bytes = 0;
  for (let row = rows.size - 1; row >= 0 && bytes <= listReach; row--) {
    if (rows.kindAt(row) === info) return false;
    bytes += rows.line(row)?.length ?? 0;
  }
  return info >= 0 && bytes > listReach;
}
