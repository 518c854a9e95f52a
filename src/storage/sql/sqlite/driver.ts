/** The driver port, and drivers for the databases that this library is tested with. */

/** A value of a statement. */
export type SqliteValue = string | number | Uint8Array | null;

/** A row by the names of its columns. Bytes are a `Uint8Array` or an `ArrayBuffer`. */
export type SqliteRow = Readonly<Record<string, unknown>>;

/** A statement with a value for each `?`. */
export interface SqliteStatement {
  readonly sql: string;
  readonly params: readonly SqliteValue[];
}

/** The part of a SQLite database that is used. Both methods may be synchronous. */
export interface SqliteDriver {
  /** Runs one statement and returns its rows; none for a statement without an answer. */
  all(sql: string, params: readonly SqliteValue[]): readonly SqliteRow[] | Promise<readonly SqliteRow[]>;
  /**
   * Runs statements in one transaction, all or none, and returns the rows of each. It takes the write lock
   * before the first statement, as `begin immediate` does.
   */
  transaction(
    statements: readonly SqliteStatement[],
  ): readonly (readonly SqliteRow[])[] | Promise<readonly (readonly SqliteRow[])[]>;
}

/** A prepared statement of {@link SqliteDatabase}. */
interface PreparedStatement {
  all(...params: never[]): readonly unknown[];
  run(...params: never[]): unknown;
  /** Whether it returns rows: of better-sqlite3, whose `all` refuses other statements. */
  readonly reader?: boolean;
}

/** The members that `node:sqlite`, `bun:sqlite` and better-sqlite3 share. */
export interface SqliteDatabase {
  /** Prepares one statement. */
  prepare(sql: string): PreparedStatement;
  /** Runs statements without values. */
  exec(sql: string): unknown;
}

/**
 * A driver on a `DatabaseSync` of `node:sqlite`, a `Database` of `bun:sqlite`, or one of better-sqlite3.
 *
 * @example
 * ```ts
 * // `database` is a `new DatabaseSync("sessions.db")`
 * database.exec("pragma journal_mode = wal");
 * const backend = sqliteSessionBackend({ driver: databaseDriver(database) });
 * ```
 */
export function databaseDriver(database: SqliteDatabase): SqliteDriver {
  const prepared = new Map<string, PreparedStatement>();
  const all: SqliteDriver["all"] = (sql, params) => {
    const statement = prepared.get(sql) ?? database.prepare(sql);
    prepared.set(sql, statement);
    const values = params as never[];
    if (statement.reader !== false) return statement.all(...values) as readonly SqliteRow[];
    statement.run(...values);
    return [];
  };
  return {
    all,
    transaction(statements) {
      database.exec("begin immediate");
      try {
        const rows = statements.map(({ sql, params }) => all(sql, params) as readonly SqliteRow[]);
        database.exec("commit");
        return rows;
      } catch (error) {
        rollBack(database);
        throw error;
      }
    },
  };
}

/** SQLite itself ends a transaction after some errors, and refuses a rollback then. */
function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("rollback");
  } catch {
    // The error of the transaction tells more.
  }
}

/** The rows of a statement. */
interface SqlCursor {
  // biome-ignore lint/suspicious/noExplicitAny: workers' types restrict the rows by a parameter
  toArray(): any[];
}

/** The members of the storage of a Durable Object with SQLite. */
export interface DurableObjectSql {
  readonly sql: {
    /** Runs one statement. */
    // biome-ignore lint/suspicious/noExplicitAny: workers' types restrict the rows by a parameter
    exec(sql: string, ...params: any[]): SqlCursor;
  };
  /** Runs a closure in a transaction. */
  transactionSync<T>(run: () => T): T;
}

/**
 * A driver on the storage of a Durable Object.
 *
 * @example
 * ```ts
 * const backend = sqliteSessionBackend({ driver: durableObjectDriver(ctx.storage) });
 * ```
 */
export function durableObjectDriver(storage: DurableObjectSql): SqliteDriver {
  const all = (sql: string, params: readonly SqliteValue[]): readonly SqliteRow[] =>
    storage.sql.exec(sql, ...params).toArray();
  return {
    all,
    transaction: (statements) =>
      storage.transactionSync(() => statements.map(({ sql, params }) => all(sql, params))),
  };
}

/** The members of a client of `@libsql/client`. */
export interface LibsqlClient {
  /** Runs one statement. */
  execute(statement: LibsqlStatement): Promise<LibsqlAnswer>;
  /** Runs statements in one transaction. */
  batch(statements: LibsqlStatement[], mode: "write"): Promise<readonly LibsqlAnswer[]>;
}

interface LibsqlStatement {
  sql: string;
  args: SqliteValue[];
}

interface LibsqlAnswer {
  readonly rows: readonly unknown[];
}

/**
 * A driver on a client of libSQL or Turso: a file, or a server over the network.
 *
 * @example
 * ```ts
 * // `libsql` is a client that `createClient` of @libsql/client makes
 * const backend = sqliteSessionBackend({ driver: libsqlDriver(libsql) });
 * ```
 */
export function libsqlDriver(client: LibsqlClient): SqliteDriver {
  const answerRows = ({ rows }: LibsqlAnswer) => rows as readonly SqliteRow[];
  return {
    all: async (sql, params) => answerRows(await client.execute({ sql, args: [...params] })),
    async transaction(statements) {
      const given = statements.map(({ sql, params }) => ({ sql, args: [...params] }));
      return (await client.batch(given, "write")).map(answerRows);
    },
  };
}
