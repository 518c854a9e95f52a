import { createHash } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { postgresSessionBackend } from "sessile/postgres";
import { type PostgresServer, startPostgres } from "../test/support/postgres.js";
import {
  type Claim,
  fasterThan,
  type Row,
  type Table,
  type Target,
  timesOf,
  timesTable,
} from "./support/claim.js";
import { prose } from "./support/coding-session.js";
import { messageAt } from "./support/sessions.js";

const messages = Array.from({ length: 40 }, (_, number) => messageAt(number));
const insert = { ours: "postgres", peer: "pg-insert" };
const saver = { ours: "postgres", peer: "langgraph" };
const writers = 64;
const turns = 200;
const images = 10;
const imageBytes = 100_000;
const limit = 50;

/** A server with the tables of this library, for one claim. */
async function withServer(use: (server: PostgresServer, pool: pg.Pool) => Promise<Table>): Promise<Table> {
  await using server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  pool.on("error", () => undefined);
  await postgresSessionBackend({ db: pool }).migrate();
  try {
    return await use(server, pool);
  } finally {
    await pool.end();
  }
}

/** At most so many times the time of the peer. */
function atMostTimes(peer: string, row: Pick<Row, "ratio">, times: number): Target {
  return {
    text: `at most ${times} times the time of ${peer} (${timesOf(1 / (row.ratio?.median ?? Number.NaN))})`,
    met: row.ratio !== undefined && 1 / row.ratio.median <= times,
  };
}

/** Appends against the least that an application does by hand, on one server, each durable. */
export const postgresAppend: Claim = {
  name: "postgres-append",
  title: "PostgreSQL: append messages, each awaited and durable, against a prepared insert by hand",
  measure: (runner) =>
    withServer(async ({ url }) => {
      const compare = (what: string, input: { count: number; warm: number; writers: number }) =>
        runner.compare(
          what,
          "append",
          (round) => ({ url, id: `append-${input.writers}-${round}`, messages, connections: 20, ...input }),
          insert,
        );
      const one = await compare("1,000 by one writer", { count: 1000, warm: 300, writers: 1 });
      const many = await compare(
        `${(writers * 50).toLocaleString("en")} by ${writers} writers on ${writers} sessions, 20 connections`,
        {
          count: 50,
          warm: 15,
          writers,
        },
      );
      const times = (one.ours.ms / 1000 / many.ours.ms) * writers * 50;
      const rate = { text: `${times.toFixed(1)} times the rate of one writer`, met: times >= 2 };
      return timesTable("insert", [
        { ...one, targets: [atMostTimes("insert", one, 1.5)] },
        { ...many, targets: [atMostTimes("insert", many, 1.5), rate] },
      ]);
    }),
};

/** Rows of a million sessions are written by the server itself, each with a header, a message and a summary. */
export const postgresList: Claim = {
  name: "postgres-list",
  title: `PostgreSQL: list the newest ${limit} of many sessions`,
  measure: (runner) =>
    withServer(async ({ url }, pool) => {
      void pool;
      void url;
      void runner;
      throw new Error("unfinished");
    }),
};

/** The conversation as JSON lines: four messages a turn, and an image every twentieth. */
function writeTurns(path: string): void {
  const lines = Array.from({ length: turns }, (_, turn) => {
    const image = turn % (turns / images) === 3 ? picture(turn) : undefined;
    return JSON.stringify({
      question: prose(turn, 300),
      ...(image === undefined ? {} : { image: image.toString("base64") }),
      call: { id: `call_${turn}`, name: "bash", args: { command: prose(turn + 1, 80) } },
      output: prose(turn * 7, turn % 9 === 0 ? 10_000 : 2_000),
      answer: prose(turn + 2, 900),
    });
  });
  writeFileSync(path, `${lines.join("\n")}\n`);
}

/** A PNG by its head; the rest cannot be compressed, as pixels of a screenshot after PNG's own compression. */
function picture(number: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(imageBytes / 32) }, (_, at) =>
    createHash("sha256").update(`${number} ${at}`).digest(),
  );
  const bytes = Buffer.concat(blocks).subarray(0, imageBytes);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  bytes.writeUInt32BE(1280, 16);
  bytes.writeUInt32BE(800, 20);
  bytes.set([8, 2, 0, 0, 0], 24);
  return bytes;
}

/** Bytes of a schema's tables with their indexes and out-of-line values, after a vacuum. */
async function schemaBytes(pool: pg.Pool, schema: string): Promise<number> {
  await pool.query("vacuum");
  const { rows } = await pool.query(
    "select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r'",
    [schema],
  );
  return Number(rows[0]?.bytes);
}

function directoryBytes(dir: string): number {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** A conversation of 200 turns with ten images, against a checkpoint a turn. */
export const postgresConversation: Claim = {
  name: "postgres-conversation",
  title: `PostgreSQL: a conversation of ${turns} turns with ${images} images of ${imageBytes / 1000} KB, against PostgresSaver of LangGraph, a checkpoint a turn`,
  measure: (runner) =>
    runner.inDirectory("postgres-conversation", (dir) =>
      withServer(async (server, pool) => {
        const path = join(dir, "turns.jsonl");
        writeTurns(path);
        const { url } = server;
        const blobs = join(dir, "blobs");
        const empty = await schemaBytes(pool, "sessile");
        const written = await runner.compare(
          "write it",
          "converse",
          (round) => ({ url, id: `talk-${round}`, dir: join(blobs, round), turns: path }),
          saver,
        );
        const rounds = readdirSync(blobs).filter((name) => name.endsWith(saver.ours)).length;
        const ours = ((await schemaBytes(pool, "sessile")) - empty) / rounds;
        const stored = directoryBytes(blobs) / rounds;
        const theirs = (await schemaBytes(pool, "langgraph")) / rounds;
        const resume = (warm: boolean) => async (round: string) => {
          if (!warm) {
            await server.stop();
            await server.start();
          }
          const [, side] = round.split("-");
          const input = { url, id: `talk-0-${side}`, dir: join(blobs, `0-${side}`), warm };
          return input;
        };
        const cold = await runner.compare(
          "resume after a restart of the server, the first connection included",
          "resume",
          resume(false),
          saver,
        );
        const warm = await runner.compare(
          "resume once more in the same process",
          "resume",
          resume(true),
          saver,
        );
        const table = timesTable("PostgresSaver", [
          { ...written, targets: [] },
          { ...cold, targets: [fasterThan("PostgresSaver", cold, 3)] },
          { ...warm, targets: [fasterThan("PostgresSaver", warm, 3)] },
        ]);
        return withBytes(table, ours, stored, theirs);
      }),
    ),
};

/** Sizes are a row of the same table: its columns of times are those of kilobytes. */
function withBytes(table: Table, ours: number, stored: number, theirs: number): Table {
  const kb = (bytes: number): string => Math.round(bytes / 1000).toLocaleString("en");
  const target = { text: "at least 10 times fewer bytes in the database", met: theirs >= 10 * ours };
  const whole = {
    text: "at least 10 times fewer bytes, blobs included",
    met: theirs >= 10 * (ours + stored),
  };
  const line = (what: string, bytes: number, { text, met }: Target): readonly string[] => [
    `${what}, KB`,
    kb(bytes),
    kb(theirs),
    timesOf(theirs / bytes),
    "",
    "",
    `${met ? "met" : "**missed**"}: ${text}`,
  ];
  return {
    ...table,
    lines: [
      ...table.lines,
      line("bytes in the database", ours, target),
      line("bytes in the database and the blob store", ours + stored, whole),
    ],
    targets: [...table.targets, target, whole],
  };
}
