/** The tree of a session: nodes, children, paths. */

import { SessileError } from "../../core/errors/index.js";
import type { SessionEntry, UnknownEntry } from "../api/entries.js";
import { entryKeyOf, parseTimestamp } from "../format/entry-prefix.js";
import { EntryTable, noRow, parseKind } from "./entry-table.js";

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

/** A step of {@link SessionTree.walk}. */
export interface TreeStep {
  readonly node: EntryNode;
  /** 0 for roots. */
  readonly depth: number;
}

/** The columns of a tree, for the session module alone. */
export let entryTableOf: (tree: SessionTree) => EntryTable;
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
    entryTableOf = (tree) => tree.#table;
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
      const id = entryKeyOf(entry.id);
      const parentId = entry.parentId === null ? null : entryKeyOf(entry.parentId);
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
    return id === null ? [] : Array.from(this.#table.path(rowOf(this.#table, id)), (row) => this.#node(row));
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
export function rowOf(table: EntryTable, id: string): number {
  const row = table.row(id);
  if (row !== noRow) return row;
  throw new SessileError("ENTRY_NOT_FOUND", `no entry has the id ${JSON.stringify(id)}`, {
    details: { entryId: id },
  });
}
