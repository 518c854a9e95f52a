import { join } from "node:path";
import { type SessionEntry, userMessage } from "sessile";
import { postgresSessionStore } from "sessile/postgres";
import { type Claim, type Row, type Table, type Target, timesTable } from "./support/claim.js";
import { prose } from "./support/coding-session.js";
import { withServer } from "./support/postgres.js";
import type { Runner } from "./support/runner.js";
import { messageAt, writeSession } from "./support/sessions.js";

const side = "search";
const sessions = 1000;
const perSession = 100;
const messages = Array.from({ length: 40 }, (_, number) => messageAt(number));

/** A session of user messages; each has a word of its own, and each tenth session one of ten. */
function sessionOf(id: string, count: number, bytes: number, from = 0) {
  const timestamp = (at: number) => new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString();
  const entries = Array.from({ length: count }, (_, at): SessionEntry => {
    const words = `needle${from + at}x ${(from / count) % 100 === 7 && at === 0 ? "amber" : ""}`;
    return {
      type: "message",
      id: at.toString(16).padStart(8, "0"),
      parentId: at === 0 ? null : (at - 1).toString(16).padStart(8, "0"),
      timestamp: timestamp(from + at),
      message: { ...userMessage(`${prose((from + at) % 5000, bytes)} ${words}`), timestamp: 0 },
    };
  });
  const header = { type: "session", id, timestamp: timestamp(from), cwd: "/work/project" } as const;
  return { header, entries, leafId: entries.at(-1)?.id ?? null };
}

/** An append with an index against one without, and searches by index and by scan. */
const postgresSearch: Claim = {
  name: "postgres-search",
  title: `PostgreSQL: an index of words, and a search over ${(sessions * perSession).toLocaleString("en")} entries in ${sessions.toLocaleString("en")} sessions`,
  measure: (runner) =>
    withServer(async ({ url }, pool) => {
      const store = postgresSessionStore({ db: pool, search: true });
      await store.migrate();
      const rows: Row[] = [];
      const input = { url, messages, count: 1000, warm: 300 };
      const [plain, indexed] = await alternate(runner, "append", "append 1,000 messages, each durable", [
        () => ({ ...input, id: crypto.randomUUID(), search: false }),
        () => ({ ...input, id: crypto.randomUUID(), search: true }),
      ]);
      const times = indexed.ours.ms / plain.ours.ms;
      rows.push({ ...plain, what: `${plain.what}, without an index`, targets: [] });
      rows.push({
        ...indexed,
        what: `${indexed.what}, with the index`,
        targets: [{ text: `at most twice the time without (${times.toFixed(1)})`, met: times <= 2 }],
      });
      for (let at = 0; at < sessions; at++) {
        const opened = await store.adopt(sessionOf(`s${at}`, perSession, 400, at * perSession));
        await opened.close();
      }
      // As if each had been written when its entries say, so that older ones need not be read for the newest hits.
      await pool.query(
        `update sessile.session set modified_at = '2026-01-01Z'::timestamptz + (substr(id, 2)::integer + 1) * interval '${perSession} s'
        where id ~ '^s[0-9]+$'`,
      );
      await pool.query("vacuum analyze");
      for (const [what, text] of [
        ["a word of one entry", "needle77777x"],
        ["a word of ten sessions", "amber"],
        ["a word of every session, 50 hits", "needle"],
      ] as const) {
        const find = { url, text, limit: 50 };
        const [byIndex, byScan] = await alternate(runner, "find", what, [
          () => ({ ...find, search: true }),
          () => ({ ...find, search: false }),
        ]);
        const ratio = byScan.ours.ms / byIndex.ours.ms;
        const targets: Target[] = what.includes("every")
          ? []
          : [{ text: `at least 5 times as fast as the scan (${ratio.toFixed(0)})`, met: ratio >= 5 }];
        rows.push({ ...byIndex, what: `${what}, by the index`, targets });
        rows.push({ ...byScan, what: `${what}, by a scan`, targets: [] });
      }
      return timesTable(undefined, rows);
    }),
};

type Measured = Omit<Row, "targets">;

async function alternate(
  runner: Runner,
  task: string,
  what: string,
  [one, other]: readonly [() => object, () => object],
): Promise<readonly [Measured, Measured]> {
  return [await runner.alone(what, task, one, side), await runner.alone(what, task, other, side)];
}

const page = 50;
/** The entries of one append: a process inherits the peak of the one that starts it. */
const chunk = 2_000;
/** Entries of a session of about 1, 10 and 100 MB. */
const sizes = [
  ["1 MB", 1_800],
  ["10 MB", 18_000],
  ["100 MB", 180_000],
] as const;

/** The newest messages of a session: neither time nor memory may grow with it. */
const recentPages: Claim = {
  name: "recent",
  title: `The newest ${page} messages of a session, by store.recent and by opening it`,
  async measure(runner) {
    const files = await runner.inDirectory("recent", async (dir) => {
      const rows: Row[] = [];
      for (const [size, entries] of sizes) {
        const location = join(dir, size.replace(" ", ""), "2026-01-01T00-00-00-000Z_bench.jsonl");
        writeSession(location, { id: "bench", entries });
        const input = { dir, id: "bench", location, messages: page };
        rows.push(...(await pair(runner, `a file of ${size}`, input, rows[0])));
      }
      return timesTable(undefined, rows);
    });
    const tables = await withServer(async ({ url }, pool) => {
      const store = postgresSessionStore({ db: pool });
      const rows: Row[] = [];
      for (const [size, entries] of [
        ["1 MB", 2_000],
        ["100 MB", 200_000],
      ] as const) {
        const id = size.replace(" ", "");
        const opened = await store.create({ cwd: "/work/project", id });
        for (let at = 0; at < entries; at += chunk)
          await opened.append(
            Array.from({ length: Math.min(chunk, entries - at) }, (_, index) => ({
              type: "message" as const,
              message: userMessage(prose((at + index) % 5000, 400)),
            })),
          );
        await opened.close();
        rows.push(...(await pair(runner, `PostgreSQL, ${size}`, { url, id, messages: page }, rows[0])));
      }
      return timesTable(undefined, rows);
    });
    return joined([files, tables]);
  },
};

async function pair(
  runner: Runner,
  what: string,
  input: object,
  first: Row | undefined,
): Promise<readonly Row[]> {
  const recent = await runner.alone(`${what}: recent`, "recent", input, side);
  const opened = await runner.alone(`${what}: open`, "opened", input, side);
  const targets: Target[] = [];
  if (first !== undefined) {
    const mb = recent.ours.peakMb - first.ours.peakMb;
    const times = recent.ours.ms / first.ours.ms;
    targets.push({ text: `at most 1.5 times as long as of 1 MB (${times.toFixed(1)})`, met: times <= 1.5 });
    targets.push({ text: `at most 10 MB more (${mb.toFixed(0)})`, met: mb <= 10 });
  }
  return [
    { ...recent, targets },
    { ...opened, targets: [] },
  ];
}

function joined(tables: readonly Table[]): Table {
  return {
    head: tables[0]?.head ?? [],
    lines: tables.flatMap(({ lines }) => lines),
    targets: tables.flatMap(({ targets }) => targets),
  };
}

export const searchClaims: readonly Claim[] = [postgresSearch, recentPages];
