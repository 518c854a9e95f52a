import { noRow } from "./key-index.js";

/** The root above a row, by a table of parents, with paths halved on the way: a union-find, so that many look-ups are linear. */
export function rootOf(above: Int32Array, start: number): number {
  let row = start;
  while (above[row] !== noRow) {
    const next = above[row] as number;
    const further = above[next] as number;
    if (further === noRow) return next;
    above[row] = further;
    row = further;
  }
  return row;
}
