/** The tree of a session: nodes, children, paths, and the columns of numbers that it is a view of. */

import { SessileError } from "../../core/errors/index.js";
import {
  type EntryHead,
  type EntryKey,
  type EntryMap,
  entryTypesWith,
  type LineRange,
  parseTimestamp,
  printTimestamp,
  type SessionEntry,
  toEntryId,
  toEntryKey,
  type UnknownEntry,
} from "../../log/internal.js";
import type { LinePlace, SessionLog } from "../api/backend.js";

/** An entry's place in the tree, without its body. */
export interface EntryNode {
  readonly id: string;
  /**
   * null for a root, and for an entry whose stored parent closes a cycle. An entry whose stored parent is
   * missing follows the entry before it.
   */
  readonly parentId: string | null;
  /** The stored type, also if this version does not know it. */
  readonly type: string;
  /** ISO 8601, as stored. */
  readonly timestamp: string;
  /** Only for messages. */
  readonly role?: string;
}

/** What a path has in force before a compaction. */
export type CompactionState = NonNullable<EntryMap["compaction"]["inForce"]>;

/** A step of {@link SessionTree.walk}. */
export interface TreeStep {
  readonly node: EntryNode;
  /** 0 for roots. */
  readonly depth: number;
}

/** The columns of a tree, for the session module alone. */
export let treeRows: (tree: SessionTree) => EntryTable;
/** Sets or clears a label, as a label entry does; for the session module alone. */
export let setLabel: (
  tree: SessionTree,
  targetId: string,
  label: string | undefined,
  timestamp: string,
) => void;

/**
 * The tree of a session's entries. Synchronous, and without bodies, which may be in a file or a database.
 * Look-ups take constant time. Walks are iterative, so that a million entries in a chain are fine.
 *
 * @example
 * ```ts
 * const tree = await session.tree();
 * for (const { node, depth } of tree.walk()) console.log(" ".repeat(depth) + node.type);
 * ```
 */
export class SessionTree {
  readonly #table: EntryTable;
  readonly #labels = new Map<string, { readonly label: string; readonly timestamp: string }>();

  static {
    treeRows = (tree) => tree.#table;
    setLabel = (tree, targetId, label, timestamp) => {
      // A label that is set again keeps its place in the order, as in pi.
      if (label === undefined || label === "") tree.#labels.delete(targetId);
      else tree.#labels.set(targetId, { label, timestamp });
    };
  }

  /** Builds a tree of entries in file order. Of entries with the same id, the first counts. */
  constructor(entries: Iterable<SessionEntry | UnknownEntry> = []) {
    this.#table = new EntryTable();
    for (const entry of entries) {
      const type = entry.type === "unknown" ? entry.entryType : entry.type;
      const role = entry.type === "message" ? entry.message.role : undefined;
      const id = toEntryKey(entry.id);
      const parentId = entry.parentId === null ? null : toEntryKey(entry.parentId);
      const head = { type, id, parentId, time: parseTimestamp(entry.timestamp), role };
      if (this.#table.add(head) === noRow) continue;
      if (entry.type === "label") setLabel(this, entry.targetId, entry.label, entry.timestamp);
    }
    if (this.#table.hasUnlinkedParents) this.#table.linkLateParents();
  }

  /** The number of entries. */
  get size(): number {
    return this.#table.size;
  }

  /** Whether there is an entry with this id. */
  has(id: string): boolean {
    return this.#table.row(id) !== noRow;
  }

  /** An entry's node; undefined for an unknown id. */
  node(id: string): EntryNode | undefined {
    const row = this.#table.row(id);
    return row === noRow ? undefined : this.#node(row);
  }

  /** The children of an entry, in file order; the roots for null. Empty for an unknown id. */
  children(id: string | null): readonly EntryNode[] {
    const row = id === null ? noRow : this.#table.row(id);
    if (id !== null && row === noRow) return [];
    const out: EntryNode[] = [];
    for (let at = this.#table.firstChild(row); at !== noRow; at = this.#table.nextSibling(at))
      out.push(this.#node(at));
    return out;
  }

  /** The entries with the same parent, including this one, in file order. Empty for an unknown id. */
  siblings(id: string): readonly EntryNode[] {
    const row = this.#table.row(id);
    if (row === noRow) return [];
    const parent = this.#table.parent(row);
    return this.children(parent === noRow ? null : this.#table.id(parent));
  }

  /**
   * The nodes from the root to an entry; empty for null.
   *
   * @throws SessileError ENTRY_NOT_FOUND
   */
  path(id: string | null): readonly EntryNode[] {
    return id === null
      ? []
      : Array.from(this.#table.path(tableRow(this.#table, id)), (row) => this.#node(row));
  }

  /** Yields every entry, parents before their children, siblings in file order. */
  *walk(): IterableIterator<TreeStep> {
    const table = this.#table;
    let depth = 0;
    let row = table.firstChild(noRow);
    while (row !== noRow) {
      yield { node: this.#node(row), depth };
      let next = table.firstChild(row);
      if (next !== noRow) {
        depth++;
      } else {
        next = table.nextSibling(row);
        while (next === noRow && depth > 0) {
          row = table.parent(row);
          depth--;
          next = table.nextSibling(row);
        }
      }
      row = next;
    }
  }

  /** The label of an entry, or undefined. */
  label(id: string): string | undefined {
    return this.#labels.get(id)?.label;
  }

  /** Yields the labels in force, in the order in which their entries were labelled first. */
  *labels(): IterableIterator<{
    readonly targetId: string;
    readonly label: string;
    readonly timestamp: string;
  }> {
    for (const [targetId, set] of this.#labels) yield { targetId, ...set };
  }

  #node(row: number): EntryNode {
    const table = this.#table;
    const [type, role] = parseKind(table.kind(row));
    const parent = table.parent(row);
    return {
      id: table.id(row),
      parentId: parent === noRow ? null : table.id(parent),
      type,
      timestamp: table.timestamp(row),
      ...(role === undefined ? {} : { role }),
    };
  }
}

/** The row of an id. Throws ENTRY_NOT_FOUND. */
export function tableRow(table: EntryTable, id: string): number {
  const row = table.row(id);
  if (row !== noRow) return row;
  throw new SessileError("ENTRY_NOT_FOUND", `no entry has the id ${JSON.stringify(id)}`, {
    details: { entryId: id },
  });
}

/**
 * The structure of a session as columns: one row per entry, in file order. A row has the row of its parent
 * and the place of its line. Lists of children are made when they are first asked for. All algorithms are
 * iterative.
 */
export class EntryTable {
  size = 0;
  /** Whether there are rows for {@link linkLateParents}. */
  hasUnlinkedParents = false;
  /** Whether the log has entries before the first row, or may have. */
  isPartial = false;
  readonly #rows = new Map<EntryKey, number>();
  /**
   * Numeric keys are XORed with it in the map, so that a file cannot choose ids that collide. The values of
   * `crypto` would cost an open in a fresh process of Node 24 a third of its time, to load Web Crypto.
   */
  readonly #seed = Math.floor(Math.random() * 2 ** 32) | 0;
  readonly #keys: EntryKey[] = [];
  /** The row of each row's parent, or {@link noRow}. Of this and the next columns only this class changes anything. */
  parents: Int32Array = new Int32Array(startRows);
  /** The code of each row's kind. */
  kinds: Int32Array = new Int32Array(startRows);
  /** The kinds by their codes. */
  readonly kindNames: string[] = [];
  #times = new Float64Array(startRows);
  #lineAt = new Float64Array(startRows);
  #lineLengths = new Int32Array(startRows);
  /** The stored texts of times that are not in {@link #times}. */
  readonly #otherTimes: (string | undefined)[] = [];
  readonly #readKind = new Map<string, number>();
  readonly #kindOfRole = new Map<string, number>();
  /** Rows that have a place in spite of a missing parent. */
  readonly #placed = new Set<number>();
  /** The places of missing parents: the rows that their children follow. */
  readonly #readPlace = new Map<EntryKey, number>();
  /** The ranges of entries that share their line with others. */
  readonly #parts = new Map<number, LineRange>();
  #children: Children | undefined;
  /** The parents of rows whose parent may stand before the first row; undefined if the table has all of the log. */
  cut: Map<number, EntryKey> | undefined;
  /** What the path has in force before a cut row, if lines before the first row were searched for it. */
  inForceBefore: { readonly row: number; readonly state: CompactionState } | undefined;
  /** Rows whose parent was not seen yet. */
  #unlinked: { readonly row: number; readonly parentId: EntryKey }[] = [];

  /** The rows are the last ones of a log: a parent that is missing stands before them. */
  setPartial(): void {
    this.isPartial = true;
    this.cut ??= new Map();
  }

  /** Whether a row is a root here alone: its parent was not read. */
  isCut(row: number): boolean {
    return this.cut?.has(row) === true;
  }

  /** The row of an id, or -1. */
  row(id: string): number {
    const key = toEntryKey(id);
    return this.#rows.get(typeof key === "number" ? key ^ this.#seed : key) ?? noRow;
  }

  /** The row of a key, or -1. */
  rowOfKey(key: EntryKey): number {
    return this.#rows.get(typeof key === "number" ? key ^ this.#seed : key) ?? noRow;
  }

  /** The key of a row's id. */
  key(row: number): EntryKey {
    return this.#keys[row] as EntryKey;
  }

  id(row: number): string {
    return toEntryId(this.#keys[row] as EntryKey);
  }

  parent(row: number): number {
    return this.parents[row] as number;
  }

  /** The row that the entry itself names; noRow if that is missing. Copies of a log have the same. */
  ownParent(row: number): number {
    return this.#placed.has(row) ? noRow : this.parent(row);
  }

  /** The entry type, for messages followed by a slash and the role; see {@link parseKind}. */
  kind(row: number): string {
    return this.kindNames[this.kinds[row] as number] as string;
  }

  /** The code of a kind in {@link kindAt}; -1 if no row has the kind. */
  kindCode(kind: string): number {
    return this.#readKind.get(kind) ?? -1;
  }

  kindAt(row: number): number {
    return this.kinds[row] as number;
  }

  timestamp(row: number): string {
    return this.#otherTimes[row] ?? printTimestamp(this.#times[row] as number);
  }

  /** Milliseconds since 1970; -Infinity if the timestamp is not a time. */
  time(row: number): number {
    const other = this.#otherTimes[row];
    const time = other === undefined ? (this.#times[row] as number) : Date.parse(other);
    return Number.isNaN(time) ? -Infinity : time;
  }

  /** The first child in file order, of noRow the first root; noRow without one. */
  firstChild(row: number): number {
    return this.#lists().first[row + 1] as number;
  }

  nextSibling(row: number): number {
    return this.#lists().next[row] as number;
  }

  /** The place of the row's line; undefined until it is written. */
  line(row: number): LinePlace | undefined {
    const at = this.#lineAt[row] as number;
    return at < 0 ? undefined : { at, length: this.#lineLengths[row] as number };
  }

  /** The place of the row's line in the log; -1 until it is written. */
  lineAt(row: number): number {
    return this.#lineAt[row] as number;
  }

  /** The range of the row's entry in its line; undefined if it is the whole line. */
  part(row: number): LineRange | undefined {
    return this.#parts.get(row);
  }

  /** Bytes of the row's entry in the log; 0 until it is written. */
  lineLength(row: number): number {
    const part = this.#parts.get(row);
    return part === undefined ? (this.#lineLengths[row] as number) : part.end - part.start;
  }

  setLine(row: number, { at, length }: LinePlace, part?: LineRange): void {
    this.#lineAt[row] = at;
    this.#lineLengths[row] = length;
    this.setPart(row, part);
  }

  setPart(row: number, part: LineRange | undefined): void {
    if (part !== undefined) this.#parts.set(row, part);
    else if (this.#parts.size > 0) this.#parts.delete(row);
  }

  /**
   * The entries of rows in lines from {@link SessionLog.readAt}. Reads a line once for neighbouring rows that
   * share it. Undefined for a row without a line, or whose line is shorter now.
   */
  async read(
    log: Pick<SessionLog, "readAt">,
    rows: readonly number[],
  ): Promise<readonly (Uint8Array | undefined)[]> {
    const places: LinePlace[] = [];
    const indexes = rows.map((row) => {
      const place = row === noRow ? undefined : this.line(row);
      if (place === undefined) return -1;
      if (this.#parts.size === 0 || places.at(-1)?.at !== place.at) places.push(place);
      return places.length - 1;
    });
    const lines = await log.readAt(places);
    return rows.map((row, index) => {
      const line = lines[indexes[index] as number];
      const part = this.#parts.get(row);
      if (line === undefined || part === undefined) return line;
      return part.end <= line.length ? line.subarray(part.start, part.end) : undefined;
    });
  }

  /** Moves a row to the end of a parent's children, for an entry whose line was written later. */
  move(row: number, parent: number): void {
    const before = this.parent(row);
    const lists = this.#lists();
    const { first, last, next } = lists;
    if (parent === before && next[row] === noRow) return;
    let previous = noRow;
    for (let at = first[before + 1] as number; at !== row; at = next[at] as number) previous = at;
    if (previous === noRow) first[before + 1] = next[row] as number;
    else next[previous] = next[row] as number;
    if (last[before + 1] === row) last[before + 1] = previous;
    next[row] = noRow;
    this.#placed.delete(row);
    this.cut?.delete(row);
    this.parents[row] = parent;
    link(lists, row, parent);
  }

  /** Adds the row of an entry. Returns -1 if the id is in use. Call {@link linkLateParents} after a batch. */
  add({ id, parentId, type, role, time }: EntryHead, at = -1, length = 0): number {
    const row = this.#keys.length;
    const seeded = typeof id === "number" ? id ^ this.#seed : id;
    if (this.#rows.has(seeded)) return noRow;
    if (row === this.parents.length) this.#grow();
    let parent = noRow;
    if (parentId !== null) {
      // Most entries follow the entry before.
      parent = row > 0 && parentId === this.#keys[row - 1] ? row - 1 : this.rowOfKey(parentId);
      // An entry that is its own parent is a cycle, which linkLateParents reports.
      if (parent === noRow) {
        this.#unlinked.push({ row, parentId });
        this.hasUnlinkedParents = true;
      }
    }
    this.size++;
    this.#rows.set(seeded, row);
    this.#keys.push(id);
    this.parents[row] = parent;
    this.kinds[row] =
      (role === undefined ? undefined : this.#kindOfRole.get(role)) ?? this.#kindCode(type, role);
    this.#lineAt[row] = at;
    this.#lineLengths[row] = length;
    if (typeof time === "number") this.#times[row] = time;
    else this.#otherTimes[row] = time;
    if (this.#children !== undefined && (parent !== noRow || parentId === null))
      link(this.#children, row, parent);
    return row;
  }

  /**
   * Links rows that precede their parents. Rows whose parent is missing follow the row before the first one
   * with that parent; a row that closes a cycle becomes a root. Linear in the rows; constant if no row is
   * unlinked.
   */
  linkLateParents(): { readonly orphans: readonly number[]; readonly cycles: readonly number[] } {
    const orphans: number[] = [];
    const missing = new Map<EntryKey, number[]>();
    const readGroup = new Map<number, readonly number[]>();
    const cycles: number[] = [];
    if (this.#unlinked.length === 0) return { orphans, cycles };
    const parents = this.parents.slice(0, this.size);
    for (const { row, parentId } of this.#unlinked) {
      const parent = this.rowOfKey(parentId);
      if (parent === noRow && this.cut !== undefined) {
        this.cut.set(row, parentId);
      } else if (parent === noRow) {
        orphans.push(row);
        // An empty text is no id that entries may have in common.
        const key = parentId === "" ? `\0${row}` : parentId;
        const group = missing.get(key) ?? [];
        if (group.push(row) === 1) missing.set(key, group);
        readGroup.set(row, group);
      } else if (parentRoot(parents, parent) === row) {
        cycles.push(row);
      } else {
        this.parents[row] = parent;
        parents[row] = parent;
      }
    }
    this.#unlinked = [];
    this.hasUnlinkedParents = false;
    for (const [key, group] of missing) {
      const place = this.#readPlace.get(key) ?? this.#leafAfter((group[0] as number) - 1);
      this.#readPlace.set(key, place);
      // A missing parent does not follow its own descendant.
      if (place === noRow || readGroup.get(parentRoot(parents, place)) === group) continue;
      for (const row of group) {
        this.#placed.add(row);
        this.parents[row] = place;
        parents[row] = place;
      }
    }
    this.#children = undefined;
    return { orphans, cycles };
  }

  /** The leaf after a row: of a leaf entry its parent, which mostly is its target. */
  #leafAfter(row: number): number {
    return row !== noRow && this.kind(row) === "leaf" ? this.parent(row) : row;
  }

  /** The rows from the root to `row`, in that order. */
  path(row: number): Int32Array {
    let length = 0;
    for (let at = row; at !== noRow; at = this.parent(at)) length++;
    const path = new Int32Array(length);
    for (let at = row; at !== noRow; at = this.parent(at)) path[--length] = at;
    return path;
  }

  #kindCode(type: string, role: string | undefined): number {
    let name = role === undefined ? type : `${type}/${role}`;
    // A type that looks like a message with its role, or like an escaped type.
    if (role === undefined && (type.startsWith("message/") || type.startsWith("\0"))) name = `\0${type}`;
    let kind = this.#readKind.get(name);
    if (kind === undefined) {
      kind = this.kindNames.push(name) - 1;
      this.#readKind.set(name, kind);
    }
    if (role !== undefined) this.#kindOfRole.set(role, kind);
    return kind;
  }

  #grow(): void {
    const length = this.parents.length * 2;
    this.parents = grown(this.parents, new Int32Array(length));
    this.kinds = grown(this.kinds, new Int32Array(length));
    this.#times = grown(this.#times, new Float64Array(length));
    this.#lineAt = grown(this.#lineAt, new Float64Array(length));
    this.#lineLengths = grown(this.#lineLengths, new Int32Array(length));
    const { first, last, next } = this.#children ?? {};
    if (first === undefined || last === undefined || next === undefined) return;
    this.#children = {
      first: grown(first, new Int32Array(length + 1).fill(noRow)),
      last: grown(last, new Int32Array(length + 1).fill(noRow)),
      next: grown(next, new Int32Array(length).fill(noRow)),
    };
  }

  /** The lists of children, so that they stay in file order. */
  #lists(): Children {
    if (this.#children !== undefined) return this.#children;
    const { length } = this.parents;
    const lists = {
      first: new Int32Array(length + 1).fill(noRow),
      last: new Int32Array(length + 1).fill(noRow),
      next: new Int32Array(length).fill(noRow),
    };
    const waiting = new Set(this.#unlinked.map(({ row }) => row));
    for (let row = 0; row < this.size; row++)
      if (!waiting.has(row)) link(lists, row, this.parents[row] as number);
    this.#children = lists;
    return lists;
  }
}

const startRows = 64;

/** Lists of children. The first and last child of a row are at the row plus one; those of noRow are roots. */
interface Children {
  readonly first: Int32Array;
  readonly last: Int32Array;
  readonly next: Int32Array;
}

function link({ first, last, next }: Children, row: number, parent: number): void {
  const before = last[parent + 1] as number;
  if (before === noRow) first[parent + 1] = row;
  else next[before] = row;
  last[parent + 1] = row;
}

function grown<A extends Int32Array | Float64Array>(from: A, to: A): A {
  to.set(from);
  return to;
}

/** The type, and for messages the role, of a {@link EntryTable.kind}. */
export function parseKind(kind: string): readonly [type: string, role?: string] {
  if (kind.startsWith("\0")) return [kind.slice(1)];
  return kind.startsWith("message/") ? ["message", kind.slice("message/".length)] : [kind];
}

/** The row of no entry. */
export const noRow = -1;

/**
 * The root of a row, in a table of parents. Halves paths as a union-find does, so that many look-ups are
 * linear.
 */
function parentRoot(parents: Int32Array, start: number): number {
  let row = start;
  while (parents[row] !== noRow) {
    const parent = parents[row] as number;
    const grandparent = parents[parent] as number;
    if (grandparent === noRow) return parent;
    parents[row] = grandparent;
    row = grandparent;
  }
  return row;
}

// The conversation in a session's tree: all entries but labels, session_info, usage and leaf entries.

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
