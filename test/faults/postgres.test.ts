import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Client, Pool } from "pg";
import { deletePartition, type SessionStore, userMessage } from "sessile";
import { type PostgresSessionsOptions, postgresSessionBackend, postgresSessionStore } from "sessile/postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type PostgresServer, startPostgres, withoutPostgres } from "../support/postgres.js";
import { type Cut, startPostgresProxy } from "../support/postgres-proxy.js";
import { rounds } from "../support/rounds.js";
import { fill } from "./fill.js";
import { useMounts } from "./mounts.js";
import { needs } from "./needs.js";
import {
  createSessions,
  expectKept,
  hasSeen,
  linesInTable,
  saidBy,
  skipWith,
  useWorkers,
} from "./postgres-sessions.js";
import { numbers, textOf } from "./postgres-work.js";

skipWith(withoutPostgres);

const startWorker = useWorkers();
const mounts = useMounts();
let server: PostgresServer;
const pools: Pool[] = [];

/** A pool that ends with the test, and outlives its lost connections. */
function pool(url = server.url, max = 10): Pool {
  const made = new Pool({ connectionString: url, max });
  made.on("error", () => undefined);
  pools.push(made);
  return made;
}

beforeAll(async () => {
  if (withoutPostgres !== undefined) return;
  server = await startPostgres();
  const db = pool();
  await postgresSessionBackend({ db }).migrate();
  await endPools();
});
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(endPools);

async function endPools(): Promise<void> {
  for (const made of pools.splice(0)) await made.end();
}

const named = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`);

describe("row 21: sessions on a PostgreSQL server", () => {
  // @covers durability:postgres-writers
  test("two processes with 64 writers on 64 sessions, 8 on one, and a follower lose and double nothing", async () => {
    const many = named("many", 64);
    await createSessions(pool(), [...many, "shared"]);
    const { url } = server;
    const follower = startWorker({ role: "follow", url, name: "reader", sessions: ["shared", "many0"] });
    await follower.saying("begins");
    const writers = ["a", "b"].flatMap((name, half) => [
      startWorker({
        role: "write",
        url,
        name,
        sessions: many.filter((_, at) => at % 2 === half),
        count: 12,
        seed: half + 1,
      }),
      startWorker({
        role: "write",
        url,
        name: `${name}s`,
        sessions: ["shared"],
        writers: 4,
        count: 12,
        seed: half + 3,
      }),
    ]);
    for (const writer of writers) expect(await writer.ended).toBe(0);
    const kept = await expectKept(pool(), saidBy(writers));
    expect([...saidBy(writers).values()].flat().length).toBeGreaterThan(64 * 12 + 8 * 12);
    // One history, since each writer follows: no entry has two children.
    const session = await postgresSessionStore({ db: pool() }).open("shared");
    expect((await session.tree()).size).toBe(kept.get("shared")?.length);
    expect([...(await session.tree()).walk()].map(({ node }) => node.id)).toEqual(kept.get("shared"));
    await session.close();
    await hasSeen(follower, kept, ["shared", "many0"]);
    follower.process.stdin?.write("\n");
    expect(await follower.ended).toBe(0);
    const seen = saidBy([follower], "saw");
    expect(seen.get("shared")).toEqual(kept.get("shared"));
    expect(seen.get("many0")).toEqual(kept.get("many0"));
  });

  test("followers of 300 partitions have one connection; it is lost and opened again, and nothing is missed", async () => {
    const db = pool();
    const listen: PostgresSessionsOptions["listen"] = async (channel, heard, lost) => {
      const client = new Client({ connectionString: server.url, application_name: "listener" });
      client.on("notification", ({ payload }) => heard(payload ?? ""));
      client.on("error", lost);
      client.on("end", lost);
      await client.connect();
      await client.query(`listen ${channel}`);
      return () => client.end();
    };
    const listeners = async () =>
      (await db.query("select pid from pg_stat_activity where application_name = 'listener'")).rows;
    const writing = postgresSessionStore({ db: pool(), notify: true });
    const reading = postgresSessionStore({ db, listen });
    const sessions = await Promise.all(
      named("tenant", 300).map(async (partition) => {
        const session = await writing.create({ cwd: "/", id: "followed", partition });
        await session.appendMessage(userMessage("one"));
        return session;
      }),
    );
    const seen = new Map<string, string[]>();
    const following = sessions.map(async ({ id }, at) => {
      const reader = await reading.open(id, { partition: `tenant${at}` });
      const stop = new AbortController();
      const ids: string[] = [];
      seen.set(`tenant${at}`, ids);
      for await (const entry of reader.follow({ signal: stop.signal, pollMs: 600_000 })) {
        ids.push(entry.id);
        if (ids.length === 3) stop.abort();
      }
      await reader.close();
    });
    await vi.waitFor(() => expect(seen.size).toBe(300), { timeout: 60_000 });
    await vi.waitFor(async () => expect(await listeners()).toHaveLength(1), { timeout: 60_000 });
    const sayAll = (text: string) =>
      Promise.all(sessions.map((session) => session.appendMessage(userMessage(text))));
    const said = [await sayAll("two")];
    const [first] = await listeners();
    const saying = sayAll("three");
    await db.query("select pg_terminate_backend($1)", [first.pid]);
    said.push(await saying);
    await vi.waitFor(
      async () => expect((await listeners()).filter(({ pid }) => pid !== first.pid)).toHaveLength(1),
      { timeout: 60_000 },
    );
    said.push(await sayAll("four"));
    await Promise.all(following);
    for (const at of sessions.keys())
      expect(seen.get(`tenant${at}`)).toEqual(said.map((entries) => entries[at]?.id));
    await vi.waitFor(async () => expect(await listeners()).toEqual([]), { timeout: 60_000 });
  });

  // @covers durability:postgres-writers
  test("of writers that go on from an old end exactly one wins each round", async () => {
    await createSessions(pool(), ["race"]);
    const stores = named("racer", 8).map(() => postgresSessionStore({ db: pool(server.url, 1) }));
    for (let round = 0; round < 10; round++) {
      const sessions = await Promise.all(stores.map((store) => store.open("race", { mode: "write" })));
      const results = await Promise.allSettled(
        sessions.map((session) => session.appendMessage(userMessage("x"))),
      );
      expect(results.filter(({ status }) => status === "fulfilled").length).toBe(1);
      for (const result of results)
        if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "CONCURRENT_WRITER" });
      for (const session of sessions) await session.close();
    }
    expect((await linesInTable(pool(), "race")).length).toBe(2 + 10);
  });

  // @covers durability:postgres-writers
  test("a delete that waits for an append leaves none of its lines", async () => {
    const db = pool();
    const deletions = [
      (store: SessionStore) => store.delete("deleted", { partition: "acme" }),
      (store: SessionStore) => deletePartition(store, "acme"),
    ];
    for (const deletion of deletions) {
      const writer = await db.connect();
      const writing = postgresSessionStore({ db: writer });
      const session = await writing.create({ cwd: "/p", id: "deleted", partition: "acme" });
      await session.appendMessage(userMessage("first"));
      await writer.query("begin");
      await session.appendMessage(userMessage("while it is deleted"));
      const deleting = deletion(postgresSessionStore({ db: pool() }));
      await vi.waitFor(async () => {
        const waiting = await db.query("select from pg_stat_activity where wait_event_type = 'Lock'");
        expect(waiting.rowCount).toBe(1);
      });
      await writer.query("commit");
      writer.release();
      expect(await deleting).toBeTruthy();
      expect(await linesInTable(db, "deleted")).toEqual([]);
      await expect(session.appendMessage(userMessage("late"))).rejects.toMatchObject({
        code: "SESSION_NOT_FOUND",
      });
    }
  });

  // @covers durability:postgres-writers
  test("an old session that is appended to while old ones are deleted stays", async () => {
    const db = pool();
    const store = postgresSessionStore({ db });
    for (const id of ["old", "used"]) {
      const session = await store.create({ cwd: "/p", id, partition: "retained" });
      await session.appendMessage(userMessage("first"));
      await session.close();
    }
    await db.query("update sessile.session set modified_at = '2020-01-01' where partition = 'retained'");
    const writer = await db.connect();
    await writer.query("begin");
    const using = await postgresSessionStore({ db: writer }).open("used", {
      mode: "write",
      partition: "retained",
    });
    await using.appendMessage(userMessage("while old ones are deleted"));
    const deleting = store.deleteBefore(new Date("2021-01-01"), { partition: "retained" });
    await vi.waitFor(async () => {
      const waiting = await db.query("select from pg_stat_activity where wait_event_type = 'Lock'");
      expect(waiting.rowCount).toBe(1);
    });
    await writer.query("commit");
    writer.release();
    expect((await deleting).sessions).toBe(1);
    expect(await linesInTable(db, "old")).toEqual([]);
    expect(await linesInTable(db, "used")).toHaveLength(3);
    await using.close();
  });

  const kills = rounds(5, 100);
  // @covers durability:postgres-killed-client
  test("a client that is killed by kill -9 while it appends loses nothing that was acknowledged", {
    timeout: 300_000 + kills * 3000,
  }, async () => {
    const sessions = named("killed", 3);
    await createSessions(pool(), sessions);
    const children = [];
    for (let at = 0; at < kills; at++) {
      const child = startWorker({
        role: "write",
        url: server.url,
        name: `k${at}`,
        sessions,
        writers: 2,
        seed: at,
      });
      await child.sayingSoMany(2 + ((at * 37) % 90));
      child.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      children.push(child);
    }
    await expectKept(pool(), saidBy(children));
    expect([...saidBy(children).values()].flat().length).toBeGreaterThan(kills * 20);
  });

  // @covers durability:postgres-terminated
  test("pg_terminate_backend in the middle of appends: each entry once, without a failed append", async () => {
    const sessions = named("terminated", 6);
    await createSessions(pool(), sessions);
    const { url } = server;
    const writers = ["t1", "t2"].map((name, at) =>
      startWorker({ role: "write", url, name, sessions, seed: at + 11, retryMs: 120_000 }),
    );
    const admin = pool();
    let terminated = 0;
    const heard = () => writers.reduce((sum, { said }) => sum + said.length, 0);
    for (let at = 0; terminated < 40 || heard() < 300; at++) {
      // Nobody is ended again and again without coming any further, however slow the machine is.
      const before = heard();
      await vi.waitFor(() => expect(heard()).toBeGreaterThan(before + 3), { timeout: 120_000, interval: 2 });
      // Only those at work: an idle connection is replaced by the pool.
      const { rows } = await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name in ('t1', 't2') and state = 'active' limit $1",
        [1 + (at % 3)],
      );
      terminated += rows.length;
      await pause(5 + (at % 7));
    }
    for (const writer of writers) {
      writer.process.stdin?.write("\n");
      expect(await writer.ended).toBe(0);
    }
    const acknowledged = saidBy(writers);
    await expectKept(pool(), acknowledged);
    // A lost connection is the library's to repair.
    expect(writers.flatMap(({ said }) => said.filter((line) => line.startsWith("again ")))).toEqual([]);
  });

  // @covers durability:postgres-crash
  test("an immediate shutdown and a recovery in the middle of appends: writers and readers go on", async () => {
    const sessions = named("crashed", 4);
    await createSessions(pool(), sessions);
    const { url } = server;
    const work = { url, sessions, seed: 5 } as const;
    const writers = ["c1", "c2"].map((name) => startWorker({ ...work, role: "write", name, pauseMs: 4 }));
    const follower = startWorker({ ...work, role: "follow", name: "cr" });
    for (let crash = 0; crash < 2; crash++) {
      const before = writers.map(({ said }) => said.length);
      await vi.waitFor(
        () => {
          for (const [at, { said }] of writers.entries())
            expect(said.length).toBeGreaterThan((before[at] ?? 0) + 25);
        },
        { timeout: 120_000, interval: 5 },
      );
      await server.crash();
      await server.start();
    }
    for (const writer of writers) {
      writer.process.stdin?.write("\n");
      expect(await writer.ended).toBe(0);
    }
    const kept = await expectKept(pool(), saidBy(writers));
    await hasSeen(follower, kept, sessions);
  });

  // @covers durability:postgres-asynchronous
  test('synchronous_commit off is reported as "os": a crash loses the last entries, and no other', async () => {
    const settings = { synchronous_commit: "off", wal_writer_delay: "10s" };
    await using careless = await startPostgres({ settings });
    const db = pool(careless.url);
    await postgresSessionBackend({ db }).migrate();
    const store = postgresSessionStore({ db });
    expect(await store.durability()).toBe("os");
    expect(await postgresSessionStore({ db: pool() }).durability()).toBe("disk");
    await createSessions(db, ["careless"]);
    const session = await store.open("careless", { mode: "write" });
    let lost = false;
    let before: readonly string[] = [];
    // The writer of the log wakes every ten seconds: if that was between the last entry and the crash, once more.
    for (let attempt = 0; !lost && attempt < 10; attempt++) {
      before = (await linesInTable(db, "careless")).map((line) => line.id);
      // All before this is on the disk.
      await db.query("checkpoint");
      const entries: string[] = [];
      for (let at = 0; at < 20; at++) entries.push((await session.appendMessage(userMessage(`${at}`))).id);
      await careless.crash();
      await careless.start();
      const ids = (await linesInTable(db, "careless")).map((line) => line.id);
      expect(ids.slice(0, before.length)).toEqual(before);
      const kept = ids.slice(before.length);
      expect(kept).toEqual(entries.slice(0, kept.length));
      lost = kept.length < entries.length;
      before = ids;
    }
    expect(lost).toBe(true);
    // The open handle has entries that are lost: nothing is appended behind them.
    await expect(session.appendMessage(userMessage("behind"))).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    expect((await linesInTable(db, "careless")).map((line) => line.id)).toEqual(before);
    await session.close();
    const again = await store.open("careless", { mode: "write" });
    await again.appendMessage(userMessage("next"));
    expect(await again.diagnose()).toEqual([]);
    await again.close();
  });
});

describe("row 21: a connection that is cut, so that the commit is unknown", () => {
  const cuts: readonly Cut[] = ["before", "partial", "during", "after"];

  // @covers durability:postgres-lost-answer
  test.each(cuts)("%s the server: an append, a batch and a new session are there once", async (cut) => {
    await using proxy = await startPostgresProxy(server.url);
    const store = postgresSessionStore({ db: pool(proxy.url, 2), retryMs: 120_000 });
    for (const times of [1, 2]) {
      let left = 0;
      proxy.decide = (statements) => (/insert/i.test(statements) && left-- > 0 ? cut : undefined);
      const id = `cut-${cut}-${times}`;
      const session = await store.create({ cwd: "/p", id });
      const entries: string[] = [];
      for (const texts of [["first"], ["one"], ["a", "b".repeat(20_000), "c"], ["last"]]) {
        left = times;
        const made = await session.append(
          texts.map((text) => ({ type: "message", message: userMessage(text) })),
        );
        entries.push(...made.map((entry) => entry.id));
      }
      expect((await linesInTable(pool(), id)).slice(1).map((line) => line.id)).toEqual(entries);
      await session.close();
      const reading = await store.open(id);
      expect(await reading.diagnose()).toEqual([]);
      expect((await reading.tree()).size).toBe(6);
      await reading.close();
    }
    // An append that was committed is not sent again, so that there is nothing to cut the second time.
    expect(proxy.cuts).toBeGreaterThanOrEqual(cut === "before" || cut === "partial" ? 4 + 8 : 4 + 4);
  });

  // @covers durability:postgres-lost-answer
  test.each(cuts)("%s the server: a fork is there once, and whole; a deletion is done", async (cut) => {
    await using proxy = await startPostgresProxy(server.url);
    const id = `cut-fork-${cut}`;
    await createSessions(pool(), [id]);
    const store = postgresSessionStore({ db: pool(proxy.url, 2), retryMs: 120_000 });
    let left = 1;
    proxy.decide = (statements) => (/insert|delete from/i.test(statements) && left-- > 0 ? cut : undefined);
    const fork = await store.fork(id, { id: `${id}-copy` });
    expect(proxy.cuts).toBe(1);
    const source = await linesInTable(pool(), id);
    const copy = await linesInTable(pool(), fork.id);
    expect(copy.slice(1, source.length)).toEqual(source.slice(1));
    expect(await fork.diagnose()).toEqual([]);
    await fork.close();
    left = 2;
    expect(await store.delete(fork.id)).toBe(true);
    expect(proxy.cuts).toBeGreaterThan(1);
    expect(await linesInTable(pool(), fork.id)).toEqual([]);
    await expect(store.open(fork.id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  // @covers durability:postgres-lost-answer
  test.each(cuts)("%s the server, while another writer comes first or next", async (cut) => {
    await using proxy = await startPostgresProxy(server.url);
    const id = `cut-raced-${cut}`;
    await createSessions(pool(), [id]);
    const ours = await postgresSessionStore({ db: pool(proxy.url, 1) }).open(id, { mode: "write" });
    const theirs = await postgresSessionStore({ db: pool() }).open(id, { mode: "write" });
    let other: Promise<unknown> | undefined;
    proxy.decide = (statements) => {
      if (other !== undefined || !/insert/i.test(statements)) return undefined;
      // After the answer, the server has the entry before the other writer begins.
      const start =
        cut === "after" ? vi.waitFor(() => expect(proxy.cuts).toBe(1), { timeout: 120_000 }) : pause(10);
      other = start
        .then(() => theirs.appendMessage(userMessage("theirs")))
        .catch((error) => expect(error).toMatchObject({ code: "CONCURRENT_WRITER" }));
      return cut;
    };
    const outcome = await ours.appendMessage(userMessage("ours")).then(
      (entry) => entry.id,
      (error) => error.code as string,
    );
    await other;
    const lines = await linesInTable(pool(), id);
    const texts = lines.slice(2).map((line) => JSON.stringify(line.message));
    const count = texts.filter((text) => text.includes('"ours"')).length;
    // An acknowledgement and the log agree.
    if (outcome === "CONCURRENT_WRITER") expect(count).toBe(0);
    else expect([count, lines.map((line) => line.id)]).toEqual([1, expect.arrayContaining([outcome])]);
    if (cut === "after") expect(outcome).not.toBe("CONCURRENT_WRITER");
    await ours.close();
    await theirs.close();
  });

  // @covers durability:postgres-lost-answer
  test("at any request, in any of these ways, under three writers: each entry once", async () => {
    await using proxy = await startPostgresProxy(server.url);
    const random = numbers(20260517);
    const ids = named("cut-any-", 3);
    await createSessions(pool(), ids);
    const store = postgresSessionStore({ db: pool(proxy.url, 4) });
    const direct = postgresSessionStore({ db: pool() });
    // Reads too: whatever an append asks to find out what became of it.
    proxy.decide = () => (random(4) === 0 ? cuts[random(cuts.length)] : undefined);
    const acknowledged = new Map<string, string[]>(ids.map((id) => [id, []]));
    await Promise.all(
      ids.map(async (id, writer) => {
        let session = await direct.open(id, { mode: "write" });
        for (let at = 0; at < 40; at++) {
          const entry = `any.${writer}.${at}.0`;
          const draft = { type: "message" as const, id: entry, message: userMessage(textOf(entry)) };
          for (let attempt = 0; ; attempt++) {
            try {
              if (attempt > 0) session = await store.open(id, { mode: "write" });
              await session.append([draft]);
              break;
            } catch (error) {
              expect(error).toMatchObject({
                code: expect.stringMatching(/^(STORAGE_FAILED|WRITER_POISONED)$/),
              });
            }
          }
          acknowledged.get(id)?.push(entry);
          if (at === 0) session = await store.open(id, { mode: "write" }).catch(() => session);
        }
      }),
    );
    expect(proxy.cuts).toBeGreaterThan(40);
    const kept = await expectKept(pool(), acknowledged);
    for (const id of ids) expect(kept.get(id)?.slice(1)).toEqual(acknowledged.get(id));
  });
});

describe("row 21: a server whose disk is full", () => {
  needs("root", "mount");
  describe("and has space again", () => {
    // @covers durability:postgres-disk-full
    test("the tables' disk: an append fails whole, and the same handle goes on", async () => {
      const dir = mounts.tmpfs("size=3m");
      const location = join(dir, "space");
      mkdirSync(location);
      execFileSync("chown", ["postgres:", location]);
      const db = pool();
      await db.query(`create tablespace tiny location '${location}'`);
      await postgresSessionBackend({ db, schema: "tiny" }).migrate();
      for (const table of ["session", "entry"]) {
        await db.query(`alter table tiny.${table} set tablespace tiny`);
      }
      const store = postgresSessionStore({ db, schema: "tiny" });
      const session = await store.create({ cwd: "/p", id: "full" });
      const entries = [(await session.appendMessage(userMessage("first"))).id];
      for (const pagesLeft of [0, 1, 4]) {
        const empty = fill(dir, pagesLeft);
        const incompressible = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("base64");
        await expect(session.appendMessage(userMessage(incompressible))).rejects.toMatchObject({
          code: "STORAGE_FAILED",
          details: expect.objectContaining({ errno: "53100" }),
        });
        const reading = await store.open("full");
        expect((await reading.tree()).size).toBe(entries.length);
        await reading.close();
        empty();
        entries.push((await session.appendMessage(userMessage(incompressible))).id);
      }
      await session.close();
      const reading = await store.open("full");
      expect([...(await reading.tree()).walk()].map(({ node }) => node.id)).toEqual(entries);
      expect(await reading.diagnose()).toEqual([]);
      await reading.close();
      await db.query("drop schema tiny cascade");
      await db.query("drop tablespace tiny");
    });

    // @covers durability:postgres-server-full
    test("the whole server's disk: what was acknowledged is there when the server starts again", async () => {
      const dir = mounts.tmpfs("size=110m");
      await using small = await startPostgres({
        in: dir,
        settings: { max_wal_size: "32MB", min_wal_size: "32MB" },
      });
      const db = pool(small.url);
      await postgresSessionBackend({ db }).migrate();
      const sessions = named("small", 2);
      await createSessions(db, sessions);
      const writers = ["d1", "d2"].map((name) =>
        startWorker({ role: "write", url: small.url, name, sessions, writers: 2, seed: 3 }),
      );
      const heard = () => writers.reduce((sum, { said }) => sum + said.length, 0);
      await vi.waitFor(() => expect(heard()).toBeGreaterThan(200), { timeout: 120_000 });
      const empty = fill(dir, 2);
      await vi.waitFor(
        () =>
          expect(
            writers.some(({ said }) => said.some((line) => line.startsWith("again STORAGE_FAILED"))),
          ).toBe(true),
        { timeout: 120_000 },
      );
      await small.crash();
      empty();
      await small.start();
      const before = heard();
      await vi.waitFor(() => expect(heard()).toBeGreaterThan(before + 100), { timeout: 120_000 });
      for (const writer of writers) {
        writer.process.stdin?.write("\n");
        expect(await writer.ended).toBe(0);
      }
      await expectKept(pool(small.url), saidBy(writers));
    });
  });
});
