/** The entries of a session as columns of numbers, one row each. */

import { IntColumn, NumberColumn } from "../../internal/columns.js";
import type { LinePlace, SessionLog } from "../api/backend.js";
import {
  type EntryHead,
  type EntryKey,
  entryIdOf,
  entryKeyOf,
  printTimestamp,
} from "../format/entry-prefix.js";
import type { LineRange } from "../format/joined-lines.js";

/**
 * The structure of a session as columns: one row per entry, in file order. A row has the row of its parent, a
 * linked list of its children, and the place of its line. All algorithms are iterative.
 */
export class EntryTable {
  readonly #index = new KeyIndex();
  readonly #parents = new IntColumn();
  readonly #kinds = new IntColumn();
  readonly #firstChild = new IntColumn();
  readonly #lastChild = new IntColumn();
  readonly #nextSibling = new IntColumn();
  readonly #times = new NumberColumn();
  readonly #otherTimes = new Map<number, string>();
  readonly #lineAt = new NumberColumn();
  readonly #lineLength = new IntColumn();
  readonly #kindNames: string[] = [];
  readonly #kindOf = new Map<string, number>();
  readonly #kindOfRole = new Map<string, number>();
  /** Rows that have a place in spite of a missing parent. */
  readonly #placed = new Set<number>();
  /** The places of missing parents: the rows that their children follow. */
  readonly #placeOf = new Map<EntryKey, number>();
  /** The ranges of entries that share their line with others. */
  readonly #parts = new Map<number, LineRange>();
  #firstRoot = noRow;
  #lastRoot = noRow;
  /** Rows whose parent was not seen yet. */
  #unlinked: { readonly row: number; readonly parentId: EntryKey }[] = [];

  get size(): number {
    return this.#index.size;
  }

  /** Whether there are rows for {@link linkLateParents}. */
  get hasUnlinkedParents(): boolean {
    return this.#unlinked.length > 0;
  }

  /** The row of an id, or -1. */
  row(id: string): number {
    return this.#index.row(entryKeyOf(id));
  }

  /** The row of a key, or -1. */
  rowOfKey(key: EntryKey): number {
    return this.#index.row(key);
  }

  /** The key of a row's id. */
  key(row: number): EntryKey {
    return this.#index.key(row);
  }

  id(row: number): string {
    return this.#index.id(row);
  }

  parent(row: number): number {
    return this.#parents.at(row);
  }

  /** The row that the entry itself names; noRow if that is missing. Copies of a log have the same. */
  ownParent(row: number): number {
    return this.#placed.has(row) ? noRow : this.parent(row);
  }

  /** The entry type, for messages followed by a slash and the role; see {@link parseKind}. */
  kind(row: number): string {
    return this.#kindNames[this.#kinds.at(row)] as string;
  }

  /** The code of a kind in {@link kindAt}; -1 if no row has the kind. */
  kindCode(kind: string): number {
    return this.#kindOf.get(kind) ?? -1;
  }

  /** The number of kinds; all codes are less. */
  get kindCount(): number {
    return this.#kindNames.length;
  }

  kindAt(row: number): number {
    return this.#kinds.at(row);
  }

  timestamp(row: number): string {
    return this.#otherTimes.get(row) ?? printTimestamp(this.#times.at(row));
  }

  /** Milliseconds since 1970; -Infinity if the timestamp is not a time. */
  time(row: number): number {
    const other = this.#otherTimes.get(row);
    const time = other === undefined ? this.#times.at(row) : Date.parse(other);
    return Number.isNaN(time) ? -Infinity : time;
  }

  firstChild(row: number): number {
    return row === noRow ? this.#firstRoot : this.#firstChild.at(row);
  }

  nextSibling(row: number): number {
    return this.#nextSibling.at(row);
  }

  /** The place of the row's line; undefined until it is written. */
  line(row: number): LinePlace | undefined {
    const at = this.#lineAt.at(row);
    return at < 0 ? undefined : { at, length: this.#lineLength.at(row) };
  }

  /** The range of the row's entry in its line; undefined if it is the whole line. */
  part(row: number): LineRange | undefined {
    return this.#parts.get(row);
  }

  /** Bytes of the row's entry in the log; 0 until it is written. */
  lineLength(row: number): number {
    const part = this.#parts.get(row);
    return part === undefined ? this.#lineLength.at(row) : part.end - part.start;
  }

  setLine(row: number, { at, length }: LinePlace, part?: LineRange): void {
    this.#lineAt.set(row, at);
    this.#lineLength.set(row, length);
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
    if (parent === before && this.nextSibling(row) === noRow) return;
    const next = this.nextSibling(row);
    let previous = noRow;
    for (let at = this.firstChild(before); at !== row; at = this.nextSibling(at)) previous = at;
    if (previous !== noRow) this.#nextSibling.set(previous, next);
    else if (before === noRow) this.#firstRoot = next;
    else this.#firstChild.set(before, next);
    if (next === noRow) {
      if (before === noRow) this.#lastRoot = previous;
      else this.#lastChild.set(before, previous);
    }
    this.#nextSibling.set(row, noRow);
    this.#placed.delete(row);
    this.#parents.set(row, parent);
    this.#link(row, parent);
  }

  /** Adds a row. Returns -1 if the id is in use. Call {@link linkLateParents} after a batch. */
  add(head: EntryHead, line: LinePlace | undefined): number {
    const row = this.#index.add(head.id);
    if (row === noRow) return noRow;
    const time = typeof head.time === "string" ? 0 : head.time;
    this.#push(row, head.parentId, this.#kindOfHead(head), time, line?.at ?? -1, line?.length ?? 0);
    if (typeof head.time === "string") this.#otherTimes.set(row, head.time);
    return row;
  }

  /** {@link add} for the prefix of a message, without an object per line. */
  addMessage(
    {
      id,
      parentId,
      time,
      role,
    }: { readonly id: number; readonly parentId: number; readonly time: number; readonly role: string },
    at: number,
    length: number,
  ): number {
    const row = this.#index.add(id);
    if (row === noRow) return noRow;
    this.#push(row, parentId, this.#kindOfRole.get(role) ?? this.#kindOfMessage(role), time, at, length);
    return row;
  }

  #push(
    row: number,
    parentId: EntryKey | null,
    kind: number,
    time: number,
    at: number,
    length: number,
  ): void {
    const parent = this.#parentRow(parentId, row);
    this.#parents.push(parent);
    this.#kinds.push(kind);
    this.#firstChild.push(noRow);
    this.#lastChild.push(noRow);
    this.#nextSibling.push(noRow);
    this.#lineAt.push(at);
    this.#lineLength.push(length);
    this.#times.push(time);
    if (parentId !== null && parent === noRow) this.#unlinked.push({ row, parentId });
    else this.#link(row, parent);
  }

  /**
   * Links rows that precede their parents. Rows whose parent is missing follow the row before the first one
   * with that parent; a row that closes a cycle becomes a root. Linear in the rows; constant if no row is
   * unlinked.
   */
  linkLateParents(): { readonly orphans: readonly number[]; readonly cycles: readonly number[] } {
    const orphans: number[] = [];
    const missing = new Map<EntryKey, number[]>();
    const groupOf = new Map<number, readonly number[]>();
    const cycles: number[] = [];
    if (this.#unlinked.length === 0) return { orphans, cycles };
    const parents = this.#parents.copy();
    for (const { row, parentId } of this.#unlinked) {
      const parent = this.#index.row(parentId);
      if (parent === noRow) {
        orphans.push(row);
        // An empty text is no id that entries may have in common.
        const key = parentId === "" ? `\0${row}` : parentId;
        const group = missing.get(key) ?? [];
        if (group.push(row) === 1) missing.set(key, group);
        groupOf.set(row, group);
      } else if (rootOf(parents, parent) === row) {
        cycles.push(row);
      } else {
        this.#parents.set(row, parent);
        parents[row] = parent;
      }
    }
    this.#unlinked = [];
    for (const [key, group] of missing) {
      const place = this.#placeOf.get(key) ?? this.#leafAfter((group[0] as number) - 1);
      this.#placeOf.set(key, place);
      // A missing parent does not follow its own descendant.
      if (place === noRow || groupOf.get(rootOf(parents, place)) === group) continue;
      for (const row of group) {
        this.#placed.add(row);
        this.#parents.set(row, place);
        parents[row] = place;
      }
    }
    this.#relink();
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

  #parentRow(parentId: EntryKey | null, row: number): number {
    if (parentId === null) return noRow;
    // Fast: most entries follow the entry before.
    if (row > 0 && parentId === this.#index.key(row - 1)) return row - 1;
    const parent = this.#index.row(parentId);
    // An entry that is its own parent is a cycle, which linkLateParents reports.
    return parent === row ? noRow : parent;
  }

  #kindOfHead({ type, role }: EntryHead): number {
    if (role === undefined) return this.#kind(printKind(type, role));
    // Only messages have a role, so that no kind needs to be printed.
    return this.#kindOfRole.get(role) ?? this.#kindOfMessage(role);
  }

  #kindOfMessage(role: string): number {
    const kind = this.#kind(printKind("message", role));
    this.#kindOfRole.set(role, kind);
    return kind;
  }

  #kind(name: string): number {
    const known = this.#kindOf.get(name);
    if (known !== undefined) return known;
    this.#kindOf.set(name, this.#kindNames.length);
    return this.#kindNames.push(name) - 1;
  }

  #link(row: number, parent: number): void {
    const last = parent === noRow ? this.#lastRoot : this.#lastChild.at(parent);
    if (last !== noRow) this.#nextSibling.set(last, row);
    else if (parent === noRow) this.#firstRoot = row;
    else this.#firstChild.set(parent, row);
    if (parent === noRow) this.#lastRoot = row;
    else this.#lastChild.set(parent, row);
  }

  /** Rebuilds all child lists, so that children stay in file order. */
  #relink(): void {
    for (const column of [this.#firstChild, this.#lastChild, this.#nextSibling]) column.fill(noRow);
    this.#firstRoot = noRow;
    this.#lastRoot = noRow;
    for (let row = 0; row < this.size; row++) this.#link(row, this.parent(row));
  }
}

/** Escapes a type that looks like a message with its role, or like an escaped type. */
function printKind(type: string, role: string | undefined): string {
  if (role !== undefined) return `${type}/${role}`;
  return type.startsWith("message/") || type.startsWith("\0") ? `\0${type}` : type;
}

/** The type, and for messages the role, of a {@link EntryTable.kind}. */
export function parseKind(kind: string): readonly [type: string, role?: string] {
  if (kind.startsWith("\0")) return [kind.slice(1)];
  return kind.startsWith("message/") ? ["message", kind.slice("message/".length)] : [kind];
}

/** The row of no entry. */
export const noRow = -1;

/** The bijection between ids and rows. Rows are numbered in the order of {@link KeyIndex.add}. */
export class KeyIndex {
  readonly #keys: EntryKey[] = [];
  readonly #rows = new Map<EntryKey, number>();
  /**
   * Numeric keys are XORed with it, so that a file cannot choose ids that collide in the map. Not a constant
   * of the module: workerd refuses random values while modules load.
   */
  readonly #seed = crypto.getRandomValues(new Int32Array(1))[0] as number;

  get size(): number {
    return this.#keys.length;
  }

  /** The key of a row that exists. */
  key(row: number): EntryKey {
    return this.#keys[row] as EntryKey;
  }

  /** The id of a row that exists. */
  id(row: number): string {
    return entryIdOf(this.key(row));
  }

  /** The row of a key, or -1. */
  row(key: EntryKey): number {
    return this.#rows.get(this.#seeded(key)) ?? noRow;
  }

  /** Adds a key as the next row. Returns -1 if the key has a row already. */
  add(key: EntryKey): number {
    const at = this.#seeded(key);
    if (this.#rows.has(at)) return noRow;
    this.#rows.set(at, this.#keys.length);
    return this.#keys.push(key) - 1;
  }

  #seeded(key: EntryKey): EntryKey {
    return typeof key === "number" ? key ^ this.#seed : key;
  }
}

/**
 * The root of a row, in a table of parents. Halves paths as a union-find does, so that many look-ups are
 * linear.
 */
function rootOf(parents: Int32Array, start: number): number {
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
