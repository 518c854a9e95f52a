/**
 * Sessions and blobs in SQLite, through a driver of the caller: a Durable Object, `node:sqlite`, `bun:sqlite`,
 * better-sqlite3, libSQL, or any other.
 *
 * @module sqlite
 */
export { type SqliteSessionsOptions, sqliteSessionBackend } from "./backend.js";
export {
  type DurableObjectSql,
  databaseDriver,
  durableObjectDriver,
  type LibsqlClient,
  libsqlDriver,
  type SqliteDatabase,
  type SqliteDriver,
  type SqliteRow,
  type SqliteStatement,
} from "./driver.js";
export { openSqlite, sqliteBlobStore } from "./storage.js";
