import type { LinePlace } from "../api/backend.js";
import type { EntryDraft, SessionEntry } from "../api/entries.js";
import { entryTypesWith } from "../format/entry-types.js";
import { noRow } from "../tree/entry-table.js";
import { entryTableOf } from "../tree/session-tree.js";
import type { PlacedEntry, Request } from "./batch.js";
import type { SessionState } from "./session-state.js";
import { turnSettings } from "./turn-settings.js";

/** Entries in the tree without a line yet. They are written at the head of the next batch. */
export class Staged {
  readonly #core: SessionState;
  #entries: PlacedEntry[] = [];
  /** Ids of entries that were announced to listeners. */
  readonly #announced = new Set<string>();

  constructor(core: SessionState) {
    this.#core = core;
  }

  get entries(): readonly PlacedEntry[] {
    return this.#entries;
  }

  add(placed: PlacedEntry): void {
    const { reader, cache } = this.#core;
    cache.pin(reader.applyLocalEntry(placed.entry, undefined), placed.entry);
    this.#entries.push(placed);
  }

  /** Whether there is a staged entry that creates the file of the session. */
  get hasMessage(): boolean {
    return !this.#entries.every(({ entry }) => isSetting(entry));
  }

  /** Adds entries that are acknowledged now, and written with the first message of the session. */
  defer(placed: readonly PlacedEntry[]): void {
    for (const each of placed) this.add(each);
    // A listener learns of a parent before its child: of settings that were staged before, too.
    for (const { entry } of this.#entries) {
      if (this.#announced.has(entry.id)) continue;
      this.#announced.add(entry.id);
      this.#core.announce(entry, "local");
    }
  }

  /** Records the line of a staged entry that was written; returns its row. */
  written(entry: SessionEntry, place: LinePlace): number {
    const core = this.#core;
    const rows = entryTableOf(core.reader.tree);
    const row = rows.row(entry.id);
    const parent = entry.parentId === null ? noRow : rows.row(entry.parentId);
    if (parent !== rows.parent(row)) core.lastContext = undefined;
    rows.move(row, parent);
    rows.setLine(row, place.at, place.length);
    // Its session-wide effect is the newest now.
    core.reader.applySessionWideState(row, entry);
    return row;
  }

  /** Whether a written entry was not announced to listeners yet. */
  isNews(entry: SessionEntry): boolean {
    return this.#announced.size === 0 || !this.#announced.delete(entry.id);
  }

  /** Forgets all entries: they are in the log. */
  clear(): void {
    const rows = entryTableOf(this.#core.reader.tree);
    for (const { entry } of this.#entries) this.#core.cache.unpin(rows.row(entry.id));
    this.#entries = [];
  }
}

/** Types that do not create the file of a session without messages. */
const settings = entryTypesWith("setting");

/** Whether appends consist of settings only. They are deferred until the session has a message. */
export function areSettings(group: readonly Request[]): boolean {
  return group.every(({ drafts }) => drafts.length > 0 && drafts.every(isSetting));
}

function isSetting(draft: EntryDraft | SessionEntry): boolean {
  return (
    settings.has(draft.type) || (draft.type === "custom" && draft.customType === turnSettings.customType)
  );
}
