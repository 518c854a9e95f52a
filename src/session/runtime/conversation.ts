/** The conversation in a session's tree: all entries but labels, session_info, usage and leaf entries. */

import { entryTypesWith } from "../../log/internal.js";
import { type EntryTable, noRow, type SessionTree, treeRows } from "../tree/session-tree.js";

/** Changes since the last read. */
export interface RemoteChanges {
  /** Rows of new entries with a body, without torn or damaged lines. */
  readonly rows: readonly number[];
  /** Whether the log was replaced and read again from its start. */
  readonly restarted: boolean;
}

/** Entry types outside the conversation. They never conflict, and may follow another writer's entries. */
export const metadata = entryTypesWith("metadata");

/** Entry types that are no part of the conversation: metadata, and moves of the leaf. */
export const outsideConversation: ReadonlySet<string> = /* @__PURE__ */ new Set([...metadata, "leaf"]);

/** Whether another writer added only metadata. */
export function isMetadataOnly(changes: RemoteChanges, tree: SessionTree): boolean {
  const rows = treeRows(tree);
  return !changes.restarted && changes.rows.every((row) => metadata.has(rows.kind(row)));
}

/**
 * Whether two leaves have the same conversation: their paths differ only in labels, names and usage. A rebase
 * after another writer's messages must not move the leaf there.
 */
export function isSameConversation(a: string | null, b: string | null, tree: SessionTree): boolean {
  const rows = treeRows(tree);
  return lastInConversation(a, rows) === lastInConversation(b, rows);
}

/** The row of an entry, or of the last one of the conversation before it. */
export function lastInConversation(id: string | null, rows: EntryTable): number {
  let row = id === null ? noRow : rows.row(id);
  while (row !== noRow && metadata.has(rows.kind(row))) row = rows.parent(row);
  return row;
}

/** Whether an entry is on the path to a leaf; null, before the first, is on every path. */
export function isOnPath(id: string | null, leaf: string | null, tree: SessionTree): boolean {
  if (id === null || id === leaf) return true;
  const rows = treeRows(tree);
  const wanted = rows.row(id);
  let row = leaf === null ? noRow : rows.row(leaf);
  while (row !== noRow && row !== wanted) row = rows.parent(row);
  return row !== noRow;
}

/** The leaf of other writers' conversation, and the row of their last entry. */
export interface RemoteLeaf {
  readonly leafId: string | null;
  readonly row: number;
}

/** The conversation that these new rows belong to; undefined if they are only metadata. */
export function addedLeaf(added: readonly number[], rows: EntryTable): RemoteLeaf | undefined {
  let leaf: number | undefined;
  for (const row of added) {
    const kind = rows.kind(row);
    if (!metadata.has(kind)) leaf = kind === "leaf" ? rows.parent(row) : row;
    // Labels after their own messages: following those too makes no branch.
    else if (leaf !== undefined && rows.parent(row) === leaf) leaf = row;
  }
  if (leaf === undefined) return undefined;
  return { leafId: leaf === noRow ? null : rows.id(leaf), row: added.at(-1) as number };
}

/**
 * The rows that end a branch of the conversation, newest first. No other row of the conversation follows an
 * end, directly or after rows outside the conversation. Linear in the rows.
 */
export function branchEnds(rows: EntryTable): readonly number[] {
  const outside = new Set(Array.from(outsideConversation, (type) => rows.kindCode(type)));
  const isFollowed = new Uint8Array(rows.size);
  for (let row = 0; row < rows.size; row++) {
    if (outside.has(rows.kindAt(row))) continue;
    let before = rows.parent(row);
    while (before !== noRow && isFollowed[before] === 0) {
      isFollowed[before] = 1;
      before = outside.has(rows.kindAt(before)) ? rows.parent(before) : noRow;
    }
  }
  const ends: number[] = [];
  for (let row = rows.size - 1; row >= 0; row--)
    if (isFollowed[row] === 0 && !outside.has(rows.kindAt(row))) ends.push(row);
  return ends;
}
