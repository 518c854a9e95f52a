/** The state of the page: the session and its branch, the entry in focus, open parts, and the address. */

import { conversationRows, type Row, rowTimeline, type Timeline } from "../model/rows.js";
import { searchPattern } from "../model/search.js";
import type { SentTargetName } from "../model/sent-request.js";
import { type SessionModel, SessionModels } from "../model/session-model.js";
import {
  dataElements,
  type PageData,
  type PageEntry,
  type PageImage,
  type PageUpdate,
} from "../page-data.js";

/** A row to scroll to. */
interface WantedRow {
  readonly id: string;
  /** Whether it gets the keyboard's focus. */
  readonly focus: boolean;
  /** The page stays at its start. */
  readonly isFirst?: boolean;
}

/** The branch that is shown. */
interface Branch {
  readonly model: SessionModel;
  readonly version: number;
  readonly leafId: string | null;
  readonly rows: readonly Row[];
  /** The row of each entry that one shows. */
  readonly indexes: ReadonlyMap<string, number>;
  readonly ids: ReadonlySet<string>;
}

/** The state, its listeners, and the acts that several views share. */
export class ViewerState {
  readonly data: PageData;
  readonly models: SessionModels;
  readonly images: ImageSource;
  readonly isEmbedded: boolean;
  #view: ViewState;
  #branch: Branch | undefined;
  #timeline: { readonly rows: readonly Row[]; readonly timeline: Timeline } | undefined;
  /** Folded parts that are open, with the number of pieces shown. They outlive their elements. */
  readonly #open = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  /** The branch and the focus of each session that was shown before. No branch is that of the leaf. */
  readonly #places = new Map<
    string,
    { readonly leafId: string | undefined; readonly focusId: string | undefined }
  >();
  #wanted: WantedRow | "end" | undefined;

  constructor({ data, models, images, isEmbedded = false }: PageSource) {
    this.data = data;
    this.models = models;
    this.images = images;
    this.isEmbedded = isEmbedded;
    this.#view = {
      session: models.main,
      leafId: models.get(models.main).leafId,
      focusId: undefined,
      panel: undefined,
      find: undefined,
      help: false,
      factsOpen: false,
      outlineOpen: false,
      outlineDetail: "short",
      printing: false,
      image: undefined,
      live: "off",
      reply: undefined,
      hasEarlier: false,
    };
  }

  /** The session that is shown. */
  get model(): SessionModel {
    return this.models.get(this.#view.session);
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
    const { model } = this;
    const { version } = model;
    const { leafId } = this.#view;
    const known = this.#branch;
    if (known?.model !== model || known.version !== version || known.leafId !== leafId) {
      const rows = conversationRows(model, leafId);
      const indexes = new Map<string, number>();
      rows.forEach(({ id, with: shown }, index) => {
        indexes.set(id, index);
        for (const other of shown) indexes.set(other, index);
      });
      const ids = new Set(model.pathIds(leafId));
      this.#branch = { model, version, leafId, rows, indexes, ids };
    }
    return this.#branch as Branch;
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
      this.#timeline = { rows, timeline: rowTimeline(rows, this.data.prices) };
    return this.#timeline.timeline;
  }

  /** The index of the row that shows an entry; -1 if the branch has none. */
  rowIndex(entryId: string): number {
    return this.#current.indexes.get(entryId) ?? -1;
  }

  /**
   * Goes to an entry, on the current branch if it is there, else on the newest branch that has it.
   *
   * @param options `session`: default the one that is shown. `leafId`: the branch. `focus`: whether the row
   *   gets the keyboard's focus
   */
  go(
    entryId: string,
    options: {
      readonly session?: string;
      readonly leafId?: string;
      readonly focus?: boolean;
      readonly address?: "push" | "replace" | "keep";
    } = {},
  ): void {
    if (!this.models.get(options.session ?? this.#view.session).tree.has(entryId)) return;
    if (options.session !== undefined) this.#enter(options.session);
    const { model } = this;
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

  /** Shows another session, as it was left. */
  #enter(session: string): void {
    const { session: before, leafId, focusId } = this.#view;
    if (session === before || !this.models.has(session)) return;
    this.#places.set(before, { leafId: leafId === this.model.leafId ? undefined : (leafId ?? ""), focusId });
    const place = this.#places.get(session);
    const model = this.models.get(session);
    this.#view = {
      ...this.#view,
      session,
      leafId: place?.leafId ?? model.leafId,
      focusId: place?.focusId,
      panel: undefined,
    };
  }

  /** Goes to another session: to the place that it was left at, else to its start. */
  goSession(session: string): void {
    if (!this.models.has(session) || session === this.#view.session) return;
    const entryId = this.#places.get(session)?.focusId;
    this.#enter(session);
    const first = entryId ?? this.rows[0]?.id;
    if (first === undefined) this.set({});
    else this.go(first);
    // The facts of the session are above its first row.
    if (first !== undefined && entryId === undefined)
      this.#wanted = { id: first, focus: true, isFirst: true };
  }

  /** Goes to the call that started the session. */
  goStart(): void {
    const start = this.models.startByKey(this.#view.session);
    if (start === undefined) return;
    const { session, entryId } = start;
    if (entryId === undefined) this.goSession(session);
    else this.go(entryId, { session });
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
  takeWanted(): WantedRow | "end" | undefined {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    return wanted;
  }

  /** Scrolls to the end. */
  goEnd(): void {
    this.#wanted = "end";
    this.set({});
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
    if (how === "keep" || this.isEmbedded) return;
    const address = this.addressByEntryId(entryId);
    if (address === location.hash) return;
    if (how === "push") history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  /** The address of an entry on the branch that is shown. */
  addressByEntryId(entryId: string): string {
    const { session, leafId } = this.#view;
    return toAddress({
      entryId,
      session: session === this.models.main ? undefined : session,
      leafId: leafId === this.model.leafId ? undefined : (leafId ?? undefined),
    });
  }

  /** Follows the address of the page. Returns whether it names an entry of a session. */
  readAddress(): boolean {
    const named = readAddress(location.hash);
    if (named === undefined) return false;
    const { entryId, session = this.models.main } = named;
    if (!this.models.has(session)) return false;
    const model = this.models.get(session);
    if (!model.tree.has(entryId)) return false;
    const leafId = named.leafId ?? model.leafId ?? undefined;
    const isAbove = leafId !== undefined && model.pathIds(leafId).includes(entryId);
    this.go(entryId, { session, ...(isAbove && { leafId }), address: "keep" });
    return true;
  }

  /** The number of pieces shown of a folded part; 0 while it is folded. */
  opened(key: string): number {
    return this.#open.get(`${this.#view.session}/${key}`) ?? 0;
  }

  /** Remembers it. The part itself renders again. */
  open(key: string, pieces: number): void {
    const own = `${this.#view.session}/${key}`;
    if (pieces === 0) this.#open.delete(own);
    else this.#open.set(own, pieces);
  }

  /** The current hit of the search, if it is in the session that is shown. */
  get hit(): string | undefined {
    const { find, session } = this.#view;
    const hit = find === undefined || find.at < 0 ? undefined : find.hits?.[find.at];
    return hit?.session === session ? hit.entryId : undefined;
  }

  /** The pattern of the search, for a row that is its current hit: folded parts with matches open. */
  patternFor(rowId: string): RegExp | undefined {
    const { hit } = this;
    const row = this.rows[hit === undefined ? -1 : this.rowIndex(hit)];
    return row?.id === rowId ? searchPattern(this.#view.find?.words ?? "") : undefined;
  }

  /** Takes changes of the sessions. The view stays at its place, and follows if it was at the leaf. */
  update({ sessions, images, leftOut }: PageUpdate): void {
    const { model } = this;
    const wasAtLeaf = this.#view.leafId === model.leafId;
    this.images.add(images, leftOut);
    for (const each of sessions) this.models.update(each);
    const { leafId } = this.#view;
    if (wasAtLeaf || (leafId !== null && !model.tree.has(leafId)))
      this.#view = { ...this.#view, leafId: model.leafId };
    this.#notify();
  }
}

// The parts of the page's state that views read and change.

/** The panel beside the conversation: the context of an entry, or the request that it makes. */
export interface ContextPanel {
  readonly entryId: string;
  readonly tab: "seen" | "sent";
  readonly target?: SentTargetName;
}

/** An entry that contains the words of a search. */
export interface Hit {
  readonly session: string;
  readonly entryId: string;
}

/** A search in all sessions of the page. */
export interface FindState {
  readonly words: string;
  /** Undefined while the search runs. */
  readonly hits: readonly Hit[] | undefined;
  /** Index of the hit in focus; -1 before the first. */
  readonly at: number;
}

/** A reply that is no entry of the session. */
export interface PartialReply {
  readonly text: string;
  /** It broke off, and stays until the conversation changes. */
  readonly isBroken: boolean;
}

/** The parts of the state that views read and change by `ViewerState.set`. */
interface ViewState {
  /** The key of the session that is shown. */
  readonly session: string;
  readonly leafId: string | null;
  /** The row in focus. */
  readonly focusId: string | undefined;
  readonly panel: ContextPanel | undefined;
  readonly find: FindState | undefined;
  readonly help: boolean;
  /** The line of facts is unfolded. */
  readonly factsOpen: boolean;
  /** On narrow windows the outline is a drawer. */
  readonly outlineOpen: boolean;
  readonly outlineDetail: "short" | "long";
  readonly printing: boolean;
  /** The image that is shown large. */
  readonly image: { readonly src: string; readonly name: string } | undefined;
  readonly live: "off" | "connected" | "lost";
  /** The reply that is being written, after the last row. */
  readonly reply: PartialReply | undefined;
  /** Whether the conversation has entries before those that are here. */
  readonly hasEarlier: boolean;
}

// Addresses of entries: the part of the page's own address behind `#`.

/** An entry, its session and its branch. */
interface Address {
  readonly entryId: string;
  /** Undefined for the page's own session. */
  readonly session?: string | undefined;
  /** The leaf of the branch; undefined for the session's own leaf. */
  readonly leafId?: string | undefined;
}

export function toAddress({ entryId, session, leafId }: Address): string {
  return `#${new URLSearchParams({
    ...(session !== undefined && { session }),
    entry: entryId,
    ...(leafId !== undefined && { leaf: leafId }),
  })}`;
}

/** Reads an address; undefined if it names no entry. */
function readAddress(hash: string): Address | undefined {
  const named = new URLSearchParams(hash.replace(/^#/, ""));
  const entryId = named.get("entry");
  if (entryId === null) return undefined;
  return {
    entryId,
    session: named.get("session") ?? undefined,
    leafId: named.get("leaf") ?? undefined,
  };
}

// Reads the data of the page's own elements.

/** The data of a page: its sessions and its images. */
interface PageSource {
  readonly data: PageData;
  readonly models: SessionModels;
  readonly images: ImageSource;
  /** The conversation is a part of another page: without addresses and without a panel. */
  readonly isEmbedded?: boolean;
}

/** The images of a page by key. */
export interface ImageSource {
  readonly leftOut: PageData["leftOut"];
  get(key: string): PageImage | undefined;
  /** The address of an image, at once or later; undefined without it. */
  address(key: string): string | Promise<string> | undefined;
  /** The address of a file that is no image. Without it, the page has no such files. */
  readonly file?: (key: string) => Promise<string>;
  add(images: readonly PageImage[], leftOut: PageData["leftOut"]): void;
}

/** Reads the sessions. Entries are parsed block by block, images when they are shown. */
export function readPage(page: Document): PageSource {
  const text = page.getElementById(dataElements.session)?.textContent;
  const data: PageData = JSON.parse(text ?? '{"sessions":[],"leftOut":[]}');
  const models = new SessionModels(data.sessions, (index) => readEntries(page, index), data.prices);
  return { data, models, images: new ImageStore(page, data) };
}

function* readEntries(page: Document, session: number): Generator<PageEntry, void, undefined> {
  for (const element of page.querySelectorAll(`script.${dataElements.entries}[data-session="${session}"]`)) {
    const entries: readonly PageEntry[] = JSON.parse(element.textContent ?? "[]");
    // The text is not needed twice.
    element.remove();
    yield* entries;
  }
}

/** The images of a page by key, those that came later included. */
class ImageStore implements ImageSource {
  readonly #elements = new Map<string, HTMLElement>();
  readonly #added = new Map<string, PageImage>();
  #leftOut: PageData["leftOut"];

  constructor(page: Document, data: PageData) {
    this.#leftOut = data.leftOut;
    for (const element of page.querySelectorAll<HTMLElement>(`script.${dataElements.image}`)) {
      const { key } = element.dataset;
      if (key !== undefined) this.#elements.set(key, element);
    }
  }

  get leftOut(): PageData["leftOut"] {
    return this.#leftOut;
  }

  get(key: string): PageImage | undefined {
    const added = this.#added.get(key);
    if (added !== undefined) return added;
    const element = this.#elements.get(key);
    if (element === undefined) return undefined;
    return { key, mediaType: element.dataset.type ?? "", base64: element.textContent ?? "" };
  }

  address(key: string): string | undefined {
    const image = this.get(key);
    return image && `data:${image.mediaType};base64,${image.base64}`;
  }

  add(images: readonly PageImage[], leftOut: PageData["leftOut"]): void {
    for (const image of images) this.#added.set(image.key, image);
    // A stream brings entries again, and with them images that were left out before.
    const listed = new Map([...this.#leftOut, ...leftOut].map((each) => [each.key, each]));
    this.#leftOut = [...listed.values()].filter(({ key }) => this.get(key) === undefined);
  }
}
