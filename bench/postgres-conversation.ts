import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pool } from "pg";
import {
  type Claim,
  fasterThan,
  printTarget,
  type Row,
  type Table,
  type Target,
  timesOf,
  timesTable,
} from "./support/claim.js";
import { prose } from "./support/coding-session.js";
import { withServer } from "./support/postgres.js";
import type { Runner } from "./support/runner.js";

const saver = { ours: "postgres", peer: "langgraph" };
const turns = 200;
const images = 10;
const imageBytes = 100_000;

/** The conversation as JSON lines: four messages a turn, and so many images in all. */
function writeTurns(path: string, count: number): void {
  const lines = Array.from({ length: turns }, (_, turn) => {
    const image = count > 0 && turn % (turns / count) === 3 ? picture(turn) : undefined;
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
async function schemaBytes(pool: Pool, schema: string): Promise<number> {
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

/** A conversation of 200 turns with ten images, and without, against a checkpoint a turn. */
export const postgresConversation: Claim = {
  name: "postgres-conversation",
  title: `PostgreSQL: a conversation of ${turns} turns, against PostgresSaver of LangGraph, a checkpoint a turn`,
  measure: (runner) =>
    runner.inDirectory("postgres-conversation", async (dir) => {
      const tables: Table[] = [];
      for (const count of [images, 0])
        tables.push(await conversation(runner, join(dir, String(count)), count));
      const [first] = tables as [Table];
      return {
        head: first.head,
        lines: tables.flatMap(({ lines }) => lines),
        targets: tables.flatMap(({ targets }) => targets),
      };
    }),
};

function conversation(runner: Runner, dir: string, count: number): Promise<Table> {
  return withServer(async (server, pool) => {
    const { url } = server;
    const path = join(dir, "turns.jsonl");
    const blobs = join(dir, "blobs");
    mkdirSync(blobs, { recursive: true });
    writeTurns(path, count);
    const what = count === 0 ? "without images" : `with ${count} images of ${imageBytes / 1000} KB`;
    const empty = await schemaBytes(pool, "sessile");
    const folders = new Map<string, string>();
    const written = await runner.compare(
      `write it ${what}, each message durable`,
      "converse",
      (round) => {
        const folder = join(blobs, round);
        mkdirSync(folder);
        folders.set(round, folder);
        return { url, id: `talk-${round}`, dir: folder, turns: path };
      },
      saver,
    );
    const rounds = folders.size / 2;
    const ours = ((await schemaBytes(pool, "sessile")) - empty) / rounds;
    const stored = directoryBytes(blobs) / rounds;
    const theirs = (await schemaBytes(pool, "langgraph")) / rounds;
    const resume = (warm: boolean) => async (round: string) => {
      if (!warm) {
        await server.stop();
        await server.start();
      }
      const talk = `0-${round.slice(round.indexOf("-") + 1)}`;
      return { url, id: `talk-${talk}`, dir: join(blobs, talk), warm };
    };
    const cold = await runner.compare(
      `resume ${what}, after a restart of the server, the connection included`,
      "resume",
      resume(false),
      saver,
    );
    const warm = await runner.compare(
      `resume ${what}, once more in the same process`,
      "resume",
      resume(true),
      saver,
    );
    const isGoal = count > 0;
    const faster = (row: Pick<Row, "ratio">) => (isGoal ? [fasterThan("PostgresSaver", row, 3)] : []);
    const table = timesTable("PostgresSaver", [
      { ...written, targets: [] },
      { ...cold, targets: faster(cold) },
      { ...warm, targets: faster(warm) },
    ]);
    const size = (part: string, bytes: number): readonly [readonly string[], readonly Target[]] => {
      const targets = isGoal ? [{ text: "at least 10 times fewer bytes", met: theirs >= 10 * bytes }] : [];
      const kb = (count: number): string => Math.round(count / 1000).toLocaleString("en");
      const cells = [`${part}, ${what}`, kb(bytes), kb(theirs), timesOf(theirs / bytes), "", ""];
      return [[...cells, targets.map(printTarget).join("; ") || "none"], targets];
    };
    const sizes = [
      size("KB in the database", ours),
      size("KB in the database and the blob store", ours + stored),
    ];
    return {
      head: table.head,
      lines: [...table.lines, ...sizes.map(([cells]) => cells)],
      targets: [...table.targets, ...sizes.flatMap(([, targets]) => targets)],
    };
  });
}
