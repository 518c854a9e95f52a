import type { LinePlace } from "./backend.js";
import type { PlacedEntry, Request } from "./batch.js";
import type { SessionCore } from "./core.js";
import type { EntryDraft, SessionEntry } from "./entries.js";
import { typesThat } from "./entry-types.js";
import { noRow } from "./tree/rows.js";
import { treeRows } from "./tree/tree.js";
import { turnSettings } from "./turn.js";

/** Entries in the tree without a line yet. They are written at the head of the next batch. */
export class Staged {
  readonly #core: SessionCore;
  #entries: PlacedEntry[] = [];
  /** Ids of entries that were announced to listeners. */
  readonly #announced = new Set<string>();

  constructor(core: SessionCore) {
    this.#core = core;
  }

  get entries(): readonly PlacedEntry[] {
    return this.#entries;
  }

  add(placed: PlacedEntry): void {
    const { reader, bodies } = this.#core;
    bodies.hold(reader.own(placed.entry, undefined), placed.entry);
    this.#entries.push(placed);
  }

  /** Adds an entry that is acknowledged now, and written with the first message of the session. */
  defer(placed: PlacedEntry): void {
    this.add(placed);
    this.#announced.add(placed.entry.id);
    this.#core.announce(placed.entry, "local");
  }

  /** Records the line of a staged entry that was written; returns its row. */
  written(entry: SessionEntry, place: LinePlace): number {
    const core = this.#core;
    const rows = treeRows(core.reader.tree);
    const row = rows.row(entry.id);
    const parent = entry.parentId === null ? noRow : rows.row(entry.parentId);
    if (parent !== rows.parent(row)) core.lastContext = undefined;
    rows.move(row, parent);
    rows.setLine(row, place.at, place.length);
    // Its session-wide effect is the newest now.
    core.reader.says(row, entry);
    return row;
  }

  /** Whether a written entry was not announced to listeners yet. */
  isNews(entry: SessionEntry): boolean {
    return this.#announced.size === 0 || !this.#announced.delete(entry.id);
  }

  /** Forgets all entries: they are in the log. */
  clear(): void {
    const rows = treeRows(this.#core.reader.tree);
    for (const { entry } of this.#entries) this.#core.bodies.release(rows.row(entry.id));
    this.#entries = [];
  }
}

/** Types that do not create the file of a session without messages. */
const settings = typesThat("setting");

/** Whether appends consist of settings only. They are deferred until the session has a message. */
export function areSettings(group: readonly Request[]): boolean {
  const isSetting = (draft: EntryDraft) =>
    settings.has(draft.type) || (draft.type === "custom" && draft.customType === turnSettings.customType);
  return group.every(({ drafts }) => drafts.length > 0 && drafts.every(isSetting));
}
