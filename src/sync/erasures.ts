/** Erasures between two logs of one session: a tombstone in one of them erases the entry in the other. */

import type { LineReplacement, SessionLog } from "../session/index.js";
import { type EntryErasure, erasureOfLine, planErasure } from "../session/internal.js";
import type { IndexedLog } from "./indexed-log.js";

/** The entries that each of two logs has to erase, with the erasures that the other one records. */
export interface MissingErasures {
  readonly inFirst: ReadonlyMap<string, EntryErasure>;
  readonly inSecond: ReadonlyMap<string, EntryErasure>;
  /** The rows that differ for another reason: not tombstones of two erasures. */
  readonly differing: readonly (readonly [number, number])[];
}

/** Finds tombstones among rows whose lines differ. */
export async function missingErasures(
  first: IndexedLog,
  second: IndexedLog,
  differing: readonly (readonly [number, number])[],
): Promise<MissingErasures> {
  const inFirst = new Map<string, EntryErasure>();
  const inSecond = new Map<string, EntryErasure>();
  const others: (readonly [number, number])[] = [];
  const lines = await first.read(differing.map(([row]) => row));
  const otherLines = await second.read(differing.map(([, row]) => row));
  for (const [index, pair] of differing.entries()) {
    const [one, two] = [lines[index], otherLines[index]].map((line) => line && erasureOfLine(line));
    const id = first.rows.id(pair[0]);
    // Of two erasures of one entry, the one of the whole body counts.
    if (two !== undefined && (one === undefined || (one.part === "names" && two.part === "body")))
      inFirst.set(id, two);
    else if (one !== undefined && (two === undefined || (two.part === "names" && one.part === "body")))
      inSecond.set(id, one);
    else if (one === undefined) others.push(pair);
  }
  return { inFirst, inSecond, differing: others };
}

/** The lines of a log that change if these entries are erased, with those that repeat them. */
export async function erasedLines(
  { rows, log }: IndexedLog,
  erasures: ReadonlyMap<string, EntryErasure>,
): Promise<readonly LineReplacement[]> {
  return (await planErasure(rows, log as SessionLog, erasures)).changes;
}
