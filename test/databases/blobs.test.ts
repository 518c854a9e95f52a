import { Pool } from "pg";
import { type BlobRef, type BlobStore, type BlobStoreOptions, userMessage } from "sessile";
import { type BlobConformanceFixture, blobStoreConformance } from "sessile/conformance";
import { type MysqlClient, mysqlBlobStore, openMysql } from "sessile/mysql";
import { openPostgres, type PostgresQuery, postgresBlobStore } from "sessile/postgres";
import { databaseDriver, openSqlite, type SqliteDriver, sqliteBlobStore } from "sessile/sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { lostConnection as lostMysql, mariaDb } from "../mysql/server.js";
import { lostConnection as lostPostgres, pglite, startMs } from "../postgres/pglite.js";
import { closeDatabases, lostConnection as lostSqlite, memoryDatabase } from "../sqlite/databases.js";
import { withoutMariaDb } from "../support/mariadb.js";
import { nodeSha256 } from "../support/plain-values.js";
import { type PostgresServer, startPostgres, withoutPostgres } from "../support/postgres.js";

afterEach(closeDatabases);

type Rows = readonly Readonly<Record<string, unknown>>[];

interface Fixture extends BlobConformanceFixture {
  /** Runs a statement with the names of the tables: blob, blob_part, blob_trash. */
  run(sql: string, values: readonly unknown[]): Promise<Rows>;
  openDoor(): ReturnType<typeof openSqlite>;
}

const hashes = [nodeSha256];
const partBytes = 1024 * 1024;
/** Whether a statement makes a blob appear. */
const isPut = (sql: string): boolean => /^insert into \S*blob \(/.test(sql);

/** Replaces the bytes of a blob past the store. */
function damageWith(run: Fixture["run"]): NonNullable<BlobConformanceFixture["damage"]> {
  return async (ref: BlobRef, bytes: Uint8Array) => {
    const [row] = await run("select upload from blob where ref = ?", [ref]);
    const count = Math.max(1, Math.ceil(bytes.length / partBytes));
    await run("delete from blob_part where upload = ? and no >= ?", [row?.upload, count]);
    for (let no = 0; no < count; no++) {
      const part = Buffer.from(bytes.subarray(no * partBytes, (no + 1) * partBytes));
      await run("update blob_part set bytes = ? where upload = ? and no = ?", [part, row?.upload, no]);
    }
    await run("update blob set size = ? where upload = ?", [bytes.length, row?.upload]);
  };
}

/** Loses the answer of the next put. */
function loser(lost: () => Error) {
  let isLosing = false;
  return {
    loseAnswer() {
      isLosing = true;
    },
    answered<T>(sql: string, answer: T): T {
      if (!isLosing || !isPut(sql)) return answer;
      isLosing = false;
      throw lost();
    },
  };
}

async function* inChunks(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

let made = 0;

/** A server if there is one: PGlite takes a second for some megabytes. */
let postgres: PostgresServer | undefined;
let pool: Pool | undefined;
beforeAll(async () => {
  if (withoutPostgres !== undefined) return;
  postgres = await startPostgres({ settings: { fsync: "off" } });
  pool = new Pool({ connectionString: postgres.url });
  pool.on("error", () => undefined);
}, startMs);
afterAll(async () => {
  await pool?.end();
  await postgres?.[Symbol.asyncDispose]();
});

async function onPostgres(): Promise<Fixture> {
  const server: PostgresQuery = pool ?? (await pglite());
  const schema = `blobs${made++}`;
  const { loseAnswer, answered } = loser(lostPostgres);
  const db: PostgresQuery = {
    query: async (sql, values) => answered(sql, await server.query(sql, values)),
  };
  await postgresBlobStore({ db, schema }).migrate();
  const run: Fixture["run"] = async (sql, values) => {
    let count = 0;
    const text = sql
      .replaceAll("?", () => `$${++count}`)
      .replace(/\b(blob|blob_part|blob_trash)\b/, `${schema}.$1`);
    return (await server.query(text, [...values])).rows;
  };
  return {
    open: (options) => postgresBlobStore({ db, schema, hashes, ...options }),
    openDoor: () => openPostgres(db, { schema }),
    loseAnswer,
    damage: damageWith(run),
    run,
  };
}

async function onSqlite(): Promise<Fixture> {
  const sound = databaseDriver(memoryDatabase());
  const { loseAnswer, answered } = loser(lostSqlite);
  const driver: SqliteDriver = {
    all: async (sql, params) => answered(sql, await sound.all(sql, params)),
    transaction: async (statements) => sound.transaction(statements),
  };
  await sqliteBlobStore({ driver }).migrate();
  const run: Fixture["run"] = async (sql, values) =>
    sound.all(sql.replace(/\b(blob|blob_part|blob_trash)\b/, "sessile_$1"), values as never);
  return {
    open: (options) => sqliteBlobStore({ driver, hashes, ...options }),
    openDoor: () => openSqlite(driver),
    loseAnswer,
    damage: damageWith(run),
    run,
  };
}

async function onMariaDb(): Promise<Fixture> {
  const { pool } = await mariaDb();
  const prefix = `blobs${made++}_`;
  const { loseAnswer, answered } = loser(lostMysql);
  const db: MysqlClient = {
    execute: async (sql, values) => answered(sql, await pool.execute(sql, values)),
    query: (sql) => pool.query(sql),
    getConnection: () => pool.getConnection(),
  };
  await mysqlBlobStore({ db, prefix }).migrate();
  const run: Fixture["run"] = async (sql, values) => {
    const [rows] = await pool.query(sql.replace(/\b(blob|blob_part|blob_trash)\b/, `${prefix}$1`), [
      ...values,
    ]);
    return rows as unknown as Rows;
  };
  return {
    open: (options) => mysqlBlobStore({ db, prefix, hashes, ...options }),
    openDoor: () => openMysql(db, { prefix }),
    loseAnswer,
    damage: damageWith(run),
    run,
  };
}

const engines: readonly {
  readonly name: string;
  start(): Promise<Fixture>;
  readonly without?: string | undefined;
}[] = [
  { name: "PostgreSQL", start: onPostgres },
  { name: "SQLite", start: onSqlite },
  { name: "MariaDB", start: onMariaDb, without: withoutMariaDb },
];

describe.each(engines)("blobs in $name", ({ start, without }) => {
  for (const { name, run } of blobStoreConformance) {
    test(name, async ({ skip }) => {
      skip(without !== undefined, without);
      const result = await run(await start());
      if (result !== undefined) skip(result.skipped);
    });
  }

  test("bytes are rows of 1 MiB; a put of the same bytes writes none, one of others leaves none", async ({
    skip,
  }) => {
    skip(without !== undefined, without);
    const { open, run, damage } = await start();
    const blobs = await open();
    const bytes = new Uint8Array(2.5 * 1024 * 1024).fill(7);
    const { ref } = await blobs.put(bytes);
    const rows = () => run("select upload, no, length(bytes) as size from blob_part order by no", []);
    const first = await rows();
    expect(first.map(({ size }) => Number(size))).toEqual([1024 * 1024, 1024 * 1024, 512 * 1024]);
    await blobs.put(bytes);
    await blobs.put(inChunks(bytes, 700_000));
    expect(await rows()).toEqual(first);
    await damage?.(ref, Uint8Array.of(1));
    await blobs.put(bytes);
    expect((await rows()).map(({ size }) => Number(size))).toEqual([1024 * 1024, 1024 * 1024, 512 * 1024]);
    expect(await blobs.get(ref)).toEqual(bytes);
    await blobs.delete(ref);
    expect(await rows()).toEqual([]);
  });

  // @covers durability:sql-blob-bound
  test("a blob of more than 100 MB is refused before anything is written, unless the store allows it", async ({
    skip,
  }) => {
    skip(without !== undefined, without);
    const { open, openDoor, run } = await start();
    const size = 100_000_001;
    const put = (blobs: BlobStore) => blobs.put(inChunks(new Uint8Array(10), 10), { size });
    for (const blobs of [await open(), (await openDoor()).blobs]) {
      await expect(put(blobs)).rejects.toMatchObject({
        code: "BLOB_TOO_LARGE",
        details: { bytes: size, maxBytes: 100_000_000 },
      });
    }
    await expect(put(await open({ maxBytes: size }))).rejects.toMatchObject({ code: "BLOB_MISMATCH" });
    expect(await run("select upload from blob_part", [])).toEqual([]);
  });

  test("a put that fails after its blob appeared leaves the bytes to all who have it", async ({ skip }) => {
    skip(without !== undefined, without);
    const { open, loseAnswer } = await start();
    const hasty = await open({ retryMs: 0 } as BlobStoreOptions);
    const bytes = new Uint8Array(1.5 * 1024 * 1024).fill(7);
    loseAnswer?.();
    await expect(hasty.put(bytes)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    const found = [];
    for await (const { ref } of hasty.list()) found.push(await hasty.get(ref));
    expect(found).toEqual([bytes]);
  });

  test("a put whose rows are deleted while it is written fails, and no blob appears", async ({ skip }) => {
    skip(without !== undefined, without);
    const { open, run } = await start();
    const blobs = await open();
    async function* source() {
      yield new Uint8Array(1.5 * 1024 * 1024);
      // As the erasure of a partition does, or a collection of leftovers after a long pause.
      await run("delete from blob_part", []);
      yield new Uint8Array(1024 * 1024);
    }
    await expect(blobs.put(source())).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    expect(await run("select ref from blob", [])).toEqual([]);
    expect(await run("select upload from blob_part", [])).toEqual([]);
  });

  test("the door gives sessions, blobs and attach, which are there for the next one", async ({ skip }) => {
    skip(without !== undefined, without);
    const { openDoor } = await start();
    const { sessions, blobs, attach } = await openDoor();
    const session = await sessions.create({ cwd: "/work", id: "s" });
    const resource = await attach({ name: "a.txt", bytes: new TextEncoder().encode("hello") });
    await session.appendMessage(userMessage("Why?", resource));
    await session.close();
    const again = await openDoor();
    const opened = await again.sessions.open("s");
    expect(JSON.stringify(await opened.context())).toContain("a.txt");
    const refs: string[] = [];
    for await (const stat of blobs.list()) refs.push(stat.ref);
    expect(refs).toHaveLength(1);
    expect(new TextDecoder().decode(await again.blobs.get(refs[0] as BlobRef))).toBe("hello");
  });
});

test("the name of a schema of PostgreSQL may have a question mark", async () => {
  const texts: string[] = [];
  const db: PostgresQuery = {
    async query(sql) {
      texts.push(sql);
      return { rows: [] };
    },
  };
  expect(await postgresBlobStore({ db, schema: 'a?"b?' }).stat(`sha256:${"0".repeat(64)}`)).toBeUndefined();
  expect(texts[0]).toContain('from "a?""b?".blob where partition = $1 and ref = $2');
});
