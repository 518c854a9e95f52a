/**
 * The index of words: each line has its terms there, or lies after the place up to which a log is indexed. A
 * search reads all lines after that place.
 */

import { SessileError } from "../../core/errors/index.js";
import type { LogPosition, SearchCandidates, SearchIndexQuery } from "../../session/index.js";
import { cwdKey, eachLine, indexedTerms, unreadLine } from "../../session/internal.js";
import type { Database, Operation } from "./database.js";
import type { IndexStatements, LineTerms, ListPlace, SessionKey } from "./dialect.js";

/** Yields the sessions that have candidates, newest first. */
export async function* searchTerms(
  index: IndexStatements,
  database: Database,
  { partition, anyOf, since = 0, cwd, signal }: SearchIndexQuery,
): AsyncGenerator<SearchCandidates, void, undefined> {
  const operation = { name: "search", path: partition };
  const query = { partition, anyOf, since, cwd: cwd === undefined ? null : cwdKey(cwd) };
  let last: ListPlace | undefined;
  const [firstPage, maxPage] = index.pages;
  for (let limit = firstPage; ; limit = Math.min(4 * limit, maxPage)) {
    signal?.throwIfAborted();
    const { sql, params } = index.search(query, last, limit);
    const page = await database.query(operation, sql, params);
    for (const row of page) {
      last = { modifiedAt: Number(row.modified), id: String(row.id) };
      const at = index.candidates(row);
      yield at === undefined ? last : { ...last, at };
    }
    if (page.length < limit) return;
  }
}

/** The parts of a log that {@link indexLog} uses. */
export interface IndexedLog {
  readonly key: SessionKey;
  read(from: LogPosition | undefined): AsyncIterable<Parameters<typeof eachLine>[0]>;
}

/** Indexes the lines of a session that have no terms yet. Lines may be appended meanwhile. */
export async function indexLog(index: IndexStatements, database: Database, log: IndexedLog): Promise<void> {
  const { key } = log;
  const [partition, id, epoch] = key;
  const operation: Operation = { name: "index", path: id };
  const termsAt = index.termsAt(key);
  const [row] = await database.query(operation, termsAt.sql, termsAt.params);
  if (row === undefined || Number(row.terms_at) >= Number(row.head)) return;
  // The position at the base is that of the log before a replacement of its lines.
  const isFirst = Number(row.terms_at) <= Number(row.base);
  let from = Number(row.terms_at);
  for await (const batch of log.read(isFirst ? undefined : (`${epoch}:${from}` as LogPosition))) {
    const terms: LineTerms[] = [];
    eachLine(batch, {
      line: (bytes, at, start, stop) =>
        terms.push([at, indexedTerms(bytes.subarray(start, stop), partition)]),
      tooLong: (at) => terms.push([at, indexedTerms(unreadLine, partition)]),
    });
    const end = Number(batch.next.split(":")[1]);
    const statements = index.index(key, from, terms, end);
    await database.retrying(operation, () => database.transaction(statements));
    from = end;
  }
}

/** Indexes a log whose lines were moved. If it fails, a search reads them, and the next `migrate` tries. */
export async function tryIndexLog(
  index: IndexStatements,
  database: Database,
  log: IndexedLog,
): Promise<void> {
  try {
    await indexLog(index, database, log);
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
  }
}
