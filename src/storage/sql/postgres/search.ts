/**
 * The index of words: a column of terms beside each line, with a GIN index. PostgreSQL compares the terms as
 * they are given; its own text search configurations have no part in it.
 */

import { SessileError } from "../../../core/errors/index.js";
import type { LogPosition, SearchCandidates, SearchIndexQuery } from "../../../session/index.js";
import { cwdKey, eachLine, unreadLine } from "../../../session/internal.js";
import type { Database, Row } from "./database.js";
import { queryOf, termsOf, timeOf } from "./lines.js";
import { type LogTables, PostgresLog } from "./log.js";
import type { Statements } from "./statements.js";

const firstPage = 200;
const maxPage = 5000;

/** Yields the sessions that have candidates, newest first. */
export async function* searchTerms(
  sql: Statements,
  database: Database,
  { partition, anyOf, since = 0, cwd, signal }: SearchIndexQuery,
): AsyncGenerator<SearchCandidates, void, undefined> {
  let last: Pick<SearchCandidates, "id" | "modifiedAt"> | undefined;
  for (let limit = firstPage; ; limit = Math.min(4 * limit, maxPage)) {
    signal?.throwIfAborted();
    const values = [partition, timeOf(last?.modifiedAt ?? Infinity), last?.id ?? "", limit];
    const rows = await database.query({ name: "search", path: partition }, sql.search, [
      ...values,
      queryOf(anyOf, partition),
      timeOf(since),
      cwd === undefined ? null : cwdKey(cwd),
    ]);
    for (const { id, modified, at, indexed, head } of rows) {
      last = { id, modifiedAt: Number(modified) };
      const found: number[] = at === null ? [] : String(at).split(",").map(Number);
      for (let line = Number(indexed); line < Number(head); line++) found.push(line);
      yield { ...last, at: found };
    }
    if (rows.length < limit) return;
  }
}

const pageSessions = 500;

/** Indexes the lines that have no terms yet. Lines may be appended meanwhile. */
export async function indexLines(tables: LogTables): Promise<void> {
  const { database, sql, schema } = tables;
  for (let last = ["", ""]; ; ) {
    const values = [...last, pageSessions];
    const rows = await database.query({ name: "migrate", path: schema }, sql.unindexed, values);
    for (const row of rows) {
      last = [row.partition, row.id];
      await indexSession(tables, row).catch((error: unknown) => {
        // It was deleted meanwhile.
        if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
      });
    }
    if (rows.length < pageSessions) return;
  }
}

async function indexSession(tables: LogTables, row: Row): Promise<void> {
  const { partition, id, epoch } = row;
  const log = new PostgresLog(tables, { partition, id, epoch, cwd: "", previewed: true });
  // The position at the base is that of the log before a migration of its lines.
  const from = row.indexed === row.base ? undefined : (`${epoch}:${row.indexed}` as LogPosition);
  for await (const batch of log.read(from)) {
    const terms = new Map<number, string>();
    eachLine(batch, {
      line: (bytes, at, start, end) => terms.set(at, termsOf([bytes.subarray(start, end)], partition)),
      tooLong: (at) => terms.set(at, termsOf([unreadLine], partition)),
    });
    const [first = 0] = terms.keys();
    const values = [partition, id, epoch, first, [...terms.values()].join("\n"), first + terms.size];
    await tables.database.query({ name: "migrate", path: id }, tables.sql.index, values);
  }
}
