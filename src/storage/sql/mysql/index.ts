/**
 * Sessions in MySQL 8 or MariaDB, through a pool or a connection of the caller: mysql2, or mariadb.
 *
 * @module mysql
 */
export { type MysqlSessionsOptions, type MysqlTables, mysqlSessionBackend } from "./backend.js";
export type { MysqlClient, MysqlConnection } from "./driver.js";
export {
  type MysqlBlobsOptions,
  mysqlBlobStore,
  type OpenMysqlOptions,
  openMysql,
} from "./storage.js";
