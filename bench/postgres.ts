import { userMessage } from "sessile";
import { postgresSessionStore } from "sessile/postgres";
import { withoutPostgres } from "../test/support/postgres.js";
import { addEntries, addSessions, explaining } from "../test/support/postgres-rows.js";
import { postgresConversation } from "./postgres-conversation.js";
import { type Claim, type Row, type Target, timesOf, timesTable } from "./support/claim.js";
import { withServer } from "./support/postgres.js";
import { messageAt } from "./support/sessions.js";

const messages = Array.from({ length: 40 }, (_, number) => messageAt(number));
const insert = { ours: "postgres", peer: "pg-insert" };
const writers = 64;
const limit = 50;

/** At most so many times the time of the peer. */
function atMostTimes(peer: string, row: Pick<Row, "ratio">, times: number): Target {
  return {
    text: `at most ${times} times the time of ${peer} (${timesOf(1 / (row.ratio?.median ?? Number.NaN))})`,
    met: row.ratio !== undefined && 1 / row.ratio.median <= times,
  };
}

/** Appends against the least that an application does by hand, on one server, each durable. */
const postgresAppend: Claim = {
  name: "postgres-append",
  title: "PostgreSQL: append messages, each awaited and durable, against a prepared insert by hand",
  measure: (runner) =>
    withServer(async ({ url }) => {
      const compare = (
        what: string,
        input: { count: number; warm: number; writers: number; prepare: boolean },
      ) =>
        runner.compare(
          what,
          "append",
          (round) => ({
            url,
            id: `${what}-${round}`.replace(/\W+/g, "-"),
            messages,
            connections: 20,
            ...input,
          }),
          insert,
        );
      const alone = { count: 1000, warm: 300, writers: 1 };
      const together = { count: 50, warm: 15, writers };
      const many = `${(writers * 50).toLocaleString("en")} by ${writers} writers on ${writers} sessions and 20 connections`;
      const one = await compare("1,000 by one writer, prepared", { ...alone, prepare: true });
      const plain = await compare("1,000 by one writer, not prepared", { ...alone, prepare: false });
      const prepared = await compare(`${many}, prepared`, { ...together, prepare: true });
      const manyPlain = await compare(`${many}, not prepared`, { ...together, prepare: false });
      const times = (one.ours.ms / 1000 / prepared.ours.ms) * writers * 50;
      const rate = { text: `no slower than one writer (${timesOf(times)} times its rate)`, met: times >= 1 };
      return timesTable("insert", [
        { ...one, targets: [atMostTimes("insert", one, 1.5)] },
        { ...plain, targets: [] },
        { ...prepared, targets: [rate] },
        { ...manyPlain, targets: [] },
      ]);
    }),
};

/** Rows of sessions are made by the server, each with the header and preview that a list shows. */
const postgresList: Claim = {
  name: "postgres-list",
  title: `PostgreSQL: list the newest ${limit} of many sessions`,
  measure: (runner) =>
    withServer(async (server, pool) => {
      const rows: Row[] = [];
      let made = 0;
      /** Pages that the list of the fewest sessions reads; one level more of the index is a page. */
      let few = 0;
      for (const count of [1000, 100_000, 1_000_000]) {
        await addSessions(pool, { from: made, to: count - 1 });
        made = count;
        await pool.query("vacuum analyze sessile.session");
        const client = await pool.connect();
        const driver = explaining(client);
        let listed = 0;
        for await (const _ of postgresSessionStore({ db: driver }).list({ limit })) listed++;
        client.release();
        const scans = driver.costs.flatMap(({ nodes }) =>
          nodes.filter((node) => node["Relation Name"] !== undefined),
        );
        const read = scans.map((node) => `${node["Node Type"]} of ${node["Actual Rows"]} rows`).join(", ");
        const pages = driver.costs.reduce((sum, cost) => sum + cost.pages, 0);
        few ||= pages;
        const targets = [
          {
            text: `${limit} rows by an index (${read}), ${few + 3} pages at most (${pages})`,
            met:
              listed === limit &&
              pages <= few + 3 &&
              scans.every((node) => /^Index/.test(node["Node Type"]) && node["Actual Rows"] <= limit + 14),
          },
        ];
        const of = `of ${count.toLocaleString("en")}`;
        const warm = await runner.alone(
          `${of}, once more in the same process`,
          "list",
          { url: server.url, limit, warm: true },
          insert.ours,
        );
        await server.stop();
        await server.start();
        const cold = await runner.alone(
          `${of}, the first time in a process, its connection included`,
          "list",
          { url: server.url, limit, warm: false },
          insert.ours,
        );
        rows.push({ ...warm, targets }, { ...cold, targets: [] });
      }
      return timesTable(undefined, rows);
    }),
};

/** Appends to sessions of growing length, and the size of the tables. */
const postgresGrowth: Claim = {
  name: "postgres-growth",
  title: "PostgreSQL: append 300 messages, each awaited, to sessions of growing length",
  measure: (runner) =>
    withServer(async ({ url }, pool) => {
      const rows: Row[] = [];
      const store = postgresSessionStore({ db: pool });
      for (const count of [1000, 100_000, 1_000_000]) {
        const id = `long-${count}`;
        const session = await store.create({ cwd: "/p", id });
        await session.appendMessage(userMessage("first"));
        await session.close();
        await addEntries(pool, id, count - 1);
        await pool.query("vacuum analyze");
        const row = await runner.alone(
          `${count.toLocaleString("en")} entries`,
          "appendTo",
          { url, id, messages, count: 300, warm: 100 },
          insert.ours,
        );
        const first = rows[0]?.ours.ms ?? row.ours.ms;
        const targets = [
          {
            text: `at most 1.5 times the time of 1,000 (${timesOf(row.ours.ms / first)})`,
            met: row.ours.ms <= 1.5 * first,
          },
        ];
        if (count === 1_000_000) {
          const sizes = await pool.query(
            "select pg_total_relation_size('sessile.entry')::float8 as stored, (select sum(octet_length(line) + 1) from sessile.entry)::float8 as lines",
          );
          const [{ stored, lines }] = sizes.rows as [{ stored: number; lines: number }];
          const [table, file] = [stored, lines].map((bytes) => Math.round(bytes / 1e6)) as [number, number];
          targets.push({
            text: `the table and its index at most 1.4 times the bytes of the file (${table} MB, ${file} MB)`,
            met: stored <= 1.4 * lines,
          });
        }
        rows.push({ ...row, targets });
      }
      return timesTable(undefined, rows);
    }),
};

/** All claims about PostgreSQL; none where it is not installed. */
export const postgresClaims: readonly Claim[] =
  withoutPostgres === undefined ? [postgresAppend, postgresGrowth, postgresList, postgresConversation] : [];
