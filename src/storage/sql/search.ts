/**
 * The index of words: each line has its terms there, or lies after the place up to which a log is indexed. A
 * search reads all lines after that place.
 */

import { SessileError } from "../../core/errors/index.js";
import type { LogPosition, SearchCandidates, SearchIndexQuery, SessionLog } from "../../session/index.js";
import { cwdKey, eachLine, indexedTerms, unreadLine } from "../../session/internal.js";
import type { Database, Operation } from "./database.js";
import type { IndexStatements, LineTerms, SearchPage, SessionKey, SqlRow } from "./dialect.js";

/** Bytes of a session that is read together with others. */
const maxWholeBytes = 128 * 1024;

/** Sessions that are read by one statement: as many as the hits of a page of results, then more. */
const [firstRead, maxRead] = [10, 50];

/** How a session that was read whole becomes a log. */
interface Opening {
  readonly maxLineBytes: number;
  opened(row: SqlRow, whole: readonly SqlRow[]): SessionLog;
}

/**
 * Yields the sessions that have candidates, newest first.
 */
export async function* searchTerms(
  index: IndexStatements,
  database: Database,
  { partition, anyOf, since = 0, cwd, signal }: SearchIndexQuery,
  { maxLineBytes, opened }: Opening,
): AsyncGenerator<SearchCandidates, void, undefined> {
  const operation = { name: "search", path: partition };
  const query = { partition, anyOf, since, cwd: cwd === undefined ? null : cwdKey(cwd) };
  let reading = firstRead;
  for (let page: SearchPage | undefined = index.search(query); page !== undefined; ) {
    signal?.throwIfAborted();
    const rows = await database.query(operation, page.statement.sql, page.statement.params);
    const sessions = page.sessions(rows);
    for (let start = 0; start < sessions.length; start += reading, reading = maxRead) {
      const some = sessions.slice(start, start + reading);
      const whole = await readWhole(some);
      for (const [at, row] of some.entries()) {
        const found = index.candidates(row);
        const session = { modifiedAt: Number(row.modified), id: String(row.id) };
        const read = whole.get(at);
        const log = read && opened(row, read);
        yield { ...session, ...(found !== undefined && { at: found }), ...(log !== undefined && { log }) };
      }
    }
    page = page.next(rows);
  }

  /** The rows of the sessions that are short enough, by their index. */
  async function readWhole(some: readonly SqlRow[]): Promise<ReadonlyMap<number, readonly SqlRow[]>> {
    const statement = index.readWhole?.(partition, some, Math.min(maxWholeBytes, maxLineBytes));
    if (statement === undefined) return new Map();
    const rows = await database.query(operation, statement.sql, statement.params);
    const bySession = new Map<number, SqlRow[]>();
    for (const row of rows) {
      const whole = bySession.get(Number(row.session)) ?? [];
      bySession.set(Number(row.session), whole);
      whole.push(row);
    }
    return bySession;
  }
}

/** The parts of a log that {@link indexLog} uses. */
export interface IndexedLog {
  readonly key: SessionKey;
  read(
    from: LogPosition | undefined,
    options: { readonly batchBytes: number },
  ): AsyncIterable<Parameters<typeof eachLine>[0]>;
}

/** Bytes of lines that one statement indexes: an append to their session waits for it. */
const batchBytes = 64 * 1024;

/** Indexes the lines of a session that have no terms yet. Lines may be appended meanwhile. */
export async function indexLog(index: IndexStatements, database: Database, log: IndexedLog): Promise<void> {
  const { key } = log;
  const [, id, epoch] = key;
  const partition = index.hasKeys ? key[0] : "";
  const operation: Operation = { name: "index", path: id };
  const termsAt = index.termsAt(key);
  const [row] = await database.query(operation, termsAt.sql, termsAt.params);
  if (row === undefined || Number(row.terms_at) >= Number(row.head)) return;
  // The position at the base is that of the log before a replacement of its lines.
  const isFirst = Number(row.terms_at) <= Number(row.base);
  let from = Number(row.terms_at);
  for await (const batch of log.read(isFirst ? undefined : (`${epoch}:${from}` as LogPosition), {
    batchBytes,
  })) {
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
