import {
  type DurableObjectSql,
  databaseDriver,
  type SqliteDatabase,
  type SqliteDriver,
  type SqliteRow,
  type SqliteStatement,
} from "sessile/sqlite";
import initSqlJs, { type Database } from "sql.js";

const { Database: SqlJs } = await initSqlJs();

/**
 * A database in memory with the members that `node:sqlite`, `bun:sqlite` and better-sqlite3 share, and its file.
 */
export function memoryDatabase(): SqliteDatabase & { contents(): Uint8Array } {
  const database: Database = new SqlJs();
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      const all = (...params: unknown[]) => {
        statement.bind(params);
        const rows: Record<string, unknown>[] = [];
        try {
          while (statement.step()) rows.push(statement.getAsObject());
        } finally {
          statement.reset();
        }
        return rows;
      };
      return { all, run: all };
    },
    exec: (sql) => database.run(sql),
    contents() {
      database.run("vacuum");
      return database.export();
    },
  };
}

/** As the storage of a Durable Object: bytes come as an ArrayBuffer. */
export function durableObjectStorage(): DurableObjectSql {
  const database = memoryDatabase();
  const all = (sql: string, params: readonly unknown[]) =>
    (database.prepare(sql) as { all(...params: unknown[]): readonly SqliteRow[] }).all(...params);
  return {
    sql: {
      exec(sql, ...params) {
        if (/^(?:begin|commit|rollback|pragma)/i.test(sql)) throw new Error("not authorized: SQLITE_AUTH");
        const rows = withBytes(all(sql, params), (bytes) => bytes.slice().buffer);
        return { toArray: () => [...rows] };
      },
    },
    transactionSync(run) {
      database.exec("begin");
      try {
        const result = run();
        database.exec("commit");
        return result;
      } catch (error) {
        database.exec("rollback");
        throw error;
      }
    },
  };
}

/** Rows with their bytes changed. */
export function withBytes(
  rows: readonly SqliteRow[],
  change: (bytes: Uint8Array) => unknown,
): readonly SqliteRow[] {
  const changed = (value: unknown) => (value instanceof Uint8Array ? change(value) : value);
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, changed(value)])),
  );
}

export const memoryDriver = (): SqliteDriver => databaseDriver(memoryDatabase());

/**
 * A driver as of a database behind a network, whose calls a test changes: `before` may throw in their place,
 * `after` in place of their answer.
 */
export class FaultyDriver implements SqliteDriver {
  readonly calls: (readonly SqliteStatement[])[] = [];
  before: ((statements: readonly SqliteStatement[]) => void) | undefined;
  after: ((statements: readonly SqliteStatement[]) => void) | undefined;
  readonly #driver: SqliteDriver;

  constructor(driver: SqliteDriver) {
    this.#driver = driver;
  }

  all(sql: string, params: SqliteStatement["params"]) {
    return this.#call([{ sql, params }], () => this.#driver.all(sql, params));
  }

  transaction(statements: readonly SqliteStatement[]) {
    return this.#call(statements, () => this.#driver.transaction(statements));
  }

  async #call<T>(statements: readonly SqliteStatement[], run: () => T | Promise<T>): Promise<T> {
    this.calls.push(statements);
    await Promise.resolve();
    this.before?.(statements);
    const answer = await run();
    this.after?.(statements);
    return answer;
  }
}

/** Whether statements write lines. */
export function writesLines(statements: readonly SqliteStatement[]): boolean {
  return statements.some(({ sql }) => sql.startsWith("insert into sessile_entry"));
}

/** What a driver throws for a connection that ends. */
export function lostConnection(): Error {
  return Object.assign(new TypeError("fetch failed"), { code: "ECONNRESET" });
}

/** A failure that the database reports, as better-sqlite3, bun:sqlite and libSQL name it. */
export function sqliteError(code: string): Error {
  return Object.assign(new Error(`the database reports ${code}`), { code });
}
