/** Sessions in PostgreSQL: the backend, and the store on it. */

import { sha256 } from "@noble/hashes/sha2.js";
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
  return new SqlBackend(
    {
      dialect: postgresDialect({
        schema,
        search,
        listen: listen && listenOn(schema, listen),
        notify: notify ? notifier(database, schema) : undefined,
        indexing: search ? indexCleaner(database, schema) : undefined,
      }),
      database,
      replica: read && postgresDatabase(read, options),
      search,
    },
    options,
  );
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
