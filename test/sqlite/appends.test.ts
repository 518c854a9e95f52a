import { userMessage } from "sessile/content";
import { SessileError } from "sessile/errors";
import { type Session, sessionStore } from "sessile/session";
import { type SqliteDriver, sqliteSessionBackend } from "sessile/sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  closeDatabases,
  FaultyDriver,
  lostConnection,
  memoryDriver,
  sqliteError,
  writesLines,
} from "./databases.js";

afterEach(closeDatabases);

let database: SqliteDriver;
let driver: FaultyDriver;

beforeEach(async () => {
  database = memoryDriver();
  driver = new FaultyDriver(database);
  await sqliteSessionBackend({ driver }).migrate();
  driver.calls.length = 0;
});

const storeOn = (given: SqliteDriver, retryMs = 2000) =>
  sessionStore(sqliteSessionBackend({ driver: given, retryMs }));
const say = (text: string) => userMessage(text);

async function start(retryMs?: number): Promise<Session> {
  const session = await storeOn(driver, retryMs).create({ cwd: "/work" });
  await session.appendMessage(say("start"));
  driver.calls.length = 0;
  return session;
}

/** The texts of a session as another handle reads them. */
async function textsOf(id: string): Promise<readonly unknown[]> {
  const session = await storeOn(database).open(id);
  const { items } = await session.context();
  return items.map(({ message }) => (message.role === "user" ? message.content : message.role));
}

/** Fails some calls that write lines: with `error` in place of each call, or of its answer. */
function fail(which: "before" | "after", times: number, error: () => Error, all = false): void {
  let left = times;
  driver[which] = (statements) => {
    if ((!all && !writesLines(statements)) || left-- <= 0) return;
    throw error();
  };
}

describe("an append", () => {
  it("is one transaction, the first one too, and those that wait are one together", async () => {
    const session = await storeOn(driver).create({ cwd: "/work" });
    driver.calls.length = 0;
    await session.appendMessage(say("one"));
    await session.appendMessage(say("two"));
    expect(driver.calls.map((statements) => statements.length)).toEqual([3, 2]);
    await Promise.all(Array.from({ length: 20 }, (_, index) => session.appendMessage(say(`${index}`))));
    expect(driver.calls).toHaveLength(3);
    await session.updateInfo({ title: "title" });
    expect(driver.calls).toHaveLength(4);
  });

  it("has at most 100 values a statement, as Durable Objects take", async () => {
    const session = await start();
    const many = Array.from({ length: 200 }, (_, index) => ({
      type: "message" as const,
      message: say(`${index}`),
    }));
    await session.append(many);
    expect(driver.calls).toHaveLength(1);
    const counts = driver.calls.flat().map(({ params }) => params.length);
    expect(Math.max(...counts)).toBeLessThanOrEqual(100);
    for (const { sql, params } of driver.calls.flat())
      expect(sql.replaceAll(/'[^']*'/g, "").split("?").length - 1).toBe(params.length);
    expect((await textsOf(session.id)).length).toBe(201);
  });

  it.each(["SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_LOCKED_SHAREDCACHE"])(
    "is made again after %s, as nothing was done",
    async (code) => {
      const session = await start();
      fail("before", 3, () => sqliteError(code));
      await session.appendMessage(say("next"));
      expect(await textsOf(session.id)).toEqual(["start", "next"]);
      expect(driver.calls).toHaveLength(4);
    },
  );

  it.each([
    ["node:sqlite", { code: "ERR_SQLITE_ERROR", errcode: 261, message: "database is locked" }],
    ["a build of WebAssembly", { message: "database is locked" }],
    ["a Durable Object", { message: "database is locked: SQLITE_BUSY" }],
  ])("is made again when %s is locked", async (_, error) => {
    const session = await start();
    fail("before", 1, () => Object.assign(new Error(error.message), error));
    await session.appendMessage(say("next"));
    expect(await textsOf(session.id)).toEqual(["start", "next"]);
    expect(driver.calls).toHaveLength(2);
  });

  it.each([
    ["SQLITE_FULL", { code: "SQLITE_FULL" }],
    ["SQLITE_READONLY", { code: "ERR_SQLITE_ERROR", errcode: 8 }],
    ["SQLITE_TOOBIG", { message: "string or blob too big: SQLITE_TOOBIG" }],
  ])("fails with %s, and may be made again", async (errno, error) => {
    const session = await start();
    fail("before", 1, () => Object.assign(new Error("no"), error));
    await expect(session.appendMessage(say("lost"))).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: "append to", path: session.id, errno },
    });
    await session.appendMessage(say("next"));
    expect(await textsOf(session.id)).toEqual(["start", "next"]);
  });

  it("fails with STORAGE_FAILED if the database is locked for too long", async () => {
    const session = await start(40);
    fail("before", Number.POSITIVE_INFINITY, () => sqliteError("SQLITE_BUSY"));
    await expect(session.appendMessage(say("lost"))).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { errno: "SQLITE_BUSY" },
    });
    driver.before = undefined;
    await session.appendMessage(say("next"));
    expect(await textsOf(session.id)).toEqual(["start", "next"]);
  });

  it("whose commit could not be synced leaves the handle poisoned, and is not made again", async () => {
    const session = await start();
    fail("after", 1, () => sqliteError("SQLITE_IOERR_FSYNC"));
    await expect(session.appendMessage(say("next"))).rejects.toMatchObject({ code: "WRITER_POISONED" });
    expect(driver.calls).toHaveLength(1);
  });

  it("that a synchronous driver refuses is not taken for a lost answer", async () => {
    const session = await start();
    let calls = 0;
    const refusing: SqliteDriver = {
      all: (sql, params) => database.all(sql, params),
      transaction() {
        calls++;
        throw new TypeError("unsupported value");
      },
    };
    const other = await storeOn(refusing).open(session.id, { mode: "write" });
    await expect(other.appendMessage(say("next"))).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { errno: "UNKNOWN" },
    });
    expect(calls).toBe(1);
  });

  it("of which one statement fails leaves nothing", async () => {
    const session = await start();
    const failing: SqliteDriver = {
      all: (sql, params) => database.all(sql, params),
      transaction: (statements) =>
        database.transaction([...statements, { sql: "select nothing", params: [] }]),
    };
    const other = await storeOn(failing).open(session.id, { mode: "write" });
    await expect(other.appendMessage(say("next"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    expect(database.all("select count(*) as n from sessile_entry", [])).toEqual([{ n: 2 }]);
    expect(await textsOf(session.id)).toEqual(["start"]);
  });
});

/** Row 21 of the faults: the connection ends in an append. */
describe("a connection that is lost in an append", () => {
  it.each(["before", "after"] as const)("%s the commit: the entry is there once", async (which) => {
    const session = await start();
    fail(which, 1, lostConnection);
    await session.appendMessage(say("next"));
    await session.appendMessage(say("last"));
    expect(await textsOf(session.id)).toEqual(["start", "next", "last"]);
  });

  it.each(["before", "after"] as const)("%s the commit of the first append: one session", async (which) => {
    const session = await storeOn(driver).create({ cwd: "/work" });
    fail(which, 1, lostConnection);
    await session.appendMessage(say("first"));
    expect(await textsOf(session.id)).toEqual(["first"]);
  });

  it("while the server still runs it, which commits before the next attempt", async () => {
    const session = await start();
    let writes = 0;
    let running: (() => unknown) | undefined;
    const slow: SqliteDriver = {
      all: async (sql, params) => database.all(sql, params),
      async transaction(statements) {
        if (++writes === 1) {
          running = () => database.transaction(statements);
          throw lostConnection();
        }
        if (writes === 2) running?.();
        return database.transaction(statements);
      },
    };
    const other = await storeOn(slow).open(session.id, { mode: "write" });
    await other.appendMessage(say("next"));
    expect(writes).toBe(2);
    expect(await textsOf(session.id)).toEqual(["start", "next"]);
  });

  it("several times, with the questions for the outcome: the entry is there once", async () => {
    const session = await start();
    let calls = 0;
    driver.after = () => {
      if (++calls <= 3) throw lostConnection();
    };
    await session.appendMessage(say("next"));
    expect(calls).toBe(4);
    driver.after = undefined;
    await session.appendMessage(say("last"));
    expect(await textsOf(session.id)).toEqual(["start", "next", "last"]);
  });

  it("beside another writer that came first: a conflict, and nothing is written", async () => {
    const session = await start();
    const other = await storeOn(database).open(session.id, { mode: "write" });
    await other.appendMessage(say("other"));
    fail("before", 1, lostConnection);
    await expect(session.appendMessage(say("next"))).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(await textsOf(session.id)).toEqual(["start", "other"]);
  });

  it("for longer than the bound: the handle is poisoned, and opened again it is as the log", async () => {
    for (const which of ["before", "after"] as const) {
      const session = await start(40);
      fail(which, Number.POSITIVE_INFINITY, lostConnection, true);
      await expect(session.appendMessage(say("next"))).rejects.toMatchObject({ code: "WRITER_POISONED" });
      driver[which] = undefined;
      await expect(session.appendMessage(say("again"))).rejects.toMatchObject({ code: "WRITER_POISONED" });
      const again = await storeOn(driver).open(session.id, { mode: "write" });
      await again.appendMessage(say("last"));
      const expected = which === "before" ? ["start", "last"] : ["start", "next", "last"];
      expect(await textsOf(session.id)).toEqual(expected);
    }
  });

  it("of several rows of a megabyte, after its commit: they are compared page by page", async () => {
    const session = await start();
    const long = "long ".repeat(500_000);
    fail("after", 1, lostConnection);
    await session.append([
      { type: "message", message: say(long) },
      { type: "message", message: say("short") },
    ]);
    expect(await textsOf(session.id)).toEqual(["start", long, "short"]);
  });

  it("in a delete, after its commit: the session existed", async () => {
    const session = await start();
    driver.after = (statements) => {
      if (!statements.some(({ sql }) => sql.startsWith("delete"))) return;
      driver.after = undefined;
      throw lostConnection();
    };
    const store = storeOn(driver);
    expect(await store.delete(session.id)).toBe(true);
    expect(await store.delete(session.id)).toBe(false);
  });

  it("in a fork, after its commit: one copy", async () => {
    const session = await start();
    fail("after", 1, lostConnection);
    const copy = await storeOn(driver).fork(session.id);
    expect(await textsOf(copy.id)).toEqual(["start"]);
  });
});

it("followers in this process read at once, also through another backend on the driver", async () => {
  const session = await start();
  const reader = await storeOn(driver).open(session.id);
  const stop = new AbortController();
  const followed = reader.follow({ signal: stop.signal, pollMs: 60_000 })[Symbol.asyncIterator]();
  const next = followed.next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  await session.appendMessage(say("next"));
  expect((await next).value).toMatchObject({ message: { content: "next" } });
  stop.abort();
  expect(await followed.next()).toEqual({ done: true, value: undefined });
});

it("a missing table is an error that says so", async () => {
  const error = await storeOn(memoryDriver())
    .open("a")
    .catch((thrown: unknown) => thrown);
  expect(SessileError.is(error, "STORAGE_FAILED")).toBe(true);
  expect((error as Error).message).toContain("no such table: sessile_session: call migrate() first");
});

it("arguments are checked", () => {
  expect(() => sqliteSessionBackend({ driver: undefined as never })).toThrow(TypeError);
  expect(() => sqliteSessionBackend({ driver: { all: () => [] } as never })).toThrow("driver: expected");
  for (const prefix of ["a-b", "1a", "sqlite_x", "_cf_x", "a".repeat(64), 'a"'])
    expect(() => sqliteSessionBackend({ driver, prefix })).toThrow("prefix: expected");
  expect(() => sqliteSessionBackend({ driver, retryMs: -1 })).toThrow(RangeError);
  expect(() => sqliteSessionBackend({ driver, maxLineBytes: 10 })).toThrow(RangeError);
});
