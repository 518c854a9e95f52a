/** The entries that follow a union of two logs, so that both show the same leaf, labels and session_info. */

import { crc32Hex, encodeUtf8 } from "../core/bytes.js";
import { isRecord } from "../core/shape.js";
import { encodeValidLine } from "../log/internal.js";
import type { SessionEntry, SessionInfoFields } from "../session/index.js";
import { entryInfoFields, noRow } from "../session/internal.js";
import type { IndexedLog, LastCounts } from "./indexed-log.js";

/** A state that two writers changed, neither of whom knew the other's change. */
export interface StateConflict {
  /** `leaf`, `label`, or a field of session_info, such as `title` or `permission`. */
  readonly state: string;
  /** The labelled entry. */
  readonly targetId?: string;
  /** The entry whose change counts: the one with the latest time. */
  readonly entryId: string;
  /** The entries whose changes do not count. They stay in both logs. */
  readonly others: readonly string[];
}

/** What follows a union. */
export interface Closing {
  /** With line feeds; none if both logs show the same without them. */
  readonly lines: readonly Uint8Array[];
  readonly conflicts: readonly StateConflict[];
}

export const noClosing: Closing = { lines: [], conflicts: [] };

/** One of the two logs, with the rows that the other one is to get. */
export interface Side {
  readonly index: IndexedLog;
  /** Rows to be moved to the other log, parents before their children. */
  readonly moved: readonly number[];
}

/**
 * Decides what both logs show: of each state the change that supersedes the others, since its log held them
 * before it. Of changes whose writers did not know each other, the one with the greatest time, then id. A
 * function of the union alone.
 */
export async function readClosing(
  one: Side,
  two: Side,
  logs: readonly ("first" | "second")[],
): Promise<Closing> {
  const leaves = { first: await leafAfter(one, two), second: await leafAfter(two, one) };
  const hasSameLeaf = leaves.first === leaves.second && leaves.first !== undefined;
  const hasDiverged = (await hasIntact(one)) && (await hasIntact(two));
  const shown = { first: shownAfter(one, two), second: shownAfter(two, one) };
  if (hasSameLeaf && !hasDiverged && areSame(shown.first, shown.second)) return noClosing;
  const history = new History(one.index, two.index, two.moved);
  const decided = await decideLeaf(history, one, two);
  if (decided === undefined) return noClosing;
  // If both show the same leaf already, clocks must not move it.
  const leafId = hasSameLeaf ? (leaves.first as string | null) : decided.leafId;
  const { restated, conflicts } = restatements(history, one, two, shown, logs);
  if (!hasSameLeaf && decided.conflict !== undefined) conflicts.unshift(decided.conflict);
  const isStated = restated.length === 0 && logs.every((log) => leaves[log] === leafId);
  // The next entry of either log names the closing one, and so knows both of them.
  if (isStated && !hasDiverged) return { lines: [], conflicts };
  const ends = await readEnds(one, two, entryState(shown[logs[0] ?? "first"].get(infoKey)));
  const readId = newIds(one.index, two.index, [leafId, decided.id, ...ends]);
  let [parentId, merges] = [leafId, ends];
  const entries: SessionEntry[] = restated.map(({ key, entry, shown }) => {
    const id = readId([key, ...shown]);
    const stated = { ...entry, id, parentId, merges };
    [parentId, merges] = [id, [id]];
    return stated as SessionEntry;
  });
  const id = readId(["leaf", ...entries.map((entry) => entry.id)]);
  const { timestamp } = decided;
  entries.push({ type: "leaf", id, parentId: leafId, timestamp, targetId: leafId, merges });
  return { lines: entries.map((entry) => encodeValidLine(inOrder(entry), true)), conflicts };
}

/**
 * The last entry of each log. First that of the log whose own session_info is in force after the union: the
 * next one is a change of that.
 */
async function readEnds(one: Side, two: Side, info: string): Promise<readonly string[]> {
  const ends: { readonly id: string; readonly isInForce: boolean; readonly hasInfo: boolean }[] = [];
  for (const { index, moved } of [one, two]) {
    const row = await index.lastRow(() => true);
    const infos = [...index.lastCounts.values()].filter(({ type }) => type === "session_info");
    const isInForce = entryState(infos.at(-1)) === info;
    const hasInfo = moved.some((each) => index.lastCounts.get(each)?.type === "session_info");
    if (row !== noRow) ends.push({ id: index.rows.id(row), isInForce, hasInfo });
  }
  ends.sort(
    (a, b) =>
      Number(b.isInForce) - Number(a.isInForce) ||
      Number(b.hasInfo) - Number(a.hasInfo) ||
      compare(a.id, b.id),
  );
  return [...new Set(ends.map(({ id }) => id))];
}

/** Ids that derive from what they close, so that two syncs at once write the same entries. */
function newIds(
  first: IndexedLog,
  second: IndexedLog,
  closed: readonly unknown[],
): (parts: readonly unknown[]) => string {
  const used = new Set<string>();
  return (parts) => {
    for (let attempt = 0; ; attempt++) {
      const id = crc32Hex(encodeUtf8(JSON.stringify([...parts, ...closed, attempt])));
      if (used.has(id) || first.rows.row(id) !== noRow || second.rows.row(id) !== noRow) continue;
      used.add(id);
      return id;
    }
  };
}

/** The entry with the canonical keys first, and what it merges last. */
function inOrder({ type, id, parentId, timestamp, merges, ...rest }: SessionEntry): SessionEntry {
  return { type, id, parentId, timestamp, ...rest, merges } as SessionEntry;
}

async function hasIntact({ index, moved }: Side): Promise<boolean> {
  for (const row of moved) if (await index.isIntact(row)) return true;
  return false;
}

/** The decision about the leaf. */
interface DecidedLeaf {
  /** The entry that decides. */
  readonly id: string;
  readonly timestamp: string;
  /** The leaf: that entry, or the target of a leaf entry. */
  readonly leafId: string | null;
  readonly conflict: StateConflict | undefined;
}

/** Each entry moves the leaf. Entries of earlier merges only state what others did. */
async function decideLeaf(history: History, one: Side, two: Side): Promise<DecidedLeaf | undefined> {
  const moves: number[] = [];
  for (let node = 0; node < history.size; node++) if (!history.isMerge(node)) moves.push(node);
  const latest = [...(history.latest([moves])[0] ?? [])].sort((a, b) => order(history, b, a));
  // A damaged line moves no leaf: if all are, the last intact ones decide.
  const candidates = [...latest, ...(await lastNodes(history, one, two))];
  let winner: number | undefined;
  for (const node of candidates) {
    if (!(await isIntact(history, node))) continue;
    winner = node;
    break;
  }
  if (winner === undefined) return undefined;
  // Those that both logs had were decided before.
  const others = latest.filter((node) => node !== winner && history.nodeLogs(node) !== "both");
  const { index, row } = history.nodeRow(winner);
  const leafId = readLeaf(index, row, one, two);
  const id = history.id(winner);
  const conflict = { state: "leaf", entryId: id, others: others.map((node) => history.id(node)) };
  return {
    id,
    timestamp: index.rows.timestamp(row),
    leafId,
    conflict: others.length === 0 ? undefined : conflict,
  };
}

async function isIntact(history: History, node: number): Promise<boolean> {
  for (const { index, row } of history.nodeRows(node)) if (await index.isIntact(row)) return true;
  return false;
}

async function lastNodes(history: History, one: Side, two: Side): Promise<readonly number[]> {
  const nodes = new Set<number>();
  for (const { index } of [one, two]) {
    const row = await index.lastRow(() => true);
    if (row !== noRow) nodes.add(history.readNode(index, row));
  }
  return [...nodes].sort((a, b) => order(history, b, a));
}

/** The order of changes whose writers did not know each other: by time, then id. */
function order(history: History, a: number, b: number): number {
  const [one, two] = [history.nodeRow(a), history.nodeRow(b)];
  const [time, other] = [one.index.rows.time(one.row), two.index.rows.time(two.row)];
  if (time !== other) return time < other ? -1 : 1;
  return compare(history.id(a), history.id(b));
}

/** The leaf if a row is the last: the target of a leaf entry, unless that is in neither log. */
function readLeaf(index: IndexedLog, row: number, one: Side, two: Side): string | null {
  const entry = index.lastCounts.get(row);
  if (entry?.type !== "leaf") return index.rows.id(row);
  const { targetId } = entry;
  const isKnown = targetId === null || [one, two].some((side) => side.index.rows.row(targetId) !== noRow);
  return isKnown ? targetId : entry.id;
}

/** The leaf of a log once it has the other's entries; undefined without any. */
async function leafAfter(side: Side, other: Side): Promise<string | null | undefined> {
  for (let at = other.moved.length - 1; at >= 0; at--) {
    const row = other.moved[at] as number;
    if (await other.index.isIntact(row)) return readLeaf(other.index, row, side, other);
  }
  const last = await side.index.lastRow(() => true);
  return last === noRow ? undefined : readLeaf(side.index, last, side, other);
}

/** An entry to be written again, because another one follows it in one of the logs. */
interface Restatement {
  readonly key: string;
  /** Without its place. */
  readonly entry: Partial<LastCounts>;
  /** The ids of the entries that count in the logs otherwise, sorted. */
  readonly shown: readonly string[];
}

/** An entry that sets a state, and its node. */
interface Change {
  readonly node: number;
  readonly entry: LastCounts;
}

/**
 * Of labels and session_info the last one in a log counts, and the order of the two logs differs: the change
 * that supersedes the others is written again if another one is the last. Each field of session_info is a
 * state of its own: a new title of one writer and a permission of another are both kept.
 */
function restatements(
  history: History,
  one: Side,
  two: Side,
  shown: { readonly first: Shown; readonly second: Shown },
  logs: readonly ("first" | "second")[],
): { readonly restated: readonly Restatement[]; readonly conflicts: StateConflict[] } {
  const open = [...historyChanges(history, one, two)].filter(([key, all]) => {
    const own = new Set(all.map(({ node }) => (history.isMerge(node) ? "both" : history.nodeLogs(node))));
    const differ = entryState(shown.first.get(key)) !== entryState(shown.second.get(key));
    return differ || (own.has("first") && own.has("second"));
  });
  const states = open.flatMap(([key, all]) => {
    const changes = all.filter(({ node }) => !history.isMerge(node));
    return key === infoKey ? infoStates(history, all) : [{ key, name: "label", changes }];
  });
  const latest = history.latest(states.map((state) => state.changes.map(({ node }) => node)));
  const winners = new Map<string, Change[]>();
  const fields: Record<string, unknown> = {};
  const conflicts: StateConflict[] = [];
  for (const [at, { key, name, changes: all }] of states.entries()) {
    const entries = new Map(all.map((change) => [change.node, change]));
    const newest = (latest[at] ?? []).map((node) => entries.get(node) as Change);
    const [winner, ...others] = newest.sort((a, b) => order(history, b.node, a.node));
    if (winner === undefined) continue;
    winners.set(key, [...(winners.get(key) ?? []), winner]);
    const setBy = ({ entry }: Change): unknown =>
      entry.type === "session_info" ? entryFields(entry)[name] : entryState(entry);
    if (key === infoKey) fields[name] = setBy(winner);
    const lost = others.filter((change) => printed(setBy(change)) !== printed(setBy(winner)));
    if (lost.length === 0) continue;
    const target = winner.entry.type === "label" ? { targetId: winner.entry.targetId } : {};
    const ids = lost.map(({ entry }) => entry.id);
    conflicts.push({ state: name, ...target, entryId: winner.entry.id, others: ids });
  }
  const restated: Restatement[] = [];
  for (const [key, all] of winners) {
    const [newest] = all.sort((a, b) => order(history, b.node, a.node)) as [Change];
    const { timestamp } = newest.entry;
    const { id: _id, parentId: _parentId, prior: _prior, merges: _merges, ...own } = newest.entry;
    const entry = key === infoKey ? { type: "session_info", timestamp, ...known(fields) } : own;
    const counting = logs.map((log) => shown[log].get(key));
    const state = entryState(entry as LastCounts);
    if (counting.every((each) => each !== undefined && entryState(each) === state)) continue;
    const ids = [...counting.map((each) => each?.id ?? ""), ...all.map((each) => each.entry.id)];
    restated.push({ key, entry: entry as Partial<LastCounts>, shown: ids.sort() });
  }
  conflicts.sort((a, b) => compare(a.state, b.state) || compare(a.entryId, b.entryId));
  return { restated: restated.sort((a, b) => compare(a.key, b.key)), conflicts };
}

/** The present fields in the order of their names. */
function known(fields: Readonly<Record<string, unknown>>): SessionInfoFields {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.sort(([a], [b]) => compare(a, b)));
}

/** All labels by target, and all session_info, in the order of the history. A tombstone counts before its entry. */
function historyChanges(history: History, one: Side, two: Side): ReadonlyMap<string, readonly Change[]> {
  const byNode = new Map<number, LastCounts>();
  for (const { index } of [one, two]) {
    for (const [row, entry] of index.lastCounts) {
      const node = history.readNode(index, row);
      if (node !== noRow && (!byNode.has(node) || entry.erased !== undefined)) byNode.set(node, entry);
    }
  }
  const changes = new Map<string, Change[]>();
  for (const [node, entry] of byNode) {
    const key = entryKey(entry);
    if (key === undefined) continue;
    const known = changes.get(key);
    if (known === undefined) changes.set(key, [{ node, entry }]);
    else known.push({ node, entry });
  }
  return changes;
}

/** The entries that changed each field of session_info: it is a snapshot, and states the others again. */
function infoStates(history: History, infos: readonly Change[]) {
  const entries = new Map(infos.map(({ node, entry }) => [node, entry]));
  // The session_info in force after each node, in the log that the node was written to.
  const inForce = new Int32Array(history.size).fill(noRow);
  const byField = new Map<string, Change[]>();
  for (const node of history.inOrder) {
    const before = history.before(node);
    const base = before === noRow ? noRow : (inForce[before] as number);
    const entry = entries.get(node);
    inForce[node] = entry === undefined ? base : node;
    if (entry === undefined || history.isMerge(node)) continue;
    const [old, now] = [entryFields(entries.get(base)), entryFields(entry)];
    for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
      if (printed(old[name]) === printed(now[name])) continue;
      const known = byField.get(name);
      if (known === undefined) byField.set(name, [{ node, entry }]);
      else known.push({ node, entry });
    }
  }
  return [...byField].map(([name, changes]) => ({ key: infoKey, name, changes }));
}

function entryFields(entry: LastCounts | undefined): Readonly<Record<string, unknown>> {
  return entry?.type === "session_info" ? { ...entryInfoFields(entry) } : {};
}

/** The entry of each label and of session_info that counts in a log. */
type Shown = ReadonlyMap<string, LastCounts>;

function areSame(one: Shown, two: Shown): boolean {
  if (one.size !== two.size) return false;
  return [...one].every(([key, entry]) => two.has(key) && entryState(entry) === entryState(two.get(key)));
}

/** What counts in a log once it has the other's entries. */
function shownAfter(side: Side, other: Side): Shown {
  const last = new Map<string, LastCounts>();
  const show = (entry: LastCounts | undefined): void => {
    const key = entry && entryKey(entry);
    if (entry !== undefined && key !== undefined) last.set(key, entry);
  };
  for (const entry of side.index.lastCounts.values()) show(entry);
  for (const row of other.moved) show(other.index.lastCounts.get(row));
  return last;
}

const infoKey = "session_info";

function entryKey(entry: LastCounts): string | undefined {
  if (entry.type === "session_info") return infoKey;
  return entry.type === "label" ? `label ${entry.targetId}` : undefined;
}

/** The state that an entry sets. */
function entryState(entry: LastCounts | undefined): string {
  if (entry?.type === "label") return entry.label ?? "";
  return entry === undefined ? "" : printed(entryFields(entry));
}

/** A value with sorted members, since the same one may be written in two orders. */
function printed(value: unknown): string {
  return (
    JSON.stringify(value, (_, each: unknown) =>
      isRecord(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => compare(a, b))) : each,
    ) ?? ""
  );
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

// What each entry of two logs knew: the entries that its log held before it, directly or through others.

/** A row of a log. */
interface Place {
  readonly index: IndexedLog;
  readonly row: number;
}

/** The entries of two logs as numbers: those of the first one in its order, then the second one's own. */
class History {
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
