/** The state of the page: the branch, the entry in focus, open parts, and the address. */

import { conversationRows, type Row } from "../model/rows.js";
import { searchPattern } from "../model/search.js";
import type { SentTargetName } from "../model/sent-request.js";
import type { SessionModel } from "../model/session-model.js";
import { type Timeline, timelineOf } from "../model/timeline.js";
import type { PageUpdate } from "../page-data.js";
import type { ImageStore } from "./page-source.js";

/** The panel beside the conversation: the context of an entry, or the request that it makes. */
export interface ContextPanel {
  readonly entryId: string;
  readonly tab: "seen" | "sent";
  readonly target?: SentTargetName;
}

/** A search, with the entries that contain the words. */
export interface FindState {
  readonly words: string;
  /** Undefined while the search goes on. */
  readonly hits: readonly string[] | undefined;
  /** Index of the hit in focus; -1 before the first. */
  readonly at: number;
}

/** The parts of the state that views read and change by {@link ViewerState.set}. */
export interface ViewState {
  readonly leafId: string | null;
  /** The row in focus. */
  readonly focusId: string | undefined;
  readonly panel: ContextPanel | undefined;
  readonly find: FindState | undefined;
  readonly help: boolean;
  /** On narrow windows the outline is a drawer. */
  readonly outlineOpen: boolean;
  readonly outlineDetail: "short" | "long";
  readonly printing: boolean;
  /** The image that is shown large. */
  readonly image: { readonly src: string; readonly name: string } | undefined;
  readonly live: "off" | "connected" | "lost";
}

/** A row to scroll to. */
interface WantedRow {
  readonly id: string;
  /** Whether it gets the keyboard's focus. */
  readonly focus: boolean;
}

/** The branch that is shown. */
interface Branch {
  readonly version: number;
  readonly leafId: string | null;
  readonly rows: readonly Row[];
  /** The row of each entry that one shows. */
  readonly indexes: ReadonlyMap<string, number>;
  readonly ids: ReadonlySet<string>;
}

/** The state, its listeners, and the acts that several views share. */
export class ViewerState {
  readonly model: SessionModel;
  readonly images: ImageStore;
  #view: ViewState;
  #branch: Branch | undefined;
  #timeline: { readonly rows: readonly Row[]; readonly timeline: Timeline } | undefined;
  /** Folded parts that are open, with the number of pieces shown. They outlive their elements. */
  readonly #open = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #wanted: WantedRow | undefined;

  constructor(model: SessionModel, images: ImageStore) {
    this.model = model;
    this.images = images;
    this.#view = {
      leafId: model.leafId,
      focusId: undefined,
      panel: undefined,
      find: undefined,
      help: false,
      outlineOpen: false,
      outlineDetail: "short",
      printing: false,
      image: undefined,
      live: "off",
    };
  }

  get view(): ViewState {
    return this.#view;
  }

  set(change: Partial<ViewState>): void {
    this.#view = { ...this.#view, ...change };
    this.#notify();
  }

  /** Calls a function after each change. Returns a function that stops it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** The branch that is shown. The same object until the branch or the session changes. */
  get #current(): Branch {
    const { version } = this.model;
    const { leafId } = this.#view;
    if (this.#branch === undefined || this.#branch.version !== version || this.#branch.leafId !== leafId) {
      const rows = conversationRows(this.model, leafId);
      const indexes = new Map<string, number>();
      rows.forEach(({ id, with: shown }, index) => {
        indexes.set(id, index);
        for (const other of shown) indexes.set(other, index);
      });
      const ids = new Set(this.model.pathIds(leafId));
      this.#branch = { version, leafId, rows, indexes, ids };
    }
    return this.#branch;
  }

  /** The rows of the branch. */
  get rows(): readonly Row[] {
    return this.#current.rows;
  }

  /** The entries of the branch. */
  get path(): ReadonlySet<string> {
    return this.#current.ids;
  }

  get timeline(): Timeline {
    const { rows } = this;
    if (this.#timeline?.rows !== rows)
      this.#timeline = { rows, timeline: timelineOf(rows, this.model.data.prices) };
    return this.#timeline.timeline;
  }

  /** The index of the row that shows an entry; -1 if the branch has none. */
  rowIndex(entryId: string): number {
    return this.#current.indexes.get(entryId) ?? -1;
  }

  /**
   * Goes to an entry, on the current branch if it is there, else on the newest branch that has it.
   *
   * @param options `leafId`: the branch. `focus`: whether the row gets the keyboard's focus
   */
  go(
    entryId: string,
    options: {
      readonly leafId?: string;
      readonly focus?: boolean;
      readonly address?: "push" | "replace" | "keep";
    } = {},
  ): void {
    const { model } = this;
    if (!model.tree.has(entryId)) return;
    const wanted =
      options.leafId !== undefined && model.tree.has(options.leafId) ? options.leafId : undefined;
    const leafId = wanted ?? (this.path.has(entryId) ? this.#view.leafId : model.newestBelow(entryId));
    this.#view = { ...this.#view, leafId };
    const index = this.#nearestRow(entryId);
    const id = this.rows[index]?.id;
    if (id !== undefined) this.#wanted = { id, focus: options.focus ?? true };
    this.set({ focusId: id, outlineOpen: false });
    this.#writeAddress(entryId, options.address ?? "push");
  }

  /** Goes to a branch by its first entry: to the newest leaf below, and the row that begins it. */
  goBranch(first: string): void {
    const leafId = this.model.newestBelow(first);
    this.#view = { ...this.#view, leafId };
    const row = this.rows.find(({ branches }) => branches?.ids[branches.at] === first);
    this.go(row?.id ?? first, { leafId });
  }

  /** Goes to an entry from the panel, which closes if it covers the conversation. */
  goFromPanel(entryId: string): void {
    const isCovering = matchMedia("(max-width: 860px)").matches;
    if (isCovering) this.#view = { ...this.#view, panel: undefined };
    this.go(entryId, { focus: isCovering });
  }

  /** The row of an entry, or of the nearest entry above that has one. */
  #nearestRow(entryId: string): number {
    const own = this.rowIndex(entryId);
    if (own >= 0) return own;
    const path = this.model.pathIds(entryId);
    for (let at = path.length - 2; at >= 0; at--) {
      const index = this.rowIndex(path[at] ?? "");
      if (index >= 0) return index;
    }
    return -1;
  }

  /** The row to scroll to, once. The conversation asks after it rendered the branch. */
  takeWanted(): WantedRow | undefined {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    return wanted;
  }

  /** Moves the focus by rows. */
  step(by: number): void {
    const { rows } = this;
    const at = this.#view.focusId === undefined ? -1 : this.rowIndex(this.#view.focusId);
    const index = Math.max(0, Math.min(rows.length - 1, at < 0 && by < 0 ? 0 : at + by));
    const row = rows[index];
    if (row === undefined) return;
    this.#wanted = { id: row.id, focus: true };
    this.set({ focusId: row.id });
    this.#writeAddress(row.id, "replace");
  }

  /** Goes to a neighbouring branch: at the row in focus, or at the nearest branch point above it. */
  stepBranch(by: 1 | -1): void {
    const { rows } = this;
    const at = this.#view.focusId === undefined ? rows.length - 1 : this.rowIndex(this.#view.focusId);
    for (let index = at; index >= 0; index--) {
      const branches = rows[index]?.branches;
      const next = branches?.ids[branches.at + by];
      if (next === undefined) continue;
      this.goBranch(next);
      return;
    }
  }

  #writeAddress(entryId: string, how: "push" | "replace" | "keep"): void {
    if (how === "keep") return;
    const address = addressOf(entryId, this.#view.leafId === this.model.leafId ? null : this.#view.leafId);
    if (address === location.hash) return;
    if (how === "push") history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  /** Follows the address of the page. Returns whether it names an entry of the session. */
  readAddress(): boolean {
    const named = new URLSearchParams(location.hash.slice(1));
    const entryId = named.get("entry");
    if (entryId === null || !this.model.tree.has(entryId)) return false;
    const leafId = named.get("leaf") ?? this.model.leafId ?? undefined;
    const isAbove = leafId !== undefined && this.model.pathIds(leafId).includes(entryId);
    this.go(entryId, { ...(isAbove && { leafId }), address: "keep" });
    return true;
  }

  /** The number of pieces shown of a folded part; 0 while it is folded. */
  opened(key: string): number {
    return this.#open.get(key) ?? 0;
  }

  /** Remembers it. The part itself renders again. */
  open(key: string, pieces: number): void {
    if (pieces === 0) this.#open.delete(key);
    else this.#open.set(key, pieces);
  }

  /** The pattern of the search, for a row that is its current hit: folded parts with matches open. */
  patternFor(rowId: string): RegExp | undefined {
    const { find } = this.#view;
    if (find === undefined || find.at < 0) return undefined;
    const hit = find.hits?.[find.at];
    const row = this.rows[hit === undefined ? -1 : this.rowIndex(hit)];
    return row?.id === rowId ? searchPattern(find.words) : undefined;
  }

  /** Adds entries that were written since. The view stays at its place, and follows if it was at the leaf. */
  append({ entries, leafId, images, leftOut }: PageUpdate): void {
    const wasAtLeaf = this.#view.leafId === this.model.leafId;
    this.images.add(images, leftOut);
    this.model.append(entries, leafId);
    if (wasAtLeaf) this.#view = { ...this.#view, leafId: this.model.leafId };
    this.#notify();
  }
}

/** The address of an entry. `leafId` names the branch if it is not the session's own leaf. */
export function addressOf(entryId: string, leafId: string | null = null): string {
  return `#${new URLSearchParams({ entry: entryId, ...(leafId !== null && { leaf: leafId }) })}`;
}
