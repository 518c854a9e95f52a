import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { deletePartition, type EntryDraft, eraseEntries, memoryBlobStore, userMessage } from "sessile";
import { postgresBlobMarks, postgresSessionStore } from "sessile/postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { canary, filesWithCanary } from "../support/canary.js";
import { type PostgresServer, startPostgres, withoutPostgres } from "../support/postgres.js";
import { skipWith } from "./postgres-sessions.js";
import { startProcess, useProgram } from "./start-child.js";

skipWith(withoutPostgres);
const program = useProgram(new URL("./erasing.ts", import.meta.url));
const reason = "a request";
let server: PostgresServer;
const pools: Pool[] = [];

/** A pool that ends with the test, and outlives its lost connections. */
function pool(max = 10): Pool {
  const made = new Pool({ connectionString: server.url, max });
  made.on("error", () => undefined);
  pools.push(made);
  return made;
}

const storeOn = (db: Pool, options: { readonly retryMs?: number } = {}) =>
  postgresSessionStore({ db, search: true, ...options });

beforeAll(async () => {
  if (withoutPostgres !== undefined) return;
  // The server stops at once, and not the machine.
  server = await startPostgres({ settings: { fsync: "off" } });
  await storeOn(pool()).migrate();
  await endPools();
});
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(endPools);

async function endPools(): Promise<void> {
  for (const made of pools.splice(0)) await made.end();
}

const say = (text: string, id?: string): EntryDraft => ({
  type: "message",
  message: userMessage(text),
  ...(id === undefined ? {} : { id }),
});

async function found(store: ReturnType<typeof storeOn>, text: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { entryId } of store.search({ text, limit: 10_000 })) ids.push(entryId);
  return ids.sort();
}

const texts = Array.from({ length: 6 }, (_, at) => `${at % 2 === 0 ? "kept" : "secret"} ${at}`);

async function fill(store: ReturnType<typeof storeOn>): Promise<void> {
  await store.delete("s");
  const session = await store.create({ cwd: "/work", id: "s" });
  for (const [at, text] of texts.entries()) await session.append([say(text, `e000000${at + 1}`)]);
  await session.close();
}

/** Which entries are erased: all that were asked for, or none; and what the index and the lists say of them. */
async function stateOf(store: ReturnType<typeof storeOn>): Promise<"whole" | "none"> {
  const session = await store.open("s", { mode: "write" });
  expect(session.diagnostics).toEqual([]);
  const { items } = await session.context();
  const erased = items.flatMap(({ entryId, message }) =>
    "content" in message && message.content === "[erased]" ? [entryId] : [],
  );
  const secrets = await found(store, "secret");
  await session.append([say("after")]);
  await session.close();
  const [count] = (
    await (pools[0] as Pool).query(
      "select count(*)::integer as n, max(seq) - min(seq) + 1 = count(*) as whole from sessile.entry where id = 's'",
    )
  ).rows;
  expect(count).toEqual({ n: texts.length + 2, whole: true });
  if (erased.length === 0) {
    expect(secrets).toEqual(["e0000002", "e0000004", "e0000006"]);
    return "none";
  }
  expect([erased, secrets]).toEqual([["e0000002", "e0000004"], ["e0000006"]]);
  return "whole";
}

/** Holds an erasure up in the middle of its statement: it has moved the head, and waits for an old line. */
async function holdUp(db: Pool): Promise<{ waiting(): Promise<number>; release(): Promise<void> }> {
  const client = await db.connect();
  client.on("error", () => undefined);
  await client.query("begin");
  await client.query("select from sessile.entry where id = 's' and seq = 3 for update");
  return {
    async waiting() {
      for (const end = performance.now() + 120_000; performance.now() < end; ) {
        const { rows } = await db.query(
          "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like 'with given%'",
        );
        if (rows.length > 0) return rows[0].pid;
        await pause(10);
      }
      throw new Error("no erasure is under way");
    },
    async release() {
      const isLost = await client.query("rollback").then(
        () => false,
        () => true,
      );
      client.release(isLost);
    },
  };
}

describe("an erasure on a PostgreSQL server", () => {
  test("migrations at once leave whole indices", async () => {
    const db = pool(20);
    const schema = "at_once";
    await postgresSessionStore({ db, schema }).migrate();
    await db.query(`insert into ${schema}.words select '', 's' || n, 0, 'k', (
      select string_agg(' w' || (n * 7 + i), '') from generate_series(1, 60) i) from generate_series(1, 40000) n`);
    const migrated = [0, 30, 300, 900].map(async (ms) => {
      await pause(ms);
      await postgresSessionStore({ db, schema, search: true }).migrate();
    });
    await Promise.all(migrated);
    const { rows } = await db.query(`select indisvalid from pg_index
      where indexrelid in ('${schema}.words_terms'::regclass, '${schema}.session_unindexed'::regclass)`);
    expect(rows).toEqual([{ indisvalid: true }, { indisvalid: true }]);
  });

  test("and a deletion leave no words that another program indexes meanwhile", async () => {
    const db = pool();
    const store = storeOn(db);
    const wordsBehind = async () =>
      (
        await db.query(`select w.seq from sessile.words w left join sessile.session s using (partition, id)
          where w.id = 's' and (s.base is null or w.seq < s.base)`)
      ).rows;
    const deleted = () => store.delete("s");
    const erased = () => eraseEntries(store, "s", ["e0000002"], { reason });
    for (const remove of [erased, deleted]) {
      await store.delete("s");
      await fill(postgresSessionStore({ db }));
      const indexing = await db.connect();
      await indexing.query("begin");
      await indexing.query("update sessile.session set words_at = head where id = 's'");
      await indexing.query("insert into sessile.words values ('', 's', 1, 'k', ' secret')");
      const removed = remove();
      for (let waits = 0; waits === 0; await pause(10)) {
        const { rows } = await db.query("select from pg_stat_activity where wait_event_type = 'Lock'");
        waits = rows.length;
      }
      await indexing.query("commit");
      indexing.release();
      await removed;
      expect(await wordsBehind()).toEqual([]);
    }
  });

  // @covers durability:erased-bytes
  test("leaves its text in no file of the tables and indices after a vacuum, and the report names the rest", async () => {
    const db = pool();
    const blobs = memoryBlobStore();
    const store = postgresSessionStore({ db, search: true, blobs });
    const session = await store.create({ cwd: "/work", id: "canary" });
    const data = Buffer.from(`GIF89a${canary.repeat(200)}`).toString("base64");
    await session.append([
      say(`first ${canary}`, "e0000001"),
      say("second", "e0000002"),
      { type: "custom", customType: "x", data: { quoted: `"${canary}\n` }, id: "e0000003" },
      {
        type: "message",
        id: "e0000004",
        message: { ...userMessage("look"), content: [{ type: "image", data, mimeType: "image/gif" }] },
      },
      say("ä".repeat(20_000) + canary, "e0000005"),
    ]);
    await session.updateInfo({ title: canary });
    const fork = await store.fork("canary", { id: "fork" });
    await fork.close();
    const other = await store.create({ cwd: `/home/${canary}`, partition: "acme", id: "theirs" });
    await other.append([say(`their ${canary}`)]);
    for await (const _ of postgresBlobMarks({ db }));
    await db.query("analyze; checkpoint");
    const base = join(server.data, "base");
    expect(filesWithCanary(base).length).toBeGreaterThan(1);

    const ids = ["e0000001", "e0000003", "e0000004", "e0000005"];
    const report = await eraseEntries(store, "canary", ids, {
      reason,
      forks: true,
      blobs,
      marks: postgresBlobMarks({ db }),
    });
    expect(report.blobs?.deleted.length).toBe(1);
    expect(report.sessions.map(({ id }) => id)).toEqual(["canary", "fork"]);
    const deletion = await deletePartition(store, "acme");
    for (const { remaining } of [report, deletion]) {
      expect(remaining.join("\n")).toMatch(/dead rows, .* until a `vacuum \(full, analyze\)`/);
      expect(remaining.join("\n")).toMatch(/write-ahead log, replicas and backups/);
      expect(remaining.join("\n")).toMatch(/log of the server/);
    }
    // As the report says: dead rows, and the write-ahead log.
    await db.query("checkpoint");
    expect(filesWithCanary(base)).not.toEqual([]);
    expect(filesWithCanary(join(server.data, "pg_wal"))).not.toEqual([]);
    await db.query("vacuum (full, analyze)");
    await db.query("checkpoint");
    expect(filesWithCanary(base)).toEqual([]);
    const elsewhere = readdirSync(server.data).filter((name) => name !== "base" && name !== "pg_wal");
    for (const name of elsewhere) {
      const path = join(server.data, name);
      if (
        !readdirSync(server.data, { withFileTypes: true })
          .find((each) => each.name === name)
          ?.isDirectory()
      )
        expect(readFileSync(path).includes(canary)).toBe(false);
      else expect(filesWithCanary(path)).toEqual([]);
    }
    const { rows } = await db.query(
      "select string_to_table(translate(terms, E'\\n', ''), ' ') as word from sessile.words",
    );
    expect(rows.filter(({ word }) => canary.split("-").some((part) => word.includes(part)))).toEqual([]);
    expect(rows.map(({ word }) => word)).toContain("second");
    expect((await store.recent("canary", { messages: 10 })).entries.length).toBeGreaterThan(1);
  });

  // @covers durability:database-erasure
  test("whose connection the server ends in its middle is made again, whole", async () => {
    const db = pool();
    const store = storeOn(db, { retryMs: 120_000 });
    await fill(store);
    const held = await holdUp(db);
    const erasing = eraseEntries(store, "s", ["e0000002", "e0000004"], { reason });
    const pid = await held.waiting();
    await db.query("select pg_terminate_backend($1::integer)", [pid]);
    for (let again = pid; again === pid; ) again = await held.waiting();
    await held.release();
    expect((await erasing).sessions[0]?.erased).toEqual(["e0000002", "e0000004"]);
    expect(await stateOf(store)).toBe("whole");
  });

  // @covers durability:database-erasure
  test.each(["the client, by kill -9", "the server, by an immediate shutdown", "the connection, for good"])(
    "that ends with %s is there whole, or not at all",
    async (what) => {
      const db = pool();
      const store = storeOn(db);
      await fill(store);
      const held = await holdUp(db);
      const child = startProcess(process.execPath, [program(), "postgres", server.url]);
      const pid = await held.waiting();
      if (what.includes("client")) {
        child.kill("SIGKILL");
        expect(await child.ended).toBe("SIGKILL");
        await held.release();
        // Nobody reads the answer of the statement, which the server finishes.
        for (let left = 1; left > 0; await pause(10)) {
          const { rows } = await db.query(
            "select from pg_stat_activity where application_name = 'erasing' and state = 'active'",
          );
          left = rows.length;
        }
        expect(await stateOf(store)).toBe("whole");
      } else if (what.includes("server")) {
        await server.crash();
        await server.start();
        expect(await child.ended).toBe(0);
        await held.release();
        expect(child.said.at(-1)).toMatch(/^refused (?:WRITER_POISONED|STORAGE_FAILED)$/);
        expect(await stateOf(store)).toBe("none");
      } else {
        await db.query("select pg_terminate_backend($1::integer)", [pid]);
        expect(await child.ended).toBe(0);
        await held.release();
        expect(child.said.at(-1)).toMatch(/^refused (?:WRITER_POISONED|STORAGE_FAILED)$/);
        expect(await stateOf(store)).toBe("none");
      }
      // The same call again completes it.
      await eraseEntries(store, "s", ["e0000002", "e0000004"], { reason });
      expect(await found(store, "secret")).toEqual(["e0000006"]);
    },
  );

  // @covers durability:database-erasure
  test("beside a writer goes through, or does nothing; no other entry is lost", async () => {
    const store = storeOn(pool());
    const session = await store.create({ cwd: "/work", id: "busy" });
    await session.append([say("first")]);
    const kept: string[] = [];
    const erased: string[] = [];
    let isOver = false;
    let conflicts = 0;
    const writing = async () => {
      for (let at = 0; !isOver; at++) {
        const { id } = await session
          .appendMessage(userMessage(`harbour ${at}`))
          .catch(async (error) => {
            expect(error).toMatchObject({ code: "CONCURRENT_WRITER" });
            conflicts++;
            return session.appendMessage(userMessage(`harbour ${at}`));
          })
          .catch((error: unknown) => {
            expect(error).toMatchObject({ code: "CONCURRENT_WRITER" });
            return { id: "" };
          });
        if (id !== "") kept.push(id);
        // An erasure that finds other lines each time gives up after 16 attempts: the pauses grow until one goes through.
        await pause(at % 4 === 3 ? 200 + 10 * at : 2);
      }
    };
    const erasing = async () => {
      for (let at = 0; at < 6 || erased.length === 0 || conflicts === 0; at++) {
        while (kept.length === 0) await pause(2);
        const id = kept.splice(kept.length >> 1, 1)[0] as string;
        await eraseEntries(store, "busy", [id], { reason }).then(
          () => erased.push(id),
          (error) => {
            expect(error).toMatchObject({ code: "CONCURRENT_WRITER" });
            kept.push(id);
          },
        );
      }
      isOver = true;
    };
    await Promise.all([writing(), erasing()]);
    expect([erased.length > 0, conflicts > 0]).toEqual([true, true]);
    expect(await found(store, "harbour")).toEqual(kept.toSorted());
    const back = await store.open("busy");
    expect([back.diagnostics, (await back.tree()).size]).toEqual([[], 1 + kept.length + erased.length]);
  });

  test("two deletions of one tenant at once: both end when nothing is left", async () => {
    const db = pool();
    await db.query(`insert into sessile.session (partition, id, epoch, cwd, head, size, modified_at, created_at)
      select 'crowd', 's' || n, gen_random_uuid(), '/', 0, 0, now(), now() from generate_series(1, 2500) n`);
    const left = async () =>
      Number(
        (await db.query("select count(*) from sessile.session where partition = 'crowd'")).rows[0].count,
      );
    const deletions = await Promise.all(
      [1, 2, 3].map(async () => {
        const { sessions } = await deletePartition(storeOn(pool(1)), "crowd");
        return { sessions, left: await left() };
      }),
    );
    expect(deletions.map((each) => each.left)).toEqual([0, 0, 0]);
    expect(deletions.reduce((sum, { sessions }) => sum + sessions, 0)).toBe(2500);
  });
});

test("searches while 16 writers append find each acknowledged entry, and nothing twice", async () => {
  const store = storeOn(pool(20));
  const acknowledged: string[] = [];
  let isOver = false;
  const writing = Array.from({ length: 16 }, async (_, writer) => {
    const session = await store.create({ cwd: "/work", id: `writer${writer % 8}-${writer}` });
    for (let at = 0; at < 12; at++) {
      const { id } = await session.appendMessage(userMessage(`lighthouse ${writer} ${at}`));
      acknowledged.push(id);
    }
    await session.close();
  });
  const searching = Array.from({ length: 3 }, async () => {
    let searches = 0;
    for (; !isOver; searches++) {
      const before = [...acknowledged];
      const ids = await found(store, "lighthouse");
      expect(new Set(ids).size).toBe(ids.length);
      expect(before.filter((id) => !ids.includes(id))).toEqual([]);
    }
    return searches;
  });
  await Promise.all(writing).finally(() => {
    isOver = true;
  });
  expect(Math.min(...(await Promise.all(searching)))).toBeGreaterThan(0);
  expect(await found(store, "lighthouse")).toEqual(acknowledged.toSorted());
});
