import type { Pool } from "pg";
import { userMessage } from "sessile";
import { type PostgresQuery, postgresSessionStore } from "sessile/postgres";
import { beforeEach, expect, vi } from "vitest";
import { countOf } from "./acknowledged.js";
import { textOf, type Work } from "./postgres-work.js";
import { type Child, startProcess, useProgram } from "./start-child.js";

/** Skips the tests of the present describe or file with the reason, if there is one. */
export function skipWith(reason: string | undefined): void {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
}

/** Makes the processes of postgres-worker.ts startable in this file's tests. */
export function useWorkers(): (work: Work) => Child {
  const program = useProgram(new URL("./postgres-worker.ts", import.meta.url));
  return (work) => startProcess(process.execPath, [program(), JSON.stringify(work)]);
}

/** The statements that workers made, by session: ids of entries that were acknowledged, or shown to a follower. */
export function saidBy(
  children: readonly Child[],
  what: "entry" | "saw" = "entry",
): ReadonlyMap<string, readonly string[]> {
  const said = new Map<string, string[]>();
  for (const child of children) {
    expect(child.said.filter((line) => line.startsWith("bad "))).toEqual([]);
    for (const line of child.said) {
      const [kind, session = "", id = ""] = line.split(" ");
      if (kind !== what) continue;
      const known = said.get(session) ?? [];
      known.push(id);
      said.set(session, known);
    }
  }
  return said;
}

/** Waits until a follower has shown all entries of these sessions, in whatever order. */
export async function hasSeen(
  follower: Child,
  kept: ReadonlyMap<string, readonly string[]>,
  sessions: readonly string[],
): Promise<void> {
  await vi.waitFor(
    () => {
      const seen = saidBy([follower], "saw");
      for (const id of sessions) expect(new Set(seen.get(id))).toEqual(new Set(kept.get(id)));
    },
    { timeout: 120_000, interval: 50 },
  );
}

/** Creates sessions with one entry each, so that any process can open them. */
export async function createSessions(db: PostgresQuery, ids: readonly string[]): Promise<void> {
  const store = postgresSessionStore({ db });
  for (const id of ids) {
    const session = await store.create({ cwd: "/p", id });
    await session.appendMessage(userMessage("first"));
    await session.close();
  }
}

interface StoredEntry {
  readonly id: string;
  readonly type: string;
  readonly message?: { readonly content: unknown };
}

/** The lines of a session as they lie in the table; their numbers have no gap. */
export async function linesInTable(pool: Pool, id: string): Promise<readonly StoredEntry[]> {
  const { rows } = await pool.query(
    "select seq, convert_from(line, 'UTF8') as line from sessile.entry where id = $1 order by seq",
    [id],
  );
  const first = Number(rows[0]?.seq);
  expect(rows.map(({ seq }) => Number(seq))).toEqual(rows.map((_, at) => first + at));
  return rows.map(({ line }) => JSON.parse(line) as StoredEntry);
}

/**
 * Fails unless each acknowledged entry is in its session once, as it was, in the order of its writer, and the
 * session opens without diagnostics. Gives the ids in each log.
 */
export async function expectKept(
  pool: Pool,
  acknowledged: ReadonlyMap<string, readonly string[]>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const store = postgresSessionStore({ db: pool });
  const kept = new Map<string, readonly string[]>();
  for (const [session, ids] of acknowledged) {
    const lines = await linesInTable(pool, session);
    const counts = countOf(lines.map((line) => line.id));
    expect([...counts].filter(([, count]) => count > 1)).toEqual([]);
    expect(
      ids.filter((id) => counts.get(id) !== 1),
      `acknowledged and not in ${session}`,
    ).toEqual([]);
    const texts = new Map(lines.map((line) => [line.id, JSON.stringify(line.message?.content)]));
    expect(ids.filter((id) => texts.get(id)?.includes(textOf(id)) !== true)).toEqual([]);
    expectOwnOrder(lines.map((line) => line.id));
    const handle = await store.open(session, { mode: "write" });
    expect(handle.diagnostics).toEqual([]);
    expect(await handle.diagnose()).toEqual([]);
    // Others may have appended since the lines were read.
    expect((await handle.tree()).size).toBeGreaterThanOrEqual(lines.length - 1);
    await handle.close();
    kept.set(
      session,
      lines.slice(1).map((line) => line.id),
    );
  }
  return kept;
}

/** Each writer's entries are in the order in which it appended them: ids are `process.writer.append.entry`. */
function expectOwnOrder(ids: readonly string[]): void {
  const last = new Map<string, number>();
  const disordered: string[] = [];
  for (const id of ids) {
    const [name, writer, append, entry] = id.split(".");
    if (entry === undefined) continue;
    const at = Number(append) * 10 + Number(entry);
    const key = `${name}.${writer}`;
    if (at <= (last.get(key) ?? -1)) disordered.push(id);
    last.set(key, at);
  }
  expect(disordered).toEqual([]);
}
