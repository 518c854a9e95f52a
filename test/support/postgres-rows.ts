import type { PostgresQuery } from "sessile/postgres";

/** Rows that the server itself makes, for tables of a size that no client could append in the time of a test. */

/** An entry's line, as text of SQL: the number is `n`, the session's root has number 1. */
const line = (id: string, text: string) => `convert_to(format(
    '{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"%s"}],"timestamp":1767225600000}}',
    ${id}, case when n = 1 then 'null' else format('"%s"', to_hex(10000000 + n - 1)) end, ${text}), 'UTF8')`;

/** Adds sessions with the row that a list shows: those of two directories in turn, a change each millisecond. */
export async function addSessions(
  db: PostgresQuery,
  { from, to, partition = "" }: { readonly from: number; readonly to: number; readonly partition?: string },
): Promise<void> {
  await db.query(
    `insert into sessile.session (partition, id, epoch, cwd, head, size, modified_at, created_at, header,
       preview_at, preview)
     select $1, format('made-%s', n), gen_random_uuid(), cwd, 2, 400,
       timestamptz '2026-01-01' + n * interval '1 ms', timestamptz '2026-01-01',
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
}

/** A driver that explains each statement while it runs it; see {@link costOf}. */
export interface ExplainingDriver extends PostgresQuery {
  readonly costs: StatementCost[];
}

/**
 * Runs statements as they are, and then once more under EXPLAIN (ANALYZE, BUFFERS) in a transaction that is
 * rolled back first, so that a write is explained too.
 */
export function explaining(client: PostgresQuery): ExplainingDriver {
  const costs: StatementCost[] = [];
  return {
    costs,
    async query(text, values) {
      if (!/^\s*(with|select|insert|update|delete)\b/i.test(text)) return client.query(text, values);
      await client.query("begin");
      const explained = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
      await client.query("rollback");
      const [{ Plan: plan }] = explained.rows[0]["QUERY PLAN"] as readonly [{ readonly Plan: PlanNode }];
      const nodes = [plan];
      for (const node of nodes) nodes.push(...(node.Plans ?? []));
      costs.push({ nodes, pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] });
      return client.query(text, values);
    },
  };
}
