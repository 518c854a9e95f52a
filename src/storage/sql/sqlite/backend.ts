/** Sessions in SQLite: the backend, and the dialect. */

import { describe } from "../../../core/arguments.js";
import type { SessionBackend } from "../../../session/index.js";
import { SqlBackend } from "../backend.js";
import { Database } from "../database.js";
import type { SqlDialect, SqlTables } from "../dialect.js";
import { rowStatements } from "../row-statements.js";
import type { SqliteDriver } from "./driver.js";
import { sqliteErrors } from "./errors.js";
import { termsIndex } from "./search.js";
import { sqliteSyntax } from "./syntax.js";
import { migrationsBetween, prefixArgument, tablesVersion, versionTable } from "./tables.js";

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
export type SqliteTables = SqlTables;

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
  const { driver, retryMs, search } = options;
  const database = sqliteDatabase(driver, retryMs);
  return new SqlBackend(
    { dialect: sqliteDialect(prefixArgument(options.prefix)), database, search },
    options,
  );
}

/** Calls of a driver. */
export function sqliteDatabase(driver: SqliteDriver, retryMs: number | undefined): Database {
  if (typeof driver?.all !== "function" || typeof driver.transaction !== "function") {
    throw new TypeError(`driver: expected an object with all and transaction, got ${describe(driver)}`);
  }
  return new Database(driver, driver, sqliteErrors, retryMs);
}

function sqliteDialect(prefix: string): SqlDialect {
  return {
    name: prefix,
    errors: sqliteErrors,
    ...rowStatements(sqliteSyntax(prefix), (insertInto) => termsIndex(prefix, insertInto)),
    remaining: [
      "free pages of the database until a `vacuum`, unless `secure_delete` is on",
      "the write-ahead log until a checkpoint",
      "replicas, backups and points in time of the database",
    ],
    listPages: [50, 200],
    async migrate(run, transaction) {
      const withoutValues = (sql: string) => ({ sql, params: [] });
      await transaction(versionTable(prefix).map(withoutValues));
      const [row] = await run(withoutValues(`select max(version) as version from ${prefix}version`));
      const version = Number(row?.version);
      if (version >= tablesVersion) return;
      await transaction(migrationsBetween(prefix, version).map(withoutValues));
    },
  };
}
