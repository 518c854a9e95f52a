import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { type BlobStore, digest } from "sessile";
import { mysqlBlobStore } from "sessile/mysql";
import { postgresBlobStore } from "sessile/postgres";
import { describe, expect, test } from "vitest";
import { startMariaDb, withoutMariaDb } from "../support/mariadb.js";
import { nodeSha256 } from "../support/plain-values.js";
import { startPostgres, withoutPostgres } from "../support/postgres.js";
import { startProcess, useProgram } from "./start-child.js";

const program = useProgram(new URL("./sql-blob-child.ts", import.meta.url));
const hashes = [nodeSha256];
const bytes = new Uint8Array(2_500_000).fill(7);
const ref = digest(bytes, nodeSha256);
const day = 86_400_000;

interface Server extends AsyncDisposable {
  readonly url: string;
  readonly blobs: BlobStore;
  /** How many rows of bytes there are. */
  rows(): Promise<number>;
}

async function onPostgres(): Promise<Server> {
  const server = await startPostgres();
  const pool = new Pool({ connectionString: server.url });
  pool.on("error", () => undefined);
  const blobs = postgresBlobStore({ db: pool, hashes });
  await blobs.migrate();
  return {
    url: server.url,
    blobs,
    rows: async () => Number((await pool.query("select count(*) from sessile.blob_part")).rows[0].count),
    async [Symbol.asyncDispose]() {
      await pool.end();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function onMariaDb(): Promise<Server> {
  const server = await startMariaDb();
  const pool = createPool({ uri: server.url });
  const blobs = mysqlBlobStore({ db: pool, hashes });
  await blobs.migrate();
  return {
    url: server.url,
    blobs,
    rows: async () => {
      const [rows] = await pool.query("select count(*) as count from sessile_blob_part");
      return Number((rows as unknown as readonly { readonly count: number }[])[0]?.count);
    },
    async [Symbol.asyncDispose]() {
      await pool.end();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe.each([
  { name: "PostgreSQL", start: onPostgres, without: withoutPostgres },
  { name: "MariaDB", start: onMariaDb, without: withoutMariaDb },
])("a put of a blob in $name", ({ start, without }) => {
  // @covers durability:sql-blob-killed
  test("that is killed at any of its statements leaves the whole blob or none, and succeeds again", async ({
    skip,
  }) => {
    skip(without !== undefined, without);
    const server = await start();
    try {
      const { blobs, url } = server;
      const put = (...kill: readonly string[]) =>
        startProcess(process.execPath, [program(), url, String(bytes.length), ...kill]);
      const whole = put();
      expect(await whole.ended).toBe(0);
      const statements = Number(/^put (\d+)$/.exec(whole.said[0] ?? "")?.[1]);
      expect(statements).toBeGreaterThan(4);
      const outcomes = { whole: 0, none: 0 };
      for (let at = 1; at <= statements; at++) {
        for (const when of at === 1 ? ["before"] : ["sent", "answered"]) {
          await blobs.delete(ref);
          const child = put(String(at), when);
          expect(await child.ended).toBe("SIGKILL");
          const { corrupt, checked } = await blobs.verify();
          expect([at, when, corrupt]).toEqual([at, when, []]);
          outcomes[checked.count === 1 ? "whole" : "none"]++;
          expect((await blobs.put(bytes)).ref).toBe(ref);
          expect(await blobs.get(ref)).toEqual(bytes);
          // A statement that was on its way may arrive late.
          const after = (await blobs.backend.now()) + day;
          await expect
            .poll(async () => {
              await blobs.backend.removeLeftovers?.(after, { dryRun: false });
              return server.rows();
            })
            .toBe(3);
        }
      }
      expect(outcomes.whole).toBeGreaterThan(0);
      expect(outcomes.none).toBeGreaterThan(statements - 2);
      await blobs.delete(ref);
      expect(await server.rows()).toBe(0);
    } finally {
      await server[Symbol.asyncDispose]();
    }
  });
});
