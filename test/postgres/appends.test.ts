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
  it("is one statement, the first one too, and those that wait are one together", async () => {
    const session = await storeOf().create({ cwd: "/work" });
    db.queries.length = 0;
    await session.appendMessage(say("one"));
    expect(db.queries).toHaveLength(1);
    await session.appendMessage(say("two"));
    expect(db.queries).toHaveLength(2);
    await Promise.all(Array.from({ length: 20 }, (_, index) => session.appendMessage(say(`${index}`))));
    expect(db.queries).toHaveLength(3);
    await session.updateInfo({ title: "title" });
    expect(db.queries).toHaveLength(4);
  });

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

  it("fails with STORAGE_FAILED if the server is busy for too long, and may be made again", async () => {
    const session = await start(60);
    fail("before", Number.POSITIVE_INFINITY, () => serverError("40001"));
    await expect(session.appendMessage(say("lost"))).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { errno: "40001" },
    });
    db.before = undefined;
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

  it.each(["before", "after"] as const)("%s the commit of the first append: one session", async (which) => {
    const session = await storeOf().create({ cwd: "/work" });
    fail(which, 1, lostConnection);
    await session.appendMessage(say("first"));
    expect(await textsOf(session.id)).toEqual(["first"]);
  });

  it("while the server still runs the statement, which commits before the next attempt", async () => {
    const session = await start();
    const server = await pglite();
    let running: (() => Promise<unknown>) | undefined;
    let writes = 0;
    const slow = {
      async query(text: string, values?: unknown[]) {
        if (writesLines(text) && ++writes === 1) {
          running = () => server.query(text, values);
          throw lostConnection();
        }
        if (writes === 2) await running?.();
        return server.query(text, values);
      },
    };
    const store = postgresSessionStore({ db: slow, schema });
    const other = await store.open(session.id, { mode: "write" });
    await other.appendMessage(say("next"));
    expect(writes).toBe(2);
    expect(await textsOf(session.id)).toEqual(["start", "next"]);
  });

  it("several times, with the questions for the outcome: the entry is there once", async () => {
    const session = await start();
    let calls = 0;
    db.after = () => {
      if (++calls <= 3) throw lostConnection();
    };
    await session.appendMessage(say("next"));
    expect(calls).toBe(4);
    db.after = undefined;
    await session.appendMessage(say("last"));
    expect(await textsOf(session.id)).toEqual(["start", "next", "last"]);
  });

  it("beside another writer that came first: a conflict, and nothing is written", async () => {
    const session = await start();
    const other = await postgresSessionStore({ db: await pglite(), schema }).open(session.id, {
      mode: "write",
    });
    await other.appendMessage(say("other"));
    fail("before", 1, lostConnection);
    await expect(session.appendMessage(say("next"))).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(await textsOf(session.id)).toEqual(["start", "other"]);
  });

  it("beside another writer that came after: acknowledged, and the next append sees the other", async () => {
    const session = await start();
    const server = await pglite();
    const other = await postgresSessionStore({ db: server, schema }).open(session.id, { mode: "write" });
    let entered: Promise<unknown> | undefined;
    db.after = (text) => {
      if (!writesLines(text)) return;
      db.after = undefined;
      entered = other.refresh().then(() => {
        other.branch([...other.tree.walk()].at(-1)?.node.id ?? null);
        return other.appendMessage(say("other"));
      });
      throw lostConnection();
    };
    await session.appendMessage(say("next"));
    await entered;
    expect(await textsOf(session.id)).toEqual(["start", "next", "other"]);
    await expect(session.appendMessage(say("late"))).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
  });

  it("for longer than the bound: the handle is poisoned, and opened again it is as the log", async () => {
    for (const which of ["before", "after"] as const) {
      const session = await start(50);
      fail(which, Number.POSITIVE_INFINITY, lostConnection, true);
      await expect(session.appendMessage(say("next"))).rejects.toMatchObject({ code: "WRITER_POISONED" });
      db[which] = undefined;
      await expect(session.appendMessage(say("again"))).rejects.toMatchObject({ code: "WRITER_POISONED" });
      const again = await storeOf().open(session.id, { mode: "write" });
      await again.appendMessage(say("last"));
      const expected = which === "before" ? ["start", "last"] : ["start", "next", "last"];
      expect(await textsOf(session.id)).toEqual(expected);
    }
  });

  it("in a delete, after its commit: the session existed", async () => {
    const session = await start();
    db.after = (text) => {
      if (!text.startsWith("delete")) return;
      db.after = undefined;
      throw lostConnection();
    };
    const store = storeOf();
    expect(await store.delete(session.id)).toBe(true);
    expect(await store.delete(session.id)).toBe(false);
  });

  it("in a fork, after its commit: one copy", async () => {
    const session = await start();
    fail("after", 1, lostConnection);
    const copy = await storeOf().fork(session.id);
    expect(await textsOf(copy.id)).toEqual(["start"]);
  });

  it("in reads: they are made again", async () => {
    const session = await start();
    let calls = 0;
    db.before = () => {
      if (++calls % 2 === 1) throw lostConnection();
    };
    const back = await storeOf().open(session.id);
    expect((await back.context()).items).toHaveLength(1);
    for await (const { id } of storeOf().list()) expect(typeof id).toBe("string");
    expect(calls).toBeGreaterThan(5);
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
