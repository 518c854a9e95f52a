import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SessionBackend, type SessionLog, sessionStore, userMessage } from "sessile";
import { postgresSessionBackend } from "sessile/postgres";
import { type SqliteDriver, sqliteSessionBackend } from "sessile/sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FileBackend } from "../../src/storage/files/session-backend.js";
import { emptyStore, FaultyDriver, pglite, startMs } from "../postgres/pglite.js";
import { hookedMemory } from "../session/hooked-backend.js";
import { closeDatabases, memoryDriver } from "../sqlite/databases.js";
import { hookedFileSystem } from "../support/hooked-file-system.js";

/** Bytes that a backend gave since they were last taken. */
interface Counted {
  readonly backend: SessionBackend;
  readonly taken: () => number;
}

const dir = mkdtempSync(join(tmpdir(), "sessile-"));
afterAll(() => {
  closeDatabases();
  rmSync(dir, { recursive: true });
});

function counter() {
  let bytes = 0;
  const taken = () => {
    const all = bytes;
    bytes = 0;
    return all;
  };
  const add = (more: number) => {
    bytes += more;
  };
  return { add, taken };
}

const bytesIn = (rows: readonly object[]): number =>
  rows
    .flatMap((row) => Object.values(row))
    .reduce(
      (sum: number, value) => sum + (value instanceof Uint8Array ? value.length : String(value).length),
      0,
    );

const backends: Readonly<Record<string, () => Promise<Counted>>> = {
  async files() {
    const { add, taken } = counter();
    const fs = hookedFileSystem(
      () => {},
      (file) => ({
        async read(into, at) {
          const read = await file.read(into, at);
          add(read);
          return read;
        },
        readSync(into, at) {
          const read = file.readSync(into, at);
          add(read);
          return read;
        },
      }),
    );
    const times = { waitMs: 5000, idleMs: 1, remoteLeaseMs: 1000 };
    const backend = new FileBackend({
      fs,
      dir,
      durability: "os",
      times,
      maxLineBytes: 1 << 20,
      now: Date.now,
    });
    return { backend, taken };
  },

  async memory() {
    const { add, taken } = counter();
    const backend = hookedMemory();
    const counted = async function* (batches: AsyncIterable<{ readonly lines: unknown }>) {
      for await (const batch of batches) {
        for (const line of batch.lines as readonly Uint8Array[]) add(line.length);
        yield batch;
      }
    };
    return {
      taken,
      backend: {
        ...backend,
        async open(id, options) {
          const log = await backend.open(id, options);
          if (log === undefined) return undefined;
          const [read, backwards] = [log.read.bind(log), log.readBackwards?.bind(log)];
          return Object.assign(log, {
            read: (...call: Parameters<SessionLog["read"]>) => counted(read(...call)),
            readBackwards: (before: number | undefined) => counted(backwards?.(before) as never),
          }) as SessionLog;
        },
      },
    };
  },

  async SQLite() {
    const { add, taken } = counter();
    const database = memoryDriver();
    const driver: SqliteDriver = {
      async all(sql, params) {
        const rows = await database.all(sql, params);
        add(bytesIn(rows));
        return rows;
      },
      transaction: (statements) => database.transaction(statements),
    };
    const backend = sqliteSessionBackend({ driver });
    await backend.migrate();
    return { backend, taken };
  },

  async PostgreSQL() {
    const { add, taken } = counter();
    const server = new FaultyDriver(await pglite());
    const schema = "recent_cost";
    await emptyStore(schema);
    const db = {
      async query(text: string, values?: unknown[]) {
        const answer = await server.query(text, values);
        add(bytesIn(answer.rows));
        return answer;
      },
    };
    return { backend: postgresSessionBackend({ db, schema }), taken };
  },
};

beforeAll(() => pglite(), startMs);

describe("recent", () => {
  it.each(Object.keys(backends))("reads no more of a log of 2 MB than of one of 300 kB: %s", async (name) => {
    const { backend, taken } = await (backends[name] as () => Promise<Counted>)();
    const costs: number[] = [];
    for (const length of [600, 4_000]) {
      const store = sessionStore(backend);
      const session = await store.create({ cwd: "/work" });
      await session.append(
        Array.from({ length }, (_, at) => ({
          type: "message" as const,
          message: userMessage(`${String(at).padStart(6, "0")} ${"word ".repeat(70)}`),
        })),
      );
      const { id, location } = session;
      await session.close();
      taken();
      const page = await sessionStore(backend).recent(location === undefined ? id : { id, location }, {
        messages: 50,
      });
      expect(page.entries).toHaveLength(50);
      costs.push(taken());
    }
    const [short, long] = costs as [number, number];
    expect(short).toBeGreaterThan(50 * 350);
    // Lengths of lines vary by some digits.
    expect(long).toBeLessThan(short * 1.02);
    // A page of 50 messages of half a kilobyte.
    expect(long).toBeLessThan(200_000);
  });
});

describe("a compacted session", () => {
  it.each(Object.keys(backends))(
    "costs the same to open, to show and to append to, of 6,000 entries or 12,000: %s",
    async (name) => {
      const { backend, taken } = await (backends[name] as () => Promise<Counted>)();
      const store = sessionStore(backend);
      const costs: number[] = [];
      for (const length of [6_000, 12_000]) {
        const session = await store.create({ cwd: "/work" });
        const entries = await session.append(
          Array.from({ length }, (_, at) => ({
            type: "message" as const,
            message: userMessage(`${String(at).padStart(6, "0")} ${"word ".repeat(70)}`),
          })),
        );
        const firstKeptEntryId = entries.at(-20)?.id as string;
        const tokensBefore = 100_000;
        await session.append([
          { type: "compaction", summary: "what was said", firstKeptEntryId, tokensBefore },
        ]);
        const { id, location } = session;
        await session.close();
        taken();
        const name = location === undefined ? id : { id, location };
        const again = await sessionStore(backend).open(name, { mode: "write" });
        const { items } = await again.context();
        await again.appendMessage(userMessage("and on"));
        expect((await again.context()).items).toHaveLength(items.length + 1);
        await again.close();
        costs.push(taken());
        expect(items).toHaveLength(21);
      }
      const [short, long] = costs as [number, number];
      expect(long).toBeLessThan(short * 1.02);
      // The end of the log, half a MiB, and its header.
      expect(long).toBeLessThan(700_000);
    },
  );
});
