import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { postgresSessionBackend, postgresSessionStore } from "sessile/postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PostgresServer, startPostgres, withoutPostgres } from "../support/postgres.js";
import { type Cut, type PostgresProxy, startPostgresProxy } from "../support/postgres-proxy.js";
import {
  createSessions,
  expectKept,
  hasSeen,
  linesInTable,
  saidBy,
  skipWith,
  useWorkers,
} from "./postgres-sessions.js";
import { numbers } from "./postgres-work.js";
import type { Child } from "./start-child.js";

/** By hand two minutes and more. */
const seconds = Number(process.env.SESSILE_SOAK_SECONDS ?? 5);
/** The order of disturbances and the work of each process; only the clock differs between two runs. */
const seed = Number(process.env.SESSILE_SOAK_SEED ?? 1);
const workers = 4;
const sessions = ["s0", "s1", "s2", "s3", "s4", "s5"];
const cuts: readonly Cut[] = ["before", "partial", "during", "after"];

skipWith(withoutPostgres);
const startWorker = useWorkers();
let server: PostgresServer;
let proxy: PostgresProxy;
let pool: Pool;
beforeAll(async () => {
  if (withoutPostgres !== undefined) return;
  server = await startPostgres();
  proxy = await startPostgresProxy(server.url);
  pool = new Pool({ connectionString: server.url, max: 4 });
  pool.on("error", () => undefined);
  await postgresSessionBackend({ db: pool }).migrate();
});
afterAll(async () => {
  await pool?.end();
  await proxy?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

// @covers durability:postgres-any-order
test(`soak: what ${workers} processes were told is there, is there, with PostgreSQL and its clients killed (${seconds} s)`, {
  timeout: seconds * 1000 + 300_000,
}, async () => {
  const random = numbers(seed);
  const store = postgresSessionStore({ db: pool });
  await createSessions(pool, sessions);
  const everyone: Child[] = [];
  let started = 0;
  const start = async (): Promise<Child> => {
    const name = `w${started++}`;
    // Half of them by the proxy, which cuts.
    const { url } = started % 2 === 0 ? proxy : server;
    const own = sessions.filter((_, at) => (at + started) % 2 === 0);
    const work = { role: "write", url, name, sessions: own, writers: 2, pauseMs: 10 } as const;
    const child = startWorker({ ...work, seed: seed * 1000 + started });
    await child.saying("begins");
    everyone.push(child);
    return child;
  };
  const children: Child[] = [];
  while (children.length < workers) children.push(await start());
  const follower = startWorker({ role: "follow", url: server.url, name: "reader", sessions });
  const cutting = numbers(seed + 1);
  proxy.decide = () => (cutting(100) === 0 ? cuts[cutting(cuts.length)] : undefined);

  const counts = { killed: 0, stopped: 0, terminated: 0, crashed: 0, forked: 0, checked: 0 };
  const forks = new Map<string, readonly string[]>();
  const disturbances: readonly (readonly [below: number, act: () => Promise<void>])[] = [
    [
      25,
      async () => {
        const at = random(workers);
        const child = children[at] as Child;
        child.kill("SIGKILL");
        expect(await child.ended).toBe("SIGKILL");
        counts.killed++;
        children[at] = await start();
      },
    ],
    [
      38,
      async () => {
        const child = children[random(workers)] as Child;
        await child.stop();
        await pause(random(400));
        child.kill("SIGCONT");
        counts.stopped++;
      },
    ],
    [
      70,
      async () => {
        const { rows } = await pool.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^w|reader' order by random() limit $1",
          [1 + random(8)],
        );
        counts.terminated += rows.length;
      },
    ],
    [
      82,
      async () => {
        await server.crash();
        await pause(random(200));
        await server.start();
        counts.crashed++;
      },
    ],
    [
      100,
      async () => {
        const from = sessions[random(sessions.length)] ?? "";
        const id = `fork-${counts.forked++}`;
        const fork = await store.fork(from, { id });
        await fork.close();
        forks.set(
          id,
          (await linesInTable(pool, id)).slice(1).map((line) => line.id),
        );
        const source = (await linesInTable(pool, from)).slice(1).map((line) => line.id);
        // The lines of the source at some moment; the title of the copy follows them.
        const copied = forks.get(id)?.filter((entry) => source.includes(entry)) ?? [];
        expect(copied).toEqual(source.slice(0, copied.length));
        const old = [...forks.keys()][0] ?? "";
        if (forks.size > 3) expect(await store.delete(old)).toBe(true);
        if (forks.size > 3) forks.delete(old);
      },
    ],
  ];
  const checked = async () => {
    // Taken before the tables are read: all that was acknowledged by now.
    const kept = await expectKept(pool, saidBy(everyone));
    const listed: string[] = [];
    for await (const { id } of store.list()) listed.push(id);
    expect([...listed].sort()).toEqual([...sessions, ...forks.keys()].sort());
    for (const [id, ids] of forks) {
      const lines = (await linesInTable(pool, id)).slice(1).map((line) => line.id);
      expect(lines).toEqual(ids);
    }
    counts.checked++;
    return kept;
  };
  let lastCheck = Date.now();
  const end = lastCheck + seconds * 1000;
  /** So long, and longer on a machine with other work to do: until each thing has happened. */
  const isOver = () =>
    Date.now() >= end &&
    [...saidBy(everyone).values()].flat().length > 5 * seconds &&
    [counts.killed, counts.terminated, counts.checked, counts.crashed, counts.forked].every(
      (count) => count > 0,
    );
  while (!isOver()) {
    await pause(20 + random(250));
    const at = random(100);
    await disturbances.find(([below]) => at < below)?.[1]();
    if (Date.now() - lastCheck < 3000) continue;
    await checked();
    lastCheck = Date.now();
  }

  for (const child of children) child.process.stdin?.write("\n");
  for (const child of children) expect(await child.ended).toBe(0);
  const kept = await checked();
  const acknowledged = saidBy(everyone);
  await hasSeen(follower, kept, sessions);
  follower.process.stdin?.write("\n");
  expect(await follower.ended).toBe(0);
  const seen = saidBy([follower], "saw");
  for (const id of sessions) expect(seen.get(id)).toEqual(kept.get(id));
  const entries = [...acknowledged.values()].flat().length;
  console.log(`soak: seed ${seed}, ${entries} entries, ${proxy.cuts} cuts,`, counts);
});
