/** Calls of a driver of MySQL: prepared statements, transactions on one connection, classes of failures. */

import { describe } from "../../../core/arguments.js";
import { Database, unsentFailure } from "../database.js";
import type { SqlDriver, SqlErrors, SqlFailure, SqlRow, SqlStatement, SqlValue } from "../dialect.js";

/** The members of a connection that are used, of mysql2/promise and of mariadb. */
export interface MysqlConnection {
  /** Runs a prepared statement. */
  // biome-ignore lint/suspicious/noExplicitAny: the answers of the two drivers differ
  execute(sql: string, values?: any): Promise<any>;
  /** Runs a statement without values. */
  // biome-ignore lint/suspicious/noExplicitAny: the answers of the two drivers differ
  query(sql: string): Promise<any>;
}

/** A connection of a pool. */
interface PooledConnection extends MysqlConnection {
  release(): unknown;
  /** Ends it, so that the pool opens another one. */
  destroy(): unknown;
}

/** A pool, or one connection. */
export interface MysqlClient extends MysqlConnection {
  /** Of a pool: takes a connection out of it, for a transaction. */
  getConnection?(): Promise<PooledConnection>;
}

/** Calls of a client. */
export function mysqlDatabase(db: MysqlClient, retryMs: number | undefined): Database {
  if (typeof db?.execute !== "function" || typeof db.query !== "function") {
    throw new TypeError(`db: expected a pool or a connection of mysql2/promise, got ${describe(db)}`);
  }
  return new Database(db, readDriver(db), mysqlErrors, retryMs);
}

/** The last call on each connection that is no pool: a transaction has it for itself. */
const busy = new WeakMap<MysqlClient, Promise<unknown>>();

function readDriver(db: MysqlClient): SqlDriver {
  const alone = <T>(run: () => Promise<T>): Promise<T> => {
    if (db.getConnection !== undefined) return run();
    const done = (busy.get(db) ?? Promise.resolve()).then(run, run);
    busy.set(db, done);
    return done;
  };
  return {
    all: (sql, params) => alone(() => execute(db, { sql, params })),
    transaction: (statements) =>
      alone(async () => {
        const pooled = await db.getConnection?.();
        const connection = pooled ?? db;
        let isEnded = false;
        try {
          await connection.query("start transaction");
          const rows: (readonly SqlRow[])[] = [];
          for (const statement of statements) rows.push(await execute(connection, statement));
          await connection.query("commit");
          return rows;
        } catch (error) {
          await connection.query("rollback").catch(() => {
            isEnded = true;
            pooled?.destroy();
          });
          throw error;
        } finally {
          if (!isEnded) pooled?.release();
        }
      }),
  };
}

/** MySQL takes no fraction as a limit, and mysql2 sends every number as one. */
const limit = /\blimit \?$/;

async function execute(connection: MysqlConnection, statement: SqlStatement): Promise<readonly SqlRow[]> {
  const isLimited = limit.test(statement.sql);
  const sql = isLimited
    ? statement.sql.replace(limit, `limit ${Number(statement.params.at(-1))}`)
    : statement.sql;
  const values = (isLimited ? statement.params.slice(0, -1) : statement.params).map(sentValue);
  const answer = await connection.execute(sql, values);
  // mysql2 gives a pair of the rows, or of the result of a change, and the columns.
  const isPair =
    Array.isArray(answer) && answer.length === 2 && (Array.isArray(answer[0]) || isChange(answer[0]));
  const rows = isPair ? answer[0] : answer;
  if (Array.isArray(rows)) return rows;
  return Number(rows.affectedRows) > 0 ? [{ changed: Number(rows.affectedRows) }] : [];
}

function isChange(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "affectedRows" in answer && "insertId" in answer;
}

/** Both drivers take a Buffer for bytes. Where there is none, a driver of that runtime takes an array. */
function sentValue(value: SqlValue): SqlValue {
  if (!(value instanceof Uint8Array)) return value;
  const node = globalThis as {
    readonly Buffer?: { from(bytes: ArrayBufferLike, offset: number, length: number): Uint8Array };
  };
  return node.Buffer?.from(value.buffer, value.byteOffset, value.byteLength) ?? value;
}

/**
 * Codes after which nothing was done, and another attempt may succeed: no connection, locks, a server or a
 * transaction that is read-only after a failover.
 */
const busyCodes = new Set(
  (
    "ER_CON_COUNT_ERROR ER_TOO_MANY_USER_CONNECTIONS ER_LOCK_DEADLOCK ER_LOCK_WAIT_TIMEOUT ER_CHECKREAD " +
    "ER_OPTION_PREVENTS_STATEMENT ER_READ_ONLY_MODE ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION " +
    "ER_GET_CONNECTION_TIMEOUT ER_CONNECTION_TIMEOUT ER_CMD_CONNECTION_CLOSED"
  ).split(" "),
);

/** Messages of mysql2, which have no code: a pool without a free connection, a connection that was closed before. */
const busyMessage =
  /^(?:Queue limit reached|No connections available|Can't add new command when connection is)/;

/** Failures before a statement is sent that no attempt changes: a closed pool, a server without TLS. */
const finalCodes = new Set(["ER_POOL_ALREADY_CLOSED", "ER_SERVER_SSL_DISABLED"]);
const closedPool = "Pool is closed.";

/** Codes with which the server ends a connection, maybe in a commit. */
const endedCodes = new Set(
  (
    "ER_SERVER_SHUTDOWN ER_NORMAL_SHUTDOWN ER_SHUTDOWN_COMPLETE ER_CONNECTION_KILLED ER_QUERY_INTERRUPTED " +
    "ER_NEW_ABORTING_CONNECTION ER_ABORTING_CONNECTION ER_CLIENT_INTERACTION_TIMEOUT ER_UNKNOWN_ERROR"
  ).split(" "),
);

/** The server refuses the packet, and ends the connection after that. */
const tooLarge = "ER_NET_PACKET_TOO_LARGE";

interface DriverError {
  readonly code?: unknown;
  readonly sqlState?: unknown;
  readonly message?: unknown;
}

function readFailure(error: unknown): SqlFailure {
  const { code, sqlState, message } = (error ?? {}) as DriverError;
  const name = typeof code === "string" ? code : "";
  const unsent = unsentFailure(error);
  if (unsent !== undefined) return unsent;
  if (busyCodes.has(name) || busyMessage.test(String(message))) return "busy";
  if (finalCodes.has(name) || message === closedPool) return "refused";
  // Class 08: mariadb names the end of a connection as the server names a refusal.
  const isEnded = typeof sqlState === "string" && sqlState.startsWith("08") && name !== tooLarge;
  if (isEnded || endedCodes.has(name)) return "lost";
  if (error instanceof TypeError) return "refused";
  return name.startsWith("ER_") && typeof sqlState === "string" ? "refused" : "lost";
}

function readCode(error: unknown): string | undefined {
  const { code } = (error ?? {}) as DriverError;
  return typeof code === "string" && code !== "" ? code : undefined;
}

const hints: Readonly<Record<string, string>> = {
  ER_NO_SUCH_TABLE: "call migrate() first",
  ER_BAD_FIELD_ERROR: "call migrate() first",
  [tooLarge]: "set max_allowed_packet of the server to 8M at least",
};

export const mysqlErrors: SqlErrors = {
  errorFailure: readFailure,
  errorCode: readCode,
  errorHint: (error) => hints[readCode(error) ?? ""],
  waitMs: [10, 1000],
};
