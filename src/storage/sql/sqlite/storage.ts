/** Blobs in SQLite, and the door to sessions and blobs of one database. */

import type { BlobStoreOptions } from "../../../blobs/index.js";
import type { AgentStorage, SessionStoreOptions } from "../../../session/index.js";
import { openSqlStorage, type SqlBlobStore, sqlBlobStore } from "../blobs.js";
import { type SqliteSessionsOptions, sqliteDatabase, sqliteSessionBackend } from "./backend.js";
import type { SqliteDriver } from "./driver.js";
import { prefixArgument, sqliteBlobSyntax } from "./tables.js";

/** Options of {@link sqliteBlobStore}. */
export type SqliteBlobsOptions = Pick<SqliteSessionsOptions, "driver" | "prefix" | "retryMs"> &
  BlobStoreOptions;

/** Options of {@link openSqlite}. */
export type OpenSqliteOptions = Omit<SqliteSessionsOptions, "driver"> & Omit<SessionStoreOptions, "blobs">;

/**
 * Creates a store of blobs in a SQLite database, as rows of 1 MiB: for attachments beside their sessions, up to
 * some gigabytes. Take files or a bucket for more: a database is one file, and a Durable Object has 10 GB.
 * `maxBytes` is 100 MB by default.
 *
 * @example
 * ```ts
 * // in a Durable Object
 * const blobs = sqliteBlobStore({ driver: durableObjectDriver(ctx.storage) });
 * await blobs.migrate();
 * const { ref } = await blobs.put(bytes);
 * ```
 */
export function sqliteBlobStore(options: SqliteBlobsOptions): SqlBlobStore {
  const { driver, retryMs } = options;
  const prefix = prefixArgument(options.prefix);
  const migrate = () => sqliteSessionBackend({ driver, prefix }).migrate();
  const database = sqliteDatabase(driver, retryMs);
  return sqlBlobStore({ syntax: sqliteBlobSyntax(prefix), database, migrate }, options);
}

/**
 * Opens a database: makes the tables that are missing, and gives its sessions and its blobs.
 *
 * @throws TypeError, RangeError for invalid options
 * @throws SessileError STORAGE_FAILED
 * @example
 * ```ts
 * // `database` is a `new DatabaseSync("agent.db")`
 * const { sessions, blobs, attach } = await openSqlite(databaseDriver(database));
 * ```
 */
export async function openSqlite(
  driver: SqliteDriver,
  options: OpenSqliteOptions = {},
): Promise<AgentStorage> {
  const { prefix, retryMs } = options;
  const names = {
    ...(prefix !== undefined && { prefix }),
    ...(retryMs !== undefined && { retryMs }),
  };
  const blobs = sqliteBlobStore({ driver, ...names });
  return openSqlStorage(sqliteSessionBackend({ ...options, driver }), blobs, options);
}
