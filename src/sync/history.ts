/** What each entry of two logs knew: the entries that its log held before it, directly or through others. */

import { noRow } from "../session/internal.js";
import type { IndexedLog, LastCounts } from "./indexed-log.js";

/** A row of a log. */
interface Place {
  readonly index: IndexedLog;
  readonly row: number;
}

/** The entries of two logs as numbers: those of the first one in its order, then the second one's own. */
export class History {
  readonly size: number;
  readonly #first: IndexedLog;
  readonly #second: IndexedLog;
  /** Rows of the second log that the first one lacks. */
  readonly #own: readonly number[];
  /** The node of each row of the second log. */
  readonly #nodes: Int32Array;
  /** The ends of logs that a merge states: none of them knew what follows it in a log. */
  readonly #ends = new Set<number>();
  readonly #merges = new Map<number, readonly number[]>();
  /** The parent of each node in either log, or -1. */
  readonly #parents: Int32Array;
  /** The node before each node in the log that it was written to, or -1. */
  readonly #prior: Int32Array;
  /** The nodes, each after all that it knew. */
  readonly #inOrder: Int32Array;

  /** @param own the rows of the second log that the first one lacks, parents first */
  constructor(first: IndexedLog, second: IndexedLog, own: readonly number[]) {
    this.#first = first;
    this.#second = second;
    this.#own = own;
    this.size = first.rows.size + own.length;
    this.#nodes = new Int32Array(second.rows.size).fill(noRow);
    for (const [at, row] of own.entries()) this.#nodes[row] = first.rows.size + at;
    for (let row = 0; row < second.rows.size; row++)
      if (this.#nodes[row] === noRow) this.#nodes[row] = first.rows.rowOfKey(second.rows.key(row));
    for (const index of [first, second])
      for (const [row, entry] of index.lastCounts) this.#addMerge(this.readNode(index, row), entry);
    this.#parents = Int32Array.from({ length: this.size }, (_, node) => this.#nodeParent(node));
    this.#prior = Int32Array.from({ length: this.size }, (_, node) => this.#nodePrior(node));
    this.#inOrder = this.#ordered();
  }

  /** The node of a row; -1 for one that is in neither union. */
  readNode(index: IndexedLog, row: number): number {
    if (row === noRow) return noRow;
    return index === this.#first ? row : (this.#nodes[row] as number);
  }

  /** Each log that has the node, and its row there. */
  nodeRows(node: number): readonly Place[] {
    const place = this.nodeRow(node);
    if (place.index !== this.#first) return [place];
    const row = this.#second.rows.rowOfKey(this.#first.rows.key(node));
    return row === noRow ? [place] : [place, { index: this.#second, row }];
  }

  /** A log that has the node, and its row there. */
  nodeRow(node: number): Place {
    const { size } = this.#first.rows;
    if (node < size) return { index: this.#first, row: node };
    return { index: this.#second, row: this.#own[node - size] as number };
  }

  /** The nodes, each after all that it knew. */
  get inOrder(): Iterable<number> {
    return this.#inOrder;
  }

  /** Which of the two logs have the node. */
  nodeLogs(node: number): "first" | "second" | "both" {
    if (node >= this.#first.rows.size) return "second";
    return this.#second.rows.rowOfKey(this.#first.rows.key(node)) === noRow ? "first" : "both";
  }

  id(node: number): string {
    const { index, row } = this.nodeRow(node);
    return index.rows.id(row);
  }

  /** Whether a sync or a merge wrote the entry: it repeats what others did. */
  isMerge(node: number): boolean {
    return this.#merges.has(node);
  }

  /** The node before this one in the log that it was written to, or -1. */
  before(node: number): number {
    return this.#merges.get(node)?.[0] ?? (this.#prior[node] as number);
  }

  /**
   * Of each group of nodes those that no other one of the group knew: several are truly concurrent. In the
   * order of the nodes. One pass over all nodes for 31 groups.
   */
  latest(groups: readonly (readonly number[])[]): readonly (readonly number[])[] {
    const found = groups.map((): number[] => []);
    for (let from = 0; from < groups.length; from += maxGroups)
      this.#newestByGroup(groups.slice(from, from + maxGroups), found.slice(from, from + maxGroups));
    return found.map((nodes) => nodes.reverse());
  }

  #newestByGroup(groups: readonly (readonly number[])[], found: readonly number[][]): void {
    const members = new Int32Array(this.size);
    for (const [bit, nodes] of groups.entries())
      for (const node of nodes) members[node] = (members[node] as number) | (1 << bit);
    // The groups with a member that knew the node. An entry stands after all that it knew.
    const known = new Int32Array(this.size);
    for (let at = this.size - 1; at >= 0; at--) {
      const node = this.#inOrder[at] as number;
      const own = members[node] as number;
      const newest = own & ~(known[node] as number);
      if (newest !== 0) {
        for (const [bit, nodes] of found.entries()) if ((newest & (1 << bit)) !== 0) nodes.push(node);
      }
      const groupsAbove = own | (known[node] as number);
      if (groupsAbove === 0) continue;
      for (const link of this.#links(node)) known[link] = (known[link] as number) | groupsAbove;
    }
  }

  /** The nodes that a node knew directly. */
  #links(node: number): readonly number[] {
    const parent = this.#parents[node] as number;
    const prior = this.#prior[node] as number;
    const links = prior === parent ? [parent] : [parent, prior];
    return links.concat(this.#merges.get(node) ?? []).filter((link) => link !== noRow);
  }

  /** Each log has nearly all nodes in order. Only a file that lost lines has children before parents. */
  #ordered(): Int32Array {
    const order = new Int32Array(this.size);
    const state = new Uint8Array(this.size);
    const [unseen, open, done] = [0, 1, 2];
    let count = 0;
    for (let start = 0; start < this.size; start++) {
      const stack = [start];
      for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
        if (state[node] === unseen) {
          state[node] = open;
          for (const link of this.#links(node)) if (state[link] === unseen) stack.push(link);
          continue;
        }
        stack.pop();
        if (state[node] === open) order[count++] = node;
        state[node] = done;
      }
    }
    return order;
  }

  #nodeParent(node: number): number {
    const { index, row } = this.nodeRow(node);
    const parent = this.readNode(index, index.rows.ownParent(row));
    if (parent !== noRow || index !== this.#first) return parent;
    const { rows } = this.#second;
    const other = rows.rowOfKey(index.rows.key(row));
    return other === noRow ? noRow : this.readNode(this.#second, rows.ownParent(other));
  }

  #addMerge(node: number, { merges }: LastCounts): void {
    if (node === noRow || !Array.isArray(merges)) return;
    const ends = merges.flatMap((id: unknown) => {
      const end = typeof id === "string" ? this.#nodeOfId(id) : noRow;
      return end === noRow ? [] : [end];
    });
    this.#merges.set(node, ends);
    if (ends.length > 1) for (const end of ends) this.#ends.add(end);
  }

  #nodeOfId(id: string): number {
    const row = this.#first.rows.row(id);
    return row === noRow ? this.readNode(this.#second, this.#second.rows.row(id)) : row;
  }

  #nodePrior(node: number): number {
    const { index, row } = this.nodeRow(node);
    const parent = this.#parents[node] as number;
    const stated = index.prior(row);
    // The line of the stated one may be lost in both logs.
    const known = stated === undefined ? noRow : this.#nodeOfId(stated);
    if (known !== noRow) return known;
    if (stated !== undefined || !index.isForeign(row)) return parent;
    // Another program's entry follows the line before it, if that is the same one in both logs.
    const [line, other] = this.#linesBefore(node);
    const follows = line !== undefined && (other === undefined || other === line);
    return follows && line !== noRow && !this.#ends.has(line) ? line : parent;
  }

  /** The node in the line before the node's, in each log that has it. */
  #linesBefore(node: number): readonly number[] {
    const lines: number[] = [];
    const { size } = this.#first.rows;
    if (node < size) lines.push(node - 1);
    const row = node < size ? this.#second.rows.rowOfKey(this.#first.rows.key(node)) : this.nodeRow(node).row;
    if (row !== noRow) lines.push(row === 0 ? noRow : this.readNode(this.#second, row - 1));
    return lines;
  }
}

const maxGroups = 31;
