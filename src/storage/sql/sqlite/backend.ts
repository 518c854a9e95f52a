/** Sessions in SQLite: the backend. */

import { integerOption } from "../../../core/arguments.js";
import { SessileError } from "../../../core/errors/index.js";
import { isName, nameArgument } from "../../../core/ids.js";
import type { SessionBackend, StoredSession, StoredSessionQuery } from "../../../session/index.js";
import { cwdKey, type DatabaseSession, existsError, maxBatchBytes } from "../../../session/internal.js";
import { changesOf } from "./changes.js";
import { Database } from "./database.js";
import type { SqliteDriver, SqliteRow } from "./driver.js";
import { remainingInDatabase } from "./erasure.js";
import { bytesOf, endsLine } from "./lines.js";
import { SqliteLog } from "./log.js";
import type { LogTables } from "./log-reader.js";
import { indexLog, searchTerms } from "./search.js";
import { statementsFor } from "./statements.js";
import { migrationsBetween, prefixArgument, tablesVersion, termsTable, versionTable } from "./tables.js";

/** Options of {@link sqliteSessionBackend}. */
export interface SqliteSessionsOptions {
  /** The database: `databaseDriver`, `durableObjectDriver`, `libsqlDriver`, or one of the caller's. */
  readonly driver: SqliteDriver;
  /** The beginning of the names of the tables. @default "sessile_" */
  readonly prefix?: string;
  /**
   * For how long an operation is tried again while the database is locked or cannot be reached, in
   * milliseconds. @default 10 s
   */
  readonly retryMs?: number;
  /**
   * Whether an append indexes the words of its lines, for `search`: `migrate` makes the index, and indexes
   * the lines that are there. It takes FTS5 of SQLite 3.43. A search reads all lines that were written
   * without it, and finds the same. @default false
   */
  readonly search?: boolean;
  /** Maximum bytes of one line that is read. @default 64 MiB */
  readonly maxLineBytes?: number;
}

/** The operations of SQLite beside those of every backend. */
export interface SqliteTables {
  /**
   * Makes the tables, or brings those of an older version to this one, in one transaction. Tables of a newer
   * version stay as they are.
   */
  migrate(): Promise<void>;
  /** Yields the partitions that have a session, in order; the unnamed partition is an empty string. */
  partitions(): AsyncIterable<string>;
}

/**
 * Creates a backend that stores sessions in a SQLite database.
 *
 * @example
 * ```ts
 * // in a Durable Object
 * const backend = sqliteSessionBackend({ driver: durableObjectDriver(ctx.storage) });
 * await backend.migrate();
 * const sessions = sessionStore(backend);
 * ```
 */
export function sqliteSessionBackend(options: SqliteSessionsOptions): SessionBackend & SqliteTables {
  return new SqliteBackend(options);
}

/** The first page of a list, which is often the only one. Later ones are twice as long each. */
const firstPage = 50;
const maxPage = 200;
const maxPartitions = 1000;

class SqliteBackend implements SessionBackend, SqliteTables {
  readonly search?: NonNullable<SessionBackend["search"]>;
  readonly #tables: LogTables;

  constructor({ driver, ...options }: SqliteSessionsOptions) {
    const prefix = prefixArgument(options.prefix);
    this.#tables = {
      prefix,
      sql: statementsFor(prefix),
      database: new Database(driver, options.retryMs),
      changes: changesOf(driver, prefix),
      maxLineBytes: integerOption("maxLineBytes", options.maxLineBytes, 2 ** 26, 1024, maxBatchBytes),
      search: options.search ?? false,
    };
    const { sql, database, search } = this.#tables;
    if (search) this.search = (query) => searchTerms(sql, database, query);
  }

  async create(session: { readonly id: string; readonly partition: string; readonly cwd: string }) {
    const { partition, cwd } = session;
    const id = nameArgument("id", session.id);
    if ((await this.#find(partition, id)) !== undefined) throw existsError(id);
    const created = { partition, id, epoch: crypto.randomUUID(), cwd, previewed: false };
    const log = new SqliteLog(this.#tables, created);
    return { log, position: log.start };
  }

  async open(id: string, { partition }: { readonly partition: string }): Promise<SqliteLog | undefined> {
    const found = await this.#find(partition, id);
    return found && new SqliteLog(this.#tables, found);
  }

  async *list({ partition, after, cwd, signal }: StoredSessionQuery): AsyncGenerator<StoredSession> {
    const { database, sql } = this.#tables;
    let last = after ?? { modifiedAt: Number.MAX_SAFE_INTEGER, id: "" };
    for (let limit = firstPage; ; limit = Math.min(2 * limit, maxPage)) {
      signal?.throwIfAborted();
      // A cursor from outside may have a NUL.
      const values = [last.modifiedAt, last.id.replaceAll("\0", ""), limit];
      const operation = { name: "list", path: this.#pathOf(partition) };
      const rows =
        cwd === undefined
          ? await database.query(operation, sql.list, [partition, ...values])
          : await database.query(operation, sql.listOfCwd, [partition, cwdKey(cwd), ...values]);
      for (const row of rows) {
        last = { id: String(row.id), modifiedAt: Number(row.modified_at) };
        yield await this.#stored(partition, row);
      }
      if (rows.length < limit) return;
    }
  }

  async delete(id: string, { partition }: { readonly partition: string }): Promise<boolean> {
    const { database, sql } = this.#tables;
    const found = await this.#find(partition, id);
    if (found === undefined) return false;
    const key = [partition, id, found.epoch];
    const operation = { name: "delete", path: id };
    // A session that was found, and is gone after a lost delete, was deleted by it.
    let isLost = false;
    return database.retrying(
      operation,
      async () => {
        const terms = await database.run(sql.hasTerms, []);
        const deleted = await database.transaction([
          ...(terms.length === 0 ? [] : [{ sql: sql.deleteTermsOf, params: [...key, ...key] }]),
          { sql: sql.deleteRows, params: [...key, ...key] },
          { sql: sql.delete, params: key },
        ]);
        if (deleted.length > 0) this.#tables.changes.tell({ partition, id });
        return deleted.length > 0 || isLost;
      },
      () => {
        isLost = true;
      },
    );
  }

  async deletePartition(partition: string) {
    const { database, sql } = this.#tables;
    let sessions = 0;
    for (let found = maxPage; found > 0; ) {
      found = 0;
      for await (const { id } of this.list({ partition })) {
        found++;
        if (await this.delete(id, { partition })) sessions++;
      }
    }
    const operation = { name: "delete", path: partition };
    const terms = await database.query(operation, sql.hasTerms, []);
    if (terms.length > 0) await database.query(operation, sql.optimize, []);
    return { sessions, remaining: remainingInDatabase };
  }

  async migrate(): Promise<void> {
    const { database, sql, prefix } = this.#tables;
    const operation = { name: "migrate", path: prefix };
    const made = versionTable(prefix).map((statement) => ({ sql: statement, params: [] }));
    await database.retrying(operation, () => database.transaction(made));
    await database.retrying(operation, async () => {
      const [row] = await database.run(sql.version, []);
      const version = Number(row?.version);
      if (version >= tablesVersion) return;
      const steps = migrationsBetween(prefix, version);
      await database.transaction(steps.map((statement) => ({ sql: statement, params: [] })));
    });
    if (!this.#tables.search) return;
    await database.query(operation, termsTable(prefix), []);
    for (let last = ["", ""]; ; ) {
      const rows = await database.query(operation, sql.unindexed, [...last, maxPage]);
      for (const row of rows) {
        last = [String(row.partition), String(row.id)];
        const log = await this.open(String(row.id), { partition: String(row.partition) });
        // A session may be deleted meanwhile.
        if (log !== undefined) await indexLog(sql, database, log).catch(unlessGone);
      }
      if (rows.length < maxPage) return;
    }
  }

  async *partitions(): AsyncGenerator<string> {
    const { database, sql, prefix } = this.#tables;
    for (let from = ""; ; ) {
      const values = [from, maxPartitions];
      const rows = await database.query({ name: "list", path: prefix }, sql.partitions, values);
      for (const { name } of rows) yield String(name);
      if (rows.length < maxPartitions) return;
      // The least text after the last partition.
      from = `${rows.at(-1)?.name}\u0001`;
    }
  }

  async #find(partition: string, id: string): Promise<DatabaseSession | undefined> {
    if (!isName(id)) return undefined;
    const { database, sql } = this.#tables;
    const [row] = await database.query({ name: "open", path: id }, sql.find, [partition, id]);
    return row && { partition, id, epoch: String(row.epoch), cwd: "", previewed: Number(row.previewed) > 0 };
  }

  async #stored(partition: string, row: SqliteRow): Promise<StoredSession> {
    const { entries, messages, preview } = row;
    const header = await this.#line(partition, row, "header");
    const info = await this.#line(partition, row, "info");
    return {
      id: String(row.id),
      modifiedAt: Number(row.modified_at),
      size: Number(row.size),
      head: [...header, ...(preview === null ? [] : [bytesOf(preview)])],
      tail: info,
      ...(entries !== null &&
        messages !== null && { counts: { entries: Number(entries), messages: Number(messages) } }),
    };
  }

  /** The header or the info of a listed session, if it has one. */
  async #line(partition: string, row: SqliteRow, column: "header" | "info"): Promise<readonly Uint8Array[]> {
    if (row[column] === null) return [];
    const bytes = bytesOf(row[column]);
    if (endsLine(bytes)) return [bytes.subarray(0, -1)];
    // A long line has several rows. The session may be another one by now.
    const log = await this.open(String(row.id), { partition });
    const at = Number(row[`${column}_at`]);
    const [line] = (await log?.readAt([{ at, length: this.#tables.maxLineBytes }])) ?? [];
    return line === undefined ? [] : [line];
  }

  #pathOf(partition: string): string {
    return partition === "" ? this.#tables.prefix : partition;
  }
}

function unlessGone(error: unknown): void {
  if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
}
