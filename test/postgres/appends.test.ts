import { type Session, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { postgresSessionStore } from "sessile/postgres";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  emptyStore,
  FaultyDriver,
  lostConnection,
  pglite,
  serverError,
  startMs,
  writesLines,
} from "./pglite.js";

const schema = "appends";
let db: FaultyDriver;

beforeAll(async () => {
  await emptyStore(schema);
}, startMs);
beforeEach(async () => {
  db = new FaultyDriver(await pglite());
});

const storeOf = (retryMs = 2000, prepare = false) => postgresSessionStore({ db, schema, retryMs, prepare });

async function start(retryMs?: number): Promise<Session> {
  const session = await storeOf(retryMs).create({ cwd: "/work" });
  await session.appendMessage(userMessage("start"));
  return session;
}

/** The texts of a session as another handle reads them. */
async function textsOf(id: string): Promise<readonly unknown[]> {
  const server = await pglite();
  const session = await postgresSessionStore({ db: server, schema }).open(id);
  const { items } = await session.context();
  return items.map(({ message }) => (message.role === "user" ? message.content : message.role));
}

/** Fails some calls that write lines: with `error` in place of each call, or of its answer. */
function fail(which: "before" | "after", times: number, error: () => Error, all = false): void {
  let left = times;
  db[which] = (text) => {
    if ((!all && !writesLines(text)) || left-- <= 0) return;
    throw error();
  };
}

const say = (text: string) => userMessage(text);

describe("an append", () => {
  it("has named statements only if asked to, one name for each text", async () => {
    const named: { name?: string; text: string }[] = [];
    const server = await pglite();
    const recording = {
      async query(
        statement: string | { name?: string; text: string; values?: unknown[] },
        values?: unknown[],
      ) {
        if (typeof statement === "string") return server.query(statement, values);
        named.push(statement);
        return server.query(statement.text, statement.values);
      },
    };
    const plain = await postgresSessionStore({ db: recording, schema }).create({ cwd: "/" });
    await plain.appendMessage(say("one"));
    expect(named).toEqual([]);
    const session = await postgresSessionStore({ db: recording, schema, prepare: true }).create({ cwd: "/" });
    for (const text of ["one", "two", "three"]) await session.appendMessage(say(text));
    expect(new Set(named.map(({ name }) => name)).size).toBe(new Set(named.map(({ text }) => text)).size);
    expect(named.every(({ name }) => name !== undefined && name.length < 64)).toBe(true);
    expect(named.length).toBe(4);
  });

  it.each(["40001", "40P01", "55P03", "57P03", "53300", "08001", "08004", "25006"])(
    "is made again after %s, as nothing was done",
    async (code) => {
      const session = await start();
      fail("before", 2, () => serverError(code));
      await session.appendMessage(say("next"));
      expect(await textsOf(session.id)).toEqual(["start", "next"]);
    },
  );

  it.each(["53100", "42501"])("fails with the code of the server after %s", async (code) => {
    const session = await start();
    fail("before", 1, () => serverError(code));
    await expect(session.appendMessage(say("lost"))).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: "append to", path: session.id, errno: code },
    });
    await session.appendMessage(say("next"));
    expect(await textsOf(session.id)).toEqual(["start", "next"]);
  });
});

/** Failures of drivers from before a statement was sent, and the code of each. */
const unsent: readonly (readonly [name: string, error: Error, errno: string])[] = [
  [
    "a pool of pg without a free connection",
    new Error("timeout exceeded when trying to connect"),
    "CONNECT_TIMEOUT",
  ],
  ["a connection of pg that takes too long", new Error("timeout expired"), "CONNECT_TIMEOUT"],
  [
    "a pool of pg whose connection takes too long",
    new Error("Connection terminated due to connection timeout", { cause: lostConnection() }),
    "CONNECT_TIMEOUT",
  ],
  [
    "a client of pg after an error",
    new Error("Client has encountered a connection error and is not queryable"),
    "NOT_CONNECTED",
  ],
  ["an unknown name", withCode("ENOTFOUND", "getaddrinfo"), "ENOTFOUND"],
  ["a name server that does not answer", withCode("EAI_AGAIN", "getaddrinfo"), "EAI_AGAIN"],
  ["a refused connection", withCode("ECONNREFUSED"), "ECONNREFUSED"],
  ["a connection without an answer", withCode("ETIMEDOUT", "connect"), "ETIMEDOUT"],
  ["an unreachable host", withCode("EHOSTUNREACH", "connect"), "EHOSTUNREACH"],
  ["a socket that is not there", withCode("ENOENT", "connect"), "ENOENT"],
  [
    "a name with two addresses",
    Object.assign(new AggregateError([withCode("ECONNREFUSED"), withCode("ETIMEDOUT", "connect")]), {
      code: "ETIMEDOUT",
    }),
    "ETIMEDOUT",
  ],
  ["a timeout of postgres.js", withCode("CONNECT_TIMEOUT"), "CONNECT_TIMEOUT"],
  [
    "a fetch of Neon",
    Object.assign(new Error("Error connecting to database: TypeError: fetch failed"), {
      sourceError: new TypeError("fetch failed", { cause: withCode("ENOTFOUND", "getaddrinfo") }),
    }),
    "ENOTFOUND",
  ],
  ["a pooler without a connection", withCode("08P01", undefined, "query_wait_timeout"), "08P01"],
  ["a server that starts", serverError("57P03"), "57P03"],
  ["a server that starts, in an error of a wrapper", withCause(serverError("57P03")), "57P03"],
  ["a former primary", serverError("25006"), "25006"],
];

/** As Drizzle and others throw it. */
function withCause(cause: Error): Error {
  return new Error("Failed query", { cause });
}

function withCode(code: string, syscall?: string, message = `failed with ${code}`): Error {
  return Object.assign(new Error(message), { code, ...(syscall === undefined ? {} : { syscall }) });
}

describe("a failure before a statement is sent", () => {
  describe.each(unsent)("%s", (_, error, errno) => {
    it("is tried again", async () => {
      const session = await start();
      fail("before", 2, () => error);
      await session.appendMessage(say("next"));
      expect(await textsOf(session.id)).toEqual(["start", "next"]);
    });

    it("fails after the bound with its code, and the handle stays usable", async () => {
      const session = await start(20);
      fail("before", Number.POSITIVE_INFINITY, () => error);
      await expect(session.appendMessage(say("lost"))).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        details: { operation: "append to", path: session.id, errno },
      });
      db.before = undefined;
      await session.appendMessage(say("next"));
      expect(await textsOf(session.id)).toEqual(["start", "next"]);
    });
  });

  it.each([
    ["a closed PGlite", new Error("PGlite is closed")],
    ["a pool that was ended", new Error("Cannot use a pool after calling end on the pool")],
    ["a client of postgres.js that was ended", withCode("CONNECTION_ENDED")],
    ["a wrong password", new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string")],
    ["a certificate", withCode("SELF_SIGNED_CERT_IN_CHAIN")],
    ["a statement that a server refused, in an error of a wrapper", withCause(serverError("53100"))],
  ])("of %s is final, and the handle stays usable", async (_, error) => {
    const session = await start();
    let calls = 0;
    db.before = () => {
      calls++;
      throw error;
    };
    await expect(session.appendMessage(say("lost"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    expect(calls).toBe(1);
    db.before = undefined;
    await session.appendMessage(say("next"));
    expect(await textsOf(session.id)).toEqual(["start", "next"]);
  });

  it.each([
    ["a timeout of a sent statement", withCode("ETIMEDOUT", "read")],
    ["two addresses, one of them reached", new AggregateError([withCode("ECONNREFUSED"), withCode("EPIPE")])],
    ["a fetch without a cause", new TypeError("fetch failed")],
    ["a lost connection in an error of a wrapper", withCause(lostConnection())],
  ])("is not assumed of %s: the handle is poisoned", async (_, error) => {
    const session = await start(20);
    fail("before", Number.POSITIVE_INFINITY, () => error);
    await expect(session.appendMessage(say("lost"))).rejects.toMatchObject({ code: "WRITER_POISONED" });
  });
});

const losses = {
  "without a code": lostConnection,
  "with 57P01": () => serverError("57P01"),
  "with 57P02": () => serverError("57P02"),
  "with 25P03": () => serverError("25P03"),
  "with 08006": () => serverError("08006"),
  "with ECONNRESET": () => serverError("ECONNRESET"),
  "with EPIPE": () => serverError("EPIPE"),
} as const;

/** Row 21 of the faults: the connection ends in an append. */
describe("a connection that is lost in an append", () => {
  describe.each(Object.entries(losses))("%s", (_, error) => {
    it.each(["before", "after"] as const)("%s the commit: the entry is there once", async (which) => {
      const session = await start();
      fail(which, 1, error);
      await session.appendMessage(say("next"));
      await session.appendMessage(say("last"));
      expect(await textsOf(session.id)).toEqual(["start", "next", "last"]);
    });
  });
});

it("a missing table is an error that says so", async () => {
  const store = postgresSessionStore({ db: await pglite(), schema: "never made" });
  const error = await store.open("a").catch((thrown: unknown) => thrown);
  expect(SessileError.is(error, "STORAGE_FAILED") && error.details.errno).toBe("42P01");
  expect((error as Error).message).toContain("call migrate() first");
});

it("arguments are checked", async () => {
  expect(() => postgresSessionStore({ db: undefined as never })).toThrow(TypeError);
  expect(() => postgresSessionStore({ db, schema: "" })).toThrow("schema: expected a name");
  expect(() => postgresSessionStore({ db, schema: "é".repeat(32) })).toThrow("63 bytes");
  expect(() => postgresSessionStore({ db, retryMs: -1 })).toThrow(RangeError);
  const strange = await emptyStore(`a "quoted" 'schema' $1 $sessile$`);
  const session = await strange.create({ cwd: "/" });
  await session.appendMessage(say("kept"));
  expect((await (await strange.open(session.id)).tree()).size).toBe(1);
});
