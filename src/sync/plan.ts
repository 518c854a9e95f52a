/** Compares two logs of one session: the lines that each lacks, and those that make both show the same. */

import { noRow } from "../session/internal.js";
import { type Closing, noClosing, readClosing, type Side } from "./closing.js";
import type { IndexedLog } from "./indexed-log.js";

/** The decision about two logs. */
export interface SyncPlan {
  /** Rows of the first log that the second one lacks, parents before their children. */
  readonly toSecond: readonly number[];
  /** Rows of the second log that the first one lacks, parents before their children. */
  readonly toFirst: readonly number[];
  /** What follows in these logs, so that they show the leaf, the labels and the session_info of the union. */
  closing(logs: readonly ("first" | "second")[]): Promise<Closing>;
  /** Ids of two different entries. Neither they nor entries below them are moved. */
  readonly collisions: readonly string[];
  /** Rows of the same entry whose lines differ, such as an edited one: first and second log. */
  readonly differing: readonly (readonly [number, number])[];
}

/** Plans the union of two logs. Linear in their entries. */
export function planSync(first: IndexedLog, second: IndexedLog): SyncPlan {
  const { collisions, differing } = compareRows(first, second);
  const one = readSide(first, second, new Set(collisions.map(([row]) => row)));
  const two = readSide(second, first, new Set(collisions.map(([, row]) => row)));
  return {
    toSecond: one.moved,
    toFirst: two.moved,
    // With collisions the trees differ, and each log keeps its own leaf.
    closing: async (logs) => (collisions.length > 0 ? noClosing : readClosing(one, two, logs)),
    collisions: collisions.map(([row]) => first.rows.id(row)),
    differing,
  };
}

type Pairs = (readonly [number, number])[];

/** Finds rows with the same id and different lines: two entries, or two versions of one. */
function compareRows(
  a: IndexedLog,
  b: IndexedLog,
): { readonly collisions: Pairs; readonly differing: Pairs } {
  const collisions: Pairs = [];
  const differing: Pairs = [];
  for (let row = 0; row < a.rows.size; row++) {
    const other = b.rows.rowOfKey(a.rows.key(row));
    if (other === noRow || a.fingerprint(row) === b.fingerprint(other)) continue;
    (isSameHead(a, row, b, other) ? differing : collisions).push([row, other]);
  }
  return { collisions, differing };
}

/** Random ids may collide, but not with the same type, time and parent. */
function isSameHead(a: IndexedLog, row: number, b: IndexedLog, other: number): boolean {
  if (a.rows.kind(row) !== b.rows.kind(other)) return false;
  if (a.rows.timestamp(row) !== b.rows.timestamp(other)) return false;
  const [parent, otherParent] = [a.rows.ownParent(row), b.rows.ownParent(other)];
  // A parent may be missing in one of the logs.
  if (parent === noRow || otherParent === noRow) return true;
  return a.rows.key(parent) === b.rows.key(otherParent);
}

function readSide(index: IndexedLog, other: IndexedLog, collided: ReadonlySet<number>): Side {
  const { rows } = index;
  const moved: number[] = [];
  const isMoved = new Uint8Array(rows.size);
  const isDone = new Uint8Array(rows.size);
  const lacks = (row: number): boolean => other.rows.rowOfKey(rows.key(row)) === noRow;
  const chain: number[] = [];
  for (let start = 0; start < rows.size; start++) {
    let row = start;
    // A parent may be further down in a log.
    for (; row !== noRow && isDone[row] === 0 && lacks(row); row = rows.ownParent(row)) chain.push(row);
    const isBlocked =
      row !== noRow && (collided.has(row) || (isDone[row] === 1 && lacks(row) && isMoved[row] === 0));
    for (let next = chain.pop(); next !== undefined; next = chain.pop()) {
      isDone[next] = 1;
      if (isBlocked) continue;
      isMoved[next] = 1;
      moved.push(next);
    }
  }
  return { index, moved };
}
