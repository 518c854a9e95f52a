import { PGlite } from "@electric-sql/pglite";
import type { SessionStoreOptions } from "sessile";
import { type PostgresSessionsOptions, postgresSessionStore } from "sessile/postgres";

/** One server for all tests of a worker, since it takes a second to start. It ends with the worker. */
let started: Promise<PGlite> | undefined;

export function pglite(): Promise<PGlite> {
  started ??= PGlite.create();
  return started;
}

/** How long a server may take to start on a machine with other work. */
export const startMs = 180_000;

/** A store with empty tables in a schema of its own. */
export async function emptyStore(
  schema: string,
  options: Partial<PostgresSessionsOptions & SessionStoreOptions> = {},
) {
  const server = await pglite();
  await server.query(`drop schema if exists "${schema.replaceAll('"', '""')}" cascade`);
  const store = postgresSessionStore({ db: server, schema, ...options });
  await store.migrate();
  return store;
}

/** A driver whose calls a test changes: `before` may throw in their place, `after` in place of their answer. */
export class FaultyDriver {
  readonly queries: string[] = [];
  before: ((text: string) => void) | undefined;
  after: ((text: string) => void) | undefined;
  readonly #db: PGlite;

  constructor(db: PGlite) {
    this.#db = db;
  }

  async query(text: string, values?: unknown[]) {
    this.queries.push(text);
    this.before?.(text);
    const answer = await this.#db.query<Record<string, unknown>>(text, values);
    this.after?.(text);
    return answer;
  }
}

/** Whether a statement writes lines. */
export function writesLines(text: string): boolean {
  return text.includes(".entry (partition, id, seq, line");
}

/** What a driver throws for a connection that ends. */
export function lostConnection(): Error {
  return new Error("Connection terminated unexpectedly");
}

/** A failure that the server reports. */
export function serverError(code: string): Error {
  return Object.assign(new Error(`server error ${code}`), { code });
}
