/** The entries of one branch as its edits have them: the text that is in force there. */

import { type ContextMessage, toolCalls } from "../../content/index.js";
import type { SessionEntry, UnknownEntry } from "../api/entries.js";
import type { EntryTable } from "../tree/entry-table.js";
import type { EntryRequests } from "./build-context.js";
import { applyEdit, applyUpdates, itemOf, latestEdits, updatesOf } from "./context-items.js";

type Entry = SessionEntry | UnknownEntry;

const noIds: ReadonlySet<string> = new Set();

/** The path to a leaf, with the edits on it. Unlike a context it has the entries before a compaction. */
export class BranchView {
  readonly #table: EntryTable;
  readonly #path: Int32Array;
  /** The index in the path of each row; -1 for other rows. */
  readonly #indexes: Int32Array;
  readonly #edits: ReturnType<typeof latestEdits>;
  readonly #updates: ReturnType<typeof updatesOf>;
  /** The rows of messages that lost a call by an edit, by the id of the call, in path order. */
  #removedCalls: Map<string, number[]> | undefined;

  /** @param edits the bodies of all edits and updates in the log, by their rows */
  constructor(table: EntryTable, leaf: number, edits: ReadonlyMap<number, Entry>) {
    this.#table = table;
    this.#path = table.path(leaf);
    this.#indexes = new Int32Array(table.size).fill(-1);
    this.#path.forEach((row, index) => {
      this.#indexes[row] = index;
    });
    const own = edits.size === 0 ? [] : Array.from(this.#path).flatMap((row) => edits.get(row) ?? []);
    this.#edits = latestEdits(own);
    this.#updates = updatesOf(own);
  }

  has(row: number): boolean {
    return (this.#indexes[row] ?? -1) >= 0;
  }

  /** The message of an entry in force; undefined for an entry without one, or one that an edit removed. */
  message(entry: Entry): ContextMessage | undefined {
    if (entry.type === "compaction") {
      if (this.#edits.get(entry.id) === null) return undefined;
      const { summary, tokensBefore } = entry;
      return { role: "compactionSummary", summary, tokensBefore, timestamp: 0 };
    }
    const updated = applyUpdates(entry, this.#updates);
    const item = updated && itemOf(updated, noIds);
    return item && applyEdit(item, this.#edits.get(entry.id))?.message;
  }

  /** Whether a result on the path lost its call by an edit: contexts omit it then. */
  *hasLostCall(row: number, callId: string): EntryRequests<boolean> {
    if (this.#edits.size === 0) return false;
    this.#removedCalls ??= yield* this.#findRemovedCalls();
    const at = this.#indexes[row] as number;
    const from = this.#removedCalls.get(callId)?.findLast((index) => index < at);
    if (from === undefined) return false;
    // A later message may have a call with the same id.
    const assistant = this.#table.kindCode("message/assistant");
    for (let index = at - 1; index > from; index--) {
      const other = this.#path[index] as number;
      if (this.#table.kindAt(other) !== assistant) continue;
      const entry = (yield [other])(other);
      if (entry !== undefined && callsOf(this.message(entry)).includes(callId)) return false;
    }
    return true;
  }

  *#findRemovedCalls(): EntryRequests<Map<string, number[]>> {
    const assistant = this.#table.kindCode("message/assistant");
    const rows = Array.from(this.#edits.keys(), (id) => this.#table.row(id))
      .filter((row) => this.has(row) && this.#table.kindAt(row) === assistant)
      .sort((a, b) => (this.#indexes[a] as number) - (this.#indexes[b] as number));
    const removed = new Map<string, number[]>();
    for (const row of rows) {
      const entry = (yield [row])(row);
      const before = applyUpdates(entry, this.#updates);
      if (entry === undefined || before?.type !== "message") continue;
      const kept = callsOf(this.message(entry));
      for (const id of callsOf(before.message)) {
        if (kept.includes(id)) continue;
        const indexes = removed.get(id) ?? [];
        removed.set(id, indexes);
        indexes.push(this.#indexes[row] as number);
      }
    }
    return removed;
  }
}

function callsOf(message: ContextMessage | undefined): readonly string[] {
  return message?.role === "assistant" ? toolCalls(message).map(({ id }) => id) : [];
}
