/** An erasure as the values of its statement. */

import type { LinePlace, LineReplacement } from "../session/index.js";
import { summarizeLines } from "../session/internal.js";
import type { Row } from "./database.js";
import { batchOf, numbersOf } from "./lines.js";

/** Places where the bytes of deleted rows may remain, for people. */
export const remainingInDatabase: readonly string[] = [
  "dead rows, keys of indices and statistics of the database until a `vacuum (full, analyze)`",
  "the write-ahead log, replicas and backups of the database, and the log of the server if it has values",
];

/** The values of an erasure after those of the session and its head. */
export interface ErasureValues {
  readonly lines: readonly Uint8Array[];
  readonly values: readonly unknown[];
  /** The places of the lines after the erasure. */
  readonly places: readonly LinePlace[];
}

/** @param shown the numbers of the lines that a list shows: their cached parts change with them */
export function erasureValues(changes: readonly LineReplacement[], head: number, shown: Row): ErasureValues {
  const { lines, values } = batchOf(changes.map(({ line }) => line));
  const [, , lengths, bytes] = values;
  const summaryAt = (place: string | null) => {
    const line = place === null ? undefined : lines[changes.findIndex(({ at }) => at === Number(place))];
    return line && summarizeLines([line], { head: false });
  };
  const [first, info] = [summaryAt(shown.preview_at), summaryAt(shown.info_at)];
  const preview = [first !== undefined, first?.preview?.line ?? null];
  const latest = [info !== undefined, info?.info?.line ?? null];
  const moved = head - Number(shown.base);
  return {
    lines,
    values: [numbersOf(changes), lengths, bytes, ...preview, ...latest],
    places: changes.map(({ at }, index) => ({ at: at + moved, length: lines[index]?.length ?? 0 })),
  };
}
