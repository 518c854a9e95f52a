/** @import { EntrySummary } from "./api.js" */
/** @import { Session } from "./session.js" */

/**
 * Where entries share a parent: a line goes down from it, and one to the right for each of them.
 *
 * @typedef {object} Fork
 * @property {Fork | null} outer
 * @property {number} outerIndex which child of the outer fork this lies under
 * @property {number} column of the line that goes down
 * @property {number} count
 * @property {number} pathIndex which child the path goes to, -1 for none
 */

/**
 * @typedef {object} Row
 * @property {EntrySummary | null} entry null for the beginning, before the first entry
 * @property {number} column
 * @property {Fork | null} fork the innermost one above
 * @property {number} index which child of that fork this is, or lies under
 * @property {boolean} isBranch whether it is such a child itself, and not further down
 * @property {boolean} isOnPath
 * @property {boolean} isLeaf
 * @property {boolean} hasChildren
 * @property {boolean} pathGoesOn whether the path reaches below it
 */

/** Deeper branches stay in the last column, so that their text has room. */
export const maxColumn = 10;

/**
 * One row for the beginning and one for each entry, children below their parent. A run without branches stays
 * in its column; children of a fork go one to the right. With a stack instead of recursion, because a session
 * may be deep.
 *
 * @param {Session} session
 * @returns {readonly Row[]}
 */
export function treeRows(session) {
  const path = session.path();
  const onPath = new Set(path.map(({ id }) => id));
  /** @type {Row[]} */
  const rows = [];
  /** @type {{ id: string | null, column: number, fork: Fork | null, index: number, isBranch: boolean }[]} */
  const waiting = [{ id: null, column: 0, fork: null, index: 0, isBranch: false }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { id, column, fork, index, isBranch } = next;
    const children = session.children(id);
    rows.push({
      entry: id === null ? null : (session.entry(id) ?? null),
      column,
      fork,
      index,
      isBranch,
      isOnPath: id === null || onPath.has(id),
      isLeaf: id === session.leafId,
      hasChildren: children.length > 0,
      pathGoesOn: id !== session.leafId && (id === null || onPath.has(id)),
    });
    const forks = children.length > 1 && column < maxColumn;
    const pathIndex = forks ? children.findIndex((child) => onPath.has(child)) : -1;
    /** @type {Fork | null} */
    const inner = forks
      ? { outer: fork, outerIndex: index, column, count: children.length, pathIndex }
      : fork;
    for (let at = children.length - 1; at >= 0; at--) {
      const child = children[at] ?? null;
      waiting.push({
        id: child,
        column: forks ? column + 1 : column,
        fork: inner,
        index: forks ? at : index,
        isBranch: forks,
      });
    }
  }
  return rows;
}

/**
 * A piece of line in a row: down a column from the top to the middle ("above"), from there on ("below"), or out of a
 * fork's column to the dot of a branch ("out").
 *
 * @typedef {object} Line
 * @property {"above" | "below" | "out"} part
 * @property {number} column
 * @property {boolean} isOnPath
 */

/**
 * The lines of a row, those on the path last, so that they are drawn over the others.
 *
 * @param {Row} row
 * @returns {readonly Line[]}
 */
export function linesOf(row) {
  /** @type {Line[]} */
  const lines = [];
  const { column, hasChildren, isBranch, isOnPath } = row;
  if (row.entry !== null && !isBranch) lines.push({ part: "above", column, isOnPath });
  if (hasChildren) lines.push({ part: "below", column, isOnPath: row.pathGoesOn });
  let index = row.index;
  for (let fork = row.fork; fork !== null; index = fork.outerIndex, fork = fork.outer) {
    if (isBranch && fork === row.fork) lines.push({ part: "out", column: fork.column, isOnPath });
    if (index === fork.count - 1) continue;
    const passing = { column: fork.column, isOnPath: fork.pathIndex > index };
    lines.push({ part: "above", ...passing }, { part: "below", ...passing });
  }
  return lines.sort((one, other) => Number(one.isOnPath) - Number(other.isOnPath));
}
