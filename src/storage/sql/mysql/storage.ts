/** Blobs in MySQL, and the door to sessions and blobs of one database. */

import type { BlobStoreOptions } from "../../../blobs/index.js";
import type { AgentStorage, SessionStoreOptions } from "../../../session/index.js";
import { openSqlStorage, type SqlBlobStore, sqlBlobStore } from "../blobs.js";
import { type MysqlSessionsOptions, mysqlSessionBackend, prefixArgument } from "./backend.js";
import { type MysqlClient, mysqlDatabase } from "./driver.js";
import { mysqlBlobSyntax } from "./tables.js";

/** Options of {@link mysqlBlobStore}. */
export type MysqlBlobsOptions = Pick<MysqlSessionsOptions, "db" | "prefix" | "retryMs"> & BlobStoreOptions;

/** Options of {@link openMysql}. */
export type OpenMysqlOptions = Omit<MysqlSessionsOptions, "db"> & Omit<SessionStoreOptions, "blobs">;

/**
 * Creates a store of blobs in MySQL or MariaDB, as rows of 1 MiB: for attachments beside their sessions, up to
 * some gigabytes. Take files or a bucket for more: the bytes go through the logs of the server. `maxBytes` is
 * 100 MB by default.
 *
 * @example
 * ```ts
 * // `pool` is a pool that `createPool` of mysql2/promise makes
 * const blobs = mysqlBlobStore({ db: pool });
 * await blobs.migrate();
 * const { ref } = await blobs.put(bytes);
 * ```
 */
export function mysqlBlobStore(options: MysqlBlobsOptions): SqlBlobStore {
  const { db, retryMs } = options;
  const prefix = prefixArgument(options.prefix);
  const migrate = () => mysqlSessionBackend({ db, prefix }).migrate();
  return sqlBlobStore(
    { syntax: mysqlBlobSyntax(prefix), database: mysqlDatabase(db, retryMs), migrate },
    options,
  );
}

/**
 * Opens a database: makes the tables that are missing, and gives its sessions and its blobs.
 *
 * @throws TypeError, RangeError for invalid options
 * @throws SessileError STORAGE_FAILED
 * @example
 * ```ts
 * // `pool` is a pool that `createPool` of mysql2/promise makes
 * const { sessions, blobs, attach } = await openMysql(pool);
 * ```
 */
export async function openMysql(db: MysqlClient, options: OpenMysqlOptions = {}): Promise<AgentStorage> {
  const { prefix, retryMs } = options;
  const names = {
    ...(prefix !== undefined && { prefix }),
    ...(retryMs !== undefined && { retryMs }),
  };
  return openSqlStorage(mysqlSessionBackend({ ...options, db }), mysqlBlobStore({ db, ...names }), options);
}
