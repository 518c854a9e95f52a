import { type SessionBackend, sessionStore } from "sessile";
import { type ConformanceFixture, sessionStoreConformance } from "sessile/conformance";
import { type MysqlClient, mysqlSessionBackend } from "sessile/mysql";
import { describe, test } from "vitest";
import { withoutMariaDb } from "../support/mariadb.js";
import { lostConnection, mariaDb } from "./server.js";

const maxLineBytes = 2 * 1024 * 1024;
let made = 0;

async function fixture(): Promise<ConformanceFixture> {
  const { pool } = await mariaDb();
  const prefix = `suite${made++}_`;
  let isLosing = false;
  const faulty: MysqlClient = {
    execute: (sql, values) => pool.execute(sql, values),
    query: (sql) => pool.query(sql),
    async getConnection() {
      const connection = await pool.getConnection();
      return {
        execute: (sql, values) => connection.execute(sql, values),
        async query(sql) {
          const answer = await connection.query(sql);
          if (sql !== "commit" || !isLosing) return answer;
          isLosing = false;
          throw lostConnection();
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      };
    },
  };
  const backend = (): SessionBackend => mysqlSessionBackend({ db: faulty, prefix });
  await mysqlSessionBackend({ db: pool, prefix }).migrate();
  return {
    open: () => sessionStore(backend(), { maxLineBytes }),
    maxLineBytes,
    async put(id, lines) {
      const session = { partition: "", cwd: "/work", id, timestamp: "2026-01-01T00:00:00.000Z" };
      const { log, position } = await backend().create(session);
      const bytes = lines.map((line) => new TextEncoder().encode(`${line}\n`));
      await log.append(bytes, position);
      await log.close();
    },
    async *contents() {
      for (const table of ["session", "entry"]) {
        const [rows] = await pool.query(`select * from ${prefix}${table}`);
        for (const row of rows as readonly Readonly<Record<string, unknown>>[])
          for (const value of Object.values(row))
            yield value instanceof Uint8Array ? value : new TextEncoder().encode(String(value));
      }
    },
    loseAnswer() {
      isLosing = true;
    },
  };
}

describe.skipIf(withoutMariaDb !== undefined)("a store in MariaDB", () => {
  for (const { name, run } of sessionStoreConformance) {
    test(name, async ({ skip }) => {
      const result = await run(await fixture());
      if (result !== undefined) skip(result.skipped);
    });
  }
});
