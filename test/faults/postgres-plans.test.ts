import { Client } from "pg";
import { deletePartition, eraseEntries, type SessionStore, type UserMessage, userMessage } from "sessile";
import { postgresSessionBackend, postgresSessionStore } from "sessile/postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres, withoutPostgres } from "../support/postgres.js";
import {
  addEntries,
  addSessions,
  costlyStatements,
  explaining,
  type StatementCost,
} from "../support/postgres-rows.js";
import { createSessions, skipWith } from "./postgres-sessions.js";

skipWith(withoutPostgres);
let server: PostgresServer;
let client: Client;
let store: SessionStore;
let driver: ReturnType<typeof explaining>;
beforeAll(async () => {
  if (withoutPostgres !== undefined) return;
  // What the disk does is another test's; nobody else reads these tables.
  server = await startPostgres({ settings: { fsync: "off", autovacuum: "off" } });
  client = new Client({ connectionString: server.url });
  await client.connect();
  await postgresSessionStore({ db: client }).migrate();
  driver = explaining(client);
  store = postgresSessionStore({ db: driver });
});
afterAll(async () => {
  await client?.end();
  await server?.[Symbol.asyncDispose]();
});

/** The costs of the statements of an act. */
async function costsOf(act: () => Promise<unknown>): Promise<readonly StatementCost[]> {
  driver.costs.length = 0;
  await act();
  return [...driver.costs];
}

async function idsOf(
  query: Parameters<SessionStore["list"]>[0],
): Promise<readonly { readonly cursor: string }[]> {
  const page = [];
  for await (const summary of store.list(query)) page.push(summary);
  return page;
}

/** The nodes that read a table. */
const scans = ({ nodes }: StatementCost) =>
  nodes.filter((node) => node["Node Type"].endsWith("Scan") && node["Relation Name"] !== undefined);

describe("the cost of sessions in tables that grow", () => {
  // @covers durability:postgres-growth
  test("a list of 50 reads 50 rows of an index, of a thousand sessions or of 20 thousand", async () => {
    const pages: number[][] = [];
    let made = 0;
    for (const count of [1000, 20_000]) {
      // A list skips those of another partition.
      for (const partition of ["", "other"])
        await addSessions(client, { from: made, to: count - 1, partition });
      made = count;
      await client.query("vacuum analyze");
      const first = await idsOf({ limit: 50 });
      expect(first.length).toBe(50);
      const costs = [
        ...(await costsOf(() => idsOf({ limit: 50 }))),
        ...(await costsOf(() => idsOf({ limit: 50, after: first.at(-1)?.cursor ?? "" }))),
        ...(await costsOf(() => idsOf({ limit: 50, cwd: "/p" }))),
      ];
      expect(costs.length).toBe(3);
      for (const cost of costs) {
        const [scan, ...others] = scans(cost);
        expect([scan?.["Node Type"], others.length]).toEqual(["Index Scan", 0]);
        // The rest of the last minute, which is sorted.
        expect(scan?.["Actual Rows"]).toBeLessThanOrEqual(50 + 14);
      }
      pages.push(costs.map((cost) => cost.pages));
    }
    const [few = [], many = []] = pages;
    for (const [at, count] of many.entries()) {
      // One level more of the index at most, and the rest of a minute.
      expect(count).toBeLessThanOrEqual((few[at] ?? 0) + 8);
      expect(count).toBeLessThan(60);
    }
  });

  // @covers durability:postgres-growth
  test("an append, an open for writing and a read at a place cost the same whatever the session's length", async () => {
    const pages: Record<number, readonly number[]> = {};
    for (const count of [1000, 20_000]) {
      const id = `long-${count}`;
      await createSessions(client, [id]);
      await addEntries(client, id, count - 1);
      await client.query("vacuum analyze");
      const session = await store.open(id, { mode: "write" });
      expect((await session.tree()).size).toBe(count);
      // The summary of a list is complete by now.
      const appends = await costsOf(() => session.appendMessage(userMessage("one more")));
      expect(appends.length).toBe(1);
      for (const cost of appends) {
        for (const node of scans(cost)) expect(node["Node Type"]).not.toBe("Seq Scan");
      }
      const log = await postgresSessionBackend({ db: driver }).open(id, { partition: "", mode: "read" });
      const reads = await costsOf(async () => log?.readAt([{ at: count >> 1, length: 400 }]));
      for (const cost of reads) {
        for (const node of scans(cost)) expect(node["Node Type"]).not.toBe("Seq Scan");
      }
      const refreshes = await costsOf(() => session.refresh());
      pages[count] = [...appends, ...reads, ...refreshes].map((cost) => cost.pages);
      await session.close();
    }
    expect(pages[20_000]?.length).toBe(pages[1000]?.length);
    // A level more of the index, and a row that moves to another page, with its keys.
    for (const [at, count] of (pages[20_000] ?? []).entries())
      expect(count).toBeLessThanOrEqual((pages[1000]?.[at] ?? 0) + 10);
  });

  // @covers durability:postgres-growth
  test("the tables take at most 1.4 times the bytes of the lines", async () => {
    const { rows } = await client.query(
      "select pg_total_relation_size('sessile.entry')::float8 as stored, (select sum(octet_length(line) + 1) from sessile.entry)::float8 as lines",
    );
    const [{ stored, lines }] = rows as [{ stored: number; lines: number }];
    expect(lines).toBeGreaterThan(8_000_000);
    expect(stored / lines).toBeLessThan(1.4);
  });

  // @covers durability:postgres-growth
  test("a search reads lines by the index of words, and an erasure or a deletion of a tenant by keys", async () => {
    const indexed = postgresSessionStore({ db: client, search: true });
    // Terms as of lines that were written with the index: a word of one line in a thousand, and one of all.
    await client.query(
      "insert into sessile.words select '', id, seq, '', format(' rare%s words', seq % 1000) from sessile.entry where id = 'long-20000'",
    );
    await client.query("update sessile.session set words_at = head");
    await indexed.migrate();
    await addSessions(client, { from: 0, to: 1500, partition: "acme" });
    await addSessions(client, { from: 30_000, to: 31_500 });
    await client.query("update sessile.session set words_at = head");
    await createSessions(client, ["searched"]);
    const session = await indexed.open("searched", { mode: "write" });
    const { id } = await session.appendMessage(userMessage("a rare lighthouse"));
    await session.close();
    await client.query("vacuum analyze");
    const explained = postgresSessionStore({ db: driver, search: true });
    const found: string[] = [];
    const searched = await costsOf(async () => {
      for await (const { entryId } of explained.search({ text: "lighthouse" })) found.push(entryId);
    });
    expect(found).toEqual([id]);
    // The newest sessions, the lines of one, and all sessions.
    expect(searched).toHaveLength(3);
    const [newest, , all] = searched as [StatementCost, StatementCost, StatementCost];
    const words = scans(all).map((node) => [node["Node Type"], node["Relation Name"]]);
    expect(words).toContainEqual(["Bitmap Heap Scan", "words"]);
    expect(all.nodes.map((node) => node["Index Name"])).toContain("words_terms");
    const sessions = scans(newest).filter((node) => node["Relation Name"] === "session");
    expect(sessions.reduce((sum, node) => sum + node["Actual Rows"], 0)).toBeLessThan(2 * 64);
    for (const cost of searched)
      for (const node of scans(cost))
        if (node["Relation Name"] !== "session") expect(node["Node Type"]).not.toBe("Seq Scan");
    const erased = await costsOf(() => eraseEntries(explained, "searched", [id], { reason: "a request" }));
    const [row] = (await client.query("select count(*)::integer as n from sessile.entry")).rows;
    expect(row.n).toBeGreaterThan(20_000);
    for (const cost of erased) {
      for (const node of scans(cost)) {
        expect([node["Relation Name"], node["Node Type"]]).not.toEqual(["entry", "Seq Scan"]);
        if (node["Relation Name"] === "entry") expect(node["Actual Rows"]).toBeLessThan(100);
      }
    }
    const deleted = await costsOf(() => deletePartition(explained, "acme"));
    expect(deleted.length).toBe(2);
    for (const cost of deleted)
      expect(scans(cost).map((node) => node["Node Type"])).not.toContain("Seq Scan");
  });

  // @covers durability:postgres-growth
  test("an append writes as much of the log as an insert by hand with the row that a list shows", async () => {
    await client.query(`
      create table thread (tenant text, thread text, title text, updated_at timestamptz not null default now(), primary key (tenant, thread));
      create index on thread (tenant, updated_at desc);
      create table message (tenant text, thread text, seq bigint, body text not null, primary key (tenant, thread, seq));
      insert into thread values ('', 'by-hand', 'x')`);
    const messages = Array.from({ length: 200 }, (_, at) => userMessage(`${at} ${"words ".repeat(80)}`));
    await createSessions(client, ["ours"]);
    const session = await postgresSessionStore({ db: client }).open("ours", { mode: "write" });
    let seq = 0;
    const appends = {
      ours: (message: UserMessage) => session.appendMessage(message),
      byHand: (message: UserMessage) =>
        client.query(
          `with t as (update thread set updated_at = clock_timestamp() where tenant = $1 and thread = $2)
          insert into message values ($1, $2, $3, $4)`,
          ["", "by-hand", seq++, JSON.stringify(message)],
        ),
    };
    const bytes: Record<string, number> = {};
    for (const [name, append] of Object.entries(appends)) {
      for (const message of messages.slice(0, 20)) await append(message);
      const [start] = (await client.query("select pg_current_wal_insert_lsn() as at")).rows;
      for (const message of messages) await append(message);
      const end = await client.query("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 as n", [
        start.at,
      ]);
      bytes[name] = end.rows[0].n / messages.length;
    }
    // The line has an id, a parent, a time and a checksum of 150 bytes.
    expect(bytes.ours).toBeLessThan((bytes.byHand ?? 0) + 60);
  });

  // The last one: it makes the tables anew.
  // @covers durability:postgres-growth
  test.each([
    { prepared: false, analyzed: false },
    { prepared: true, analyzed: false },
    { prepared: true, analyzed: true },
  ])(
    "no statement of a backend over 10,000 lines compares pairs of them: prepared $prepared, analyzed $analyzed",
    async (statistics) => {
      expect(await costlyStatements(client, statistics, 10_000)).toEqual([]);
    },
  );
});
