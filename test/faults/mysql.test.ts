import mysql, { type Pool, type RowDataPacket } from "mysql2/promise";
import { type SessionStore, sessionStore, userMessage } from "sessile";
import { mysqlSessionBackend } from "sessile/mysql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type MariaDbServer, startMariaDb, withoutMariaDb } from "../support/mariadb.js";
import { rounds } from "../support/rounds.js";
import { saidBy, skipWith, useWorkers } from "./postgres-sessions.js";
import { textOf } from "./postgres-work.js";
import type { Child } from "./start-child.js";

skipWith(withoutMariaDb);

const startWorker = useWorkers();
let server: MariaDbServer;
let pool: Pool;
let store: SessionStore;

beforeAll(async () => {
  if (withoutMariaDb !== undefined) return;
  server = await startMariaDb();
  pool = mysql.createPool({ uri: server.url });
  const backend = mysqlSessionBackend({ db: pool });
  await backend.migrate();
  expect(await backend.durability()).toBe("disk");
  store = sessionStore(backend);
});
afterAll(async () => {
  await pool?.end();
  await server?.[Symbol.asyncDispose]();
});

async function create(ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const session = await store.create({ cwd: "/p", id });
    await session.appendMessage(userMessage("first"));
    await session.close();
  }
}

/** Fails unless each acknowledged entry is in its session once, as it was. */
async function expectKept(children: readonly Child[]): Promise<number> {
  let count = 0;
  for (const [id, acknowledged] of saidBy(children)) {
    const session = await store.open(id);
    expect(await session.diagnose()).toEqual([]);
    const [rows] = await pool.query<RowDataPacket[]>(
      "select line from sessile_entry e join sessile_session s on s.no = e.no where s.id = ? order by e.at",
      [id],
    );
    const file = rows.map(({ line }) => String(line)).join("");
    const lines = file.trimEnd().split("\n");
    const texts = new Map(lines.map((line) => [(JSON.parse(line) as { readonly id: string }).id, line]));
    expect(texts.size).toBe(lines.length);
    expect(acknowledged.filter((entry) => texts.get(entry)?.includes(textOf(entry)) !== true)).toEqual([]);
    count += acknowledged.length;
    await session.close();
  }
  return count;
}

describe("sessions on a MariaDB server", () => {
  // @covers durability:mysql-killed-client
  test("a client that is killed by kill -9 while it appends loses nothing that was acknowledged", async () => {
    const sessions = ["killed0", "killed1", "shared"];
    await create(sessions);
    const children: Child[] = [];
    const kills = rounds(4, 60);
    for (let at = 0; at < kills; at++) {
      const child = startWorker({
        role: "write",
        url: server.url,
        name: `k${at}`,
        sessions,
        writers: 2,
        seed: at,
      });
      children.push(child);
      await child.sayingSoMany(20 + 17 * at);
      child.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
    }
    expect(await expectKept(children)).toBeGreaterThan(kills * 10);
  });

  // @covers durability:mysql-crash
  test("a server that is killed by kill -9 during appends has all that was acknowledged", async () => {
    const sessions = ["crashed0", "crashed1"];
    await create(sessions);
    const crashes = rounds(2, 20);
    const child = startWorker({ role: "write", url: server.url, name: "c", sessions, writers: 2 });
    for (let at = 1; at <= crashes; at++) {
      await child.sayingSoMany(child.said.length + 30);
      await server.crash();
      await server.start();
    }
    await child.sayingSoMany(child.said.length + 30);
    child.process.stdin?.write("stop\n");
    expect(await child.ended).toBe(0);
    expect(await expectKept([child])).toBeGreaterThan(crashes * 20);
  });
});
