import { Pool } from "pg";
import postgres from "postgres";
import { type ConformanceFixture, sessionStoreConformance } from "sessile/conformance";
import { type PostgresQuery, postgresSessionBackend, postgresSessionStore } from "sessile/postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Bouncer,
  type PostgresServer,
  startPgBouncer,
  startPostgres,
  withoutPgBouncer,
  withoutPostgres,
} from "../support/postgres.js";

const maxLineBytes = 2 * 1024 * 1024;
let server: PostgresServer | undefined;
let bouncer: Bouncer | undefined;

beforeAll(async () => {
  // No case waits for the disk, which takes most of the time.
  if (withoutPostgres === undefined) server = await startPostgres({ settings: { fsync: "off" } });
  if (server !== undefined && withoutPgBouncer === undefined) bouncer = await startPgBouncer(server, 2);
  if (server === undefined) return;
  const pool = new Pool({ connectionString: server.url });
  await postgresSessionBackend({ db: pool, search: true }).migrate();
  await pool.end();
});
afterAll(async () => {
  await bouncer?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

/** Each handle shares the pool, whose connections are given to any query. */
function fixtureOn(db: PostgresQuery, search = false): ConformanceFixture {
  const backend = postgresSessionBackend({ db, search });
  return {
    open: () => postgresSessionStore({ db, maxLineBytes, search }),
    maxLineBytes,
    async *contents() {
      for (const table of ["session", "entry", "blob_ref"]) {
        const { rows } = await db.query(`select t::text as row from sessile.${table} t`);
        for (const { row } of rows as readonly { readonly row: string }[]) {
          yield new TextEncoder().encode(row);
          for (const [, digits = ""] of row.matchAll(/\\x([0-9a-f]+)/g)) yield Buffer.from(digits, "hex");
        }
      }
    },
    async put(id, lines) {
      const session = { id, partition: "", cwd: "/work", timestamp: "2026-01-01T00:00:00.000Z" };
      const { log, position } = await backend.create(session);
      await log.append(
        lines.map((line) => new TextEncoder().encode(`${line}\n`)),
        position,
      );
      await log.close();
    },
  };
}

type Connected = PostgresQuery & { end(): Promise<void> };

const byPg = (url: string): Connected => new Pool({ connectionString: url, max: 8 });
/** As docs/reference/postgres.md has it. */
const byPostgresJs = (url: string): Connected => {
  const sql = postgres(url, { fetch_types: false, max: 8, onnotice() {} });
  return {
    query: async (text, values) => ({ rows: await sql.unsafe(text, values as never) }),
    end: () => sql.end(),
  };
};

describe.each([
  ["on a server, by pg's Pool", withoutPostgres, () => server?.url, byPg],
  ["on a server, by postgres.js", withoutPostgres, () => server?.url, byPostgresJs],
  ["on a server, by PgBouncer in transaction mode", withoutPgBouncer, () => bouncer?.url, byPg],
] as const)("sessions %s", (_, without, url, connect) => {
  let pool: Connected;
  beforeAll(() => {
    if (without === undefined) pool = connect(url() ?? "");
  });
  afterAll(() => pool?.end());

  for (const { name, run } of sessionStoreConformance) {
    test(name, async ({ skip }) => {
      if (without !== undefined) skip(without);
      await pool.query("truncate sessile.session, sessile.entry, sessile.words cascade");
      const result = await run(fixtureOn(pool));
      if (result !== undefined) skip(result.skipped);
    });
    // The others write with these statements too; those of copies, erasures and migrations are in these.
    if (!/^search|eras|fork up to|handle from before|older version/.test(name)) continue;
    test(`${name}, with an index of words`, async ({ skip }) => {
      if (without !== undefined) skip(without);
      await pool.query("truncate sessile.session, sessile.entry, sessile.words cascade");
      const result = await run(fixtureOn(pool, true));
      if (result !== undefined) skip(result.skipped);
    });
  }
});

describe("a pooler in transaction mode", () => {
  test("gives one client's statements to several connections, which is noticed by none", async ({ skip }) => {
    if (withoutPgBouncer !== undefined) skip(withoutPgBouncer);
    const pool = new Pool({ connectionString: bouncer?.url, max: 8 });
    const pids = new Set<number>();
    const client = await pool.connect();
    for (let at = 0; at < 50 && pids.size < 2; at++) {
      // Others keep the connection that was used last.
      const others = [pool.query("select pg_sleep(0.01)"), pool.query("select pg_sleep(0.01)")];
      pids.add((await client.query("select pg_backend_pid() as pid")).rows[0].pid);
      await Promise.all(others);
    }
    client.release();
    await pool.end();
    expect(pids.size).toBeGreaterThan(1);
  });
});
