import { userMessage } from "sessile/content";
import { SessileError } from "sessile/errors";
import { postgresSessionStore } from "sessile/postgres";
import type { Session } from "sessile/session";
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

  it.each(["40001", "40P01", "57P03", "53300"])(
    "is made again after %s, as nothing was done",
    async (code) => {
      const session = await start();
      fail("before", 2, () => serverError(code));
      await session.appendMessage(say("next"));
      expect(await textsOf(session.id)).toEqual(["start", "next"]);
    },
  );

  it.each(["53100", "42501", "25006"])("fails with the code of the server after %s", async (code) => {
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

const losses = {
  "without a code": lostConnection,
  "with 57P01": () => serverError("57P01"),
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
  expect((await strange.open(session.id)).tree.size).toBe(1);
});
