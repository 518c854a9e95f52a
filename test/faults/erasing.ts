/**
 * A process that erases the entries of a session, and stops in the middle of the transaction:
 * `sqlite PATH AT`, or `postgres URL`, where another connection holds it up. It says what it has done.
 */

import { Pool } from "pg";
import { eraseEntries, sessionStore } from "sessile";
import { SessileError } from "sessile/errors";
import { postgresSessionStore } from "sessile/postgres";
import { databaseDriver, type SqliteDriver, sqliteSessionBackend } from "sessile/sqlite";
import { fileDatabase } from "../sqlite/databases.js";
import { say } from "./say.js";

export const erasedIds = ["e0000002", "e0000004"];

function storeOf(kind: string, where: string, at: number) {
  if (kind === "postgres") {
    const pool = new Pool({ connectionString: where, application_name: "erasing" } as never);
    pool.on("error", () => undefined);
    return postgresSessionStore({ db: pool, search: true, retryMs: 0 });
  }
  const database = fileDatabase(where);
  // Few pages in memory: the middle of a transaction has written some of them to the file.
  database.exec("pragma cache_size = 4");
  const driver = databaseDriver(database);
  const stopping: SqliteDriver = {
    all: driver.all,
    transaction(statements) {
      if (!statements.some(({ sql }) => sql.includes("set base = head")))
        return driver.transaction(statements);
      say(`statements ${statements.length}`);
      database.exec("begin immediate");
      const rows = statements.map(({ sql, params }, index) => {
        const answer = driver.all(sql, params);
        if (index === at) stop();
        return answer;
      });
      database.exec("commit");
      if (at === statements.length) stop();
      return rows as ReturnType<SqliteDriver["transaction"]>;
    },
  };
  return sessionStore(sqliteSessionBackend({ driver: stopping, search: true }));
}

/** Waits to be killed. */
function stop(): void {
  say("stopped");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const [kind = "", where = "", at = "-1"] = process.argv.slice(2);
say("begins");
try {
  await eraseEntries(storeOf(kind, where, Number(at)), "s", erasedIds, { reason: "a request" });
  say("erased");
} catch (error) {
  say(`refused ${error instanceof SessileError ? error.code : String(error)}`);
}
process.exit(0);
