/**
 * The index of words, a table of FTS5: it has the terms of the lines from the first one up to an offset. A
 * search reads all lines after that offset.
 */

import { SessileError } from "../../../core/errors/index.js";
import type { LogPosition, SearchCandidates, SearchIndexQuery } from "../../../session/index.js";
import { cwdKey, eachLine, indexedTerms, termKey, unreadLine } from "../../../session/internal.js";
import type { Database, Operation } from "./database.js";
import type { SqliteStatement, SqliteValue } from "./driver.js";
import { maxInsertRows, type Statements } from "./statements.js";

/** The terms of a line, and the offset of the line. */
export type LineTerms = readonly [at: number, terms: string];

/** Alternatives of terms as a query of FTS5. Terms have no quotation marks. */
function queryOf(anyOf: SearchIndexQuery["anyOf"], partition: string): string {
  const key = termKey(partition);
  return anyOf.map((terms) => `(${terms.map((term) => `"${key}${term}"*`).join(" AND ")})`).join(" OR ");
}

/** The statements that insert terms, under a condition of the session. */
export function termInsertions(
  terms: readonly LineTerms[],
  condition: readonly SqliteValue[],
  statement: (count: number) => string,
): readonly SqliteStatement[] {
  const kept = terms.filter(([, text]) => text !== "");
  const statements: SqliteStatement[] = [];
  for (let start = 0; start < kept.length; start += maxInsertRows) {
    const some = kept.slice(start, start + maxInsertRows);
    statements.push({ sql: statement(some.length), params: [...some.flat(), ...condition] });
  }
  return statements;
}

const firstPage = 50;
const maxPage = 1000;

/** Yields the sessions that have candidates, newest first. */
export async function* searchTerms(
  sql: Statements,
  database: Database,
  { partition, anyOf, since = 0, cwd, signal }: SearchIndexQuery,
): AsyncGenerator<SearchCandidates, void, undefined> {
  const operation = { name: "search", path: partition };
  const query = queryOf(anyOf, partition);
  let last = { modifiedAt: Number.MAX_SAFE_INTEGER, id: "" };
  for (let limit = firstPage; ; limit = Math.min(4 * limit, maxPage)) {
    signal?.throwIfAborted();
    const bounds = [since, last.modifiedAt, last.id, limit];
    const values = [query, partition, cwd === undefined ? null : cwdKey(cwd), ...bounds];
    const page = await database.query(operation, sql.search, values);
    for (const row of page) {
      last = { modifiedAt: Number(row.modified_at), id: String(row.id) };
      const [found, unread] = [numbersOf(row.at), numbersOf(row.unread)];
      const isBounded = found !== undefined && unread !== undefined;
      yield isBounded ? { ...last, at: [...found, ...unread] } : last;
    }
    if (page.length < limit) return;
  }
}

/** Numbers that SQLite has joined by commas; undefined if there are too many. */
function numbersOf(text: unknown): readonly number[] | undefined {
  if (text === "*") return undefined;
  return text === null ? [] : String(text).split(",").map(Number);
}

/** The parts of a log that {@link indexLog} uses. */
export interface IndexedLog {
  readonly key: readonly [partition: string, id: string, epoch: string];
  read(from: LogPosition | undefined): AsyncIterable<Parameters<typeof eachLine>[0]>;
}

/** Indexes the lines of a session that have no terms yet. Lines may be appended meanwhile. */
export async function indexLog(sql: Statements, database: Database, log: IndexedLog): Promise<void> {
  const { key } = log;
  const [partition, id, epoch] = key;
  const operation: Operation = { name: "index", path: id };
  const [row] = await database.query(operation, sql.termsAt, key);
  if (row === undefined || Number(row.terms_at) >= Number(row.head)) return;
  // The position at the base is that of the log before a replacement of its lines.
  const isFirst = Number(row.terms_at) <= Number(row.base);
  let from = Number(row.terms_at);
  for await (const batch of log.read(isFirst ? undefined : (`${epoch}:${from}` as LogPosition))) {
    const terms: LineTerms[] = [];
    let end = from;
    eachLine(batch, {
      line(bytes, at, start, stop) {
        terms.push([at, indexedTerms(bytes.subarray(start, stop), partition)]);
        end = Math.max(end, at + stop - start + 1);
      },
      tooLong(at, length) {
        terms.push([at, indexedTerms(unreadLine, partition)]);
        end = Math.max(end, at + length + 1);
      },
    });
    const condition = [...key, from];
    await database.retrying(operation, () =>
      database.transaction([
        ...termInsertions(terms, condition, sql.insertOldTerms),
        { sql: sql.setTermsAt, params: [end, ...condition] },
      ]),
    );
    from = end;
  }
}

/** Indexes a log whose lines were moved. If it fails, a search reads them, and the next `migrate` tries. */
export async function tryIndexLog(sql: Statements, database: Database, log: IndexedLog): Promise<void> {
  try {
    await indexLog(sql, database, log);
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
  }
}
