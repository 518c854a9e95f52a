/**
 * The search of a store. An index, or else a scan of all lines, gives the lines that may match; what is found
 * is decided in one way for both: candidates are read, and compared as the edits of their branch have them.
 */

import { describe, integerOption, oneOfOption } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { isSideLogId } from "../../core/ids.js";
import { spaced } from "../../core/text.js";
import {
  candidateTerms,
  entryTypesWith,
  isLow,
  type LineTest,
  lineTest,
  matchTexts,
  parseQuery,
  queryProblem,
  type SearchPhrase,
  type SessionEntry,
  searchTexts,
  searchTextsOfMessage,
  type TextMatch,
  type UnknownEntry,
} from "../../log/internal.js";
import type {
  LogPosition,
  SearchCandidates,
  SessionBackend,
  SessionLog,
  StoredSessionQuery,
} from "../api/backend.js";
import type { SearchHit, SearchQuery } from "../api/store.js";
import { type BranchVersion, BranchVersions, messageCalls } from "../context/branch-versions.js";
import type { EntryRequests } from "../context/build-context.js";
import { eachLine } from "../runtime/log-lines.js";
import type { LiveSession } from "../runtime/session.js";
import { type EntryTable, noRow, parseKind, type SessionTree, treeRows } from "../tree/session-tree.js";
import { append } from "./erase-plan.js";
import { cwdTest } from "./list.js";

/** The parts of a store that {@link searchSessions} uses. */
export interface SearchSource {
  readonly partition: string;
  /** Called for a session that cannot be read. */
  readonly skipped: (location: string, error: SessileError) => void;
  /** Opens a log for reading. */
  readonly open: (log: SessionLog) => Promise<LiveSession>;
}

/** The parts of a backend that {@link searchSessions} uses. */
export interface SearchBackend extends Pick<SessionBackend, "open" | "search" | "resolveDirectory"> {
  list(query: StoredSessionQuery): AsyncIterable<SearchCandidates>;
}

/**
 * Milliseconds that an entry may be newer than its session's time: file systems round times, and the clock of
 * a server is not that of a writer.
 */
export const clockSlack = 2000;

/** Searches of one session, of which all but the last are made again if its lines have moved. */
const maxAttempts = 4;

/** Yields the entries of a backend that match a query, newest first. */
export async function* searchSessions(
  backend: SearchBackend,
  query: SearchQuery,
  source: SearchSource,
): AsyncGenerator<SearchHit, void, undefined> {
  const limit = integerOption("limit", query.limit, 100, 1);
  if (typeof query.text !== "string")
    throw new TypeError(`text: expected a string, got ${describe(query.text)}`);
  const problem = queryProblem(query.text);
  if (problem !== undefined) throw new RangeError(`text: expected ${problem}`);
  const phrases = parseQuery(query.text);
  const entries: EntryQuery = {
    phrases,
    branch: oneOfOption("branch", query.branch, ["path", "all"]),
    role: query.role,
    since: query.since?.getTime() ?? Number.NEGATIVE_INFINITY,
    until: query.until?.getTime() ?? Number.POSITIVE_INFINITY,
    signal: query.signal,
  };
  // A search box sends each state of its text.
  if (phrases.length === 0) return;
  const { cwd, signal } = query;
  const test = lineTest(phrases);
  const isThere = await cwdTest(cwd, backend);
  let count = 0;
  /** Hits that may be older than those of sessions to come, newest first. */
  let pending: readonly TimedHit[] = [];
  for await (const stored of searchedSessions(backend, query, entries, source)) {
    signal?.throwIfAborted();
    // No entry of this session or of a later one is newer than this.
    const ready = pending.findIndex(({ time }) => time <= stored.modifiedAt + clockSlack);
    const end = ready < 0 ? pending.length : ready;
    for (const { hit } of pending.slice(0, end)) {
      yield hit;
      if (++count >= limit) return;
    }
    pending = pending.slice(end);
    // The list is sorted by time, so that no older session can match.
    if (stored.modifiedAt < entries.since - clockSlack) break;
    if (isSideLogId(stored.id) || stored.at?.length === 0) continue;
    const hits = await searchStored(stored);
    if (hits.length > 0) pending = merge(pending, hits).slice(0, limit - count);
  }
  for (const { hit } of pending) yield hit;

  async function searchStored(stored: SearchCandidates): Promise<readonly TimedHit[]> {
    const { id, location } = stored;
    try {
      for (let { at: places, log } = stored, attempt = 1; ; places = log = undefined, attempt++) {
        log ??= await backend.open(id, { partition: source.partition, mode: "read", location });
        if (log === undefined) return [];
        const hits = await searchOnce(log, places, attempt < maxAttempts);
        if (hits !== undefined) return hits;
      }
    } catch (error) {
      if (!(error instanceof SessileError)) throw error;
      if (error.code !== "SESSION_NOT_FOUND") source.skipped(location ?? id, error);
      return [];
    }
  }

  /**
   * Searches the lines at places, by default those that a scan finds.
   * @returns undefined if an erasure or a migration has moved the lines meanwhile, if that is checked
   */
  async function searchOnce(
    log: SessionLog,
    places: readonly number[] | undefined,
    isChecked: boolean,
  ): Promise<readonly TimedHit[] | undefined> {
    try {
      const scanned = places === undefined ? await scan(log, test, signal) : undefined;
      const at = new Set(places ?? scanned?.at);
      if (at.size === 0) return [];
      const session = await source.open(log);
      try {
        if (!isThere(session.header.cwd)) return [];
        if (isChecked && (await isMoved(session, at, scanned?.position))) return undefined;
        return await searchSession(session, at, entries, limit - count);
      } finally {
        // A store keeps sessions that are not closed.
        await session.close();
      }
    } finally {
      await log.close();
    }
  }
}

/** Whether places that were found before the session was read are those of an older log. */
async function isMoved(
  session: LiveSession,
  at: ReadonlySet<number>,
  position: LogPosition | undefined,
): Promise<boolean> {
  const { log, position: end, reader } = session.source;
  // An index has the places of another time. Those of a log from before are below the lines of this one.
  const first = reader.firstAt ?? 0;
  if (position === undefined) return [...at].some((place) => place < first);
  if (position === end) return false;
  for await (const { restarted } of log.read(position)) return restarted === true;
  return false;
}

function searchedSessions(
  backend: SearchBackend,
  { cwd, signal }: SearchQuery,
  { phrases, since }: EntryQuery,
  { partition, skipped }: SearchSource,
): AsyncIterable<SearchCandidates> {
  const hints = { ...(cwd === undefined ? {} : { cwd }), ...(signal === undefined ? {} : { signal }) };
  if (backend.search === undefined) return backend.list({ partition, skipped, ...hints });
  return backend.search({
    partition,
    anyOf: candidateTerms(phrases),
    ...(since === Number.NEGATIVE_INFINITY ? {} : { since: since - clockSlack }),
    ...hints,
  });
}

/** The numbers of the lines that may match, and the end of the log. */
async function scan(
  log: SessionLog,
  test: LineTest,
  signal: AbortSignal | undefined,
): Promise<{ readonly at: readonly number[]; readonly position: LogPosition | undefined }> {
  const found: number[] = [];
  let position: LogPosition | undefined;
  for await (const batch of log.read(undefined, signal === undefined ? {} : { signal })) {
    const { lines, tail } = batch;
    position = batch.next;
    const last = "bounds" in lines ? lines.bounds.at(-1) : undefined;
    let place = -1;
    eachLine(batch, {
      line(bytes, at, start, end) {
        // In lines that are arrays by themselves, places are not those of the line before.
        if (place < start || last === undefined) place = test.next(bytes, start, last ?? end);
        if (place < end && test.passes(bytes.subarray(start, end))) found.push(at);
      },
      tooLong: () => undefined,
    });
    if (tail !== undefined && test.passes(tail.bytes)) found.push(tail.at);
  }
  return { at: found, position };
}

/** Merges hits that are sorted by time. */
function merge(a: readonly TimedHit[], b: readonly TimedHit[]): readonly TimedHit[] {
  return a.length === 0 ? b : [...a, ...b].sort((one, other) => other.time - one.time);
}

type Entry = SessionEntry | UnknownEntry;

/** The parts of a query that concern entries. */
interface EntryQuery {
  readonly phrases: readonly SearchPhrase[];
  readonly branch: "path" | "all";
  readonly role: string | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  readonly signal: AbortSignal | undefined;
}

/** A hit with its time as a number. */
interface TimedHit {
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
async function searchSession(
  session: LiveSession,
  at: ReadonlySet<number>,
  query: EntryQuery,
  limit: number,
): Promise<readonly TimedHit[]> {
  const search = new SessionSearch(
    session,
    await session.tree(query.signal === undefined ? {} : { signal: query.signal }),
    query,
  );
  await search.readEdits();
  const rows = await search.candidates(at);
  return search.hits(rows, limit);
}

const editTypes = entryTypesWith("edits");

class SessionSearch {
  readonly #session: LiveSession;
  readonly #query: EntryQuery;
  readonly #tree: SessionTree;
  readonly #table: EntryTable;
  /** The bodies of all edits by their rows. */
  readonly #edits = new Map<number, Entry>();
  /** The leaves of the branches that are searched. */
  readonly #leaves: readonly number[];
  readonly #lastInfo: number;
  #versions: BranchVersions | undefined;
  /** The rows of edited messages by the calls that they have, or had. */
  #editedCallers: ReadonlyMap<string, readonly number[]> | undefined;

  constructor(session: LiveSession, tree: SessionTree, query: EntryQuery) {
    this.#session = session;
    this.#query = query;
    this.#tree = tree;
    const table = treeRows(tree);
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
    const rows: number[] = [];
    for (let row = 0; row < this.#table.size; row++) if (editTypes.has(this.#table.kind(row))) rows.push(row);
    for await (const [row, entry] of this.#read(rows))
      if ("targetId" in entry && entry.targetId !== null) this.#edits.set(row, entry);
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
      if (time < since || time >= until || (role !== undefined && kindRole(table.kind(target)) !== role))
        continue;
      rows.add(target);
    }
    return [...rows].sort((a, b) => table.time(b) - table.time(a) || b - a);
  }

  async hits(rows: readonly number[], limit: number): Promise<readonly TimedHit[]> {
    const hits: TimedHit[] = [];
    for await (const [row, entry] of this.#read(rows)) {
      const match = await this.#match(row, entry);
      if (match !== undefined) hits.push(this.#rowHit(row, entry, match));
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
      const readBody = await this.#session.run(bodies(page));
      for (const row of page) {
        const entry = readBody(row);
        if (entry !== undefined) yield [row, entry];
      }
    }
  }

  async #match(row: number, entry: Entry): Promise<TextMatch | undefined> {
    if (!shownTypes.has(entry.type))
      return this.#isInForce(row, entry) ? this.#find(searchTexts(entry)) : undefined;
    for (const version of this.#branches.versions(row, await this.#idsOfVersions(row, entry))) {
      const message = version.entryMessage(entry);
      const match = message && this.#find(searchTextsOfMessage(message));
      if (match === undefined) continue;
      const callId = message?.role === "toolResult" ? message.toolCallId : undefined;
      if (callId === undefined || !(await this.#hasLostCall(row, callId, version))) return match;
    }
    return undefined;
  }

  get #branches(): BranchVersions {
    this.#versions ??= new BranchVersions(this.#table, this.#edits, this.#leaves);
    return this.#versions;
  }

  /** The entries whose edits decide on this one: itself, and messages that may have the call of a result. */
  async #idsOfVersions(row: number, entry: Entry): Promise<readonly string[]> {
    const messages = [entry, ...this.#branches.findEdits(entry.id)].map((each) =>
      each.type === "message" || each.type === "message_update" ? each.message : undefined,
    );
    const ids = new Set([entry.id]);
    for (const message of messages) {
      if (message?.role !== "toolResult") continue;
      for (const caller of await this.#callersAbove(row, message.toolCallId)) ids.add(this.#table.id(caller));
    }
    return [...ids];
  }

  /** Whether a result lost its call by an edit: contexts omit it then. */
  async #hasLostCall(row: number, callId: string, version: BranchVersion): Promise<boolean> {
    for (const caller of await this.#callersAbove(row, callId)) {
      const entry = await this.#body(caller);
      if (entry === undefined) continue;
      if (messageCalls(version.entryMessage(entry)).includes(callId)) return false;
      if (version.callsBeforeEdit(entry).includes(callId))
        return !(await this.#isCalledBetween(caller, row, callId));
    }
    return false;
  }

  /** Whether a later message, which no edit concerns, has a call with the same id. */
  async #isCalledBetween(from: number, row: number, callId: string): Promise<boolean> {
    const assistant = this.#table.kindCode("message/assistant");
    for (let at = this.#table.parent(row); at !== from; at = this.#table.parent(at)) {
      if (this.#table.kindAt(at) !== assistant || this.#branches.isEdited(this.#table.id(at))) continue;
      const entry = await this.#body(at);
      if (entry?.type === "message" && messageCalls(entry.message).includes(callId)) return true;
    }
    return false;
  }

  /** The edited messages above a row that have a call, or had it, the nearest first. */
  async #callersAbove(row: number, callId: string): Promise<readonly number[]> {
    this.#editedCallers ??= await this.#readCallers();
    const callers = this.#editedCallers.get(callId) ?? [];
    const above = callers.filter((caller) => this.#branches.isAbove(caller, row));
    return above.sort((a, b) => (this.#branches.isAbove(a, b) ? 1 : -1));
  }

  async #readCallers(): Promise<ReadonlyMap<string, readonly number[]>> {
    const assistant = this.#table.kindCode("message/assistant");
    const rows = this.#branches.editedRows().filter((row) => this.#table.kindAt(row) === assistant);
    const callers = new Map<string, number[]>();
    for await (const [row, entry] of this.#read(rows)) {
      const ids = new Set([entry, ...this.#branches.findEdits(entry.id)].flatMap(callsIn));
      for (const id of ids) append(callers, id, row);
    }
    return callers;
  }

  async #body(row: number): Promise<Entry | undefined> {
    return (await this.#session.run(bodies([row])))(row);
  }

  /** Whether an entry outside of contexts is in force: the latest name, the present label of an entry. */
  #isInForce(row: number, entry: Entry): boolean {
    if (entry.type === "session_info") return row === this.#lastInfo;
    if (entry.type === "label" && this.#tree.label(entry.targetId) !== entry.label) return false;
    const place = entry.type === "label" ? this.#table.row(entry.targetId) : row;
    return this.#query.branch === "all" || this.#branches.isOnBranch(place);
  }

  #find(texts: readonly string[]): TextMatch | undefined {
    return matchTexts(texts, this.#query.phrases);
  }

  #rowHit(row: number, entry: Entry, match: TextMatch): TimedHit {
    const { id, location } = this.#session;
    const hit = {
      sessionId: id,
      ...(location === undefined ? {} : { location }),
      entryId: entry.type === "label" ? entry.targetId : entry.id,
      role: kindRole(this.#table.kind(row)),
      snippet: textMatchSnippet(match),
      at: entry.timestamp,
    };
    return { time: this.#table.time(row), hit };
  }
}

/** The calls in a message, in an update of one, or in the content of an edit. */
function callsIn(entry: Entry): readonly string[] {
  if (entry.type === "message" || entry.type === "message_update") return messageCalls(entry.message);
  const blocks =
    entry.type === "part_update"
      ? [entry.part]
      : entry.type === "context_edit" && Array.isArray(entry.replacement?.content)
        ? entry.replacement.content
        : [];
  return (blocks as readonly { readonly type: string; readonly id?: string }[]).flatMap(({ type, id }) =>
    type === "toolCall" && id !== undefined ? [id] : [],
  );
}

function* bodies(rows: readonly number[]): EntryRequests<(row: number) => Entry | undefined> {
  return yield rows;
}

const shownTypes: ReadonlySet<string> = new Set([...entryTypesWith("inContext"), "compaction"]);

function kindRole(kind: string): string {
  const [type, role = type] = parseKind(kind);
  return role;
}

const before = 60;
const snippetLength = 200;

/** The text around a match, in one line. */
function textMatchSnippet({ text, start }: TextMatch): string {
  const from = Math.max(0, start - before);
  const to = Math.min(text.length, from + snippetLength);
  // A slice may cut a pair of surrogates.
  const shown = text.slice(isLow(text, from) ? from + 1 : from, isLow(text, to) ? to - 1 : to);
  return `${from > 0 ? "…" : ""}${spaced(shown)}${to < text.length ? "…" : ""}`;
}
