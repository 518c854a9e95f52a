/** Compares two logs of one session: the lines that each lacks, and those that make both show the same. */

import { encodeUtf8 } from "../internal/bytes.js";
import { crc32Hex } from "../internal/crc32.js";
import type { SessionEntry } from "../session/index.js";
import { encodeValidLine, noRow } from "../session/internal.js";
import type { IndexedLog, LastCounts } from "./indexed-log.js";

/** The decision about two logs. */
export interface SyncPlan {
  /** Rows of the first log that the second one lacks, parents before their children. */
  readonly toSecond: readonly number[];
  /** Rows of the second log that the first one lacks, parents before their children. */
  readonly toFirst: readonly number[];
  /**
   * The lines with line feeds that follow in these logs, so that they show the leaf, the labels and the
   * session_info of the union. Empty if they do already.
   */
  closing(logs: readonly ("first" | "second")[]): Promise<readonly Uint8Array[]>;
  /** Ids of two different entries. Neither they nor entries below them are moved. */
  readonly collisions: readonly string[];
  /** Rows of the same entry whose lines differ, such as an edited one: first and second log. */
  readonly differing: readonly (readonly [number, number])[];
}

/** The entry that decides the leaf. */
interface Decider {
  readonly id: string;
  readonly time: number;
  readonly timestamp: string;
  /** The leaf: the entry itself, or the target of a leaf entry. */
  readonly leafId: string | null;
}

/** One of the two logs, with the rows that the other one has too or is to get. */
interface Side {
  readonly index: IndexedLog;
  /** Rows to be moved to the other log. */
  readonly moved: readonly number[];
  readonly isShared: (row: number) => boolean;
}

/** Plans the union of two logs. Linear in their entries. */
export function planSync(first: IndexedLog, second: IndexedLog): SyncPlan {
  const { collisions, differing } = compareRows(first, second);
  const one = sideOf(first, second, new Set(collisions.map(([row]) => row)));
  const two = sideOf(second, first, new Set(collisions.map(([, row]) => row)));
  return {
    toSecond: one.moved,
    toFirst: two.moved,
    // With collisions the trees differ, and each log keeps its own leaf.
    closing: async (logs) => (collisions.length > 0 ? [] : closingOf(one, two, logs)),
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
  const [parent, otherParent] = [a.rows.parent(row), b.rows.parent(other)];
  // A parent may be missing in one of the logs.
  if (parent === noRow || otherParent === noRow) return true;
  return a.rows.key(parent) === b.rows.key(otherParent);
}

function sideOf(index: IndexedLog, other: IndexedLog, collided: ReadonlySet<number>): Side {
  const { rows } = index;
  const moved: number[] = [];
  const isMoved = new Uint8Array(rows.size);
  const isDone = new Uint8Array(rows.size);
  const lacks = (row: number): boolean => other.rows.rowOfKey(rows.key(row)) === noRow;
  const chain: number[] = [];
  for (let start = 0; start < rows.size; start++) {
    let row = start;
    // A parent may be further down in a log.
    for (; row !== noRow && isDone[row] === 0 && lacks(row); row = rows.parent(row)) chain.push(row);
    const isBlocked =
      row !== noRow && (collided.has(row) || (isDone[row] === 1 && lacks(row) && isMoved[row] === 0));
    for (let next = chain.pop(); next !== undefined; next = chain.pop()) {
      isDone[next] = 1;
      if (isBlocked) continue;
      isMoved[next] = 1;
      moved.push(next);
    }
  }
  const isShared = (row: number): boolean => isMoved[row] === 1 || (!lacks(row) && !collided.has(row));
  return { index, moved, isShared };
}

/** See {@link SyncPlan.closing}. */
async function closingOf(
  one: Side,
  two: Side,
  logs: readonly ("first" | "second")[],
): Promise<readonly Uint8Array[]> {
  const newest = await decide(one, two);
  if (newest === undefined) return [];
  const leaves = { first: await leafAfter(one, two), second: await leafAfter(two, one) };
  // If both show the same leaf already, clocks must not move it.
  const leafId = leaves.first === leaves.second && leaves.first !== undefined ? leaves.first : newest.leafId;
  const shown = { first: () => shownAfter(one, two), second: () => shownAfter(two, one) };
  const restated = restatements(
    one,
    two,
    logs.map((log) => shown[log]()),
  );
  if (restated.length === 0 && logs.every((log) => leaves[log] === leafId)) return [];
  const used = new Set<string>();
  const idOf = (parts: readonly unknown[]): string => {
    for (let attempt = 0; ; attempt++) {
      const text = JSON.stringify([...parts, leafId, newest.id, attempt]);
      const id = crc32Hex(encodeUtf8(text));
      if (used.has(id) || one.index.rows.row(id) !== noRow || two.index.rows.row(id) !== noRow) continue;
      used.add(id);
      return id;
    }
  };
  let parentId = leafId;
  const entries: SessionEntry[] = restated.map(({ key, winner, shown }) => {
    const id = idOf([key, winner.id, ...shown]);
    const entry = { ...winner, id, parentId };
    parentId = id;
    return entry;
  });
  const id = idOf(["leaf", ...entries.map((entry) => entry.id)]);
  const { timestamp } = newest;
  entries.push({ type: "leaf", id, parentId: leafId, timestamp, targetId: leafId });
  return entries.map((entry) => encodeValidLine(inOrder(entry), true));
}

/** The entry with the canonical keys first. */
function inOrder({ type, id, parentId, timestamp, ...rest }: SessionEntry): SessionEntry {
  return { type, id, parentId, timestamp, ...rest } as SessionEntry;
}

/**
 * The entry that decides the leaf: of the last and the newest entries of both logs the one with the greatest
 * time, then id, that is no ancestor of another of them. A function of the union alone.
 */
async function decide(one: Side, two: Side): Promise<Decider | undefined> {
  const found = new Map<string, Decider>();
  for (const { index, isShared } of [one, two]) {
    for (const row of [await index.lastRow(isShared), await index.newestRow(isShared)])
      if (row !== noRow) found.set(index.rows.id(row), deciderOf(index, row, one, two));
  }
  const superseded = new Set<string>();
  if (found.size > 1) {
    for (const id of found.keys())
      for (const above of ancestors(id, one, two)) if (found.has(above)) superseded.add(above);
  }
  const left = [...found.values()].filter(({ id }) => !superseded.has(id));
  return left.sort((a, b) => a.time - b.time || compare(a.id, b.id)).at(-1);
}

function deciderOf(index: IndexedLog, row: number, one: Side, two: Side): Decider {
  const { rows } = index;
  return {
    id: rows.id(row),
    time: rows.time(row),
    timestamp: rows.timestamp(row),
    leafId: leafOf(index, row, one, two),
  };
}

/** The leaf if a row is the last: the target of a leaf entry, unless that is in neither log. */
function leafOf(index: IndexedLog, row: number, one: Side, two: Side): string | null {
  const entry = index.lastCounts.get(row);
  if (entry?.type !== "leaf") return index.rows.id(row);
  const { targetId } = entry;
  const isKnown = targetId === null || [one, two].some((side) => side.index.rows.row(targetId) !== noRow);
  return isKnown ? targetId : entry.id;
}

/** The ids above an entry, in either log. */
function* ancestors(id: string, one: Side, two: Side): Generator<string> {
  let limit = one.index.rows.size + two.index.rows.size;
  for (let at: string | undefined = id; at !== undefined && limit > 0; limit--) {
    const known: string = at;
    const parents = [one, two].map(({ index: { rows } }) => {
      const row = rows.row(known);
      const parent = row === noRow ? noRow : rows.parent(row);
      return parent === noRow ? undefined : rows.id(parent);
    });
    at = parents[0] ?? parents[1];
    if (at !== undefined) yield at;
  }
}

/** The leaf of a log once it has the other's entries; undefined without any. */
async function leafAfter(side: Side, other: Side): Promise<string | null | undefined> {
  for (let at = other.moved.length - 1; at >= 0; at--) {
    const row = other.moved[at] as number;
    if (await other.index.isIntact(row)) return leafOf(other.index, row, side, other);
  }
  const last = await side.index.lastRow(() => true);
  return last === noRow ? undefined : leafOf(side.index, last, side, other);
}

/** An entry to be written again, because another one follows it in one of the logs. */
interface Restatement {
  readonly key: string;
  readonly winner: LastCounts;
  /** The ids of the entries that count in the logs otherwise. */
  readonly shown: readonly string[];
}

/**
 * Of labels and session_info the last one in the log counts, and the order of the two logs differs: the one
 * with the greatest time, then id, is written again if another one is the last.
 */
function restatements(
  one: Side,
  two: Side,
  shown: readonly ReadonlyMap<string, LastCounts>[],
): readonly Restatement[] {
  const winners = new Map<string, LastCounts>();
  for (const { index, isShared } of [one, two]) {
    for (const [row, entry] of index.lastCounts) {
      const key = keyOf(entry);
      if (key === undefined || !isShared(row)) continue;
      const known = winners.get(key);
      const isTombstone = known?.id === entry.id && entry.erased !== undefined;
      if (known === undefined || isTombstone || isNewer(entry, known)) winners.set(key, entry);
    }
  }
  const out: Restatement[] = [];
  for (const [key, winner] of winners) {
    const counting = shown.map((last) => last.get(key));
    if (counting.every((entry) => entry !== undefined && stateOf(entry) === stateOf(winner))) continue;
    // Sorted, so that the order of the two logs makes no difference.
    out.push({ key, winner, shown: counting.map((entry) => entry?.id ?? "").sort() });
  }
  return out.sort((a, b) => compare(a.key, b.key));
}

/** The entry of each key that counts in a log once it has the other's entries. */
function shownAfter(side: Side, other: Side): ReadonlyMap<string, LastCounts> {
  const last = new Map<string, LastCounts>();
  const show = (entry: LastCounts | undefined): void => {
    const key = entry && keyOf(entry);
    if (entry !== undefined && key !== undefined) last.set(key, entry);
  };
  for (const entry of side.index.lastCounts.values()) show(entry);
  for (const row of other.moved) show(other.index.lastCounts.get(row));
  return last;
}

function keyOf(entry: LastCounts): string | undefined {
  if (entry.type === "session_info") return "session_info";
  return entry.type === "label" ? `label ${entry.targetId}` : undefined;
}

function isNewer(a: LastCounts, b: LastCounts): boolean {
  const [time, other] = [timeOf(a), timeOf(b)];
  return time > other || (time === other && a.id > b.id);
}

function timeOf({ timestamp }: LastCounts): number {
  const time = Date.parse(timestamp);
  return Number.isNaN(time) ? -Infinity : time;
}

/** The state that an entry sets. */
function stateOf(entry: LastCounts): string {
  if (entry.type === "label") return entry.label ?? "";
  const { type: _, id: _id, parentId: _parentId, timestamp: _timestamp, erased: _erased, ...fields } = entry;
  return JSON.stringify(fields);
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
