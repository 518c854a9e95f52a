import { sessionStore, userMessage } from "sessile";
import {
  databaseDriver,
  durableObjectDriver,
  type LibsqlClient,
  libsqlDriver,
  type SqliteDatabase,
  type SqliteDriver,
  type SqliteRow,
  sqliteSessionBackend,
} from "sessile/sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { closeDatabases, durableObjectStorage, memoryDatabase, withBytes } from "./databases.js";

afterEach(closeDatabases);

/** As better-sqlite3: `all` refuses a statement without an answer, numbers are doubles, bytes are a Buffer. */
function betterSqlite3(): SqliteDatabase {
  const database = memoryDatabase();
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const { all } = database.prepare(sql) as { all(...params: unknown[]): readonly SqliteRow[] };
      const reader = /^(?:select|with)|returning/.test(sql);
      return {
        reader,
        all(...params: unknown[]) {
          if (!reader) throw new TypeError("This statement does not return data. Use run() instead");
          return withBytes(all(...params), (bytes) => Buffer.from(bytes));
        },
        run: (...params: unknown[]) => ({ changes: all(...params).length }),
      };
    },
  };
}

/** As a client of libSQL: rows that also have indexes, bytes as an ArrayBuffer. */
function libsql(): LibsqlClient {
  const driver = databaseDriver(memoryDatabase());
  const answer = (rows: readonly SqliteRow[]) => ({
    rows: withBytes(rows, (bytes) => bytes.slice().buffer).map((row) =>
      Object.assign(Object.create(null), row, Object.values(row)),
    ),
  });
  return {
    execute: async ({ sql, args }) => answer(await driver.all(sql, args)),
    batch: async (statements) => {
      const given = statements.map(({ sql, args }) => ({ sql, params: args }));
      return (await driver.transaction(given)).map(answer);
    },
  };
}

const drivers: readonly (readonly [string, () => SqliteDriver])[] = [
  ["databaseDriver", () => databaseDriver(memoryDatabase())],
  ["databaseDriver on better-sqlite3", () => databaseDriver(betterSqlite3())],
  ["durableObjectDriver", () => durableObjectDriver(durableObjectStorage())],
  ["libsqlDriver", () => libsqlDriver(libsql())],
];

describe.each(drivers)("%s", (_, make) => {
  it("stores, reads, lists, forks and deletes", async () => {
    const driver = make();
    const backend = sqliteSessionBackend({ driver });
    await backend.migrate();
    const store = sessionStore(backend);
    const session = await store.create({ cwd: "/", id: "a" });
    await session.appendMessage(userMessage("one ü"));
    await session.appendMessage(userMessage("two"));
    await store.fork("a", { id: "b" });
    const back = await store.open("b");
    expect((await back.context()).items).toHaveLength(2);
    const listed: unknown[] = [];
    for await (const { id, firstMessage } of store.list()) listed.push([id, firstMessage]);
    expect(listed.sort()).toEqual([
      ["a", "one ü"],
      ["b", "one ü"],
    ]);
    expect(await store.delete("a")).toBe(true);
    expect(await store.open("a").catch(({ code }) => code)).toBe("SESSION_NOT_FOUND");
  });

  it("runs statements all or none", async () => {
    const driver = make();
    await driver.all("create table t (a integer primary key)", []);
    const insert = (value: number) => ({ sql: "insert into t values (?) returning a", params: [value] });
    expect((await driver.transaction([insert(1), insert(2)])).map((rows) => rows[0]?.a)).toEqual([1, 2]);
    await expect((async () => driver.transaction([insert(3), insert(1)]))()).rejects.toThrow("UNIQUE");
    expect(await driver.all("select count(*) as n from t", [])).toMatchObject([{ n: 2 }]);
    await driver.transaction([insert(3)]);
    expect(await driver.all("select count(*) as n from t", [])).toMatchObject([{ n: 3 }]);
  });
});

it("a transaction that SQLite has ended by itself fails with its error", () => {
  const { prepare } = memoryDatabase();
  const calls: string[] = [];
  const database: SqliteDatabase = {
    prepare,
    exec(sql) {
      calls.push(sql);
      if (sql === "commit") throw new Error("disk is full");
      if (sql === "rollback") throw new Error("no transaction is active");
    },
  };
  expect(() => databaseDriver(database).transaction([{ sql: "select 1", params: [] }])).toThrow(
    "disk is full",
  );
  expect(calls).toEqual(["begin immediate", "commit", "rollback"]);
});
