/** A search in one session: candidates are read, and compared as the edits of their branch have them. */

import type { SessionEntry, UnknownEntry } from "../api/entries.js";
import type { SearchHit } from "../api/store.js";
import { BranchView } from "../context/branch-view.js";
import type { EntryRequests } from "../context/build-context.js";
import { entryTypesWith } from "../format/entry-types.js";
import { searchTexts, searchTextsOfMessage } from "../format/search-terms.js";
import { matchTexts, type SearchPhrase, type TextMatch } from "../format/search-words.js";
import type { LiveSession } from "../runtime/session.js";
import { type EntryTable, noRow, parseKind } from "../tree/entry-table.js";
import { entryTableOf } from "../tree/session-tree.js";

type Entry = SessionEntry | UnknownEntry;

/** The parts of a query that concern entries. */
export interface EntryQuery {
  readonly phrases: readonly SearchPhrase[];
  readonly branch: "path" | "all";
  readonly role: string | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  readonly signal: AbortSignal | undefined;
}

/** A hit with its time as a number. */
export interface TimedHit {
  readonly time: number;
  readonly hit: SearchHit;
}

/** At most this number of bytes of lines is in memory, and at least one line. */
const pageBytes = 1 << 20;

/**
 * Finds the entries in force of a session that match, newest first.
 * @param at the numbers of the lines that may match
 * @param limit the number of hits at most
 */
export async function searchSession(
  session: LiveSession,
  at: ReadonlySet<number>,
  query: EntryQuery,
  limit: number,
): Promise<readonly TimedHit[]> {
  const search = new SessionSearch(session, query);
  await search.readEdits();
  const rows = await search.candidates(at);
  return search.hits(rows, limit);
}

const editTypes = entryTypesWith("edits");

class SessionSearch {
  readonly #session: LiveSession;
  readonly #query: EntryQuery;
  readonly #table: EntryTable;
  /** The bodies of all edits by their rows. */
  readonly #edits = new Map<number, Entry>();
  readonly #editedIds = new Set<string>();
  /** The leaves of the branches that are searched, the session's own first. */
  readonly #leaves: readonly number[];
  readonly #lastInfo: number;
  #view: { readonly leaf: number; readonly view: BranchView } | undefined;
  #ranges: TreeRanges | undefined;

  constructor(session: LiveSession, query: EntryQuery) {
    this.#session = session;
    this.#query = query;
    const table = entryTableOf(session.tree);
    this.#table = table;
    const own = session.leafId === null ? noRow : table.row(session.leafId);
    const leaves = own === noRow ? [] : [own];
    let lastInfo = noRow;
    const info = table.kindCode("session_info");
    for (let row = table.size - 1; row >= 0; row--) {
      if (lastInfo === noRow && table.kindAt(row) === info) lastInfo = row;
      if (query.branch === "all" && row !== own && table.firstChild(row) === noRow) leaves.push(row);
    }
    this.#leaves = leaves;
    this.#lastInfo = lastInfo;
  }

  async readEdits(): Promise<void> {
    const rows = rowsWhere(this.#table, (row) => editTypes.has(this.#table.kind(row)));
    for await (const [row, entry] of this.#read(rows)) {
      if (!("targetId" in entry) || entry.targetId === null) continue;
      this.#edits.set(row, entry);
      this.#editedIds.add(entry.targetId);
    }
  }

  /** The rows of these lines, newest first: the target of an edit for the edit. */
  async candidates(at: ReadonlySet<number>): Promise<readonly number[]> {
    const table = this.#table;
    const { role, since, until } = this.#query;
    const rows = new Set<number>();
    for (let row = 0; row < table.size; row++) {
      const place = table.line(row);
      if (place === undefined || !at.has(place.at)) continue;
      const edit = this.#edits.get(row) as { readonly targetId: string } | undefined;
      const target = edit === undefined ? row : table.row(edit.targetId);
      if (target === noRow || editTypes.has(table.kind(target))) continue;
      const time = table.time(target);
      if (time < since || time >= until || (role !== undefined && roleOf(table.kind(target)) !== role))
        continue;
      rows.add(target);
    }
    return [...rows].sort((a, b) => table.time(b) - table.time(a) || b - a);
  }

  async hits(rows: readonly number[], limit: number): Promise<readonly TimedHit[]> {
    const hits: TimedHit[] = [];
    for await (const [row, entry] of this.#read(rows)) {
      const match = await this.#match(row, entry);
      if (match !== undefined) hits.push(this.#hitOf(row, entry, match));
      if (hits.length >= limit) break;
    }
    return hits;
  }

  /** Reads bodies in pages; damaged ones are left out. */
  async *#read(rows: readonly number[]): AsyncGenerator<readonly [row: number, entry: Entry], void> {
    for (let from = 0; from < rows.length; ) {
      this.#query.signal?.throwIfAborted();
      const page: number[] = [];
      for (let bytes = 0; from < rows.length && bytes < pageBytes; from++) {
        const row = rows[from] as number;
        page.push(row);
        bytes += this.#table.lineLength(row);
      }
      const bodyOf = await this.#session.run(bodies(page));
      for (const row of page) {
        const entry = bodyOf(row);
        if (entry !== undefined) yield [row, entry];
      }
    }
  }

  async #match(row: number, entry: Entry): Promise<TextMatch | undefined> {
    if (!isMessage(entry)) return this.#isInForce(row, entry) ? this.#find(searchTexts(entry)) : undefined;
    const isResult = entry.type === "message" && entry.message.role === "toolResult";
    if (this.#query.branch === "all" && !this.#editedIds.has(entry.id) && !(isResult && this.#edits.size > 0))
      return this.#find(searchTexts(entry));
    for (const leaf of this.#leaves) {
      if (!this.#isOnPath(row, leaf)) continue;
      const view = this.#viewOf(leaf);
      if (!view.has(row)) continue;
      const message = view.message(entry);
      const match = message && this.#find(searchTextsOfMessage(message));
      if (match === undefined) continue;
      const callId = message?.role === "toolResult" ? message.toolCallId : undefined;
      if (callId === undefined || !(await this.#session.run(view.hasLostCall(row, callId)))) return match;
    }
    return undefined;
  }

  /** Whether an entry outside of contexts is in force: the latest name, the present label of an entry. */
  #isInForce(row: number, entry: Entry): boolean {
    if (entry.type === "session_info") return row === this.#lastInfo;
    if (entry.type === "label" && this.#session.tree.label(entry.targetId) !== entry.label) return false;
    const place = entry.type === "label" ? this.#table.row(entry.targetId) : row;
    return this.#query.branch === "all" || this.#leaves.some((leaf) => this.#isOnPath(place, leaf));
  }

  #find(texts: readonly string[]): TextMatch | undefined {
    return matchTexts(texts, this.#query.phrases);
  }

  /** Without a view of the branch: most rows are on few of them. */
  #isOnPath(row: number, leaf: number): boolean {
    if (row === noRow) return false;
    this.#ranges ??= treeRanges(this.#table);
    const { first, last } = this.#ranges;
    const at = first[leaf] as number;
    return (first[row] as number) <= at && at <= (last[row] as number);
  }

  /** Keeps one view at a time: a session may have thousands of branches. */
  #viewOf(leaf: number): BranchView {
    if (this.#view?.leaf !== leaf)
      this.#view = { leaf, view: new BranchView(this.#table, leaf, this.#edits) };
    return this.#view.view;
  }

  #hitOf(row: number, entry: Entry, match: TextMatch): TimedHit {
    const { id, location } = this.#session;
    const hit = {
      sessionId: id,
      ...(location === undefined ? {} : { location }),
      entryId: entry.type === "label" ? entry.targetId : entry.id,
      role: roleOf(this.#table.kind(row)),
      snippet: snippetOf(match),
      at: entry.timestamp,
    };
    return { time: this.#table.time(row), hit };
  }
}

/** For each row its number in a walk of the tree, and the last number below it. */
interface TreeRanges {
  readonly first: Int32Array;
  readonly last: Int32Array;
}

function treeRanges(table: EntryTable): TreeRanges {
  const first = new Int32Array(table.size);
  const last = new Int32Array(table.size);
  let count = 0;
  for (let row = table.firstChild(noRow); row !== noRow; ) {
    first[row] = count++;
    const child = table.firstChild(row);
    if (child !== noRow) {
      row = child;
      continue;
    }
    for (;;) {
      last[row] = count - 1;
      const next = table.nextSibling(row);
      const above = table.parent(row);
      row = next === noRow ? above : next;
      if (next !== noRow || above === noRow) break;
    }
  }
  return { first, last };
}

function* bodies(rows: readonly number[]): EntryRequests<(row: number) => Entry | undefined> {
  return yield rows;
}

function rowsWhere(table: EntryTable, test: (row: number) => boolean): readonly number[] {
  const rows: number[] = [];
  for (let row = 0; row < table.size; row++) if (test(row)) rows.push(row);
  return rows;
}

const shownTypes: ReadonlySet<string> = new Set([...entryTypesWith("inContext"), "compaction"]);

function isMessage(entry: Entry): boolean {
  return shownTypes.has(entry.type);
}

function roleOf(kind: string): string {
  const [type, role = type] = parseKind(kind);
  return role;
}

const before = 60;
const snippetLength = 200;

/** The text around a match, in one line. */
function snippetOf({ text, start }: TextMatch): string {
  const from = Math.max(0, start - before);
  const to = Math.min(text.length, from + snippetLength);
  // A slice may cut a pair of surrogates.
  const shown = text.slice(isLow(text, from) ? from + 1 : from, isLow(text, to) ? to - 1 : to);
  return `${from > 0 ? "…" : ""}${shown.replace(/\s+/g, " ").trim()}${to < text.length ? "…" : ""}`;
}

function isLow(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}
