import { type EntryDraft, type SessionStore, sessionStore, userMessage } from "sessile";
import { databaseDriver, type SqliteDriver, sqliteSessionBackend } from "sessile/sqlite";
import { afterAll, expect, test } from "vitest";
import { bulkSessionStore, fileSessionStoreOn } from "../../src/storage/files/session-store.js";
import { closeDatabases, memoryDatabase } from "../sqlite/databases.js";
import { hookedFileSystem } from "../support/hooked-file-system.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

afterAll(closeDatabases);

const timestamp = "2026-01-02T03:04:05.678Z";

/** A store that counts what its backend reads and how often it asks. */
interface Counted {
  readonly store: SessionStore;
  /** Bytes that were read, and requests, since the last call. */
  spent(): { readonly bytes: number; readonly requests: number };
}

function counter() {
  let [bytes, requests] = [0, 0];
  return {
    count: (more: number) => {
      bytes += more;
      requests++;
    },
    spent: () => {
      const spent = { bytes, requests };
      [bytes, requests] = [0, 0];
      return spent;
    },
  };
}

function countedFiles(): Counted {
  const { count, spent } = counter();
  const counted = (read: number) => {
    count(read);
    return read;
  };
  const fs = hookedFileSystem(
    () => undefined,
    (file) => ({
      read: async (into, at) => counted(await file.read(into, at)),
      readSync: (into, at) => counted(file.readSync(into, at)),
    }),
  );
  return { store: fileSessionStoreOn(fs, { dir: temporaryDirectory(), durability: "os" }), spent };
}

async function countedSqlite(): Promise<Counted> {
  const { count, spent } = counter();
  const sizeOfRows = (rows: readonly object[]) =>
    rows.reduce((sum, row) => {
      const values = Object.values(row) as unknown[];
      return (
        sum +
        values.reduce<number>((size, value) => size + (value instanceof Uint8Array ? value.length : 8), 0)
      );
    }, 0);
  const driver = databaseDriver(memoryDatabase());
  const counted: SqliteDriver = {
    all: async (sql, params) => {
      const rows = await driver.all(sql, params);
      count(sizeOfRows(rows));
      return rows;
    },
    transaction: async (statements) => {
      const answers = await driver.transaction(statements);
      count(answers.reduce((sum, rows) => sum + sizeOfRows(rows), 0));
      return answers;
    },
  };
  const backend = sqliteSessionBackend({ driver: counted });
  await backend.migrate();
  return { store: sessionStore(backend), spent };
}

const compactedEvery = 500;

/** Appends messages of 400 characters, with a compaction after each 500 that keeps the last 10. */
async function grow(store: SessionStore, id: string, entries: number): Promise<void> {
  const session = await store.create({ id, cwd: "/project" });
  const text = "x".repeat(400);
  for (let at = 0; at < entries; at += compactedEvery) {
    const drafts: readonly EntryDraft[] = Array.from({ length: compactedEvery }, (_, number) => ({
      type: "message",
      message: userMessage(`${at + number} ${text}`),
    }));
    const firstKeptEntryId = (await session.append(drafts)).at(-10)?.id ?? "";
    await session.append([{ type: "compaction", summary: "The work.", firstKeptEntryId, tokensBefore: 5 }]);
  }
  await session.appendMessage(userMessage("And now?"));
  await session.close();
}

test.each([
  ["files", countedFiles],
  ["SQLite", countedSqlite],
] as const)(
  "opening, the first context and an append read no more of a session ten times as long: %s",
  async (_, open) => {
    const { store, spent } = await open();
    const costs: ReturnType<Counted["spent"]>[] = [];
    for (const entries of [4_000, 40_000]) {
      const id = `s${entries}`;
      await grow(store, id, entries);
      spent();
      const session = await store.open(id, { mode: "write" });
      expect((await session.context()).items).toHaveLength(12);
      await session.appendMessage(userMessage("Go on."));
      costs.push(spent());
      await session.close();
    }
    const [short, long] = costs as [(typeof costs)[0], (typeof costs)[0]];
    expect(short.bytes).toBeGreaterThan(4_000);
    expect(long.bytes).toBeLessThanOrEqual(short.bytes * 1.05);
    expect(long.requests).toBeLessThanOrEqual(short.requests);
  },
);

test("an archive of twice as many sessions lists the directories of its store no more often", async () => {
  const archived = async (sessions: number) => {
    const calls = new Map<string, number>();
    const fs = hookedFileSystem(({ name }) => calls.set(name, (calls.get(name) ?? 0) + 1));
    const store = bulkSessionStore({ dir: temporaryDirectory(), durability: "os" }, fs);
    for (let at = 0; at < sessions; at++) {
      const header = {
        type: "session",
        version: 3,
        id: `s${at}`,
        timestamp,
        cwd: `/project${at % 3}`,
      } as const;
      const session = await store.adopt({ header, entries: [], leafId: null }, { existing: "append" });
      await session.close();
    }
    const count = (...names: string[]) => names.reduce((sum, name) => sum + (calls.get(name) ?? 0), 0);
    return { lists: count("list"), looks: count("open", "lstat", "stat") };
  };
  const [short, long] = [await archived(40), await archived(80)];
  expect([short.lists, long.lists]).toEqual([1, 1]);
  expect(long.looks).toBeLessThanOrEqual(short.looks * 2.05);
});
