/** Failures of a driver by what the server may have done: nothing, or the statement. */

/**
 * A failed call. `refused`: the server answered, and nothing was done. `busy`: nothing was sent or done, and
 * another attempt may succeed. `lost`: the connection ended; the statement may be done, or may be running.
 */
export type Failure = "refused" | "busy" | "lost";

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

/** Codes of systems and drivers from before a connection exists. */
const unsentCodes = new Set(
  "ENOTFOUND EAI_AGAIN EAI_FAIL EAI_NODATA ECONNREFUSED CONNECT_TIMEOUT UND_ERR_CONNECT_TIMEOUT".split(" "),
);

/** System calls before a connection exists: with them, a code such as ETIMEDOUT is not of a sent statement. */
const connectCalls: ReadonlySet<unknown> = new Set(["connect", "getaddrinfo"]);

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
const finalCode = /^(?:CONNECTION_ENDED$|ERR_TLS_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/;

const sqlState = /^(?=.{0,4}\d)[0-9A-Z]{5}$/;

interface DriverError {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly message?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
  /** The cause in errors of Neon. */
  readonly sourceError?: unknown;
}

/** The failure of a call of a driver: pg, postgres.js, Neon or PGlite. An unknown one counts as lost. */
export function readFailure(error: unknown, depth = 0): Failure {
  const { code, syscall, message, errors, cause, sourceError } = (error ?? {}) as DriverError;
  const text = typeof message === "string" ? message : "";
  if (typeof code === "string" && sqlState.test(code)) {
    if (busyStates.has(code) || (code === "08P01" && poolerRefusal.test(text))) return "busy";
    return endedStates.has(code) || code.startsWith("08") ? "lost" : "refused";
  }
  const name = typeof code === "string" ? code : "";
  if (finalMessage.test(text) || finalCode.test(name)) return "refused";
  if (unsentMessages.has(text) || unsentCodes.has(name) || connectCalls.has(syscall)) return "busy";
  if (depth >= maxDepth) return "lost";
  // A name has several addresses, and each of them has its failure.
  if (Array.isArray(errors) && errors.length > 0)
    return errors.every((each) => readFailure(each, depth + 1) === "busy") ? "busy" : "lost";
  const inner = sourceError ?? cause;
  return inner === undefined ? "lost" : readFailure(inner, depth + 1);
}

const maxDepth = 4;

/**
 * The code of a failure: an SQLSTATE, or a code of the system or the driver, also of a cause. A timeout of
 * a connection without a code is CONNECT_TIMEOUT.
 */
export function readCode(error: unknown, depth = 0): string | undefined {
  const { code, message, cause, sourceError } = (error ?? {}) as DriverError;
  if (typeof code === "string" && code !== "") return code;
  if (typeof message === "string" && unsentMessages.has(message))
    return message.includes("timeout") ? "CONNECT_TIMEOUT" : "NOT_CONNECTED";
  const inner = sourceError ?? cause;
  return inner === undefined || depth >= maxDepth ? undefined : readCode(inner, depth + 1);
}
