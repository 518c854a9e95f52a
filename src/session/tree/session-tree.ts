import { SessileError } from "../../errors/index.js";
import type { SessionEntry, UnknownEntry } from "../api/entries.js";
import { entryKeyOf, parseTimestamp } from "../format/entry-prefix.js";
import { EntryTable, noRow, parseKind } from "./entry-table.js";

/** An entry's place in the tree, without its body. */
export interface EntryNode {
  readonly id: string;
  /** null for a root, and for an entry whose stored parent is missing or closes a cycle. */
  readonly parentId: string | null;
  /** The stored type, also where this version does not know it. */
  readonly type: string;
  /** ISO 8601, as stored. */
  readonly timestamp: string;
  /** For messages. */
  readonly role?: string;
}

/** One stop of {@link SessionTree.walk}. */
export interface TreeStep {
  readonly node: EntryNode;
  /** 0 for roots. */
  readonly depth: number;
}

/** The columns behind a tree, for the modules of this folder's parent. */
export let entryTableOf: (tree: SessionTree) => EntryTable;
/** Sets or clears a label, as a label entry does. */
export let setLabel: (
  tree: SessionTree,
  targetId: string,
  label: string | undefined,
  timestamp: string,
) => void;

/**
 * The structure of a session: which entry follows which. Synchronous, and without bodies, since those may lie in a file
 * or a database. Look-ups take constant time; walks are iterative, so that a chain of a million entries is no problem.
 *
 * @example
 * ```ts
 * for (const { node, depth } of session.tree.walk()) console.log(" ".repeat(depth) + node.type);
 * ```
 */
export class SessionTree {
  readonly #rows: EntryTable;
  readonly #labels = new Map<string, { readonly label: string; readonly timestamp: string }>();

  static {
    entryTableOf = (tree) => tree.#rows;
    setLabel = (tree, targetId, label, timestamp) => {
      // One that is set again keeps its place in the order, as in pi.
      if (label === undefined || label === "") tree.#labels.delete(targetId);
      else tree.#labels.set(targetId, { label, timestamp });
    };
  }

  /** A tree of these entries in this order; of two with one id the first counts. */
  constructor(entries: Iterable<SessionEntry | UnknownEntry> = []) {
    this.#rows = new EntryTable();
    for (const entry of entries) {
      const type = entry.type === "unknown" ? entry.entryType : entry.type;
      const role = entry.type === "message" ? { role: entry.message.role } : {};
      const id = entryKeyOf(entry.id);
      const parentId = entry.parentId === null ? null : entryKeyOf(entry.parentId);
      const head = { type, id, parentId, time: parseTimestamp(entry.timestamp), ...role };
      if (this.#rows.add(head, undefined) === noRow) continue;
      if (entry.type === "label") setLabel(this, entry.targetId, entry.label, entry.timestamp);
    }
    this.#rows.linkLateParents();
  }

  /** How many entries there are. */
  get size(): number {
    return this.#rows.size;
  }

  /** Whether there is an entry with this id. */
  has(id: string): boolean {
    return this.#rows.row(id) !== noRow;
  }

  /** The entry's place, or undefined. */
  node(id: string): EntryNode | undefined {
    const row = this.#rows.row(id);
    return row === noRow ? undefined : this.#node(row);
  }

  /** The entries that follow this one, in file order; those of null are the roots. Empty for an unknown id. */
  children(id: string | null): readonly EntryNode[] {
    const row = id === null ? noRow : this.#rows.row(id);
    if (id !== null && row === noRow) return [];
    const out: EntryNode[] = [];
    for (let at = this.#rows.firstChild(row); at !== noRow; at = this.#rows.nextSibling(at))
      out.push(this.#node(at));
    return out;
  }

  /** The entries with the same parent, this one among them, in file order. Empty for an unknown id. */
  siblings(id: string): readonly EntryNode[] {
    const row = this.#rows.row(id);
    if (row === noRow) return [];
    const parent = this.#rows.parent(row);
    return this.children(parent === noRow ? null : this.#rows.id(parent));
  }

  /**
   * From the root to this entry; empty for null.
   *
   * @throws SessileError ENTRY_NOT_FOUND
   */
  path(id: string | null): readonly EntryNode[] {
    return id === null ? [] : Array.from(this.#rows.path(rowOf(this.#rows, id)), (row) => this.#node(row));
  }

  /** Every entry, each before its children, siblings in file order. */
  *walk(): IterableIterator<TreeStep> {
    const rows = this.#rows;
    let depth = 0;
    let row = rows.firstChild(noRow);
    while (row !== noRow) {
      yield { node: this.#node(row), depth };
      let next = rows.firstChild(row);
      if (next !== noRow) {
        depth++;
      } else {
        next = rows.nextSibling(row);
        while (next === noRow && depth > 0) {
          row = rows.parent(row);
          depth--;
          next = rows.nextSibling(row);
        }
      }
      row = next;
    }
  }

  /** The label of an entry, if it has one. */
  label(id: string): string | undefined {
    return this.#labels.get(id)?.label;
  }

  /** Every label that is set, with the entry it is on, in the order in which the entries were labelled. */
  *labels(): IterableIterator<{
    readonly targetId: string;
    readonly label: string;
    readonly timestamp: string;
  }> {
    for (const [targetId, set] of this.#labels) yield { targetId, ...set };
  }

  #node(row: number): EntryNode {
    const rows = this.#rows;
    const [type, role] = parseKind(rows.kind(row));
    const parent = rows.parent(row);
    return {
      id: rows.id(row),
      parentId: parent === noRow ? null : rows.id(parent),
      type,
      timestamp: rows.timestamp(row),
      ...(role === undefined ? {} : { role }),
    };
  }
}

/** The row of an id. Throws ENTRY_NOT_FOUND. */
export function rowOf(rows: EntryTable, id: string): number {
  const row = rows.row(id);
  if (row !== noRow) return row;
  throw new SessileError("ENTRY_NOT_FOUND", `no entry has the id ${JSON.stringify(id)}`, {
    details: { entryId: id },
  });
}
