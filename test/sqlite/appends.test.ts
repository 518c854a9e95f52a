import { type Session, sessionStore, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
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

  it("is made again, and leaves its handle usable, if a server over the network was not reached", async () => {
    const session = await start(200);
    const refused = () =>
      new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }) });
    fail("before", 2, refused);
    await session.appendMessage(say("next"));
    fail("before", Number.POSITIVE_INFINITY, refused);
    await expect(session.appendMessage(say("lost"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    fail("before", 0, refused);
    await session.appendMessage(say("last"));
    expect(await textsOf(session.id)).toEqual(["start", "next", "last"]);
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
