/** Calls of a driver of PostgreSQL: names of statements. */

import { crc32, encodeUtf8 } from "../../../core/bytes.js";
import { Database, type NetworkError, unsentFailure } from "../database.js";
import type { SqlErrors, SqlValue } from "../dialect.js";
import type { PostgresQuery, PostgresSessionsOptions } from "./options.js";

/** Undefined table, undefined column, undefined schema. */
const notMigrated: ReadonlySet<string | undefined> = new Set(["42P01", "42703", "3F000"]);

export const postgresErrors: SqlErrors = {
  errorFailure: (error) => readFailure(error),
  errorCode: (error) => readCode(error),
  errorHint: (error) => (notMigrated.has(readCode(error)) ? "call migrate() first" : undefined),
  waitMs: [20, 2000],
};

/** A statement with the values $1, $2 … in place of each `?` that is not in the name of a schema. */
function numbered(text: string): string {
  let count = 0;
  return text.replaceAll(/"[^"]{0,255}"|\?/g, (found) => (found === "?" ? `$${++count}` : found));
}

/**
 * Calls of a driver. Each write is one statement, which needs no connection of its own.
 * @param isAnonymous whether statements have `?` for their values, in order
 */
export function postgresDatabase(
  db: PostgresQuery,
  { retryMs, prepare = false }: Pick<PostgresSessionsOptions, "prepare" | "retryMs">,
  isAnonymous = false,
): Database {
  if (typeof db?.query !== "function")
    throw new TypeError("db: expected an object with a method query, such as a Pool of pg");
  /** The name of each statement by its text. */
  const names = new Map<string, string>();
  const texts = new Map<string, string>();
  const all = async (given: string, params: readonly SqlValue[]) => {
    const text = isAnonymous ? (texts.get(given) ?? numbered(given)) : given;
    if (isAnonymous) texts.set(given, text);
    if (!prepare) return (await db.query(text, [...params])).rows;
    const name = names.get(text) ?? `sessile_${crc32(encodeUtf8(text)).toString(16)}_${text.length}`;
    names.set(text, name);
    const named = { name, text, values: [...params] };
    return (await db.query(named as unknown as string)).rows;
  };
  const transaction = () => Promise.reject(new TypeError("db: one statement is a transaction"));
  return new Database(db, { all, transaction }, postgresErrors, retryMs);
}

// Failures of a driver by what the server may have done: nothing, or the statement.

/**
 * A failed call. `refused`: the server answered, and nothing was done. `busy`: nothing was sent or done, and
 * another attempt may succeed. `lost`: the connection ended; the statement may be done, or may be running.
 */
type Failure = "refused" | "busy" | "lost";

/**
 * SQLSTATEs after which nothing was done and another attempt may succeed: no connection, a server that
 * starts, too many connections, serialization failure, deadlock, lock timeout, and a server that was the
 * primary before a failover.
 */
const busyStates = new Set("08001 08004 57P03 53300 40001 40P01 55P03 25006".split(" "));

/**
 * SQLSTATEs with which the server ends a connection, or does not know the outcome. Class 08 does, too.
 * A session may have ended before the statement came, or in it.
 */
const endedStates = new Set("57P01 57P02 57P05 25P03 25P04 40003".split(" "));

/** Failures of a pooler that has no connection to a server: PgBouncer reports them as 08P01. */
const poolerRefusal =
  /query_wait_timeout|no more connections allowed|cannot connect to server|server login (?:has been )?fail/i;

/** Messages of pg, Neon and TLS from before a statement was sent. */
const unsentMessages = new Set([
  "timeout exceeded when trying to connect",
  "timeout expired",
  "Connection terminated due to connection timeout",
  "Client has encountered a connection error and is not queryable",
  "Client was closed and is not queryable",
  "Client network socket disconnected before secure TLS connection was established",
]);

/** Failures before a statement was sent that no attempt changes: a closed client, a password, TLS. */
const finalMessage =
  /^(?:PGlite is clos(?:ed|ing)|Cannot use a pool after calling end|SASL: |The server does not support SSL)/;
const closedClient = "CONNECTION_ENDED";

const sqlState = /^(?=.{0,4}\d)[0-9A-Z]{5}$/;

interface DriverError extends NetworkError {
  readonly message?: unknown;
}

/** The failure of a call of a driver: pg, postgres.js, Neon or PGlite. An unknown one counts as lost. */
function readFailure(error: unknown, depth = 0): Failure {
  const { code, message, cause, sourceError } = (error ?? {}) as DriverError;
  const text = typeof message === "string" ? message : "";
  if (typeof code === "string" && sqlState.test(code)) {
    if (busyStates.has(code) || (code === "08P01" && poolerRefusal.test(text))) return "busy";
    return endedStates.has(code) || code.startsWith("08") ? "lost" : "refused";
  }
  if (finalMessage.test(text) || code === closedClient) return "refused";
  if (unsentMessages.has(text)) return "busy";
  const unsent = unsentFailure(error);
  if (unsent !== undefined) return unsent;
  const inner = sourceError ?? cause;
  return inner === undefined || depth >= maxDepth ? "lost" : readFailure(inner, depth + 1);
}

const maxDepth = 4;

/**
 * The code of a failure: an SQLSTATE, or a code of the system or the driver, also of a cause. A timeout of
 * a connection without a code is CONNECT_TIMEOUT.
 */
function readCode(error: unknown, depth = 0): string | undefined {
  const { code, message, cause, sourceError } = (error ?? {}) as DriverError;
  if (typeof code === "string" && code !== "") return code;
  if (typeof message === "string" && unsentMessages.has(message))
    return message.includes("timeout") ? "CONNECT_TIMEOUT" : "NOT_CONNECTED";
  const inner = sourceError ?? cause;
  return inner === undefined || depth >= maxDepth ? undefined : readCode(inner, depth + 1);
}
