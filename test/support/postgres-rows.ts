import { deletePartition, eraseEntries, type LogPosition, type SessionLog, userMessage } from "sessile";
import { type PostgresQuery, postgresSessionBackend, postgresSessionStore } from "sessile/postgres";
import { expect } from "vitest";
import { statementsFor } from "../../src/storage/sql/postgres/statements.js";

/** Rows that the server itself makes, for tables of a size that no client could append in the time of a test. */

/** An entry's line, as text of SQL: the number is `n`, the session's root has number 1. */
const line = (id: string, text: string) => `convert_to(format(
    '{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"%s"}],"timestamp":1767225600000}}',
    ${id}, case when n = 1 then 'null' else format('"%s"', to_hex(10000000 + n - 1)) end, ${text}), 'UTF8')`;

/** Adds sessions with the row that a list shows: those of two directories in turn, a change each ten seconds. */
export async function addSessions(
  db: PostgresQuery,
  { from, to, partition = "" }: { readonly from: number; readonly to: number; readonly partition?: string },
): Promise<void> {
  await db.query(
    `insert into sessile.session (partition, id, epoch, cwd, head, size, modified_at, created_at, header,
       preview_at, preview)
     select $1, format('made-%s', n), gen_random_uuid(), cwd, 2, 400,
       timestamptz '2026-01-01' + n * interval '10 s', timestamptz '2026-01-01',
       convert_to(format('{"type":"session","version":3,"id":"made-%s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"%s"}', n, cwd), 'UTF8'),
       1, ${line("'00000001'", "format('the first message of %s', n)").replace("n = 1", "true")}
     from generate_series($2::integer, $3::integer) as numbers (n),
       lateral (select case n % 2 when 0 then '/p' else '/q' end as cwd) as directory`,
    [partition, from, to],
  );
}

/** Adds messages of 300 characters to the end of a session that has one entry, each the child of the one before. */
export async function addEntries(db: PostgresQuery, id: string, count: number): Promise<void> {
  await db.query(
    `with moved as (
       update sessile.session set head = head + $2::bigint, size = size + 450 * $2::bigint
       where partition = '' and id = $1 returning head - $2::bigint as old)
     insert into sessile.entry (partition, id, seq, line)
     select '', $1, moved.old + n - 1, ${line("to_hex(10000000 + n)", "format('%s %s', n, repeat('words ', 50))")}
     from moved, generate_series(1, $2::bigint) as numbers (n)`,
    [id, count],
  );
}

/** A plan's node, as far as tests look into it. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly PlanNode[];
}

/** The cost of a statement. */
export interface StatementCost {
  /** The statement's nodes and those of its parts. */
  readonly nodes: readonly PlanNode[];
  /** Pages of 8 KB that were looked at. */
  readonly pages: number;
  /** Rows that all nodes made or compared: work without a clock. */
  readonly rows: number;
  readonly text: string;
}

/** A driver that explains each statement while it runs it; see {@link usageCost}. */
export interface ExplainingDriver extends PostgresQuery {
  readonly costs: StatementCost[];
}

const rowsOf = (node: PlanNode): number =>
  node["Actual Loops"] *
  (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Join Filter"] ?? 0));

function literalOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString("hex")}'`;
  return `'${String(value).replaceAll("'", "''")}'`;
}

/**
 * Runs statements as they are, and then once more under EXPLAIN (ANALYZE, BUFFERS) in a transaction that is
 * rolled back first, so that a write is explained too.
 * @param prepared whether the plan is that of a prepared statement, which is made without the values
 */
export function explaining(client: PostgresQuery, prepared = false): ExplainingDriver {
  const costs: StatementCost[] = [];
  async function explain(text: string, values: readonly unknown[] = []) {
    const explained = "explain (analyze, buffers, timing off, format json)";
    if (!prepared) return client.query(`${explained} ${text}`, [...values]);
    await client.query("set local plan_cache_mode = force_generic_plan");
    await client.query(`prepare explained as ${text}`);
    const list = values.length === 0 ? "" : `(${values.map(literalOf).join(", ")})`;
    const answer = await client.query(`${explained} execute explained${list}`);
    await client.query("deallocate explained");
    return answer;
  }
  return {
    costs,
    async query(text, values) {
      if (!/^\s*(with|select|insert|update|delete)\b/i.test(text)) return client.query(text, values);
      await client.query("begin");
      const explained = await explain(text, values);
      await client.query("rollback");
      const [{ Plan: plan }] = explained.rows[0]["QUERY PLAN"] as readonly [{ readonly Plan: PlanNode }];
      const nodes = [plan];
      for (const node of nodes) nodes.push(...(node.Plans ?? []));
      const rows = nodes.reduce((sum, node) => sum + rowsOf(node), 0);
      costs.push({ nodes, pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], rows, text });
      return client.query(text, values);
    },
  };
}

/**
 * The statements of a backend, over a session of `count` lines, that made or compared more rows than so many for
 * each line, and those that were not run: a join that compares all pairs of lines makes millions of rows.
 */
export async function costlyStatements(
  client: PostgresQuery,
  { prepared, analyzed }: { readonly prepared: boolean; readonly analyzed: boolean },
  count: number,
  rowsOfLine = 12,
): Promise<readonly string[]> {
  await client.query("drop schema if exists sessile cascade");
  const plain = postgresSessionStore({ db: client });
  await plain.migrate();
  for (const id of ["long", "short"]) {
    const session = await plain.create({ cwd: "/p", id });
    await session.appendMessage(userMessage("first"));
    await session.close();
  }
  // Statistics of a table with one small session are of no help for a long one.
  await client.query("analyze");
  await addEntries(client, "long", count - 1);
  if (analyzed) await client.query("vacuum analyze");
  const db = explaining(client, prepared);
  const store = postgresSessionStore({ db, search: true });
  await store.migrate();
  const session = await store.open("long", { mode: "write" });
  await session.context();
  const made = Array.from({ length: count / 5 }, (_, at) => ({
    type: "message" as const,
    message: userMessage(`word${at} of a long batch`),
  }));
  const ids = (await session.append(made)).map(({ id }) => id);
  await session.appendMessage(userMessage("one more"));
  await session.updateInfo({ title: "long" });
  await session.close();
  for (const cwd of [undefined, "/p"])
    for await (const _ of store.list({ limit: 50, ...(cwd !== undefined && { cwd }) }));
  for await (const _ of store.search({ text: "long batch", limit: 20 }));
  for await (const _ of store.partitions());
  await store.durability();
  await store.recent("long", { messages: 50 });
  await store.fork("long", { id: "fork" });
  await eraseEntries(store, "long", ids, { reason: "a request" });
  // All places that lie apart, and the lines of a log in place of others.
  const backend = postgresSessionBackend({ db, search: true });
  const log = (await backend.open("long", { partition: "", mode: "write" })) as SessionLog;
  const [lines, at]: [Uint8Array[], number[]] = [[], []];
  let position: LogPosition | undefined;
  for await (const batch of log.read(undefined)) {
    position = batch.next;
    at.push(...batch.at);
    for (const line of batch.lines as readonly Uint8Array[]) lines.push(Uint8Array.from([...line, 10]));
  }
  await log.readAt(at.filter((_, index) => index % 2 === 0).map((place) => ({ at: place, length: 450 })));
  await log.erase?.([], (await log.replace?.(lines, position as LogPosition)) as LogPosition);
  const sql = statementsFor("sessile", true);
  const array = (items: readonly (string | number)[]) => `{${items.join(",")}}`;
  const followed = Array.from({ length: count / 10 }, (_, index) => `${index}`);
  await db.query(sql.moved, [array(followed.map(() => '""')), array(followed), array(followed)]);
  await db.query(sql.cleanIndex);
  for (const dryRun of [true, false])
    expect((await store.deleteBefore(new Date(0), { dryRun })).sessions).toBe(0);
  // Of a tenant with more sessions than these, without a hit among the newest.
  const anyTime = ["infinity", "", 20_000, '{"%batch%"}', "-infinity"];
  await db.query(sql.searchAll, ["", ...anyTime, null, "batch | word1"]);
  expect(await store.delete("long", { partition: "" })).toBe(true);
  await (await store.create({ cwd: "/p", id: "made", partition: "copies" })).appendMessage(
    userMessage("first"),
  );
  for (const table of ["session", "entry"])
    await client.query(`update sessile.${table} set partition = 'copies' where id = 'fork'`);
  expect((await deletePartition(store, "copies")).sessions).toBe(2);
  const run = new Set(db.costs.map(({ text }) => text));
  // These define indices.
  const { makeIndices: _, ...texts } = sql;
  return [
    ...Object.entries(texts)
      .filter(([, text]) => !run.has(text))
      .map(([name]) => `${name} was not run`),
    ...db.costs
      .filter(({ rows }) => rows > rowsOfLine * (count + made.length))
      .map(({ rows, text }) => `${rows} rows: ${text.slice(0, 200)}`),
  ];
}
