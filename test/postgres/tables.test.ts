import { readFileSync } from "node:fs";
import type { PGlite } from "@electric-sql/pglite";
import { deletePartition, eraseEntries, type SessionLog, userMessage } from "sessile";
import { postgresSessionBackend, postgresSessionStore } from "sessile/postgres";
import { copySessions } from "sessile/sync";
import { beforeAll, describe, expect, it } from "vitest";
import { migrationTo, schemaVersion } from "../../src/storage/sql/postgres/migrations.js";
import { statementsFor } from "../../src/storage/sql/postgres/statements.js";
import { emptyStore, FaultyDriver, pglite, startMs } from "./pglite.js";

let server: PGlite;
beforeAll(async () => {
  server = await pglite();
}, startMs);

async function rowsOf(text: string, values: unknown[] = []): Promise<readonly Record<string, unknown>[]> {
  return (await server.query<Record<string, unknown>>(text, values)).rows;
}

describe("migrate", () => {
  /** All that makes the tables: columns, indexes and constraints. */
  const shapeOf = async (schema: string) => [
    await rowsOf(
      `select table_name, column_name, data_type, collation_name, is_nullable, column_default
      from information_schema.columns where table_schema = $1 order by 1, 2`,
      [schema],
    ),
    await rowsOf(
      `select replace(indexdef, $1, 'schema') as index from pg_indexes where schemaname = $1 order by 1`,
      [schema],
    ),
  ];

  it.each(Array.from({ length: schemaVersion }, (_, index) => index + 1))(
    "brings tables of version %i to this one, with their sessions",
    async (version) => {
      await emptyStore("latest");
      const schema = `from_${version}`;
      await server.query(`drop schema if exists ${schema} cascade`);
      await server.query(migrationTo(schema, version));
      expect(await rowsOf(`select version from ${schema}.version`)).toEqual([{ version }]);
      const epoch = crypto.randomUUID();
      const header = `{"type":"session","version":3,"id":"old","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`;
      const entry = `{"type":"custom","id":"e0000001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x"}`;
      // As a program of the first version writes.
      await server.query(
        `insert into ${schema}.session (partition, id, epoch, head, size, modified_at, created_at, cwd, header)
        values ('', 'old', $1, 2, $2, now(), now(), '/', $3)`,
        [epoch, header.length + entry.length + 2, new TextEncoder().encode(header)],
      );
      for (const [seq, line] of [header, entry].entries()) {
        const values = [seq, new TextEncoder().encode(line)];
        await server.query(`insert into ${schema}.entry values ('', 'old', $1, $2)`, values);
      }
      const store = postgresSessionStore({ db: server, schema });
      await store.migrate();
      expect(await shapeOf(schema)).toEqual(await shapeOf("latest"));
      const session = await store.open("old", { mode: "write" });
      await session.appendMessage(userMessage("new"));
      expect((await (await store.open("old")).tree()).size).toBe(2);
      expect((await store.latest())?.firstMessage).toBe("new");
      // The counts of the first lines are unknown: the list counts.
      for await (const { counts } of store.list({ stats: true }))
        expect(counts).toEqual({ entries: 2, messages: 1 });
    },
  );

  it("changes nothing the second time, or in tables of a newer version", async () => {
    const store = await emptyStore("again");
    await (await store.create({ cwd: "/", id: "kept" })).appendMessage(userMessage("kept"));
    await Promise.all([store.migrate(), store.migrate()]);
    await server.query("update again.version set version = 1000");
    await store.migrate();
    expect(await rowsOf("select version from again.version")).toEqual([{ version: 1000 }]);
    expect((await (await store.open("kept")).tree()).size).toBe(1);
  });

  it("splits lines and words into tables by a hash of the partition, which a tenant's statements keep to", async () => {
    const schema = "parted";
    await server.query(`drop schema if exists ${schema} cascade`);
    const db = new FaultyDriver(server);
    const store = postgresSessionStore({ db, schema, search: true });
    await Promise.all([store.migrate({ parts: 4 }), store.migrate({ parts: 4 })]);
    const tenants = Array.from({ length: 12 }, (_, at) => `tenant-${at}`);
    for (const partition of tenants) {
      const session = await store.create({ cwd: "/", id: "a", partition });
      await session.appendMessage(userMessage(`the reef of ${partition}`));
      await session.appendMessage(userMessage("a shoal"));
      await session.close();
    }
    const [counts] = await rowsOf(
      `select count(distinct tableoid)::integer as parts, count(*)::integer as lines,
        (select count(distinct tableoid)::integer from ${schema}.words) as words from ${schema}.entry`,
    );
    expect(counts).toEqual({ parts: 4, lines: 36, words: 4 });
    const indices = await rowsOf(
      `select indexname from pg_indexes where schemaname = $1 and indexname like 'words_terms%' order by 1`,
      [schema],
    );
    expect(indices.map(({ indexname }) => indexname)).toEqual(
      [0, 1, 2, 3].map((part) => `words_terms_${part}`),
    );
    const found: string[] = [];
    for await (const { snippet } of store.search({ text: "reef", partition: "tenant-7" }))
      found.push(snippet);
    expect(found).toEqual(["the reef of tenant-7"]);
    const fork = await store.fork("a", { partition: "tenant-7", id: "fork", toPartition: "tenant-8" });
    expect((await fork.context()).items).toHaveLength(2);
    await fork.close();
    const read = await store.open("a", { partition: "tenant-3", mode: "write" });
    const [first] = (await read.path()).map(({ id }) => id);
    expect((await read.context()).items).toHaveLength(2);
    await read.close();
    await eraseEntries(store, "a", [first as string], { partition: "tenant-3", reason: "a request" });
    expect((await deletePartition(store, "tenant-5")).sessions).toBe(1);
    const left = await rowsOf(
      `select count(*)::integer as n from ${schema}.entry where partition = 'tenant-5'`,
    );
    expect(left).toEqual([{ n: 0 }]);
    // A plan without the values, as a prepared statement has, reads the part of the tenant alone.
    await server.query("set plan_cache_mode = force_generic_plan");
    await server.query(`prepare parted as select line from ${schema}.entry where partition = $1 and id = $2`);
    const plan = JSON.stringify(
      await rowsOf("explain (analyze, format json) execute parted ('tenant-1', 'a')"),
    );
    expect(plan).toContain('"Subplans Removed":3');
    await server.query("deallocate parted");
    await server.query("reset plan_cache_mode");
  });

  it("refuses another number of tables than there are", async () => {
    const split = async (schema: string, parts?: number) => {
      const store = postgresSessionStore({ db: server, schema });
      return store.migrate(parts === undefined ? {} : { parts });
    };
    for (const schema of ["plain_tables", "two_tables", `"of%s"`])
      await server.query(`drop schema if exists ${schema} cascade`);
    await split("plain_tables");
    await split("two_tables", 2);
    await split("of%s", 2);
    const refusal = { code: "STORAGE_FAILED", details: { errno: "0A000" } };
    await expect(split("plain_tables", 2)).rejects.toMatchObject(refusal);
    await expect(split("two_tables", 4)).rejects.toMatchObject(refusal);
    await split("two_tables");
    await expect(split("none", 1)).rejects.toThrow(RangeError);
  });

  it("with parts takes the sessions of tables without, tenant by tenant, and what they got since", async () => {
    const plain = await emptyStore("unsplit");
    await server.query("drop schema if exists split_later cascade");
    const split = postgresSessionStore({ db: server, schema: "split_later" });
    await split.migrate({ parts: 3 });
    const sessions = [];
    for (const partition of ["acme", "globex"]) {
      const session = await plain.create({ cwd: "/", id: "a", partition });
      await session.appendMessage(userMessage("one"));
      sessions.push(session);
    }
    for (const partition of ["acme", "globex"]) await copySessions(plain, split, { partitions: [partition] });
    for (const session of sessions) {
      await session.appendMessage(userMessage("two"));
      await session.close();
    }
    await copySessions(plain, split, { partitions: ["acme", "globex"] });
    const linesIn = (schema: string) =>
      rowsOf(`select partition, id, seq::integer, line from ${schema}.entry order by 1, 2, 3`);
    expect(await linesIn("split_later")).toEqual(await linesIn("unsplit"));
    expect(await linesIn("split_later")).toHaveLength(6);
  });

  it("needs no right to make a schema that is there", async () => {
    await server.query("drop schema if exists given cascade; ".split(";")[0] as string);
    await server.query("create role maker");
    await server.query("create schema given authorization maker");
    await server.query("set role maker");
    try {
      const store = postgresSessionStore({ db: server, schema: "given" });
      await store.migrate();
      await (await store.create({ cwd: "/" })).appendMessage(userMessage("mine"));
      expect((await store.latest())?.firstMessage).toBe("mine");
    } finally {
      await server.query("reset role");
    }
  });
});

describe("list", () => {
  const schema = "lists";

  it("reads its page by the index alone, and no entry, however many sessions there are", async () => {
    const store = await emptyStore(schema);
    await server.query(
      `insert into ${schema}.session (partition, id, epoch, head, size, modified_at, created_at, cwd, header)
      select 'p' || (n % 3), 'session-' || n, gen_random_uuid(), 1, 100,
        timestamp '2026-01-01' + n / 4 * interval '4 seconds', now(), '/work/' || (n % 5),
        convert_to('{"type":"session","version":3,"id":"session-' || n || '","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work/' || (n % 5) || '"}', 'UTF8')
      from generate_series(1, 6000) as n`,
    );
    await server.query(`analyze ${schema}.session`);
    const db = new FaultyDriver(server);
    const listed = postgresSessionStore({ db, schema });
    const ids: string[] = [];
    for await (const { id } of listed.list({ partition: "p0", limit: 50 })) ids.push(id);
    expect(ids[0]).toBe("session-6000");
    expect(ids).toHaveLength(50);
    expect(db.queries).toHaveLength(1);
    const inProject: string[] = [];
    for await (const { id, cwd } of listed.list({ partition: "p0", limit: 40, cwd: "/work/2" })) {
      expect(cwd).toBe("/work/2");
      inProject.push(id);
    }
    expect(inProject).toHaveLength(40);
    for (const text of new Set(db.queries)) {
      expect(text).not.toContain(".entry");
      const values = ["p0", "2026-01-01T01:00:00.000Z", "x", 50, ...(text.includes("$5") ? ["/work/2"] : [])];
      const plan = JSON.stringify(await rowsOf(`explain (analyze, costs off, format json) ${text}`, values));
      expect(plan).toContain('"Index Scan"');
      expect(plan).toContain('"Backward"');
      expect(plan).not.toMatch(/Seq Scan|"Sort"|Bitmap|Rows Removed by Index Recheck":[1-9]/);
      // The index has minutes, each of which has twenty of these sessions.
      expect(plan).not.toMatch(/Rows Removed by Filter":\d{3}/);
      expect(plan).toContain('"Presorted Key":["modified_minute"]');
      expect(plan).toMatch(/"Actual Rows":\s*(50|\d\d(\.0+)?)\b/);
    }
    const all: string[] = [];
    for await (const { id } of listed.list({ partition: "p1" })) all.push(id);
    expect(new Set(all).size).toBe(2000);
    const searching = postgresSessionBackend({ db: server, schema, search: true });
    const found: string[] = [];
    for await (const { id } of searching.search?.({ partition: "p1", anyOf: [["x"]] }) ?? []) found.push(id);
    expect(found).toEqual(all);
    const partitions: string[] = [];
    for await (const partition of store.partitions()) partitions.push(partition);
    expect(partitions).toEqual(["p0", "p1", "p2"]);
  });

  it("has partitions in order, in any number", async () => {
    const store = await emptyStore("many_partitions");
    await server.query(
      `insert into many_partitions.session (partition, id, epoch, head, size, modified_at, created_at, cwd)
      select case n % 1003 when 0 then '' else 'p' || (n % 1003) end, 'session-' || n, gen_random_uuid(), 1, 1,
        now(), now(), '/' from generate_series(1, 3000) as n`,
    );
    const found: string[] = [];
    for await (const partition of store.partitions()) found.push(partition);
    expect(found).toHaveLength(1003);
    expect(found).toEqual([...new Set(found)].sort());
    expect(found[0]).toBe("");
  });
});

describe("lines", () => {
  const encode = (lines: readonly string[]) => lines.map((line) => new TextEncoder().encode(`${line}\n`));
  const header = `{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`;
  const unnamed = { partition: "", cwd: "/", timestamp: "2026-01-01T00:00:00.000Z" };

  async function linesOf(log: SessionLog): Promise<readonly (string | number)[]> {
    const found: [number, string | number][] = [];
    for await (const { lines, at, tooLong = [] } of log.read(undefined)) {
      if ("bounds" in lines) throw new Error("expected each line by itself");
      for (const [index, place] of at.entries()) found.push([place, new TextDecoder().decode(lines[index])]);
      for (const line of tooLong) found.push([line.at, line.length]);
    }
    found.sort(([a], [b]) => a - b);
    expect(found.map(([at]) => at)).toEqual(found.map((_, index) => index));
    return found.map(([, line]) => line);
  }

  it("come in pages of bytes and of lines, and those that are too long without bytes", async () => {
    await emptyStore("pages");
    const backend = postgresSessionBackend({ db: server, schema: "pages", maxLineBytes: 2048 });
    const { log, position } = await backend.create({ ...unnamed, id: "x" });
    const wanted: (string | number)[] = [header];
    for (let index = 0; index < 5000; index++) wanted.push(index % 100 === 7 ? 3000 : `{"n":${index}}`);
    const text = wanted.map((line) => (typeof line === "number" ? "x".repeat(line) : line));
    await log.append(encode(text), position);
    expect(await linesOf(log)).toEqual(wanted);
    const [line, none, long] = await log.readAt([
      { at: 2, length: 7 },
      { at: 100_000, length: 1 },
      { at: 8, length: 3000 },
    ]);
    expect(new TextDecoder().decode(line)).toBe('{"n":1}');
    expect(none).toBeUndefined();
    expect(long).toHaveLength(3000);
  });

  it("of any size are one page each, if they must", async () => {
    await emptyStore("wide");
    const db = new FaultyDriver(server);
    const backend = postgresSessionBackend({ db, schema: "wide" });
    const { log, position } = await backend.create({ ...unnamed, id: "x" });
    const wide = [600_000, 600_000, 50_000].map((length, index) => `${index}`.repeat(length));
    await log.append(encode([header, ...wide, ""]), position);
    db.queries.length = 0;
    const lines = await linesOf(log);
    expect(lines.map((line) => `${line}`.length)).toEqual([header.length, ...wide.map((l) => l.length), 0]);
    expect(db.queries.length).toBe(2);
    db.queries.length = 0;
    const places = [3, 2, 1].map((at) => ({ at, length: wide[at - 1]?.length as number }));
    expect((await log.readAt(places)).map((line) => line?.[0])).toEqual(
      [..."210"].map((c) => c.charCodeAt(0)),
    );
    expect(db.queries.length).toBe(2);
  });

  it("that a migration replaces stay in the table", async () => {
    const store = await emptyStore("replaced");
    const backend = postgresSessionBackend({ db: server, schema: "replaced" });
    const old = [
      `{"type":"session","version":1,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`,
      `{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hi","timestamp":1}}`,
    ];
    const { log, position } = await backend.create({ ...unnamed, id: "x" });
    await log.append(encode(old), position);
    const [before] = await rowsOf("select entries, size from replaced.session");
    expect(before).toEqual({ entries: null, size: old.join("").length + 2 });
    const session = await store.open("x", { mode: "write" });
    await session.appendMessage(userMessage("new"));
    expect((await rowsOf("select line from replaced.entry order by seq")).slice(0, 2)).toEqual(
      encode(old).map((line) => ({ line: line.subarray(0, -1) })),
    );
    const [after] = await rowsOf("select base, head, entries, messages from replaced.session");
    expect(after).toEqual({ base: 2, head: 5, entries: 2, messages: 2 });
  });

  it("of a fork are copied within the database, with what a list shows of them", async () => {
    const store = await emptyStore("forks");
    const session = await store.create({ cwd: "/work", id: "a" });
    await session.append([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    await session.updateInfo({ title: "early" });
    const [before] = await session.append([{ type: "custom", customType: "x" }]);
    await session.appendMessage(userMessage("said"));
    await session.updateInfo({ title: "late" });
    const backend = postgresSessionBackend({ db: server, schema: "forks" });
    const source = (await backend.open("a", { partition: "", mode: "read" })) as SessionLog;
    const all = await linesOf(source);
    const cut = all.findIndex((line) => `${line}`.includes(before?.id as string));
    for (const [id, at] of [
      ["part", cut],
      ["whole", undefined],
    ] as const) {
      const { log } = await backend.create({ ...unnamed, id, cwd: "/other", partition: "p" });
      let to: Parameters<NonNullable<SessionLog["copy"]>>[2] | undefined;
      for await (const batch of source.read(undefined)) to = batch.next;
      const place = at === undefined ? undefined : { at, length: 0 };
      expect(await log.copy?.(source, encode([header])[0] as Uint8Array, to as never, place)).toBe(true);
      expect(await linesOf(log)).toEqual([header, ...all.slice(1, at === undefined ? undefined : at + 1)]);
    }
    const shown: Record<string, unknown> = {};
    const sizes = await rowsOf("select id, size, cwd from forks.session where partition = 'p' order by id");
    for await (const stored of backend.list({ partition: "p" })) shown[stored.id] = stored.counts;
    expect(shown).toEqual({ part: undefined, whole: { entries: all.length - 1, messages: 1 } });
    expect(sizes.map(({ cwd }) => cwd)).toEqual(["/", "/"]);
    for (const { id, size } of sizes) {
      const log = (await backend.open(id as string, { partition: "p", mode: "read" })) as SessionLog;
      expect(size).toBe((await linesOf(log)).reduce<number>((sum, line) => sum + `${line}`.length + 1, 0));
    }
    const summaries: unknown[] = [];
    for await (const { title, firstMessage } of store.list({ partition: "p" }))
      summaries.push([title, firstMessage]);
    expect(summaries.reverse()).toEqual([
      ["early", undefined],
      ["late", "said"],
    ]);
    const queries = new FaultyDriver(server);
    const forking = postgresSessionStore({ db: queries, schema: "forks" });
    await forking.fork("a", { id: "c" });
    expect(queries.queries.filter((text) => text.includes("with source as"))).toHaveLength(1);
    const elsewhere = await emptyStore("forks_elsewhere");
    const { log } = await elsewhere.backend.create({ ...unnamed, id: "x" });
    expect(await log.copy?.(source, encode([header])[0] as Uint8Array, "x" as never)).toBe(false);
  });
});

it("a delete leaves no line", async () => {
  const store = await emptyStore("deleted");
  for (const id of ["a", "b"]) await (await store.create({ cwd: "/", id })).appendMessage(userMessage(id));
  await store.delete("a");
  expect(await rowsOf("select distinct id from deleted.entry")).toEqual([{ id: "b" }]);
});

it("a cursor with a NUL, which no list gives, lists the sessions before it", async () => {
  const store = await emptyStore("cursors");
  await (await store.create({ cwd: "/", id: "a" })).appendMessage(userMessage("one"));
  const ids = async (after: string) => {
    const found: string[] = [];
    for await (const { id } of store.list({ after })) found.push(id);
    return found;
  };
  expect(await ids("99999999999999_\0x")).toEqual(["a"]);
  expect(await ids("0_\0")).toEqual([]);
});

it("durability is that of the server's settings, asked once", async () => {
  const db = new FaultyDriver(server);
  const store = postgresSessionStore({ db, schema: "deleted" });
  const [{ fsync } = {}] = await rowsOf("select current_setting('fsync') as fsync");
  expect(await store.durability()).toBe(fsync === "on" ? "disk" : "os");
  await store.durability();
  expect(db.queries).toHaveLength(1);
  const answers = (synced: boolean) => ({ query: async () => ({ rows: [{ synced }] }) });
  expect(await postgresSessionStore({ db: answers(true) }).durability()).toBe("disk");
  expect(await postgresSessionStore({ db: answers(false) }).durability()).toBe("os");
});

it("deletePartition deletes the sessions of one partition, in pages, and their lines", async () => {
  const schema = "tenants";
  const store = await emptyStore(schema);
  const server = await pglite();
  await server.query(`insert into ${schema}.session (partition, id, epoch, cwd, head, size, modified_at, created_at)
    select p, 's' || n, gen_random_uuid(), '/', 0, 0, now(), now()
    from unnest(array['acme', 'beta', '']) p, generate_series(1, 1001) n`);
  const session = await store.create({ cwd: "/", id: "lines", partition: "acme" });
  await session.appendMessage(userMessage("one"));
  expect(await deletePartition(store, "acme")).toMatchObject({ sessions: 1002 });
  const { rows } = await server.query(
    `select partition, count(*)::integer from ${schema}.session group by partition order by partition`,
  );
  expect(rows).toEqual([
    { partition: "", count: 1001 },
    { partition: "beta", count: 1001 },
  ]);
  expect((await server.query(`select from ${schema}.entry`)).rows).toEqual([]);
  await expect(session.appendMessage(userMessage("two"))).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
  });
});

describe("deleteBefore", () => {
  it("deletes the oldest sessions of a partition with their lines, in statements of bounded size", async () => {
    const schema = "retained";
    await emptyStore(schema, { search: true });
    const db = new FaultyDriver(server);
    const store = postgresSessionStore({ db, schema, search: true });
    for (const partition of ["", "tenant"]) {
      const session = await store.create({ cwd: "/", id: "s0", partition });
      await session.appendMessage(userMessage("a reef"));
      await session.close();
    }
    const copied =
      "partition, head, created_at, cwd, entries, messages, header, preview_at, preview, words_at";
    await server.query(`insert into ${schema}.session (id, epoch, size, modified_at, ${copied})
      select 's' || n, gen_random_uuid(), case when n < 4 then 40000000 else 100 end,
        timestamptz '2026-01-01' + n * interval '1 hour', ${copied}
      from ${schema}.session, generate_series(1, 1500) n where partition = 'tenant'`);
    await server.query(`insert into ${schema}.entry select partition, 's' || n, seq, line
      from ${schema}.entry, generate_series(1, 1500) n where partition = 'tenant'`);
    const before = new Date(Date.UTC(2026, 0, 1, 1401));
    const options = { partition: "tenant" };
    const bytes = 3 * 40_000_000 + 1397 * 100;
    expect(await store.deleteBefore(before, { ...options, dryRun: true })).toMatchObject({
      sessions: 1400,
      bytes,
    });
    db.queries.length = 0;
    const { remaining, ...deleted } = await store.deleteBefore(before, options);
    expect(deleted).toEqual({ sessions: 1400, bytes });
    expect(remaining.join()).toContain("vacuum");
    // Two of 40 MB, the third and 999 others, the rest, and none.
    expect(db.queries).toHaveLength(4);
    const left = await rowsOf(
      `select (select count(*) from ${schema}.session where partition = 'tenant')::integer as sessions,
        (select count(distinct id) from ${schema}.entry where partition = 'tenant')::integer as logs`,
    );
    expect(left).toEqual([{ sessions: 101, logs: 101 }]);
    // Logs beside a session that is there, and one that is not.
    await server.query(
      `insert into ${schema}.session (id, epoch, size, modified_at, ${copied})
      select v.id, gen_random_uuid(), 100, timestamptz '2020-01-01', ${copied}
      from ${schema}.session, (values ('s0~reply'), ('s1~reply')) as v (id)
      where partition = 'tenant' and ${schema}.session.id = 's0'`,
    );
    expect((await store.deleteBefore(before, options)).sessions).toBe(0);
    const beside = await rowsOf(`select id from ${schema}.session where strpos(id, '~') > 0`);
    expect(beside).toEqual([{ id: "s0~reply" }]);
    expect((await store.deleteBefore(before)).sessions).toBe(0);
    await expect(store.deleteBefore(new Date(Number.NaN))).rejects.toThrow(TypeError);
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(store.deleteBefore(new Date(), { ...options, signal })).rejects.toThrow("enough");
  });
});

// What engines that shard by themselves refuse, with the sources in docs/guide/scale.md: a statement that begins to use
// it is a new reason, which the guide has to name.

const { makeIndices, ...single } = statementsFor("sessile", true);
const statements: Readonly<Record<string, string>> = {
  ...single,
  makeIndices: makeIndices(["words"]).join(";"),
  migrate: migrationTo("sessile"),
};

/** The tables that a statement changes, once for each change. */
function changedTables(text: string): readonly string[] {
  const changes = text.matchAll(/(?<!on conflict do )\b(?:insert into|update|delete from) ("sessile"\.\w+)/g);
  return [...changes].map(([, table = ""]) => table);
}

const refusals: Readonly<Record<string, { uses(text: string): boolean; readonly by: readonly string[] }>> = {
  "Citus: volatile functions in a change": {
    uses: (text) =>
      changedTables(text).length > 0 &&
      /\b(?:clock_timestamp|random|gen_random_uuid|nextval)\s*\(/.test(text),
    by: [],
  },
  "Citus: recursive CTEs": { uses: (text) => /\bwith recursive\b/.test(text), by: ["partitions"] },
  "Citus: locks over several shards": {
    uses: (text) => /\bfor (?:no key )?(?:update|share)\b/.test(text),
    by: [],
  },
  "CockroachDB: a table that one statement changes twice": {
    uses: (text) => !text.startsWith("do ") && new Set(changedTables(text)).size < changedTables(text).length,
    by: ["copy", "erase", "replace"],
  },
  "YugabyteDB: stored generated columns": {
    uses: (text) => /\bgenerated always as\b/.test(text),
    by: ["migrate"],
  },
  "CockroachDB, YugabyteDB: LISTEN and NOTIFY": {
    uses: (text) => /\b(?:pg_)?notify\b|\blisten\b/.test(text),
    by: [],
  },
  "Aurora DSQL: PL/pgSQL, collations": {
    uses: (text) => /^do |\bplpgsql\b|\bcollate\b/.test(text),
    by: ["migrate"],
  },
  "Aurora DSQL: indices that are not async": {
    uses: (text) => /\bcreate (?:unique )?index (?!async)/.test(text),
    by: ["makeIndices", "migrate"],
  },
};

describe("what other engines refuse of the statements of sessions", () => {
  it.each(Object.entries(refusals))("%s", (_, { uses, by }) => {
    const users = Object.entries(statements).filter(([, text]) => uses(text));
    expect(users.map(([name]) => name).sort()).toEqual(by);
  });

  it("is in the guide", () => {
    const guide = readFileSync(new URL("../../docs/guide/scale.md", import.meta.url), "utf8");
    for (const engine of ["Citus", "CockroachDB", "YugabyteDB", "Aurora DSQL"])
      expect(guide).toMatch(new RegExp(`^\\| \\[${engine}\\]\\(https://`, "m"));
  });
});
