/** Sessions in PostgreSQL: the backend, and the store on it. */

import { isName, nameArgument } from "../internal/ids.js";
import {
  type SessionBackend,
  type SessionStore,
  type SessionStoreOptions,
  type StoredSession,
  type StoredSessionQuery,
  sessionStore,
} from "../session/index.js";
import { bytesOf, Database } from "./database.js";
import { existsError, PostgresLog } from "./log.js";
import { migrationTo } from "./migrations.js";
import { cwdKey, defaultSchema, type PostgresSessionsOptions, schemaArgument } from "./options.js";
import { type Statements, statementsFor } from "./statements.js";

/** The operations of PostgreSQL beside those of every backend. */
export interface PostgresTables {
  /**
   * Makes the schema and its tables, or brings those of an older version to this one: in one transaction,
   * under an advisory lock. Tables of a newer version stay as they are.
   */
  migrate(): Promise<void>;
  /** Yields the partitions that have a session, in order; the unnamed partition is the empty text. */
  partitions(): AsyncIterable<string>;
}

/**
 * Creates a backend that stores sessions in PostgreSQL.
 *
 * @example
 * ```ts
 * const backend = postgresSessionBackend({ db: new Pool() });
 * await backend.migrate();
 * const sessions = sessionStore(backend);
 * ```
 */
export function postgresSessionBackend(options: PostgresSessionsOptions): SessionBackend & PostgresTables {
  return new PostgresBackend(options);
}

/**
 * Creates a store of sessions in PostgreSQL.
 *
 * @example
 * ```ts
 * const sessions = postgresSessionStore({ db: new Pool() });
 * await sessions.migrate();
 * const session = await sessions.create({ cwd: "/work" });
 * ```
 */
export function postgresSessionStore(
  options: PostgresSessionsOptions & SessionStoreOptions,
): SessionStore & PostgresTables {
  const backend = postgresSessionBackend(options);
  return Object.assign(sessionStore(backend, options), {
    migrate: () => backend.migrate(),
    partitions: () => backend.partitions(),
  });
}

/** The first page of a list, which is often the only one. Later ones are twice as long each. */
const firstPage = 50;
const maxPage = 1000;

class PostgresBackend implements SessionBackend, PostgresTables {
  readonly #schema: string;
  readonly #database: Database;
  readonly #sql: Statements;

  constructor(options: PostgresSessionsOptions) {
    this.#schema = schemaArgument(options.schema ?? defaultSchema);
    this.#database = new Database(options);
    this.#sql = statementsOf(this.#schema);
  }

  async create(session: { readonly id: string; readonly partition: string; readonly cwd: string }) {
    const { partition, cwd } = session;
    const id = nameArgument("id", session.id);
    if ((await this.#find(partition, id)) !== undefined) throw existsError(id);
    const epoch = crypto.randomUUID();
    const log = this.#log({ partition, id, epoch, cwd, previewed: false });
    return { log, position: log.start };
  }

  async open(id: string, { partition }: { readonly partition: string; readonly mode: "read" | "write" }) {
    const found = await this.#find(partition, id);
    return found && this.#log({ partition, id, cwd: "", ...found });
  }

  async *list({ partition, after, cwd, signal }: StoredSessionQuery): AsyncGenerator<StoredSession> {
    let last = after;
    for (let limit = firstPage; ; limit = Math.min(2 * limit, maxPage)) {
      signal?.throwIfAborted();
      const values = [
        partition,
        last === undefined ? "infinity" : timeText(last.modifiedAt),
        last?.id ?? "",
        limit,
      ];
      const rows =
        cwd === undefined
          ? await this.#database.query("list", partition, this.#sql.list, values)
          : await this.#database.query("list", partition, this.#sql.listOfCwd, [...values, cwdKey(cwd)]);
      for (const row of rows) {
        last = { id: row.id, modifiedAt: Number(row.modified) };
        yield {
          ...last,
          size: Number(row.size),
          head: linesOf(row.header, row.preview),
          tail: linesOf(row.info),
        };
      }
      if (rows.length < limit) return;
    }
  }

  async delete(id: string, { partition }: { readonly partition: string }): Promise<boolean> {
    const found = await this.#find(partition, id);
    if (found === undefined) return false;
    let lost = false;
    const values = [partition, id, found.epoch];
    return this.#database.retrying(
      "delete",
      id,
      async () => (await this.#database.run(this.#sql.delete, values)).length > 0 || lost,
      () => {
        lost = true;
      },
    );
  }

  async migrate(): Promise<void> {
    await this.#database.query("migrate", this.#schema, migrationTo(this.#schema), []);
  }

  async *partitions(): AsyncGenerator<string> {
    for (let from = ""; ; ) {
      const rows = await this.#database.query("list", this.#schema, this.#sql.partitions, [from, maxPage]);
      for (const { partition } of rows) yield partition;
      if (rows.length < maxPage) return;
      // The least text after the last partition.
      from = `${rows.at(-1)?.partition}\u0001`;
    }
  }

  async #find(
    partition: string,
    id: string,
  ): Promise<{ readonly epoch: string; readonly previewed: boolean } | undefined> {
    // Other texts may have characters that PostgreSQL refuses.
    if (!isName(id)) return undefined;
    const [row] = await this.#database.query("open", id, this.#sql.find, [partition, id]);
    return row && { epoch: row.epoch, previewed: row.previewed };
  }

  #log(session: ConstructorParameters<typeof PostgresLog>[3]): PostgresLog {
    return new PostgresLog(this.#database, this.#database, this.#sql, session);
  }
}

const known = new Map<string, Statements>();

/** The statements of a schema: the same object for each backend, so that logs can compare it. */
function statementsOf(schema: string): Statements {
  const sql = known.get(schema) ?? statementsFor(schema);
  known.set(schema, sql);
  return sql;
}

/** The bounds of a time in PostgreSQL that JavaScript prints with four digits of the year. */
const maxTime = Date.UTC(9999, 0);

function timeText(ms: number): string {
  return new Date(Math.max(0, Math.min(ms, maxTime))).toISOString();
}

function linesOf(...columns: readonly unknown[]): readonly Uint8Array[] {
  return columns.flatMap((column) => (column === null ? [] : [bytesOf(column)]));
}
