/**
 * The sessions of a page: entries in memory, the tree, facts that several views share, and subagents, which
 * are read on demand.
 */

import { isRecord } from "../../core/shape.js";
import { type ModelPrice, type SessionCost, sessionCost } from "../../providers/cost/index.js";
import { type ContextSource, type SessionInfoFields, SessionTree, toolStarted } from "../../session/index.js";
import { type EntryTable, noRow, treeRows } from "../../session/internal.js";
import type { PageEntry, PageSession, SessionUpdate } from "../page-data.js";
import { firstLine, promptText, visibleText } from "./text.js";

const entriesPerSlice = 400;

/** The facts of a session that its header shows. */
interface SessionFacts {
  readonly title: string;
  readonly models: readonly string[];
  /** Of the messages, in milliseconds since 1970; undefined without any. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  readonly messages: number;
  readonly toolCalls: number;
  readonly failures: number;
}

/** The link of a tool call to the session of the subagent that it started. */
interface SubagentLink {
  readonly entryId: string;
  readonly toolCallId: string;
  /** The session may be absent. */
  readonly sessionId: string;
}

/** The type of entries that link a tool call to the session of a subagent. */
export const subagentType = "sessile.subagent";

/**
 * The entries of a session and their tree. A change makes a new tree; views compare `version`. A
 * `ContextSource` at the leaf of the session.
 */
export class SessionModel implements ContextSource {
  readonly prices: readonly ModelPrice[] | undefined;
  #data: PageSession;
  #entries: readonly PageEntry[] = [];
  #byId: ReadonlyMap<string, PageEntry> = new Map();
  #tree = new SessionTree();
  #leafId: string | null;
  #newest: ReadonlyMap<string, string> | undefined;
  #branches: Uint8Array | undefined;
  #facts: SessionFacts | undefined;
  #started: ReadonlyMap<string, number> | undefined;
  #links: readonly SubagentLink[] | undefined;
  /** Grows with each change. */
  version = 0;

  constructor(data: PageSession, entries: Iterable<PageEntry>, prices?: readonly ModelPrice[]) {
    this.#data = data;
    this.#leafId = data.leafId;
    this.prices = prices;
    this.replace(0, entries, data);
  }

  /** Replaces all entries but the first `from` ones. */
  replace(from: number, entries: Iterable<PageEntry>, data: PageSession = this.#data): void {
    const { leafId } = data;
    this.#data = data;
    this.#entries = [...this.#entries.slice(0, from), ...entries];
    this.#byId = new Map(this.#entries.map((entry) => [entry.id, entry]));
    this.#tree = new SessionTree(this.#entries);
    const isKnown = leafId === null || this.#tree.has(leafId);
    this.#leafId = isKnown ? leafId : (this.#entries.at(-1)?.id ?? null);
    this.#newest = this.#facts = this.#started = this.#branches = this.#links = undefined;
    this.version++;
  }

  /** The header, the leaf and the problems of the stored session. */
  get data(): PageSession {
    return this.#data;
  }

  get entries(): readonly PageEntry[] {
    return this.#entries;
  }

  get tree(): SessionTree {
    return this.#tree;
  }

  /** The columns of the tree: walks over them make no objects. */
  get table(): EntryTable {
    return treeRows(this.#tree);
  }

  get leafId(): string | null {
    return this.#leafId;
  }

  /** The ids from the root to an entry; empty for null and for an unknown one. */
  pathIds(id: string | null): readonly string[] {
    const { table } = this;
    const row = id === null ? noRow : table.row(id);
    return row === noRow ? [] : Array.from(table.path(row), (at) => table.id(at));
  }

  parentId(id: string): string | null {
    const { table } = this;
    const parent = table.row(id) === noRow ? noRow : table.parent(table.row(id));
    return parent === noRow ? null : table.id(parent);
  }

  entry(id: string): PageEntry | undefined {
    return this.#byId.get(id);
  }

  /** The newest entry below an entry, or itself: the leaf of the branch that a click on it selects. */
  newestBelow(id: string): string {
    this.#newest ??= newestDescendants(this);
    return this.#newest.get(id) ?? id;
  }

  /** Whether a row of the tree is, or has below it, a part of the conversation. Others are no branches. */
  isBranch(row: number): boolean {
    this.#branches ??= conversationBranches(this.table);
    return this.#branches[row] === 1;
  }

  /** The time at which a tool call started, if the session records it. */
  startByToolCallId(toolCallId: string): number | undefined {
    this.#started ??= new Map(
      this.#entries.flatMap((entry) => {
        const call = entry.type === "custom" ? toolStarted.read(entry) : undefined;
        return call === undefined ? [] : [[call.toolCallId, Date.parse(entry.timestamp)]];
      }),
    );
    return this.#started.get(toolCallId);
  }

  /** The sessions that tool calls started, in the order of the entries. */
  get links(): readonly SubagentLink[] {
    this.#links ??= this.#entries.flatMap((entry) => subagentLink(entry) ?? []);
    return this.#links;
  }

  get facts(): SessionFacts {
    this.#facts ??= entryFacts(this.#entries);
    return this.#facts;
  }
}

/** Sums that were made, each of one version of a session. */
const costs = new WeakMap<SessionModel, { readonly version: number; readonly cost: Promise<SessionCost> }>();

/**
 * The cost of all branches.
 *
 * @param pause lets the page handle events
 */
export function modelCost(model: SessionModel, pause: () => Promise<void>): Promise<SessionCost> {
  const { version } = model;
  const known = costs.get(model);
  if (known?.version === version) return known.cost;
  const cost = sumCost(model, pause);
  costs.set(model, { version, cost });
  return cost;
}

function sumCost(model: SessionModel, pause: () => Promise<void>): Promise<SessionCost> {
  const { tree, prices, entries } = model;
  // Those of this version: more may come meanwhile.
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  let read = 0;
  const entry = async (id: string) => {
    if (++read % entriesPerSlice === 0) await pause();
    return byId.get(id);
  };
  const session = { tree: async () => tree, entry };
  // The entries are there, so that the session's errors of missing entries do not occur.
  return sessionCost(session as Parameters<typeof sessionCost>[0], prices === undefined ? {} : { prices });
}

/** The link that an entry is; undefined for others. */
export function subagentLink(entry: PageEntry): SubagentLink | undefined {
  if (entry.type !== "custom" || entry.customType !== subagentType || !isRecord(entry.data)) return undefined;
  const { toolCallId, sessionId } = entry.data;
  if (typeof toolCallId !== "string" || typeof sessionId !== "string") return undefined;
  return { entryId: entry.id, toolCallId, sessionId };
}

/** Each entry's newest descendant. Parents precede their children in a file, but for damaged ones. */
function newestDescendants(model: SessionModel): ReadonlyMap<string, string> {
  const { entries } = model;
  const newest = new Map<string, number>();
  for (let at = entries.length - 1; at >= 0; at--) {
    const { id, type } = entries[at] as PageEntry;
    const own = newest.get(id) ?? at;
    newest.set(id, own);
    const parentId = model.parentId(id);
    if (parentId !== null && type !== "leaf") newest.set(parentId, Math.max(own, newest.get(parentId) ?? -1));
  }
  return new Map(Array.from(newest, ([id, at]) => [id, entries[at]?.id ?? id]));
}

/** The kinds of the table that are parts of a conversation, beside all messages. */
const talkKinds: ReadonlySet<string> = new Set(["compaction", "branch_summary", "custom_message"]);

/** Whether a row of the table is a part of the conversation itself. */
export function isTalk(table: EntryTable, row: number): boolean {
  const kind = table.kind(row);
  return kind.startsWith("message/") || talkKinds.has(kind);
}

function conversationBranches(table: EntryTable): Uint8Array {
  const found = new Uint8Array(table.size);
  for (let row = table.size - 1; row >= 0; row--) {
    if (!isTalk(table, row)) continue;
    for (let at = row; at !== noRow && found[at] === 0; at = table.parent(at)) found[at] = 1;
  }
  return found;
}

const maxTitleLength = 120;

function entryFacts(entries: readonly PageEntry[]): SessionFacts {
  let info: SessionInfoFields = {};
  let prompt: string | undefined;
  const models = new Set<string>();
  const counts = { messages: 0, toolCalls: 0, failures: 0 };
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const entry of entries) {
    if (entry.type === "session_info") info = entry;
    if (entry.type !== "message") continue;
    const time = Date.parse(entry.timestamp);
    // Records without a time are imported with that of 1970.
    if (time > 0 && time < first) first = time;
    if (time > 0 && time > last) last = time;
    counts.messages++;
    const { message } = entry;
    if (message.role === "assistant") {
      models.add(message.model);
      for (const block of message.content) if (block.type === "toolCall") counts.toolCalls++;
    }
    if (message.role === "toolResult" && message.isError) counts.failures++;
    if (message.role === "user" && prompt === undefined) prompt = firstLine(promptText(message));
  }
  const title = visibleText((info.title ?? info.name ?? prompt ?? "").slice(0, maxTitleLength));
  const times = Number.isFinite(first) ? { first, last } : { first: undefined, last: undefined };
  return { title: title === "" ? "Untitled session" : title, models: [...models], ...times, ...counts };
}

// The sessions of a page: its own, and those of subagents, which are read on demand.

/** The place at which a session was started. */
interface StartPlace {
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
