import type { PGlite } from "@electric-sql/pglite";
import { type SessionStore, userMessage } from "sessile";
import { postgresSessionStore } from "sessile/postgres";
import { beforeAll, expect, it } from "vitest";
import { emptyStore, FaultyDriver, pglite, startMs } from "./pglite.js";

let server: PGlite;
beforeAll(async () => {
  server = await pglite();
}, startMs);

async function write(store: SessionStore, id: string, texts: readonly string[], partition?: string) {
  const named = partition === undefined ? {} : { partition };
  const session = await store.create({ cwd: "/work", id, ...named });
  for (const text of texts) await session.appendMessage(userMessage(text));
  await session.close();
}

async function find(store: SessionStore, text: string, partition?: string): Promise<readonly string[]> {
  const found: string[] = [];
  const named = partition === undefined ? {} : { partition };
  for await (const { snippet } of store.search({ text, ...named })) found.push(snippet);
  return found.sort();
}

it("lines that were written without an index are found, and indexed by migrate", async () => {
  const schema = "filled";
  const plain = await emptyStore(schema);
  await write(plain, "old", ["an old reef", "nothing"]);
  await write(plain, "theirs", ["their reef"], "tenant");
  expect(plain.backend.search).toBeUndefined();
  const db = new FaultyDriver(server);
  const indexed = postgresSessionStore({ db, schema, search: true });
  expect(await find(indexed, "reef")).toEqual(["an old reef"]);
  await write(indexed, "new", ["a new reef"]);
  const behind = async () =>
    (
      await server.query<{ id: string }>(`select id from ${schema}.session where unindexed order by id`)
    ).rows.map(({ id }) => id);
  expect(await behind()).toEqual(["old", "theirs"]);
  await indexed.migrate();
  expect(await behind()).toEqual([]);
  const { rows } = await server.query(
    `select line from ${schema}.words w, unnest(string_to_array(w.terms, E'\\n')) as line where line <> ''`,
  );
  expect(rows.length).toBe(4);
  expect(await find(indexed, "reef")).toEqual(["a new reef", "an old reef"]);
  expect(await find(indexed, "reef", "tenant")).toEqual(["their reef"]);
  // A writer without the index appends: its lines are read.
  const session = await plain.open("new", { mode: "write" });
  await session.appendMessage(userMessage("a reef of another writer"));
  await session.close();
  expect(await behind()).toEqual(["new"]);
  expect(await find(indexed, "reef")).toEqual(["a new reef", "a reef of another writer", "an old reef"]);
  const again = await indexed.open("new", { mode: "write" });
  await again.appendMessage(userMessage("the last reef"));
  await again.close();
  expect((await find(indexed, "reef")).length).toBe(4);
  await indexed.migrate();
  expect(await behind()).toEqual([]);
  expect((await find(indexed, "reef")).length).toBe(4);
});

it("only sessions with candidates are opened, and pages reach all of them", async () => {
  const schema = "pages";
  await emptyStore(schema);
  const db = new FaultyDriver(server);
  const store = postgresSessionStore({ db, schema, search: true });
  await store.migrate();
  await write(store, "s0", ["a common reef", "a shoal"]);
  await write(store, "rare", ["a rare shell"]);
  db.queries.length = 0;
  expect(await find(store, "shell")).toEqual(["a rare shell"]);
  // The page of sessions, and one session's lines.
  expect(db.queries).toHaveLength(2);
  const copied = "head, size, created_at, cwd, entries, messages, header, preview_at, preview, words_at";
  await server.query(`insert into ${schema}.session (partition, id, epoch, modified_at, ${copied})
    select partition, 's' || n, gen_random_uuid(), modified_at - n / 3 * interval '1 ms', ${copied}
    from ${schema}.session, generate_series(1, 999) n where id = 's0'`);
  await server.query(`insert into ${schema}.entry select partition, 's' || n, seq, line
    from ${schema}.entry, generate_series(1, 999) n where id = 's0'`);
  await server.query(`insert into ${schema}.words select partition, 's' || n, seq, key, terms
    from ${schema}.words, generate_series(1, 999) n where id = 's0'`);
  const found: { readonly id: string; readonly modifiedAt: number; readonly at: readonly number[] }[] = [];
  const query = { partition: "", anyOf: [["common", "re"], ["shoal"]] };
  for await (const { at = [], ...each } of store.backend.search?.(query) ?? []) found.push({ ...each, at });
  expect(new Set(found.map(({ id }) => id)).size).toBe(1000);
  expect(found.every(({ at }) => at.toSorted().join() === "1,2")).toBe(true);
  const before = (a: (typeof found)[0], b: (typeof found)[0]) =>
    b.modifiedAt - a.modifiedAt || (a.id < b.id ? 1 : -1);
  expect(found).toEqual(found.toSorted(before));
});

it("a page of many sessions is planned for few rows of words each, so that the server compiles no plan", async () => {
  const schema = "planned";
  await emptyStore(schema, { search: true });
  await server.query(`insert into ${schema}.session
    (partition, id, epoch, cwd, head, size, modified_at, created_at, words_at)
    select '', 's' || n, gen_random_uuid(), '/', 1, 100, now(), now(), 1 from generate_series(1, 5000) n`);
  await server.query(
    `insert into ${schema}.words select '', 's' || n, 0, '', ' a reef' from generate_series(1, 5000) n`,
  );
  await server.query(`analyze ${schema}.words`);
  await server.query(`analyze ${schema}.session`);
  const values = ["", "infinity", "", 256, '{"% shoal%"}', "-infinity", null];
  const db = new FaultyDriver(server);
  expect(await find(postgresSessionStore({ db, schema, search: true }), "shoal")).toEqual([]);
  const [searchNewest] = db.queries;
  const { rows } = await server.query<Record<string, [{ Plan: Record<string, number> }]>>(
    `explain (format json) ${searchNewest}`,
    values,
  );
  // 44 each if a session were thought to have one in 200 rows; `jit_above_cost` is 100,000.
  expect(rows[0]?.["QUERY PLAN"]?.[0]?.Plan["Total Cost"]).toBeLessThan(256 * 25);
});

it("a deleted session leaves no terms, and a copy has those of its lines", async () => {
  const schema = "copied";
  await emptyStore(schema);
  const store = postgresSessionStore({ db: server, schema, search: true });
  await store.migrate();
  await write(store, "source", ["a reef", "a shoal"], "tenant");
  const termsOf = async (id: string) =>
    (
      await server.query<{ terms: string }>(
        `select key || line as terms from ${schema}.words w, unnest(string_to_array(w.terms, E'\\n')) as line
        where id = $1 and line <> '' order by seq`,
        [id],
      )
    ).rows.map(({ terms }) => terms);
  const source = await termsOf("source");
  expect(source).toHaveLength(2);
  const fork = await store.fork("source", { partition: "tenant", id: "fork" });
  await fork.close();
  expect((await termsOf("fork")).slice(0, 2)).toEqual(source);
  const elsewhere = await store.fork("source", { partition: "tenant", toPartition: "other", id: "moved" });
  await elsewhere.close();
  // Terms of partitions differ, so that tenants share no postings.
  expect((await termsOf("moved"))[0]).not.toBe(source[0]);
  expect((await find(store, "shoal", "other")).length).toBe(1);
  await store.delete("source", { partition: "tenant" });
  expect(await termsOf("source")).toEqual([]);
});

it("an append of several lines with as many long words as a line may have is found", async () => {
  const schema = "long_words";
  await emptyStore(schema);
  const store = postgresSessionStore({ db: server, schema, search: true });
  await store.migrate();
  // Words of 41 letters, each of three bytes.
  const letter = (number: number) => String.fromCharCode(0x10d0 + number);
  const word = (number: number) =>
    letter(number % 33) +
    letter(Math.floor(number / 33) % 33) +
    letter(Math.floor(number / 1089)) +
    "ა".repeat(38);
  const text = (from: number) => Array.from({ length: 4800 }, (_, at) => word(from + at)).join(" ");
  const session = await store.create({ cwd: "/work", id: "long" });
  await session.append(
    [0, 4800, 9600].map((from) => ({ type: "message", message: userMessage(text(from)) })),
  );
  await session.close();
  expect((await find(store, word(9000))).length).toBe(1);
});

it("an append of several lines has each word once, and lines from its first on are candidates", async () => {
  const schema = "words_once";
  const store = await emptyStore(schema, { search: true });
  const session = await store.create({ cwd: "/work", id: "a" });
  const texts = ["a shoal", "a reef", "the reef", "the shoal"];
  await session.append(texts.map((text) => ({ type: "message", message: userMessage(text) })));
  await session.close();
  const { rows } = await server.query<{ terms: string }>(`select terms from ${schema}.words`);
  expect(rows.map(({ terms }) => terms)).toEqual([" a shoal\n reef\n the\n"]);
  const places: Record<string, readonly number[]> = {};
  for (const term of ["shoal", "reef", "the"])
    for await (const { at = [] } of store.backend.search?.({ partition: "", anyOf: [[term]] }) ?? [])
      places[term] = at;
  expect(places).toEqual({ shoal: [1, 2, 3, 4], reef: [2, 3, 4], the: [3, 4] });
  expect(await find(store, "reef")).toEqual(["a reef", "the reef"]);
});

it("pending terms are moved to the index beside the appends, which do not wait for it", async () => {
  const schema = "pending";
  await emptyStore(schema, { search: true });
  const db = new FaultyDriver(server);
  const store = postgresSessionStore({ db, schema, search: true });
  const session = await store.create({ cwd: "/work", id: "a" });
  const cleaned = () => db.queries.filter((text) => text.includes("gin_clean_pending_list")).length;
  const text = Array.from({ length: 16_000 }, (_, at) => `word${at}`).join(" ");
  for (let count = 0; cleaned() === 0; count++) {
    expect(count).toBeLessThan(8);
    await session.appendMessage(userMessage(text));
  }
  db.queries.length = 0;
  await session.appendMessage(userMessage(text));
  await session.close();
  expect(cleaned()).toBe(0);
  expect((await find(store, "word15999")).length).toBeGreaterThan(1);
});
