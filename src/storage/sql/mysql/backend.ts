/** Sessions in MySQL or MariaDB: the backend, and the dialect. */

import { describe } from "../../../core/arguments.js";
import type { SessionBackend } from "../../../session/index.js";
import { SqlBackend } from "../backend.js";
import type { SqlDialect, SqlServerTables } from "../dialect.js";
import { rowStatements } from "../row-statements.js";
import { type MysqlClient, mysqlDatabase, mysqlErrors } from "./driver.js";
import { migrations, mysqlSyntax } from "./tables.js";

/** Options of {@link mysqlSessionBackend}. */
export interface MysqlSessionsOptions {
  /** A pool of mysql2/promise or of mariadb, or one connection, on which calls then wait for each other. */
  readonly db: MysqlClient;
  /** The beginning of the names of the tables. @default "sessile_" */
  readonly prefix?: string;
  /**
   * For how long an operation is tried again after a lost connection, a deadlock or a restart of the server,
   * in milliseconds. @default 10 s
   */
  readonly retryMs?: number;
  /** Maximum bytes of one line that is read. @default 64 MiB */
  readonly maxLineBytes?: number;
}

/**
 * The operations of MySQL beside those of every backend. `migrate` is not one transaction: MySQL commits each
 * definition. `durability` is `os` unless `innodb_flush_log_at_trx_commit` is 1.
 */
export type MysqlTables = SqlServerTables;

/**
 * Creates a backend that stores sessions in MySQL or MariaDB.
 *
 * @example
 * ```ts
 * // `pool` is a pool that `createPool` of mysql2/promise makes
 * const backend = mysqlSessionBackend({ db: pool });
 * await backend.migrate();
 * const sessions = sessionStore(backend);
 * ```
 */
export function mysqlSessionBackend(options: MysqlSessionsOptions): SessionBackend & MysqlTables {
  const { db, retryMs } = options;
  const database = mysqlDatabase(db, retryMs);
  return new SqlBackend({ dialect: mysqlDialect(prefixArgument(options.prefix)), database }, options);
}

function mysqlDialect(prefix: string): SqlDialect {
  return {
    name: prefix,
    errors: mysqlErrors,
    ...rowStatements(mysqlSyntax(prefix)),
    remaining: [
      "free pages of the tables until an `optimize table`, and the undo log",
      "the binary log, replicas and backups of the database",
    ],
    listPages: [50, 1000],
    async migrate(run) {
      for (const sql of migrations(prefix)) await run({ sql, params: [] });
    },
  };
}

/** Returns the beginning of the names of the tables. Throws a TypeError for one that needs quotes. */
export function prefixArgument(prefix: unknown = "sessile_"): string {
  if (typeof prefix === "string" && /^[a-z_][a-z0-9_]{0,47}$/i.test(prefix)) return prefix;
  const expected = "1 to 48 letters, digits and underscores, no digit first";
  throw new TypeError(`prefix: expected ${expected}, got ${describe(prefix)}`);
}
