/**
 * Entries before they have ids. Later lines of a rollout change earlier entries: usage, exit codes, aborted
 * turns. So the entries are collected first, and added in order at the end.
 */

import type { DraftEntry, EntryBuilder } from "../types.js";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** An entry that may still change. */
export interface Draft<T extends DraftEntry = DraftEntry> {
  /** A function is called when all earlier entries have their ids. */
  entry: Mutable<T> | ((draftId: (draft: Draft) => string) => DraftEntry);
  readonly parent: Draft | null;
  readonly recordId: string;
  readonly part: string;
  readonly timestamp: unknown;
  /** The id that this library gave the entry earlier. */
  readonly id: string | undefined;
  /** Left out in the end. */
  isDropped?: boolean;
}

/** The place of a draft: its record, its time. */
export interface DraftPlace {
  readonly recordId: string;
  readonly part?: string | number;
  readonly timestamp?: unknown;
  readonly id?: string | undefined;
}

/** The entries of one session in the order of its lines. */
export class Timeline {
  readonly #drafts: Draft[] = [];
  #cursor: Draft | null = null;

  /** The entry that the next one follows. */
  get cursor(): Draft | null {
    return this.#cursor;
  }

  /** Adds an entry after the cursor. */
  add<T extends DraftEntry>(entry: T | Draft["entry"], place: DraftPlace): Draft<T> {
    const { recordId, part = "", timestamp, id } = place;
    const draft: Draft = {
      entry: entry as Draft["entry"],
      parent: this.#cursor,
      recordId,
      part: String(part),
      timestamp,
      id,
    };
    this.#drafts.push(draft);
    this.#cursor = draft;
    return draft as unknown as Draft<T>;
  }

  /** Moves the leaf to an earlier entry, or before the first. The next entry follows that one. */
  moveTo(target: Draft | null, place: DraftPlace): void {
    if (target === this.#cursor) return;
    this.#cursor = target;
    const { recordId, part = "leaf", timestamp } = place;
    const entry: Draft["entry"] = (readId) => ({
      type: "leaf",
      targetId: target === null ? null : readId(target),
    });
    this.#drafts.push({ entry, parent: target, recordId, part: String(part), timestamp, id: undefined });
  }

  /** Adds all entries to a builder, and sets the leaf. */
  flush(builder: EntryBuilder): void {
    const ids = new Map<Draft, string>();
    const findId = (draft: Draft | null): string | null => {
      let at = draft;
      while (at?.isDropped === true) at = at.parent;
      return at === null ? null : (ids.get(at) ?? null);
    };
    for (const draft of this.#drafts) {
      if (draft.isDropped === true) continue;
      const { entry, recordId, part, timestamp, id } = draft;
      const made = typeof entry === "function" ? entry((other) => findId(other) ?? "") : entry;
      ids.set(draft, builder.add(made, { recordId, part, timestamp, id, parentId: findId(draft.parent) }));
    }
    builder.setLeaf(findId(this.#cursor));
  }
}
