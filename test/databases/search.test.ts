import { deletePartition, eraseEntries, userMessage } from "sessile";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { pglite, startMs } from "../postgres/pglite.js";
import { closeDatabases } from "../sqlite/databases.js";
import { type Backend, engines, find, storeOf, write } from "./subjects.js";

beforeAll(async () => {
  await pglite();
}, startMs);
afterEach(closeDatabases);
const say = (text: string) => userMessage(text);
const reason = "a request";

/** The number of lines that the index gives for a term, by the ids of their sessions. */
async function candidates(backend: Backend, term: string, partition = ""): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for await (const { id, at } of backend.search?.({ partition, anyOf: [[term]] }) ?? [])
    found[id] = new Set(at).size;
  return found;
}

describe.each(engines)("an index of words in $name", ({ start, lostConnection, full }) => {
  it("has lines without terms as candidates until migrate indexes them, and those behind them too", async () => {
    const tables = await start();
    const plain = storeOf(tables.direct());
    expect(plain.backend.search).toBeUndefined();
    await write(plain, "a", ["a pear", "an apple"]);
    await write(plain, "theirs", ["their apple"], "tenant");
    const indexed = tables.direct({ search: true });
    await indexed.migrate();
    await write(plain, "b", ["a plum", "an apple"]);
    await write(plain, "late", ["their late apple"], "tenant");
    expect(await candidates(indexed, "apple")).toEqual({ b: 3, a: 1 });
    for await (const { id, modifiedAt } of indexed.list({ partition: "" })) {
      const since = async (time: number) => {
        const query = { partition: "", anyOf: [["apple"]], since: time };
        const found: string[] = [];
        for await (const each of indexed.search?.(query) ?? []) found.push(each.id);
        return found;
      };
      expect(await since(modifiedAt)).toContain(id);
      expect(await since(modifiedAt + 1)).not.toContain(id);
    }
    const store = storeOf(indexed);
    await write(store, "b", ["a late apple"]);
    await write(store, "c", ["an apple", "a fig"]);
    expect(await candidates(indexed, "apple")).toMatchObject({ c: 1, a: 1 });
    expect(await find(store, "apple")).toHaveLength(4);
    await indexed.migrate();
    expect(await candidates(indexed, "apple")).toEqual({ c: 1, b: 2, a: 1 });
    await write(store, "b", ["one more apple"]);
    expect(await candidates(indexed, "app")).toEqual({ b: 3, c: 1, a: 1 });
    expect(await find(store, "apple", { partition: "tenant" })).toEqual(["their apple", "their late apple"]);
  });

  it("reads a session once, also if none of its lines is indexed, and none of another directory", async () => {
    const tables = await start();
    await write(storeOf(tables.direct()), "a", ["a pear", "an apple"]);
    const backend = tables.direct({ search: true });
    await backend.migrate();
    const open = backend.open.bind(backend);
    const search = backend.search?.bind(backend);
    let opens = 0;
    backend.open = (id, options) => {
      opens++;
      return open(id, options);
    };
    backend.search = async function* (query) {
      for await (const each of search?.(query) ?? []) {
        if (each.log !== undefined) opens++;
        yield each;
      }
    };
    await write(storeOf(tables.direct()), "b", ["an apple"]);
    expect(await candidates(backend, "apple")).toEqual({ b: 2, a: 1 });
    opens = 0;
    expect([await find(storeOf(backend), "apple"), opens]).toEqual([["an apple", "an apple"], 2]);
    expect([await find(storeOf(backend), "apple", { cwd: "/other" }), opens]).toEqual([[], 2]);
  });

  it("gives a fork its own terms, and a deleted session leaves none", async () => {
    const tables = await start({ search: true });
    const store = storeOf(tables.direct());
    await write(store, "a", ["an apple", "a pear"]);
    await (await store.fork("a", { id: "b" })).close();
    expect(await candidates(tables.direct(), "pear")).toEqual({ b: 1, a: 1 });
    await (await store.fork("a", { id: "moved", toPartition: "other" })).close();
    expect(await candidates(tables.direct(), "pear")).toEqual({ b: 1, a: 1 });
    expect(await find(store, "pear", { partition: "other" })).toHaveLength(1);
    // Also by a program that does not use the index.
    await storeOf(tables.direct({ search: false })).delete("a");
    expect(await candidates(tables.direct(), "pear")).toEqual({ b: 1 });
  });

  it("has the terms of a replaced log's new lines alone", async () => {
    const tables = await start({ search: true });
    const at = "2026-01-01T00:00:00.000Z";
    const backend = tables.direct();
    const { log, position } = await backend.create({ id: "old", partition: "", cwd: "/", timestamp: at });
    const lines = [
      `{"type":"session","version":1,"id":"old","timestamp":"${at}","cwd":"/"}\n`,
      `{"type":"message","timestamp":"${at}","message":{"role":"user","content":"an apple","timestamp":1}}\n`,
    ];
    await log.append(
      lines.map((line) => new TextEncoder().encode(line)),
      position,
    );
    await write(storeOf(backend), "old", ["a pear"]);
    expect(await candidates(backend, "apple")).toEqual({ old: 1 });
    expect(await find(storeOf(backend), "apple")).toEqual(["an apple"]);
  });

  it("keeps nothing of an append whose transaction fails, and has that of a lost answer once", async () => {
    const tables = await start({ search: true });
    const store = storeOf(tables.backend());
    const session = await store.create({ cwd: "/", id: "a" });
    await session.appendMessage(say("an apple"));
    tables.faults.before = ({ isWrite }) => {
      if (isWrite) throw full();
    };
    await expect(session.appendMessage(say("a pear"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    tables.faults.before = undefined;
    expect(await candidates(tables.direct(), "pear")).toEqual({});
    tables.faults.after = ({ isWrite }) => {
      if (!isWrite) return;
      tables.faults.after = undefined;
      throw lostConnection();
    };
    const other = await storeOf(tables.backend()).open("a", { mode: "write" });
    await other.appendMessage(say("a fig"));
    expect(await candidates(tables.direct(), "fig")).toEqual({ a: 1 });
    expect(await find(store, "fig")).toEqual(["a fig"]);
  });

  it("quotes nothing that a query may have", async () => {
    const tables = await start({ search: true });
    const store = storeOf(tables.direct());
    await write(store, "a", ["it's a \\ 'quoted' \"twice\" :* & word NOT near(x, 2)"]);
    for (const [text, count] of [
      ["it's", 1],
      ["\\ 'quoted'", 1],
      ["a:* & word", 1],
      ['"twice" NOT', 1],
      ["near(x", 1],
      ["quoted | !x*y", 0],
      ["') or 1=1 --", 0],
    ] as const)
      expect((await find(store, text)).length, text).toBe(count);
  });

  it("keeps partitions of any name apart", async () => {
    const tables = await start({ search: true });
    const store = storeOf(tables.direct());
    const partitions = ["a.b", "a_b", "a-b", "deadbeef", "A", "a", "null", "x".repeat(128)];
    for (const partition of partitions) await write(store, "s", [`an apple of ${partition}`], partition);
    await write(store, "s", ["deadbeefapple"]);
    for (const partition of partitions)
      expect(await find(store, "apple", { partition })).toEqual([`an apple of ${partition}`]);
    expect(await find(store, "apple")).toEqual([]);
    await deletePartition(store, "a_b");
    expect(await find(store, "apple", { partition: "a_b" })).toEqual([]);
    expect(await find(store, "apple", { partition: "a.b" })).toHaveLength(1);
  });

  it("has no term of erased entries, or of a deleted partition", async () => {
    const tables = await start({ search: true });
    const store = storeOf(tables.direct());
    await write(store, "a", ["an unspeakable apple", "a pear"]);
    await write(store, "b", ["a plum"], "tenant");
    await write(store, "c", ["a fig"]);
    const has = async (word: string) => {
      for await (const bytes of tables.contents()) if (Buffer.from(bytes).includes(word)) return true;
      return false;
    };
    expect([await has("unspeakable"), await has("plum")]).toEqual([true, true]);
    const session = await store.open("a");
    const [first] = [...(await session.tree()).walk()];
    await eraseEntries(store, "a", [first?.node.id ?? ""], { reason });
    expect([await has("unspeakable"), await has("pear"), await has("plum")]).toEqual([false, true, true]);
    const { remaining } = await deletePartition(store, "tenant");
    expect([await has("plum"), await has("fig")]).toEqual([false, true]);
    expect(remaining.join()).toMatch(/vacuum/);
    expect(remaining.join()).toMatch(/write-ahead log/);
    expect(remaining.join()).toMatch(/backups/);
  });

  it("gives what is in force, also if lines are erased behind the answer of the index", async () => {
    const tables = await start({ search: true });
    const store = storeOf(tables.direct());
    const ids = ["a", "b", "c"];
    for (const id of ids) await write(store, id, [`first apple of ${id}`, `second apple of ${id}`]);
    let answers = 0;
    tables.faults.after = async ({ isSearch }) => {
      if (!isSearch || answers++ > 0) return;
      for (const id of ["a", "b"]) {
        const session = await store.open(id);
        const [first] = [...(await session.tree()).walk()];
        await eraseEntries(store, id, [first?.node.id ?? ""], { reason });
      }
      await store.delete("c");
    };
    expect(await find(storeOf(tables.backend()), "apple")).toEqual([
      "second apple of a",
      "second apple of b",
    ]);
    expect(answers).toBeGreaterThan(0);
  });
});
