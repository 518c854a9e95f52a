/**
 * The versions of entries on many branches. A version follows from the edits on a path alone, so that
 * branches with the same edits share it: the work grows with edits, and not with branches.
 */

import { type ContextMessage, toolCalls } from "../../content/index.js";
import type { SessionEntry, UnknownEntry } from "../../log/internal.js";
import { type EntryTable, noRow } from "../tree/session-tree.js";
import { applyEdit, applyUpdates, entryItem, entryUpdates, type Replacement } from "./context-items.js";

type Entry = SessionEntry | UnknownEntry;

const noIds: ReadonlySet<string> = new Set();

/** An entry as edits have left it. */
interface EditedEntry {
  /** After its updates. */
  readonly updated: Entry;
  /** Of its latest context edit; undefined without one. */
  readonly replacement: Replacement | undefined;
}

/**
 * The edits that a branch has of some entries: an edit, and those before it. Versions share those before, and
 * what they make of an entry.
 */
export class BranchVersion {
  readonly edit: Entry | undefined;
  readonly before: BranchVersion | undefined;
  /** By the ids of entries. */
  readonly #edited = new Map<string, EditedEntry>();

  constructor(edit?: Entry, before?: BranchVersion) {
    this.edit = edit;
    this.before = before;
  }

  /**
   * The message of an entry in force; undefined for an entry without one, or one that an edit removed. Unlike
   * in a context, entries before a compaction count.
   */
  entryMessage(entry: Entry): ContextMessage | undefined {
    const { updated, replacement } = this.#after(entry);
    if (entry.type === "compaction") {
      if (replacement === null) return undefined;
      const { summary, tokensBefore } = entry;
      return { role: "compactionSummary", summary, tokensBefore, timestamp: 0 };
    }
    const item = entryItem(updated, noIds);
    return item && applyEdit(item, replacement)?.message;
  }

  /** The calls of an assistant's message before a context edit took any of them away. */
  callsBeforeEdit(entry: Entry): readonly string[] {
    const { updated } = this.#after(entry);
    return updated.type === "message" ? messageCalls(updated.message) : [];
  }

  #after(entry: Entry): EditedEntry {
    const { id } = entry;
    const todo: BranchVersion[] = [];
    let at: BranchVersion | undefined = this;
    for (; at !== undefined && !at.#edited.has(id); at = at.before) todo.push(at);
    let state = (at === undefined ? undefined : at.#edited.get(id)) ?? {
      updated: entry,
      replacement: undefined,
    };
    for (const version of todo.reverse()) {
      state = edited(state, version.edit);
      version.#edited.set(id, state);
    }
    return state;
  }
}

function edited(state: EditedEntry, edit: Entry | undefined): EditedEntry {
  if (edit === undefined || (edit as { readonly targetId?: unknown }).targetId !== state.updated.id)
    return state;
  if (edit.type === "context_edit") return { ...state, replacement: edit.replacement };
  return { ...state, updated: applyUpdates(state.updated, entryUpdates([edit])) as Entry };
}

export function messageCalls(message: ContextMessage | undefined): readonly string[] {
  return message?.role === "assistant" ? toolCalls(message).map(({ id }) => id) : [];
}

/** The edits that each of some branches has, for any entry. */
export class BranchVersions {
  readonly #table: EntryTable;
  /** The number of a row in a walk of the tree, and the last number below it. */
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  /** The number of leaves before each number of the walk. */
  readonly #leavesBefore: Int32Array;
  readonly #edits: ReadonlyMap<number, Entry>;
  /** The rows of edits by the id of their target. */
  readonly #readEdits = new Map<string, number[]>();

  /**
   * @param edits the bodies of all edits and updates in the log, by their rows
   * @param leaves the ends of the branches
   */
  constructor(table: EntryTable, edits: ReadonlyMap<number, Entry>, leaves: Iterable<number>) {
    this.#table = table;
    this.#edits = edits;
    const { first, last } = treeRanges(table);
    this.#first = first;
    this.#last = last;
    this.#leavesBefore = new Int32Array(table.size + 1);
    for (const leaf of leaves) this.#leavesBefore[(first[leaf] as number) + 1] = 1;
    for (let at = 1; at <= table.size; at++)
      this.#leavesBefore[at] = (this.#leavesBefore[at] as number) + (this.#leavesBefore[at - 1] as number);
    for (const [row, edit] of edits) {
      const { targetId } = edit as { readonly targetId?: string };
      if (targetId === undefined) continue;
      const known = this.#readEdits.get(targetId);
      if (known === undefined) this.#readEdits.set(targetId, [row]);
      else known.push(row);
    }
  }

  /** The rows of all edited entries. */
  editedRows(): readonly number[] {
    return Array.from(this.#readEdits.keys(), (id) => this.#table.row(id)).filter((row) => row !== noRow);
  }

  isEdited(id: string): boolean {
    return this.#readEdits.has(id);
  }

  /** Every edit of an entry, on whatever branch. */
  findEdits(id: string): readonly Entry[] {
    return (this.#readEdits.get(id) ?? []).map((row) => this.#edits.get(row) as Entry);
  }

  /** Whether a branch has the row. */
  isOnBranch(row: number): boolean {
    return row !== noRow && this.#leavesIn(row) > 0;
  }

  isAbove(row: number, other: number): boolean {
    const at = this.#first[other] as number;
    return (this.#first[row] as number) < at && at <= (this.#last[row] as number);
  }

  /**
   * Yields the edits that branches with a row have of some entries, each version once.
   * @param ids the entries; one of them is usually that of the row
   */
  *versions(row: number, ids: readonly string[]): Generator<BranchVersion, void, undefined> {
    const rows = ids.flatMap((id) => this.#readEdits.get(id) ?? []);
    const number = (each: number) => this.#first[each] as number;
    rows.sort((a, b) => number(a) - number(b));
    let version = new BranchVersion();
    const readEdit = (each: number) => this.#edits.get(each) as Entry;
    for (const each of rows)
      if (this.isAbove(each, row)) version = new BranchVersion(readEdit(each), version);
    // The entry, then the edits below it: each with the last one before it on its path.
    const root: Node = { row, before: undefined, version, leaves: this.#leavesIn(row) };
    const nodes = [root];
    let node = root;
    for (const each of rows) {
      if (!this.isAbove(row, each)) continue;
      while (node.before !== undefined && !this.isAbove(node.row, each)) node = node.before;
      const leaves = this.#leavesIn(each);
      node.leaves -= leaves;
      node = { row: each, before: node, version: new BranchVersion(readEdit(each), node.version), leaves };
      nodes.push(node);
    }
    // Without leaves every branch with this edit has a later one too.
    for (const each of nodes) if (each.leaves > 0) yield each.version;
  }

  #leavesIn(row: number): number {
    const end = this.#leavesBefore[(this.#last[row] as number) + 1] as number;
    return end - (this.#leavesBefore[this.#first[row] as number] as number);
  }
}

/** An edit, or the entry itself. */
interface Node {
  readonly row: number;
  readonly before: Node | undefined;
  readonly version: BranchVersion;
  /** The branches that have it, and no later edit. */
  leaves: number;
}

interface TreeRanges {
  readonly first: Int32Array;
  readonly last: Int32Array;
}

function treeRanges(table: EntryTable): TreeRanges {
  const first = new Int32Array(table.size);
  const last = new Int32Array(table.size);
  let count = 0;
  for (let row = table.firstChild(noRow); row !== noRow; ) {
    first[row] = count++;
    const child = table.firstChild(row);
    if (child !== noRow) {
      row = child;
      continue;
    }
    for (;;) {
      last[row] = count - 1;
      const next = table.nextSibling(row);
      const above = table.parent(row);
      row = next === noRow ? above : next;
      if (next !== noRow || above === noRow) break;
    }
  }
  return { first, last };
}
