import mysql, { type Pool } from "mysql2/promise";
import { type MariaDbServer, startMariaDb } from "../support/mariadb.js";

/** One server for all tests of a worker, since it takes seconds to start. It ends with the worker. */
let started: Promise<{ readonly server: MariaDbServer; readonly pool: Pool }> | undefined;

export function mariaDb() {
  started ??= (async () => {
    // What the disk does is another test's.
    const server = await startMariaDb({ "innodb-flush-log-at-trx-commit": "0" });
    return { server, pool: mysql.createPool({ uri: server.url, connectionLimit: 20 }) };
  })();
  return started;
}

/** What mysql2 throws for a connection that ends. */
export function lostConnection(): Error {
  return Object.assign(new Error("Connection lost: The server closed the connection."), {
    code: "PROTOCOL_CONNECTION_LOST",
    fatal: true,
  });
}
