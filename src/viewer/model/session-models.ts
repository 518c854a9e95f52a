/** The sessions of a page: its own, and those of subagents, which are read on demand. */

import type { ModelPrice } from "../../providers/cost/index.js";
import type { PageEntry, PageSession, SessionUpdate } from "../page-data.js";
import { SessionModel } from "./session-model.js";

/** The place at which a session was started. */
export interface StartPlace {
  /** The key of the session that started it. */
  readonly session: string;
  /** The entry that names it; undefined if none does. */
  readonly entryId: string | undefined;
}

interface Place {
  /** The newest state; the model has it once there is a model. */
  readonly data: PageSession;
  readonly read: () => Iterable<PageEntry>;
  model?: SessionModel;
}

/** A page that gets the earlier part of its session shows it again when it grew by so much. */
const growth = 1.5;

/** All sessions of a page by key. The first is that of the page. */
export class SessionModels {
  readonly #places = new Map<string, Place>();
  /** The ends of changes whose first entries are still to come. */
  readonly #ends = new Map<string, readonly PageEntry[]>();
  readonly #prices: readonly ModelPrice[] | undefined;
  /** Grows with each change. */
  version = 0;

  constructor(
    sessions: readonly PageSession[],
    /** The entries of a session by its number. Called at most once for each. */
    readEntries: (index: number) => Iterable<PageEntry>,
    prices?: readonly ModelPrice[],
  ) {
    this.#prices = prices;
    sessions.forEach((data, index) => {
      this.#places.set(data.key, { data, read: () => readEntries(index) });
    });
    if (sessions.length === 0) this.#places.set("", { data: emptySession, read: () => [] });
  }

  /** The keys, in the order of the page. */
  get keys(): readonly string[] {
    return [...this.#places.keys()];
  }

  /** The key of the page's own session. */
  get main(): string {
    return this.keys[0] ?? "";
  }

  has(key: string): boolean {
    return this.#places.has(key);
  }

  /** The session of a key, else that of the page. */
  get(key: string): SessionModel {
    const place = this.#places.get(key);
    if (place === undefined) return this.get(this.main);
    place.model ??= new SessionModel(place.data, place.read(), this.#prices);
    return place.model;
  }

  /** Adds a session, or changes the end of one. A change in several updates is made by the last of them. */
  update({ from, at, entries, total, ...data }: SessionUpdate): void {
    const { key } = data;
    // A connection that was lost begins again with the first update.
    const end = at + entries.length === total ? emptyEnd : this.#ends.get(key);
    if (end === undefined) return;
    this.version++;
    const all = [...entries, ...end];
    const place = this.#places.get(key);
    if (at > from) {
      this.#ends.set(key, all);
      if (place?.data.isPart === true) showMore(this.get(key), all, { ...data, isPart: true });
      return;
    }
    this.#ends.delete(key);
    if (place === undefined) this.#places.set(key, { data, read: () => all });
    else {
      this.get(key).replace(from, all, data);
      this.#places.set(key, { ...place, data });
    }
  }

  /** The keys of the sessions that a tool call started; undefined for an absent session. */
  startedBy(
    model: SessionModel,
    toolCallId: string,
  ): readonly { readonly id: string; readonly key?: string }[] {
    return model.links
      .filter((link) => link.toolCallId === toolCallId)
      .map(({ sessionId: id }) => (this.has(id) ? { id, key: id } : { id }));
  }

  /** The place that started a session; undefined for that of the page. */
  startByKey(key: string): StartPlace | undefined {
    if (key === this.main || !this.has(key)) return undefined;
    const named = this.#places.get(key)?.data.header?.parentSession;
    const parents = named !== undefined && named !== key && this.has(named) ? [named] : this.keys;
    for (const session of parents) {
      const link =
        session === key ? undefined : this.get(session).links.find(({ sessionId }) => sessionId === key);
      if (link !== undefined) return { session, entryId: link.entryId };
    }
    return { session: parents.length === 1 ? (parents[0] ?? this.main) : this.main, entryId: undefined };
  }
}

/** Puts the entries that came in the place of those that the page began with. */
function showMore(model: SessionModel, entries: readonly PageEntry[], data: PageSession): void {
  const ids = new Set(entries.map(({ id }) => id));
  const more = [...model.entries.filter(({ id }) => !ids.has(id)), ...entries];
  if (more.length >= growth * model.entries.length) model.replace(0, more, data);
}

const emptyEnd: readonly PageEntry[] = [];
const emptySession: PageSession = { key: "", leafId: null, diagnostics: { total: 0, listed: [] } };
