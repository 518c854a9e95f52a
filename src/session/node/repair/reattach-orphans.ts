import { noRow, rootOf, type TreeRows } from "../../tree/entry-table.js";
import type { SessionScan } from "./scan.js";

/** What entries with a missing parent are to follow: `chain` the entry before the first of them, `root` none. */
export type OrphanPlacing = "chain" | "root";

/**
 * Where each missing parent goes: its id, and the row that it follows, or -1. A parent that is missing was mostly written
 * right after the line before its first child: that is where the conversation went on. It becomes a root where there is
 * none before, or where that one follows the child, in a file whose lines were moved about. Linear in the rows.
 */
export function placesOfLostParents(scan: SessionScan, placing: OrphanPlacing): ReadonlyMap<string, number> {
  const { rows, orphans } = scan;
  const places = new Map<string, number>();
  if (orphans.size === 0) return places;
  const childrenOf = new Map<string, number[]>();
  for (const [row, parentId] of [...orphans].sort(([a], [b]) => a - b)) {
    const children = childrenOf.get(parentId);
    if (children === undefined) childrenOf.set(parentId, [row]);
    else children.push(row);
  }
  const above = Int32Array.from({ length: placing === "root" ? 0 : rows.size }, (_, row) => rows.parent(row));
  for (const [parentId, children] of childrenOf) {
    const before = placing === "root" ? noRow : tipAfter(rows, (children[0] as number) - 1);
    // All rows that name one parent are roots until it has a place.
    const isCircle = before !== noRow && orphans.get(rootOf(above, before)) === parentId;
    places.set(parentId, isCircle ? noRow : before);
    if (before !== noRow && !isCircle) for (const child of children) above[child] = before;
  }
  return places;
}

/** The entry that the next one follows where this is the last one: a leaf entry says which. */
function tipAfter(rows: TreeRows, row: number): number {
  return row !== noRow && rows.kind(row) === "leaf" ? rows.parent(row) : row;
}
