import {
  deletePartition,
  type EntryDraft,
  eraseEntries,
  memoryBlobStore,
  type SessionStore,
  userMessage,
} from "sessile";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { pglite, startMs } from "../postgres/pglite.js";
import { closeDatabases } from "../sqlite/databases.js";
import { engines, sqliteEngine, storeOf } from "./subjects.js";

beforeAll(async () => {
  await pglite();
}, startMs);
afterEach(closeDatabases);
const reason = "a request";
const drafts = (...texts: readonly string[]) =>
  texts.map((text) => ({ type: "message" as const, message: userMessage(text) }));

describe.each(engines)("in $name", ({ start, lostConnection }) => {
  it("a session that is erased while it is opened is read from its start again", async () => {
    const tables = await start();
    const backend = tables.direct();
    const store = storeOf(backend);
    const session = await store.create({ cwd: "/", id: "s" });
    const texts = Array.from({ length: 8 }, (_, at) => `${at} ${"x".repeat(300_000)}`);
    const [first] = await session.append(drafts(...texts));
    let erased: Promise<unknown> | undefined;
    const open = backend.open.bind(backend);
    backend.open = async (...args) => {
      const log = await open(...args);
      const read = log?.read.bind(log);
      if (log === undefined || read === undefined || erased !== undefined) return log;
      log.read = async function* (from, options) {
        for await (const batch of read(from, options)) {
          yield batch;
          // The first of several pages.
          if (batch.skipped === true || erased !== undefined) continue;
          erased = eraseEntries(storeOf(tables.direct()), "s", [first?.id ?? ""], { reason });
          await erased;
        }
      };
      return log;
    };
    const opened = await store.open("s", { mode: "read" });
    expect(erased).toBeDefined();
    expect(opened.diagnostics).toEqual([]);
    const { items } = await opened.context();
    expect(items.map(({ message }) => "content" in message && message.content)).toEqual([
      "[erased]",
      ...texts.slice(1),
    ]);
  });

  it.each(["before", "after"] as const)(
    "an erasure whose call is lost %s it ran is done once",
    async (when) => {
      const tables = await start();
      const session = await storeOf(tables.direct()).create({ cwd: "/", id: "s" });
      const [first] = await session.append(drafts("one", "two"));
      let lost = 0;
      tables.faults[when] = ({ isWrite }) => {
        if (isWrite && lost++ === 0) throw lostConnection();
      };
      const { sessions } = await eraseEntries(storeOf(tables.backend()), "s", [first?.id ?? ""], { reason });
      expect([lost > 0, sessions[0]?.erased]).toEqual([true, [first?.id]]);
      const { items } = await (await storeOf(tables.direct()).open("s")).context();
      expect(items.map(({ message }) => "content" in message && message.content)).toEqual([
        "[erased]",
        "two",
      ]);
      const [row] = await tables.rows("select base, head from session");
      const [entries] = await tables.rows("select count(*) as n from entry");
      expect([Number(row?.base) > 0, Number(entries?.n)]).toEqual([true, 3]);
    },
  );

  it("a reader of a log that is erased between two pages starts again", async () => {
    const tables = await start();
    const session = await storeOf(tables.direct()).create({ cwd: "/", id: "s" });
    const entries = [];
    for (const text of ["one", "two", "three"])
      entries.push(...(await session.append(drafts(text.repeat(200_000)))));
    const log = await tables.backend().open("s", { partition: "", mode: "read" });
    const found: { readonly restarted: boolean; readonly count: number }[] = [];
    for await (const batch of log?.read(undefined) ?? []) {
      if (found.length === 0) {
        const ids = entries.slice(2).map(({ id }) => id);
        await eraseEntries(storeOf(tables.direct()), "s", ids, { reason });
      }
      found.push({ restarted: batch.restarted === true, count: batch.at.length });
    }
    expect(found[0]?.count).toBeLessThan(4);
    const again = found.slice(1);
    expect(again.map(({ restarted }) => restarted)).toEqual(again.map((_, at) => at === 0));
    expect(again.reduce((sum, { count }) => sum + count, 0)).toBe(4);
  });

  it("deletePartition deletes the sessions of one partition, their lines, and what open handles write", async () => {
    const tables = await start();
    const store = storeOf(tables.direct());
    const sessions = [];
    for (const partition of ["acme", "acm", "acme.b", ""]) {
      for (let at = 0; at < 3; at++) {
        const session = await store.create({ cwd: "/", id: `s${at}`, partition });
        await session.append(drafts("one"));
        sessions.push(session);
      }
    }
    const done = await Promise.all([1, 2].map(() => deletePartition(store, "acme")));
    expect(done.reduce((sum, { sessions: count }) => sum + count, 0)).toBe(3);
    const left = await tables.rows(
      `select "partition", count(*) as n from session group by "partition" order by "partition"`,
    );
    expect(left.map(({ partition, n }) => [partition, Number(n)])).toEqual([
      ["", 3],
      ["acm", 3],
      ["acme.b", 3],
    ]);
    const [entries] = await tables.rows("select count(*) as n from entry");
    expect(Number(entries?.n)).toBe(18);
    await expect(sessions[0]?.append(drafts("two"))).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });
});

describe.each(engines)("in $name, of more sessions than a page of a list", ({ start }) => {
  /** A store with an old session, of which a list has the first page when it gets a further entry. */
  async function storeWithOld(more: (store: SessionStore) => Promise<void>) {
    const backend = (await start()).direct();
    const store = storeOf(backend);
    const blobs = memoryBlobStore();
    const { ref } = await blobs.put(new TextEncoder().encode("bytes"));
    await (await store.create({ cwd: "/", id: "s" })).append([
      { ...drafts(`see ${ref}`)[0], id: "e1" } as EntryDraft,
    ]);
    await more(store);
    for (let at = 0; at < 55; at++)
      await (await store.create({ cwd: "/", id: `new${at}` })).append(drafts("one"));
    const list = backend.list.bind(backend);
    let isMoved = false;
    backend.list = async function* (query) {
      for await (const each of list(query)) {
        yield each;
        if (isMoved) continue;
        isMoved = true;
        await (await store.open("old", { mode: "write" })).append(drafts("later"));
      }
    };
    return { store, blobs, ref };
  }

  it("a session that changes while the sessions are listed keeps its blobs", async () => {
    const { store, blobs, ref } = await storeWithOld(async (store) => {
      await (await store.create({ cwd: "/", id: "old" })).append(drafts(await refOf(store)));
    });
    const report = await eraseEntries(store, "s", ["e1"], { reason, blobs });
    expect(report.blobs).toEqual({ deleted: [], kept: [ref] });
  });

  it("a fork that changes while the sessions are listed is erased", async () => {
    const { store } = await storeWithOld(async (store) => {
      await (await store.fork("s", { id: "old" })).close();
    });
    const report = await eraseEntries(store, "s", ["e1"], { reason, forks: true });
    expect(report.sessions.map(({ id }) => id)).toEqual(["s", "old"]);
  });
});

/** The text of the first entry of the session s. */
async function refOf(store: SessionStore): Promise<string> {
  const entry = await (await store.open("s")).entry("e1");
  if (entry?.type !== "message") throw new Error("no message");
  return JSON.stringify(entry.message);
}

describe("in SQLite", () => {
  it("an index that is made behind an erasure's back keeps nothing of it", async () => {
    const tables = await sqliteEngine.start();
    const store = storeOf(tables.backend());
    const session = await store.create({ cwd: "/", id: "s" });
    const [first] = await session.append(drafts("unspeakable", "a pear"));
    const indexed = tables.direct({ search: true });
    let isMade = false;
    tables.faults.before = async ({ isWrite }) => {
      if (isMade || !isWrite) return;
      isMade = true;
      await indexed.migrate();
    };
    await eraseEntries(store, "s", [first?.id ?? ""], { reason });
    expect(isMade).toBe(true);
    for await (const bytes of tables.contents())
      expect(Buffer.from(bytes).includes("unspeakable")).toBe(false);
    const found = [];
    for await (const { snippet } of storeOf(indexed).search({ text: "pear" })) found.push(snippet);
    expect(found).toEqual(["a pear"]);
  });

  it("an erasure fails if the terms of such an index stay", async () => {
    const tables = await sqliteEngine.start();
    const store = storeOf(tables.backend({ retryMs: 0 }));
    const session = await store.create({ cwd: "/", id: "s" });
    const [first] = await session.append(drafts("unspeakable"));
    tables.faults.before = async ({ isWrite, texts }) => {
      if (isWrite) await tables.direct({ search: true }).migrate();
      else if (texts.join().includes("'optimize'")) throw sqliteEngine.full();
    };
    const erasure = eraseEntries(store, "s", [first?.id ?? ""], { reason });
    await expect(erasure).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  });

  it("an index of another spelling of the prefix is found", async () => {
    const tables = await sqliteEngine.start({ search: true });
    const session = await storeOf(tables.direct()).create({ cwd: "/", id: "s" });
    const [first] = await session.append(drafts("unspeakable", "a pear"));
    const store = storeOf(tables.direct({ search: false, prefix: "SESSILE_" }));
    await eraseEntries(store, "s", [first?.id ?? ""], { reason });
    for await (const bytes of tables.contents())
      expect(Buffer.from(bytes).includes("unspeakable")).toBe(false);
  });
});
