/** The history that the model of a thread sees, and its turns. Rollbacks and compactions change both. */

import type { ForeignObject } from "../shared/values.js";
import { DroppedEntries, type HistoryItem } from "./compacted.js";
import type { Draft } from "./timeline.js";

/** A turn that the user began. */
interface Turn {
  /** The entry before it. */
  readonly before: Draft | null;
  /** Items of the history before it. */
  readonly historyCount: number;
}

/** The state after a line. Both arrays only grow, or are replaced. */
interface State {
  readonly ordinal: number;
  readonly cursor: Draft | null;
  readonly turns: readonly Turn[];
  readonly turnCount: number;
  readonly history: readonly HistoryItem[];
  readonly historyCount: number;
}

/** The history and the turns of one thread. */
export class ThreadState {
  #turns: Turn[] = [];
  #history: HistoryItem[] = [];
  readonly dropped = new DroppedEntries();
  readonly #states: State[] | undefined;
  readonly #trims: boolean;
  /** The place before the harness's messages that precede a turn. */
  #opening: Turn | undefined;

  /** `keepsStates`: a file continues from an earlier line. `trims`: rollbacks drop harness messages. */
  constructor({ keepsStates, trims }: { readonly keepsStates: boolean; readonly trims: boolean }) {
    this.#states = keepsStates ? [] : undefined;
    this.#trims = trims;
  }

  get history(): readonly HistoryItem[] {
    return this.#history;
  }

  /** Adds an item that the model sees. */
  see(item: ForeignObject, ...drafts: readonly Draft[]): void {
    this.#history.push({ item, drafts });
  }

  /** Begins a turn after an entry. */
  beginTurn(before: Draft | null): void {
    // Codex never drops the initial context of the first turn.
    const opening = this.#trims && this.#turns.length > 0 ? this.#opening : undefined;
    this.#turns.push(opening ?? { before, historyCount: this.#history.length });
    this.#opening = undefined;
  }

  /** Adds a harness text after an entry. The next turn begins with it. */
  open(before: Draft | null): void {
    this.#opening ??= { before, historyCount: this.#history.length };
  }

  /** The model said something, or a tool. */
  close(): void {
    this.#opening = undefined;
  }

  /** Begins a history with none of the items before. A compaction keeps these entries. */
  restart(kept: ReadonlySet<Draft>): void {
    this.dropped.add(this.#history, kept);
    this.#history = [];
    this.#turns = [];
  }

  /** Drops the last turns. Returns the entry before them; undefined if there is no turn. */
  rollBack(count: number): { readonly before: Draft | null; readonly dropped: number } | undefined {
    const at = Math.max(0, this.#turns.length - count);
    const turn = this.#turns[at];
    if (turn === undefined) return undefined;
    const dropped = this.#turns.length - at;
    this.#turns = this.#turns.slice(0, at);
    this.#history = this.#history.slice(0, turn.historyCount);
    return { before: turn.before, dropped };
  }

  /** Remembers the state after a line. */
  note(ordinal: number, cursor: Draft | null): void {
    this.#states?.push({
      ordinal,
      cursor,
      turns: this.#turns,
      turnCount: this.#turns.length,
      history: this.#history,
      historyCount: this.#history.length,
    });
  }

  /** Goes back to the state before a line. Returns the last entry of that state. */
  revertTo(ordinal: number): Draft | null {
    const state = this.#states?.findLast((each) => each.ordinal < ordinal);
    // They may be on the path that is left.
    this.dropped.clear();
    this.#turns = state?.turns.slice(0, state.turnCount) ?? [];
    this.#history = state?.history.slice(0, state.historyCount) ?? [];
    return state?.cursor ?? null;
  }
}
