/**
 * Sessions and blobs in MySQL 8 or MariaDB, through a pool or a connection of the caller: mysql2, or mariadb.
 *
 * @module mysql
 */
export { mysqlSessionBackend } from "./backend.js";
export type { MysqlClient } from "./driver.js";
export { mysqlBlobStore, openMysql } from "./storage.js";
