import mysql, { type RowDataPacket } from "mysql2/promise";
import { collectGarbage, sessionStore, userMessage } from "sessile";
import { type MysqlClient, mysqlBlobStore, mysqlSessionBackend, openMysql } from "sessile/mysql";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { startMariaDb, withoutMariaDb } from "../support/mariadb.js";
import { mariaDb } from "./server.js";

beforeEach(({ skip }) => skip(withoutMariaDb !== undefined, withoutMariaDb));

describe("MySQL", () => {
  test("one connection carries writers at once: their transactions wait for each other", async () => {
    const { server } = await mariaDb();
    const db = await mysql.createConnection({ uri: server.url });
    const { sessions } = await openMysql(db, { prefix: "single_" });
    const open = await Promise.all(["a", "b", "c"].map((id) => sessions.create({ cwd: "/", id })));
    await Promise.all(
      open.flatMap((session) => ["one", "two"].map((text) => session.appendMessage(userMessage(text)))),
    );
    for (const session of open) expect((await session.context()).items).toHaveLength(2);
    await db.end();
  });

  test("followers of several partitions are asked for in one statement, of those that moved one is read", async () => {
    const { pool } = await mariaDb();
    const { sessions } = await openMysql(pool, { prefix: "followed_" });
    const calls: string[] = [];
    const counting: MysqlClient = {
      execute(sql, values) {
        calls.push(sql);
        return pool.execute(sql, values);
      },
      query: (sql) => pool.query(sql),
    };
    const reading = sessionStore(mysqlSessionBackend({ db: counting, prefix: "followed_" }));
    const stop = new AbortController();
    const seen: string[] = [];
    const writers = [];
    const ended = [];
    for (const partition of ["a", "b", "c"]) {
      const session = await sessions.create({ cwd: "/", id: "s", partition });
      await session.appendMessage(userMessage("one"));
      writers.push(session);
      const reader = await reading.open("s", { partition });
      ended.push(
        (async () => {
          for await (const { type } of reader.follow({ signal: stop.signal, pollMs: 20 }))
            seen.push(`${partition} ${type}`);
        })(),
      );
    }
    const isPoll = (sql: string) => sql.includes("as wanted");
    await vi.waitFor(() => expect(calls.filter(isPoll).length).toBeGreaterThan(2), { timeout: 60_000 });
    calls.length = 0;
    await writers[1]?.appendMessage(userMessage("two"));
    await vi.waitFor(() => expect(seen).toEqual(["b message"]), { timeout: 60_000 });
    stop.abort();
    await Promise.all(ended);
    expect(calls.filter((sql) => !isPoll(sql))).toHaveLength(1);
  });

  test("lines and names of every character come back in any mode of quoting", async () => {
    const { pool } = await mariaDb();
    const connection = await pool.getConnection();
    await connection.query("set session sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'");
    const backend = mysqlSessionBackend({ db: connection as unknown as MysqlClient, prefix: "quoting_" });
    await backend.migrate();
    const cwd = `/it's a "\\path\\" 😀 \\`;
    const session = await sessionStore(backend).create({ cwd, id: "s" });
    await session.appendMessage(userMessage(cwd));
    const found = [];
    for await (const { id, title } of sessionStore(backend).list({ cwd })) found.push([id, title]);
    expect(found).toHaveLength(1);
    const [rows] = await pool.query<RowDataPacket[]>("select cwd from quoting_session");
    expect(rows[0]?.cwd).toContain("it's a");
    connection.destroy();
  });

  test("a packet that the server refuses fails with the setting to change", async () => {
    const server = await startMariaDb({ "max-allowed-packet": "1M", "innodb-flush-log-at-trx-commit": "0" });
    const pool = mysql.createPool({ uri: server.url });
    const blobs = mysqlBlobStore({ db: pool, retryMs: 0 });
    await blobs.migrate();
    const backend = mysqlSessionBackend({ db: pool });
    expect(await backend.durability()).toBe("os");
    await expect(blobs.put(new Uint8Array(3 * 1024 * 1024))).rejects.toMatchObject({
      code: "STORAGE_FAILED",
    });
    await expect(backend.migrate()).resolves.toBeUndefined();
    await pool.end();
    await server[Symbol.asyncDispose]();
  });

  describe("with transactions that read what others commit meanwhile", () => {
    /** A client whose transactions run `meanwhile` after the first statement that `isAfter` accepts. */
    async function readCommitted(isAfter: (sql: string) => boolean, meanwhile: () => Promise<unknown>) {
      const { pool } = await mariaDb();
      let other: Promise<unknown> | undefined;
      const isWaiting = async () => {
        const [[row]] = await pool.query<RowDataPacket[]>("show status like 'innodb_row_lock_current_waits'");
        return Number(row?.Value) > 0;
      };
      const client: MysqlClient = {
        execute: (sql, values) => pool.execute(sql, values),
        query: (sql) => pool.query(sql),
        async getConnection() {
          const connection = await pool.getConnection();
          await connection.query("set session transaction isolation level read committed");
          return {
            async execute(sql, values) {
              const answer = await connection.execute(sql, values);
              if (other !== undefined || !isAfter(sql)) return answer;
              let isDone = false;
              other = meanwhile().finally(() => {
                isDone = true;
              });
              while (!isDone && !(await isWaiting()));
              return answer;
            },
            query: (sql) => connection.query(sql),
            release: () => connection.destroy(),
            destroy: () => connection.destroy(),
          };
        },
      };
      return { client, pool, done: async () => expect(await other).toBeDefined() };
    }

    test("a fork of a session that is deleted meanwhile has all its lines", async () => {
      const { client, pool, done } = await readCommitted(
        (sql) => /^insert into copied_session .* as source/s.test(sql),
        async () => store.delete("source"),
      );
      const store = sessionStore(mysqlSessionBackend({ db: pool, prefix: "copied_" }));
      const { sessions } = await openMysql(client, { prefix: "copied_" });
      const source = await sessions.create({ cwd: "/", id: "source" });
      await source.appendMessage(userMessage("one"));
      const fork = await sessions.fork("source", { id: "fork" });
      await done();
      expect(await fork.diagnose()).toEqual([]);
      expect((await fork.context()).items).toHaveLength(1);
    });

    test("a blob that is put again while it is collected is not in the trash", async () => {
      const { client, pool, done } = await readCommitted(
        (sql) => sql.startsWith("insert into again_blob_trash"),
        async () => other.put(bytes),
      );
      const bytes = new Uint8Array(10);
      const other = mysqlBlobStore({ db: pool, prefix: "again_" });
      const { blobs } = await openMysql(client, { prefix: "again_" });
      const { ref } = await blobs.put(bytes);
      await pool.query("update again_blob set touched_at = 1");
      const marks = [{ root: "none", refs: [], complete: true }];
      await collectGarbage(blobs, { marks, graceMs: 3_600_000 });
      await done();
      expect(await blobs.get(ref)).toEqual(bytes);
      const [rows] = await pool.query<RowDataPacket[]>(
        "select b.ref from again_blob b join again_blob_trash t on t.upload = b.upload",
      );
      expect(rows).toEqual([]);
    });
  });

  test("an append whose commit lost its answer is done, also by the errors of the driver mariadb", async () => {
    const { pool } = await mariaDb();
    let isLosing = false;
    const db: MysqlClient = {
      execute: (sql, values) => pool.execute(sql, values),
      query: (sql) => pool.query(sql),
      async getConnection() {
        const connection = await pool.getConnection();
        return {
          execute: (sql, values) => connection.execute(sql, values),
          async query(sql) {
            await connection.query(sql);
            if (sql !== "commit" || !isLosing) return;
            isLosing = false;
            const lost = { code: "ER_SOCKET_UNEXPECTED_CLOSE", errno: 45009, sqlState: "08S01", fatal: true };
            throw Object.assign(new Error("socket has unexpectedly been closed"), lost);
          },
          release: () => connection.release(),
          destroy: () => connection.destroy(),
        };
      },
    };
    const { sessions } = await openMysql(db, { prefix: "mariadb_" });
    const session = await sessions.create({ cwd: "/", id: "s" });
    await session.appendMessage(userMessage("one"));
    isLosing = true;
    await session.appendMessage(userMessage("two"));
    expect((await session.context()).items).toHaveLength(2);
  });

  test("the hour that comes twice in the time zone of the server has two times", async () => {
    vi.stubEnv("TZ", "Europe/Berlin");
    const server = await startMariaDb({ "sysdate-is-now": "1" });
    vi.unstubAllEnvs();
    const db = await mysql.createConnection({ uri: server.url });
    const { blobs, sessions } = await openMysql(db);
    for (const time of ["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"]) {
      await db.query(`set timestamp = ${Date.parse(time) / 1000}`);
      const { touchedAt } = await blobs.put(new TextEncoder().encode(time));
      expect(new Date(touchedAt).toISOString()).toBe(time);
      const session = await sessions.create({ cwd: "/" });
      await session.appendMessage(userMessage(time));
      for await (const { modified } of sessions.list({ limit: 1 }))
        expect(new Date(modified).toISOString()).toBe(time);
    }
    await db.end();
    await server[Symbol.asyncDispose]();
  });

  test("without tables the error says what to do", async () => {
    const { pool } = await mariaDb();
    const store = sessionStore(mysqlSessionBackend({ db: pool, prefix: "none_" }));
    await expect(store.create({ cwd: "/", id: "s" })).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      message: expect.stringContaining("call migrate() first"),
    });
  });

  test.each([{}, { execute: 1 }, null])("%s is no client", (db) => {
    expect(() => mysqlSessionBackend({ db: db as never })).toThrow(/^db: expected a pool or a connection/);
  });

  test.each(["", "1a", "a-b", "a".repeat(49)])("%j is no prefix", (prefix) => {
    const db = { execute: async () => [], query: async () => [] } as MysqlClient;
    expect(() => mysqlSessionBackend({ db, prefix })).toThrow(/^prefix: expected/);
  });
});
