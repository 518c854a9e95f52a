/** Sessions in PostgreSQL: the backend, and the store on it. */

import { sha256 } from "@noble/hashes/sha2.js";
import { describe } from "../../../core/arguments.js";
import { encodeUtf8, toHex } from "../../../core/bytes.js";
import {
  type SessionBackend,
  type SessionStore,
  type SessionStoreOptions,
  sessionStore,
} from "../../../session/index.js";
import { SqlBackend } from "../backend.js";
import type { Database } from "../database.js";
import type { ListenForChanges, SqlServerTables } from "../dialect.js";
import { postgresDialect } from "./dialect.js";
import { postgresDatabase } from "./driver.js";
import { readTime } from "./lines.js";
import { type PostgresSessionsOptions, schemaArgument } from "./options.js";
import { statementsFor } from "./statements.js";

/**
 * The operations of PostgreSQL beside those of every backend. `durability` is `os` if the server has
 * `synchronous_commit` or `fsync` off.
 */
interface PostgresTables extends SqlServerTables {
  /**
   * As that of every backend, under an advisory lock. With `parts`, lines and their words are in so many tables, 2 to
   * 1024, by a hash of the partition, so that each is vacuumed by itself. Fails with STORAGE_FAILED if the tables are
   * there with another number: sessions move to other tables by `copySessions` of `sessile/sync`.
   */
  migrate(options?: { readonly parts?: number }): Promise<void>;
  /**
   * Deletes the sessions of a partition that were last changed before a time, the oldest first, in statements of at
   * most 1,000 sessions and about 64 MB. A session that is appended to meanwhile stays. A collection of blobs after it
   * reports and moves those that no session names any more.
   *
   * @param options.dryRun only counts them
   * @throws SessileError STORAGE_FAILED; some may be deleted
   */
  deleteBefore(before: Date, options?: DeleteBeforeOptions): Promise<DeletedSessions>;
}

/** Options of `deleteBefore`. */
interface DeleteBeforeOptions {
  /** @default the unnamed partition */
  readonly partition?: string;
  /** @default false */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** The result of `deleteBefore`. */
interface DeletedSessions {
  readonly sessions: number;
  /** The size of their lines. */
  readonly bytes: number;
  /** What may still hold their content, for people. */
  readonly remaining: readonly string[];
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
  const { db, read, listen, notify = false, search = false } = options;
  const schema = schemaArgument(options.schema);
  const database = postgresDatabase(db, options);
  const dialect = postgresDialect({
    schema,
    search,
    listen: listen && listenOn(schema, listen),
    notify: notify ? notifier(database, schema) : undefined,
    indexing: search ? indexCleaner(database, schema) : undefined,
  });
  const replica = read && postgresDatabase(read, options);
  const backend = new SqlBackend({ dialect, database, replica, search }, options);
  const deleteBefore: PostgresTables["deleteBefore"] = async (before, given) => ({
    ...(await deleteOld(database, schema, before, given)),
    remaining: dialect.remaining,
  });
  return Object.assign(backend, { deleteBefore });
}

/** Sessions and bytes of one statement. */
const [maxDeleted, maxDeletedBytes] = [1000, 2 ** 26];

async function deleteOld(
  database: Database,
  schema: string,
  before: Date,
  { partition = "", dryRun = false, signal }: DeleteBeforeOptions = {},
): Promise<Omit<DeletedSessions, "remaining">> {
  if (!(before instanceof Date) || Number.isNaN(before.getTime()))
    throw new TypeError(`before: expected a Date, got ${describe(before)}`);
  const { countBefore, deleteBefore } = statementsFor(schema);
  const operation = { name: "delete", path: partition === "" ? schema : partition };
  const values = [partition, readTime(before.getTime())];
  if (dryRun) {
    const [row] = await database.query(operation, countBefore, values);
    return { sessions: Number(row?.sessions), bytes: Number(row?.bytes) };
  }
  let [sessions, bytes] = [0, 0];
  for (;;) {
    signal?.throwIfAborted();
    const [row] = await database.query(operation, deleteBefore, [...values, maxDeleted, maxDeletedBytes]);
    sessions += Number(row?.sessions);
    bytes += Number(row?.bytes);
    // The next statement picks those that had an append no more.
    if (Number(row?.picked) === 0) return { sessions, bytes };
  }
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
    migrate: (given?: { readonly parts?: number }) => backend.migrate(given),
    partitions: () => backend.partitions(),
    durability: () => backend.durability(),
    deleteBefore: backend.deleteBefore,
  });
}

// Notifications of PostgreSQL: one channel for the sessions of a schema, with the names of those that changed.

/** The channel of a schema: a digest, because names in PostgreSQL are short. */
function schemaChannel(schema: string): string {
  return `sessile_${toHex(sha256(encodeUtf8(schema)).subarray(0, 16))}`;
}

/** A payload has less than 8,000 bytes. */
const maxNames = 900;

/** Passes on the names in each payload. */
function listenOn(schema: string, listen: NonNullable<PostgresSessionsOptions["listen"]>): ListenForChanges {
  return async (heard, lost) =>
    listen(schemaChannel(schema), (payload) => heard(payload.match(/.{8}/g) ?? []), lost);
}

/**
 * Sends the names of changed sessions after their commits: those of the changes since the last notification
 * in one statement. PostgreSQL commits transactions that notify one after the other. In the appends' own
 * transactions 64 writers waited for each other's fsync; this one commits without an fsync.
 * A notification that fails is not sent again: a poll finds the change.
 */
function notifier(database: Database, schema: string): (name: string) => void {
  const changed = new Set<string>();
  let isSending = false;
  async function send(): Promise<void> {
    isSending = true;
    while (changed.size > 0) {
      const names = [...changed].slice(0, maxNames);
      for (const name of names) changed.delete(name);
      const payload = names.join("");
      await database.run(notify, [schemaChannel(schema), payload]).catch(() => undefined);
    }
    isSending = false;
  }
  return (name) => {
    changed.add(name);
    if (!isSending) void send();
  };
}

const notify = "select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

/** Characters of terms that a process adds before it moves the pending ones to the index. */
const maxPending = 2 ** 20;

/**
 * Moves pending terms to the index beside the appends, one of which would have to: 80,000 appends of 400 characters
 * wrote 23 kB of the log each with a list of 256 kB, and waited 30 ms for every 200th. A role that does not own the
 * index may not, and its appends do it.
 */
function indexCleaner(database: Database, schema: string): (length: number) => void {
  const { cleanIndex } = statementsFor(schema);
  let pending = 0;
  let isCleaning = false;
  async function clean(): Promise<void> {
    isCleaning = true;
    pending = 0;
    await database.run(cleanIndex, []).catch(() => undefined);
    isCleaning = false;
  }
  return (length) => {
    pending += length;
    if (pending >= maxPending && !isCleaning) void clean();
  };
}
