import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sqlite, { type Statement } from "node-sqlite3-wasm";
import {
  type DurableObjectSql,
  databaseDriver,
  type SqliteDatabase,
  type SqliteDriver,
  type SqliteRow,
  type SqliteStatement,
} from "sessile/sqlite";

/** A database with the members that `node:sqlite`, `bun:sqlite` and better-sqlite3 share. */
export interface TestDatabase extends SqliteDatabase {
  /** The bytes of its file without free pages. */
  contents(): Uint8Array;
  close(): void;
}

const open = new Set<TestDatabase>();

/** Closes all databases: their memory is not collected. */
export function closeDatabases(): void {
  for (const database of open) database.close();
}

/** Opens a file, which another handle or process may have open too. */
export function fileDatabase(path: string): TestDatabase {
  return databaseOn(new sqlite.Database(path));
}

export function memoryDatabase(): TestDatabase {
  return databaseOn(new sqlite.Database());
}

function databaseOn(database: InstanceType<typeof sqlite.Database>): TestDatabase {
  const statements = new Set<Statement>();
  const prepare = (sql: string): Statement => {
    const statement = database.prepare(sql);
    statements.add(statement);
    return statement;
  };
  const opened: TestDatabase = {
    prepare(sql) {
      let statement: Statement | undefined = prepare(sql);
      const all = (...params: (string | number | Uint8Array | null)[]) => {
        statement ??= prepare(sql);
        try {
          return statement.all(params);
        } catch (error) {
          // A statement that failed cannot be run again; its end has the error once more.
          const failed = statement;
          statement = undefined;
          statements.delete(failed);
          try {
            failed.finalize();
          } catch {}
          throw error;
        }
      };
      return { all, run: all };
    },
    exec: (sql) => database.exec(sql),
    contents() {
      const dir = mkdtempSync(join(tmpdir(), "sessile-sqlite-"));
      try {
        database.run("vacuum into ?", [join(dir, "copy.db")]);
        return readFileSync(join(dir, "copy.db"));
      } finally {
        rmSync(dir, { recursive: true });
      }
    },
    close() {
      open.delete(opened);
      for (const statement of statements) statement.finalize();
      statements.clear();
      if (database.isOpen) database.close();
    },
  };
  open.add(opened);
  return opened;
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
