/** Writes to the lines of one session: statements, and attempts until the outcome is known. */

import { cwdKey, indexedTerms } from "../../../session/internal.js";
import type { SqliteStatement } from "./driver.js";
import { isSameRow, type LogRow, pageBytes } from "./lines.js";
import { type LogReader, rowOf } from "./log-reader.js";
import type { LineTerms } from "./search.js";
import { maxInsertRows } from "./statements.js";

/** Writes of one session. */
export class LogWriter {
  readonly #log: LogReader;

  constructor(log: LogReader) {
    this.#log = log;
  }

  /** The session's row, for the first append. */
  creation(cwd = this.#log.session.cwd): SqliteStatement {
    return { sql: this.#log.tables.sql.create, params: [...this.#log.key, cwdKey(cwd)] };
  }

  insertions(rows: readonly LogRow[], head: number): readonly SqliteStatement[] {
    const statements: SqliteStatement[] = [];
    for (let start = 0; start < rows.length; start += maxInsertRows) {
      const some = rows.slice(start, start + maxInsertRows);
      const values = some.flatMap(({ at, bytes }) => [at, bytes]);
      statements.push({
        sql: this.#log.tables.sql.insertRows(some.length),
        params: [...values, ...this.#log.key, head],
      });
    }
    return statements;
  }

  termsOf(lines: readonly Uint8Array[], at: readonly number[]): readonly LineTerms[] {
    if (!this.#log.tables.search) return [];
    const { partition } = this.#log.session;
    return lines.map((line, index) => [at[index] as number, indexedTerms(line.subarray(0, -1), partition)]);
  }

  /** Deletes the terms of the session, if there is an index. */
  async termDeletions(head: number): Promise<readonly SqliteStatement[]> {
    const { database, sql } = this.#log.tables;
    const condition = [...this.#log.key, head];
    const found = await database.query(this.#log.operation("look into the index of"), sql.hasTerms, []);
    return found.length === 0 ? [] : [{ sql: sql.deleteTerms, params: [...condition, ...condition] }];
  }

  /** Deletes the terms of an index that another program has made since the last look. */
  async forgetTerms(): Promise<void> {
    const { database, sql } = this.#log.tables;
    const { key } = this.#log;
    const operation = this.#log.operation("look into the index of");
    if ((await database.query(operation, sql.hasTerms, [])).length === 0) return;
    await database.retrying(operation, () =>
      database.transaction([
        { sql: sql.deleteTermsOf, params: [...key, ...key] },
        { sql: sql.optimize, params: [] },
        { sql: sql.forgetTerms, params: key },
      ]),
    );
  }

  /**
   * Runs a write until its outcome is known: done, refused, or neither within the time for attempts.
   * @param expected the head before the write, and the offset of its first row
   * @param rows the first rows that the log has from there on if the write was done
   * @param isImpossible whether a refused write can never be done; it then resolves to false
   * @throws SessileError as {@link SessionLog.append}
   */
  async write(
    name: string,
    expected: number,
    rows: readonly LogRow[],
    statements: readonly SqliteStatement[],
    isImpossible: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<boolean> {
    const { database, changes } = this.#log.tables;
    const isDone = await this.#log.write({
      retrying: (attempt, onLost) => database.retrying(this.#log.operation(name), attempt, onLost),
      run: async () => (await database.transaction(statements)).length > 0,
      isWritten: () => this.#isWritten(rows),
      refused: async () => {
        if (await isImpossible()) return false;
        throw await this.refusal(expected);
      },
    });
    if (isDone) changes.tell(this.#log.session);
    return isDone;
  }

  /** Whether the log has these rows. Lines have ids, and a write is done whole or not. */
  async #isWritten(rows: readonly LogRow[]): Promise<boolean> {
    for (let start = 0; start < rows.length; ) {
      const { at } = rows[start] as LogRow;
      const found = await this.#log.tables.database.run(this.#log.tables.sql.readRange, [
        ...this.#log.key,
        at,
        at + pageBytes,
      ]);
      const rowAt = new Map(found.map((row) => [Number(row.at), rowOf(row)]));
      const same = rows.slice(start).filter((row) => row.at < at + pageBytes);
      if (!same.every((row) => isSameRow(rowAt.get(row.at), row))) return false;
      start += same.length;
    }
    return true;
  }

  async refusal(expected: number): Promise<Error> {
    const { partition, id } = this.#log.session;
    const [row] = await this.#log.tables.database.run(this.#log.tables.sql.find, [partition, id]);
    return this.#log.refusal(expected, row);
  }
}
