/**
 * The search of a store. An index, or else a scan of all lines, gives the lines that may match; what is found
 * is decided in one way for both.
 */

import { SessileError } from "../../errors/index.js";
import { describe, integerOption, oneOfOption } from "../../internal/arguments.js";
import type {
  LogPosition,
  SearchCandidates,
  SessionBackend,
  SessionLog,
  StoredSessionQuery,
} from "../api/backend.js";
import type { SearchHit, SearchQuery } from "../api/store.js";
import { type LineTest, lineTest } from "../format/search-scan.js";
import { candidateTerms } from "../format/search-terms.js";
import { parseQuery, queryProblem } from "../format/search-words.js";
import { eachLine } from "../runtime/log-lines.js";
import type { LiveSession } from "../runtime/session.js";
import { cwdTest } from "./list.js";
import { type EntryQuery, searchSession, type TimedHit } from "./search-session.js";

/** The parts of a store that {@link searchSessions} uses. */
export interface SearchSource {
  readonly partition: string;
  /** Called for a session that cannot be read. */
  readonly skipped: (location: string, error: SessileError) => void;
  /** Opens a log for reading. */
  readonly open: (log: SessionLog) => Promise<LiveSession>;
}

/** A session that is searched; without candidates its lines are scanned. */
export type Searched = SearchCandidates;

/** The parts of a backend that {@link searchSessions} uses. */
export interface SearchBackend extends Pick<SessionBackend, "open" | "search" | "resolveDirectory"> {
  list(query: StoredSessionQuery): AsyncIterable<Searched>;
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
    const hits = await searchStored(stored);
    if (hits.length > 0) pending = merge(pending, hits).slice(0, limit - count);
  }
  for (const { hit } of pending) yield hit;

  async function searchStored(stored: Searched): Promise<readonly TimedHit[]> {
    const { id, location } = stored;
    try {
      for (let places = stored.at, attempt = 1; ; places = undefined, attempt++) {
        const hits = await searchOnce(stored, places, attempt < maxAttempts);
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
    { id, location }: Searched,
    places: readonly number[] | undefined,
    isChecked: boolean,
  ): Promise<readonly TimedHit[] | undefined> {
    const log = await backend.open(id, { partition: source.partition, mode: "read", location });
    if (log === undefined) return [];
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
): AsyncIterable<Searched> {
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
