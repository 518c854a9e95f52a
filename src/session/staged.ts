import type { LinePlace } from "./backend.js";
import type { PlacedEntry, Request } from "./batch.js";
import type { SessionCore } from "./core.js";
import type { EntryDraft, SessionEntry } from "./entries.js";
import { typesThat } from "./entry-types.js";
import { noRow } from "./tree/rows.js";
import { treeRows } from "./tree/tree.js";
import { turnSettings } from "./turn.js";

/** Entries that are in the tree and have no line yet: they are written in front of the next batch. */
export class Staged {
  readonly #core: SessionCore;
  #entries: PlacedEntry[] = [];
  /** Ids of those that listeners were told of. */
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

  /** {@link add} for an entry that is acknowledged now, and waits for the session's first message. */
  defer(placed: PlacedEntry): void {
    this.add(placed);
    this.#announced.add(placed.entry.id);
    this.#core.announce(placed.entry, "local");
  }

  /** Gives one its line, where it stands now, and its row. */
  written(entry: SessionEntry, place: LinePlace): number {
    const core = this.#core;
    const rows = treeRows(core.reader.tree);
    const row = rows.row(entry.id);
    const parent = entry.parentId === null ? noRow : rows.row(entry.parentId);
    if (parent !== rows.parent(row)) core.lastContext = undefined;
    rows.move(row, parent);
    rows.setLine(row, place.at, place.length);
    // What it says of the session comes last now.
    core.reader.says(row, entry);
    return row;
  }

  /** Whether listeners are still to be told of an entry that was written. */
  isNews(entry: SessionEntry): boolean {
    return this.#announced.size === 0 || !this.#announced.delete(entry.id);
  }

  /** All of them are in the log. */
  clear(): void {
    const rows = treeRows(this.#core.reader.tree);
    for (const { entry } of this.#entries) this.#core.bodies.release(rows.row(entry.id));
    this.#entries = [];
  }
}

/** Settings of a session: of one without messages they are not worth a file. */
const settings = typesThat("setting");

/** Whether appends have settings in them, and nothing else: before the session is stored, such ones wait. */
export function areSettings(group: readonly Request[]): boolean {
  const isSetting = (draft: EntryDraft) =>
    settings.has(draft.type) || (draft.type === "custom" && draft.customType === turnSettings.customType);
  return group.every(({ drafts }) => drafts.length > 0 && drafts.every(isSetting));
}
