/** Failures of real drivers on real servers: an append of which nothing was sent fails, and its handle goes on. */

import mysql, { type Pool as MysqlPool } from "mysql2/promise";
import { Pool, type PoolConfig } from "pg";
import postgres from "postgres";
import { type Session, type SessionBackend, sessionStore, userMessage } from "sessile";
import { mysqlSessionBackend } from "sessile/mysql";
import { type PostgresQuery, postgresSessionBackend } from "sessile/postgres";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { freePort } from "../support/free-port.js";
import { type MariaDbServer, startMariaDb, withoutMariaDb } from "../support/mariadb.js";
import { type PostgresServer, startPostgres, startStandby, withoutPostgres } from "../support/postgres.js";
import { skipWith } from "./postgres-sessions.js";

/** A client that a test exchanges for another one. */
function switching<T extends object>(first: T): T & { now: T } {
  const handler: ProxyHandler<{ now: T }> = {
    get: (target, name) => {
      if (name === "now") return target.now;
      const value = target.now[name as keyof T];
      return typeof value === "function" ? value.bind(target.now) : value;
    },
  };
  return new Proxy({ now: first }, handler) as unknown as T & { now: T };
}

async function begin(backend: SessionBackend, id: string): Promise<Session> {
  const session = await sessionStore(backend).create({ cwd: "/p", id });
  await session.appendMessage(userMessage("first"));
  return session;
}

/** An append fails with `errno`; then, after `mend`, the same handle appends, and both entries are there once. */
async function failsAndGoesOn(
  backend: SessionBackend,
  session: Session,
  errno: unknown,
  mend: () => unknown,
): Promise<void> {
  const failed = session.appendMessage(userMessage("lost"));
  await expect(failed).rejects.toMatchObject({ code: "STORAGE_FAILED", details: { errno } });
  await mend();
  await session.appendMessage(userMessage("next"));
  expect(await textsOf(backend, session.id)).toEqual(["first", "next"]);
}

async function textsOf(backend: SessionBackend, id: string): Promise<readonly unknown[]> {
  const session = await sessionStore(backend).open(id);
  expect(await session.diagnose()).toEqual([]);
  const { items } = await session.context();
  return items.map(({ message }) => (message.role === "user" ? message.content : message.role));
}

describe("PostgreSQL", () => {
  skipWith(withoutPostgres);
  let server: PostgresServer;
  let port = 0;
  const pools: Pool[] = [];
  const pool = (options: PoolConfig = {}): Pool => {
    const made = new Pool({ connectionString: server.url, ...options });
    made.on("error", () => undefined);
    pools.push(made);
    return made;
  };
  beforeAll(async () => {
    if (withoutPostgres !== undefined) return;
    server = await startPostgres({ settings: { fsync: "off" } });
    await postgresSessionBackend({ db: pool() }).migrate();
    await pool().query("create role reader login password 'right'");
    port = await freePort();
  });
  afterAll(async () => {
    for (const made of pools) await made.end();
    await server?.[Symbol.asyncDispose]();
  });

  const wrong: Readonly<Record<string, readonly [errno: unknown, () => PostgresQuery]>> = {
    "a port where nobody listens": [
      "ECONNREFUSED",
      () => pool({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres` }),
    ],
    "a name that no server has": [
      expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/),
      () => pool({ connectionString: "postgres://postgres@nobody.invalid/postgres" }),
    ],
    "a server without TLS": ["UNKNOWN", () => pool({ ssl: true })],
    "a role that is not there": [
      "28000",
      () => pool({ connectionString: server.url.replace("postgres@", "nobody@") }),
    ],
    "a database that is not there": ["3D000", () => pool({ connectionString: `${server.url}_of_nobody` })],
    "a port where nobody listens, by postgres.js": [
      "ECONNREFUSED",
      () => {
        const sql = postgres(`postgres://postgres@127.0.0.1:${port}/postgres`, { fetch_types: false });
        return { query: async (text, values) => ({ rows: await sql.unsafe(text, values) }) };
      },
    ],
  };

  // @covers durability:postgres-busy
  test.each(Object.entries(wrong))("%s: nothing was sent", async (name, [errno, client]) => {
    const good = pool();
    const db = switching<PostgresQuery>(good);
    const backend = postgresSessionBackend({ db, retryMs: 100 });
    const session = await begin(backend, `wrong-${name.replaceAll(/\W+/g, "-")}`);
    (db as { now: PostgresQuery }).now = client();
    await failsAndGoesOn(backend, session, errno, () => {
      (db as { now: PostgresQuery }).now = good;
    });
  });

  // @covers durability:postgres-busy
  test("a pool of one whose connection is taken: nothing was sent; given back in time, the append waits", async () => {
    const db = pool({ max: 1, connectionTimeoutMillis: 50 });
    const patient = pool({ max: 1, connectionTimeoutMillis: 50 });
    const backend = postgresSessionBackend({ db, retryMs: 100 });
    const session = await begin(backend, "taken");
    const taken = await db.connect();
    await failsAndGoesOn(backend, session, "CONNECT_TIMEOUT", () => taken.release());
    const waiting = await begin(postgresSessionBackend({ db: patient, retryMs: 60_000 }), "waiting");
    const client = await patient.connect();
    const appended = waiting.appendMessage(userMessage("next"));
    await vi.waitFor(() => expect(patient.waitingCount).toBe(1));
    client.release();
    await appended;
    expect(await textsOf(backend, "waiting")).toEqual(["first", "next"]);
  });

  // @covers durability:postgres-busy
  test("a server that is read-only after a failover is asked again, and takes the append when it writes", async () => {
    const admin = pool({ max: 1 });
    const setting = async (value: "on" | "off") => {
      await admin.query(`alter role postgres set default_transaction_read_only = ${value}`);
    };
    const db = pool({ max: 1 });
    const calls: string[] = [];
    const fresh: PostgresQuery = {
      // As after a failover: each call meets the role's setting.
      async query(text, values) {
        const own = pool({ max: 1 });
        try {
          return await own.query(text, values);
        } catch (error) {
          calls.push(String((error as { code?: unknown }).code));
          throw error;
        }
      },
    };
    const once = postgresSessionBackend({ db: fresh, retryMs: 0 });
    const session = await begin(once, "standby");
    await setting("on");
    try {
      await failsAndGoesOn(once, session, "25006", async () => {
        await db.query("set default_transaction_read_only = off");
        await db.query("alter role postgres set default_transaction_read_only = off");
      });
      await admin.query("set default_transaction_read_only = off");
      const patient = await begin(postgresSessionBackend({ db: fresh, retryMs: 60_000 }), "patient");
      await setting("on");
      calls.length = 0;
      const appended = patient.appendMessage(userMessage("next"));
      await vi.waitFor(() => expect(calls.length).toBeGreaterThan(1), { timeout: 30_000 });
      await setting("off");
      await appended;
      expect(new Set(calls)).toEqual(new Set(["25006"]));
      expect(await textsOf(once, "patient")).toEqual(["first", "next"]);
    } finally {
      await setting("off");
    }
  });

  // @covers durability:postgres-crash
  test("a server that is stopped and started in the middle of appends takes each once", async () => {
    const backend = postgresSessionBackend({ db: pool({ max: 4 }), retryMs: 120_000 });
    const sessions = await Promise.all(["stop0", "stop1", "stop2"].map((id) => begin(backend, id)));
    const counts = sessions.map(() => 0);
    let isOver = false;
    const writing = sessions.map(async (session, at) => {
      while (!isOver) {
        await session.appendMessage(userMessage(`${counts[at]}`));
        counts[at] = (counts[at] ?? 0) + 1;
      }
    });
    for (let stops = 0; stops < 2; stops++) {
      const before = [...counts];
      await vi.waitFor(() => expect(counts.every((count, at) => count > (before[at] ?? 0) + 5)).toBe(true), {
        timeout: 120_000,
      });
      await server.stop();
      await server.start();
    }
    isOver = true;
    await Promise.all(writing);
    for (const [at, { id }] of sessions.entries()) {
      const said = Array.from({ length: counts[at] as number }, (_, number) => `${number}`);
      expect(await textsOf(backend, id)).toEqual(["first", ...said]);
    }
  });

  // @covers durability:postgres-busy
  test("a failover to a standby, which only reads at first, loses nothing and appends each entry once", async () => {
    const primary = await startPostgres();
    const standby = await startStandby(primary);
    try {
      const admin = pool({ connectionString: primary.url, max: 1 });
      await admin.query("alter system set synchronous_standby_names = '*'");
      await admin.query("select pg_reload_conf()");
      const codes = new Set<unknown>();
      const db = switching<PostgresQuery>(pool({ connectionString: primary.url, max: 4 }));
      const seen: PostgresQuery = {
        query: (text, values) =>
          db.query(text, values).catch((error: unknown) => {
            codes.add((error as { code?: unknown }).code);
            throw error;
          }),
      };
      const backend = postgresSessionBackend({ db: seen, retryMs: 120_000 });
      await backend.migrate();
      await vi.waitFor(async () => {
        const { rows } = await admin.query("select sync_state from pg_stat_replication");
        expect(rows).toEqual([{ sync_state: "sync" }]);
      });
      const ids = ["over0", "over1", "over2"];
      const sessions = await Promise.all(ids.map((id) => begin(backend, id)));
      const counts = ids.map(() => 0);
      let isOver = false;
      const writing = sessions.map(async (session, at) => {
        while (!isOver) {
          await session.appendMessage(userMessage(`${counts[at]}`));
          counts[at] = (counts[at] ?? 0) + 1;
        }
      });
      const fiveMore = async (before: readonly number[]) => {
        const enough = () => expect(counts.every((count, at) => count > (before[at] ?? 0) + 5)).toBe(true);
        await vi.waitFor(enough, { timeout: 60_000 });
      };
      await fiveMore([]);
      await primary.crash();
      const next = pool({ connectionString: standby.url, max: 4 });
      db.now = next;
      await vi.waitFor(() => expect(codes).toContain("25006"), { timeout: 60_000 });
      const before = [...counts];
      await next.query("select pg_promote()");
      await fiveMore(before);
      isOver = true;
      await Promise.all(writing);
      for (const [at, id] of ids.entries()) {
        const said = Array.from({ length: counts[at] as number }, (_, number) => `${number}`);
        expect(await textsOf(backend, id)).toEqual(["first", ...said]);
      }
    } finally {
      await standby[Symbol.asyncDispose]();
      await primary[Symbol.asyncDispose]();
    }
  });
});

describe("MariaDB", () => {
  skipWith(withoutMariaDb);
  let server: MariaDbServer;
  let good: MysqlPool;
  const pools: MysqlPool[] = [];
  const pool = (options: mysql.PoolOptions = {}): MysqlPool => {
    const made = mysql.createPool({ uri: server.url, ...options });
    pools.push(made);
    return made;
  };
  beforeAll(async () => {
    if (withoutMariaDb !== undefined) return;
    server = await startMariaDb();
    good = pool();
    await mysqlSessionBackend({ db: good }).migrate();
  });
  afterAll(async () => {
    for (const made of pools) await made.end().catch(() => undefined);
    await server?.[Symbol.asyncDispose]();
  });

  const wrong: Readonly<Record<string, readonly [errno: unknown, () => Promise<MysqlPool> | MysqlPool]>> = {
    "a port where nobody listens": [
      "ECONNREFUSED",
      async () => pool({ uri: server.url.replace(/:\d+\//, `:${await freePort()}/`) }),
    ],
    "a name that no server has": [
      expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/),
      () => pool({ uri: server.url.replace("127.0.0.1", "nobody.invalid") }),
    ],
    "a server without TLS": ["HANDSHAKE_NO_SSL_SUPPORT", () => pool({ ssl: {} })],
    "a wrong password": [
      "ER_ACCESS_DENIED_ERROR",
      () => pool({ uri: server.url.replace("root@", "nobody:wrong@") }),
    ],
    "a pool of one whose connection is taken": [
      "UNKNOWN",
      async () => {
        const one = pool({ connectionLimit: 1, waitForConnections: false });
        await one.getConnection();
        return one;
      },
    ],
  };

  // @covers durability:mysql-busy
  test.each(Object.entries(wrong))("%s: nothing was sent", async (name, [errno, client]) => {
    const db = switching<MysqlPool>(good);
    const backend = mysqlSessionBackend({ db, retryMs: 100 });
    const session = await begin(backend, `wrong-${name.replaceAll(/\W+/g, "-")}`);
    (db as { now: MysqlPool }).now = await client();
    await failsAndGoesOn(backend, session, errno, () => {
      (db as { now: MysqlPool }).now = good;
    });
  });

  // @covers durability:mysql-busy
  test("a read-only server or transaction is asked again", async () => {
    const one = pool({ connectionLimit: 1 });
    const backend = mysqlSessionBackend({ db: one, retryMs: 100 });
    const session = await begin(backend, "read-only");
    await one.query("set session transaction read only");
    await failsAndGoesOn(backend, session, "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION", () =>
      one.query("set session transaction read write"),
    );
    const patient = await begin(mysqlSessionBackend({ db: one, retryMs: 60_000 }), "patient");
    await one.query("set session transaction read only");
    const appended = patient.appendMessage(userMessage("next"));
    // The pool gives its connection to this call after the first attempt.
    await one.query("set session transaction read write");
    await appended;
    expect(await textsOf(backend, "patient")).toEqual(["first", "next"]);
  });
});
