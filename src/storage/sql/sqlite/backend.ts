/** Sessions in SQLite: the backend, and the dialect. */

import { describe } from "../../../core/arguments.js";
import type { SessionBackend } from "../../../session/index.js";
import { SqlBackend } from "../backend.js";
import { Database, unsentFailure } from "../database.js";
import type { SqlDialect, SqlErrors, SqlFailure, SqlTables } from "../dialect.js";
import { rowStatements } from "../row-statements.js";
import type { SqliteDriver } from "./driver.js";
import { termsIndex } from "./search.js";
import { migrationsBetween, prefixArgument, sqliteSyntax, tablesVersion, versionTable } from "./tables.js";

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
type SqliteTables = SqlTables;

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

// Failures of SQLite and its drivers.

/** Primary result codes, https://www.sqlite.org/rescode.html (read 2026-11-23). */
const resultCodes: Readonly<Record<number, string>> = {
  1: "SQLITE_ERROR",
  3: "SQLITE_PERM",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  9: "SQLITE_INTERRUPT",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  17: "SQLITE_SCHEMA",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  21: "SQLITE_MISUSE",
  26: "SQLITE_NOTADB",
};

/**
 * The code of a driver's error: SQLite's name for it, if the driver tells it. better-sqlite3, bun:sqlite and
 * libSQL have it as `code`, node:sqlite as the number `errcode`, Durable Objects in the message.
 */
function readCode(error: unknown): string | undefined {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown };
  if (typeof code === "string" && code.startsWith("SQLITE_")) return code;
  if (typeof errcode === "number") return resultCodes[errcode & 0xff] ?? `SQLITE_${errcode}`;
  const message = errorMessage(error);
  const named = /\bSQLITE_[A-Z_]{1,60}/.exec(message)?.[0];
  if (named !== undefined) return named;
  if (/\bdatabase (?:table |schema )?is locked\b/.test(message)) return "SQLITE_BUSY";
  if (/\bdisk I\/O error\b/.test(message)) return "SQLITE_IOERR";
  return typeof code === "string" && code !== "" ? code : undefined;
}

function readFailure(error: unknown, isAsync: boolean): SqlFailure {
  const code = readCode(error) ?? "";
  if (/^SQLITE_(?:BUSY|LOCKED)/.test(code)) return "busy";
  // A commit that could not be written or synced may be found by the recovery after a crash.
  if (code.startsWith("SQLITE_IOERR")) return "unsure";
  if (code.startsWith("SQLITE_") || !isAsync) return "refused";
  // Of a server over the network.
  return unsentFailure(error) ?? "lost";
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error that a driver throws at once is of a synchronous database, which loses no answers. */
const sqliteErrors: SqlErrors = {
  errorFailure: readFailure,
  errorCode: readCode,
  errorHint: (error) =>
    /no such (?:table|column)/.test(errorMessage(error)) ? "call migrate() first" : undefined,
  waitMs: [5, 500],
};
