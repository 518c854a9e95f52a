/** Sessions in a SQL database: the backend, over a dialect. */

import { type Durability, integerOption } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { isName, isSideLogId, nameArgument } from "../../core/ids.js";
import type { SessionBackend, StoredSession, StoredSessionQuery } from "../../session/index.js";
import { type DatabaseSession, existsError, maxBatchBytes } from "../../session/internal.js";
import { changeName, clientChanges } from "./changes.js";
import type { Database } from "./database.js";
import type { ListPlace, SqlDialect, SqlOptions, SqlRow, SqlServerTables, SqlStatement } from "./dialect.js";
import { readBytes } from "./lines.js";
import { type LogTables, SqlLog, tellChange } from "./log.js";
import { indexLog, searchTerms } from "./search.js";

/** What a dialect gives to a backend. */
export interface SqlBackendParts {
  readonly dialect: SqlDialect;
  readonly database: Database;
  /** Runs lists, and the reads of sessions that are opened to read: a replica. @default database */
  readonly replica?: Database | undefined;
  /** Whether appends index the words of their lines. @default false */
  readonly search?: boolean | undefined;
}

const maxPage = 1000;

/** Without `durability` for a database that is a file. */
export class SqlBackend implements SessionBackend, SqlServerTables {
  readonly #tables: LogTables;
  readonly #replica: Database;
  #durability: Promise<Durability> | undefined;
  /** Only with a replica. */
  readonly primary?: SessionBackend;
  /** Only with an index: without one, a search reads the lines. */
  readonly search?: NonNullable<SessionBackend["search"]>;

  constructor(parts: SqlBackendParts, options: SqlOptions) {
    const { dialect, database, replica, search = false } = parts;
    const maxLineBytes = integerOption("maxLineBytes", options.maxLineBytes, 2 ** 26, 1024, maxBatchBytes);
    this.#replica = replica ?? database;
    const changes = clientChanges(database.client, dialect.name);
    if (dialect.listen !== undefined) changes.listenBy(dialect.listen);
    this.#tables = { dialect, database, reader: database, changes, maxLineBytes, isIndexing: search };
    if (replica !== undefined) this.primary = new SqlBackend({ dialect, database, search }, options);
    const { index } = dialect;
    if (search && index !== undefined) {
      const tables = { ...this.#tables, reader: this.#replica };
      this.search = (query) =>
        searchTerms(index, this.#replica, query, {
          maxLineBytes,
          opened({ id, epoch }, whole) {
            const session = { partition: query.partition, id: String(id), epoch: String(epoch), cwd: "" };
            return new SqlLog(tables, { ...session, previewed: true }, whole);
          },
        });
    }
  }

  async create(session: { readonly id: string; readonly partition: string; readonly cwd: string }) {
    const { partition, cwd } = session;
    const id = isSideLogId(session.id) ? session.id : nameArgument("id", session.id);
    if ((await this.#find(this.#tables.database, partition, id)) !== undefined) throw existsError(id);
    const created = { partition, id, epoch: crypto.randomUUID(), cwd, previewed: false };
    const log = new SqlLog(this.#tables, created);
    return { log, position: log.start };
  }

  async open(
    id: string,
    { partition, mode = "write" }: { readonly partition: string; readonly mode?: "read" | "write" },
  ): Promise<SqlLog | undefined> {
    const reader = mode === "read" ? this.#replica : this.#tables.database;
    const found = await this.#find(reader, partition, id);
    return found && new SqlLog({ ...this.#tables, reader }, found);
  }

  async *list({ partition, after, cwd, signal }: StoredSessionQuery): AsyncGenerator<StoredSession> {
    const { dialect } = this.#tables;
    const [firstPage, largest] = dialect.listPages;
    // A cursor from outside may have a NUL, which databases refuse.
    let last: ListPlace | undefined = after && { ...after, id: after.id.replaceAll("\0", "") };
    for (let limit = firstPage; ; limit = Math.min(2 * limit, largest)) {
      signal?.throwIfAborted();
      const rows = await this.#query("list", partition, dialect.sql.list(partition, last, limit, cwd));
      for (const row of rows) {
        last = { id: String(row.id), modifiedAt: Number(row.modified) };
        yield await this.#stored(partition, row);
      }
      if (rows.length < limit) return;
    }
  }

  async delete(id: string, { partition }: { readonly partition: string }): Promise<boolean> {
    const { database, dialect } = this.#tables;
    const found = await this.#find(database, partition, id);
    if (found === undefined) return false;
    const { epoch } = found;
    // A session that was found, and is gone after a lost delete, was deleted by it.
    let isLost = false;
    for (let now: typeof found | undefined = found; now?.epoch === epoch; ) {
      const isDeleted = await database.retrying(
        { name: "delete", path: id },
        async () =>
          (await database.transaction(dialect.sql.delete([partition, id, epoch], await this.#hasTerms())))
            .length > 0,
        () => {
          isLost = true;
        },
      );
      if (isDeleted) {
        tellChange(this.#tables, changeName({ partition, id }));
        return true;
      }
      // An append came first, or another delete.
      now = await this.#find(database, partition, id);
    }
    return isLost;
  }

  async deletePartition(partition: string) {
    const { database, dialect } = this.#tables;
    const { index, remaining, remainingOfPartition = [], sql } = dialect;
    let sessions = 0;
    // Another caller may delete the same sessions.
    for (let isLast = false; !isLast; ) {
      if (sql.deleteSome === undefined) {
        isLast = true;
        for await (const { id } of this.list({ partition })) {
          isLast = false;
          if ((await this.delete(id, { partition })) && !isSideLogId(id)) sessions++;
        }
      } else {
        const some = sql.deleteSome(partition, maxPage);
        const [row] = await this.#query("delete", partition, some, database);
        // Those that were picked and not deleted had an append meanwhile, or another caller deleted them.
        const [picked, deleted] = [Number(row?.picked), Number(row?.deleted)];
        sessions += Number(row?.sessions);
        isLast = picked < maxPage && deleted === picked;
      }
    }
    const { exists, optimize } = index ?? {};
    const terms = exists && (await this.#query("delete", partition, exists, database));
    if (optimize !== undefined && terms?.length) await this.#query("delete", partition, optimize, database);
    return { sessions, remaining: [...remaining, ...remainingOfPartition] };
  }

  async migrate({ parts }: { readonly parts?: number } = {}): Promise<void> {
    const { database, dialect, isIndexing } = this.#tables;
    const { index, name } = dialect;
    const operation = { name: "migrate", path: name };
    await dialect.migrate(
      ({ sql, params }) => database.query(operation, sql, params),
      (statements) => database.retrying(operation, () => database.transaction(statements)),
      parts === undefined ? undefined : integerOption("parts", parts, 2, 2, 1024),
    );
    if (!isIndexing || index === undefined) return;
    await index.make(({ sql, params }) => database.query(operation, sql, params));
    for (let last: readonly [string, string] = ["", ""]; ; ) {
      const { sql, params } = index.unindexed(last, maxPage);
      const rows = await database.query(operation, sql, params);
      for (const { partition, id, epoch } of rows) {
        last = [String(partition), String(id)];
        const log = new SqlLog(this.#tables, {
          ...{ partition: last[0], id: last[1], epoch: String(epoch) },
          ...{ cwd: "", previewed: true },
        });
        // A session may be deleted meanwhile.
        await indexLog(index, database, log).catch((error: unknown) => {
          if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
        });
      }
      if (rows.length < maxPage) return;
    }
  }

  async *partitions(): AsyncGenerator<string> {
    const { dialect } = this.#tables;
    for (let from = ""; ; ) {
      const rows = await this.#query("list", "", dialect.sql.partitions(from, maxPage));
      for (const { name } of rows) yield String(name);
      if (rows.length < maxPage) return;
      // The least text after the last partition.
      from = `${rows.at(-1)?.name}\u0001`;
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
    const { database, dialect } = this.#tables;
    const asked = dialect.sql.durability;
    if (asked === undefined) return "disk";
    const [row] = await this.#query("ask", "", asked, database);
    return row?.synced === true || Number(row?.synced) === 1 ? "disk" : "os";
  }

  async #hasTerms(): Promise<boolean> {
    const exists = this.#tables.dialect.index?.exists;
    if (exists === undefined) return false;
    return (await this.#tables.database.run(exists.sql, exists.params)).length > 0;
  }

  async #find(database: Database, partition: string, id: string): Promise<DatabaseSession | undefined> {
    // Other texts may have characters that databases refuse.
    if (!isName(id) && !isSideLogId(id)) return undefined;
    const { sql, params } = this.#tables.dialect.sql.find(partition, id);
    const [row] = await database.query({ name: "open", path: id }, sql, params);
    if (row === undefined) return undefined;
    const previewed = row.previewed === true || Number(row.previewed) > 0;
    return {
      partition,
      id,
      epoch: String(row.epoch),
      cwd: "",
      previewed,
      size: Number(row.size),
      lines: Number(row.head),
    };
  }

  async #stored(partition: string, row: SqlRow): Promise<StoredSession> {
    const { entries, messages, preview } = row;
    const header = await this.#line(partition, row, "header");
    const info = await this.#line(partition, row, "info");
    return {
      id: String(row.id),
      modifiedAt: Number(row.modified),
      size: Number(row.size),
      head: [...header, ...(preview === null ? [] : [readBytes(preview)])],
      tail: info,
      ...(entries !== null &&
        messages !== null && { counts: { entries: Number(entries), messages: Number(messages) } }),
    };
  }

  /** The header or the info of a listed session, if it has one. */
  async #line(partition: string, row: SqlRow, column: "header" | "info"): Promise<readonly Uint8Array[]> {
    if (row[column] === null) return [];
    const shown = this.#tables.dialect.rows.shownLine(row[column]);
    if (shown !== undefined) return [shown];
    // A long line has several rows. The session may be another one by now.
    const log = await this.open(String(row.id), { partition });
    const at = Number(row[`${column}_at`]);
    const [line] = (await log?.readAt([{ at, length: this.#tables.maxLineBytes }])) ?? [];
    return line === undefined ? [] : [line];
  }

  #query(
    name: string,
    partition: string,
    { sql, params }: SqlStatement,
    database: Database = this.#replica,
  ): Promise<readonly SqlRow[]> {
    const path = partition === "" ? this.#tables.dialect.name : partition;
    return database.query({ name, path }, sql, params);
  }
}
