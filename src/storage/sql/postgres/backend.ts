/** Sessions in PostgreSQL: the backend, and the store on it. */

import { type Durability, integerOption } from "../../../core/arguments.js";
import { isName, nameArgument } from "../../../core/ids.js";
import {
  type SessionBackend,
  type SessionStore,
  type SessionStoreOptions,
  type StoredSession,
  type StoredSessionQuery,
  sessionStore,
} from "../../../session/index.js";
import { cwdKey, type DatabaseSession, existsError, maxBatchBytes } from "../../../session/internal.js";
import { Channels } from "./channels.js";
import { Database, type Row } from "./database.js";
import { bytesOf, remainingInDatabase, timeOf } from "./lines.js";
import { type LogTables, PostgresLog } from "./log.js";
import { migrationTo } from "./migrations.js";
import { type PostgresSessionsOptions, schemaArgument } from "./options.js";
import { indexLines, searchTerms } from "./search.js";
import { statementsFor } from "./statements.js";

/** The operations of PostgreSQL beside those of every backend. */
export interface PostgresTables {
  /**
   * Makes the schema and its tables, or brings those of an older version to this one: in one transaction,
   * under an advisory lock. Tables of a newer version stay as they are.
   */
  migrate(): Promise<void>;
  /** Yields the partitions that have a session, in order; the unnamed partition is an empty string. */
  partitions(): AsyncIterable<string>;
  /**
   * The durability of an acknowledged append: `disk`, or `os` if the server has `synchronous_commit` or
   * `fsync` off, so that its crash may lose the last ones. Asks the server once.
   */
  durability(): Promise<Durability>;
}

/**
 * Creates a backend that stores sessions in PostgreSQL.
 *
 * @example
 * ```ts
 * import { Pool } from "pg";
 *
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
 * import { Pool } from "pg";
 *
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
    durability: () => backend.durability(),
  });
}

/** The first page of a list, which is often the only one. Later ones are twice as long each. */
const firstPage = 50;
const maxPage = 1000;

class PostgresBackend implements SessionBackend, PostgresTables {
  readonly #tables: LogTables;
  /** Runs lists, and the reads of sessions that are opened to read. */
  readonly #replica: Database;
  #durability: Promise<Durability> | undefined;
  /** Only with replicas. */
  readonly primary?: SessionBackend;
  /** Only with an index: without one, a search reads the lines. */
  readonly search?: NonNullable<SessionBackend["search"]>;

  constructor(options: PostgresSessionsOptions) {
    const { db, read, listen, notify = false, search = false } = options;
    const schema = schemaArgument(options.schema);
    const database = new Database(db, options);
    this.#replica = read === undefined ? database : new Database(read, options);
    this.#tables = {
      schema,
      sql: statementsFor(schema, notify, search),
      database,
      reader: database,
      notify,
      search,
      channels: listen && new Channels(listen, schema),
      maxLineBytes: Math.min(
        integerOption("maxLineBytes", options.maxLineBytes, 2 ** 26, 1024),
        maxBatchBytes,
      ),
    };
    if (read !== undefined) {
      const { read: _, ...own } = options;
      this.primary = new PostgresBackend(own);
    }
    if (search) this.search = (query) => searchTerms(this.#tables.sql, this.#replica, query);
  }

  async create(session: { readonly id: string; readonly partition: string; readonly cwd: string }) {
    const { partition, cwd } = session;
    const id = nameArgument("id", session.id);
    if ((await this.#find(this.#tables.database, partition, id)) !== undefined) throw existsError(id);
    const created = { partition, id, epoch: crypto.randomUUID(), cwd, previewed: false };
    const log = new PostgresLog(this.#tables, created);
    return { log, position: log.start };
  }

  async open(
    id: string,
    { partition, mode }: { readonly partition: string; readonly mode: "read" | "write" },
  ): Promise<PostgresLog | undefined> {
    const reader = mode === "read" ? this.#replica : this.#tables.database;
    const found = await this.#find(reader, partition, id);
    return found && new PostgresLog({ ...this.#tables, reader }, found);
  }

  async *list({ partition, after, cwd, signal }: StoredSessionQuery): AsyncGenerator<StoredSession> {
    const { schema, sql } = this.#tables;
    const operation = { name: "list", path: partition === "" ? schema : partition };
    let last = after;
    for (let limit = firstPage; ; limit = Math.min(2 * limit, maxPage)) {
      signal?.throwIfAborted();
      // A cursor from outside may have a NUL, which PostgreSQL refuses.
      const values = [
        partition,
        timeOf(last?.modifiedAt ?? Infinity),
        last?.id.replaceAll("\0", "") ?? "",
        limit,
      ];
      const rows =
        cwd === undefined
          ? await this.#replica.query(operation, sql.list, values)
          : await this.#replica.query(operation, sql.listOfCwd, [...values, cwdKey(cwd)]);
      for (const row of rows) {
        last = { id: row.id, modifiedAt: Number(row.modified) };
        yield storedOf(row);
      }
      if (rows.length < limit) return;
    }
  }

  async delete(id: string, { partition }: { readonly partition: string }): Promise<boolean> {
    const { database, sql } = this.#tables;
    const found = await this.#find(database, partition, id);
    if (found === undefined) return false;
    // A session that was found, and is gone after a lost delete, was deleted by it.
    let isLost = false;
    const values = [partition, id, found.epoch];
    return database.retrying(
      { name: "delete", path: id },
      async () => (await database.run(sql.delete, values)).length > 0 || isLost,
      () => {
        isLost = true;
      },
    );
  }

  async deletePartition(partition: string) {
    const { database, sql } = this.#tables;
    const operation = { name: "delete", path: partition };
    let sessions = 0;
    // Another caller may delete the same sessions.
    for (let isLast = false; !isLast; ) {
      const [row] = await database.query(operation, sql.deleteSome, [partition, maxPage]);
      sessions += Number(row?.deleted);
      isLast = Number(row?.picked) < maxPage;
    }
    return { sessions, remaining: [...remainingInDatabase, "the row of the partition in the table quota"] };
  }

  async migrate(): Promise<void> {
    const { database, schema, search, sql } = this.#tables;
    const operation = { name: "migrate", path: schema };
    await database.query(operation, migrationTo(schema), []);
    if (!search) return;
    await database.query(operation, sql.makeIndex, []);
    await indexLines(this.#tables);
  }

  async *partitions(): AsyncGenerator<string> {
    const { schema, sql } = this.#tables;
    for (let from = ""; ; ) {
      const values = [from, maxPage];
      const rows = await this.#replica.query({ name: "list", path: schema }, sql.partitions, values);
      for (const { partition } of rows) yield partition;
      if (rows.length < maxPage) return;
      // The least text after the last partition.
      from = `${rows.at(-1)?.partition}\u0001`;
    }
  }

  async durability(): Promise<Durability> {
    this.#durability ??= this.#askDurability();
    return this.#durability.catch((error: unknown) => {
      this.#durability = undefined;
      throw error;
    });
  }

  async #askDurability(): Promise<Durability> {
    const { database, schema, sql } = this.#tables;
    const [row] = await database.query({ name: "ask", path: schema }, sql.durability, []);
    return row?.synced === true ? "disk" : "os";
  }

  async #find(database: Database, partition: string, id: string): Promise<DatabaseSession | undefined> {
    // Other texts may have characters that PostgreSQL refuses.
    if (!isName(id)) return undefined;
    const [row] = await database.query({ name: "open", path: id }, this.#tables.sql.find, [partition, id]);
    return row && { partition, id, epoch: row.epoch, cwd: "", previewed: row.previewed };
  }
}

function storedOf(row: Row): StoredSession {
  const { id, modified, size, header, preview, info, entries, messages } = row;
  const lines = (...columns: readonly unknown[]) =>
    columns.filter((column) => column !== null).map((column) => bytesOf(column));
  return {
    id,
    modifiedAt: Number(modified),
    size: Number(size),
    head: lines(header, preview),
    tail: lines(info),
    ...(entries !== null &&
      messages !== null && { counts: { entries: Number(entries), messages: Number(messages) } }),
  };
}
