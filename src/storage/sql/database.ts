/** Calls of the driver: attempts again after failures that may pass, and the error of the last one. */

import { integerOption } from "../../core/arguments.js";
import { retry } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import type { SqlDriver, SqlErrors, SqlFailure, SqlRow, SqlStatement, SqlValue } from "./dialect.js";

/** An operation, for errors: its name, and its session or tables. */
export interface Operation {
  readonly name: string;
  readonly path: string;
}

/** A failure of the driver, before it becomes a SessileError. */
class DriverFailure extends Error {
  readonly failure: SqlFailure;

  constructor(cause: unknown, failure: SqlFailure) {
    super("the driver failed", { cause });
    this.failure = failure;
  }
}

/** Runs statements through a driver, and makes further attempts after failures that may pass. */
export class Database {
  /** What the caller passed in: two databases on it are one. */
  readonly client: object;
  readonly #driver: SqlDriver;
  readonly #errors: SqlErrors;
  readonly #retryMs: number;

  constructor(client: object, driver: SqlDriver, errors: SqlErrors, retryMs: number | undefined) {
    this.client = client;
    this.#driver = driver;
    this.#errors = errors;
    this.#retryMs = integerOption("retryMs", retryMs, 10_000, 0);
  }

  /** Runs a statement once. Rejects with a failure for {@link Database.retrying}. */
  run(sql: string, params: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return this.#called(() => this.#driver.all(sql, params));
  }

  /** Runs statements in one transaction once, and returns the rows of the last one. */
  async transaction(statements: readonly SqlStatement[]): Promise<readonly SqlRow[]> {
    const [first] = statements;
    // One statement is a transaction.
    if (first !== undefined && statements.length === 1) return this.run(first.sql, first.params);
    return (await this.#called(() => this.#driver.transaction(statements))).at(-1) ?? [];
  }

  /** Runs a statement that may be repeated, until its outcome is known. */
  query(operation: Operation, sql: string, params: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return this.retrying(operation, () => this.run(sql, params));
  }

  /** As {@link query}; a call without an answer, which others wait for, is made again after half of the bound. */
  async queryWithin(
    operation: Operation,
    sql: string,
    params: readonly SqlValue[],
  ): Promise<readonly SqlRow[]> {
    const answerMs = this.#retryMs === 0 ? 5000 : Math.ceil(this.#retryMs / 2);
    return this.retrying(operation, async () => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<never>((_, reject) => {
        const error = Object.assign(new Error(`no answer within ${answerMs} ms`), { code: "NO_ANSWER" });
        timer = setTimeout(() => reject(new DriverFailure(error, "lost")), answerMs);
      });
      try {
        return await Promise.race([this.run(sql, params), late]);
      } finally {
        clearTimeout(timer);
      }
    });
  }

  /**
   * Makes attempts until one succeeds, with growing random waits, within the bound of the options.
   *
   * @param attempt an error of it that is not the driver's is final
   * @param onLost called for each attempt that may have been done although it failed
   * @throws SessileError STORAGE_FAILED with the code of the last attempt
   */
  async retrying<T>(operation: Operation, attempt: () => Promise<T>, onLost?: () => void): Promise<T> {
    try {
      return await retry(attempt, {
        waitMs: this.#errors.waitMs,
        timeoutMs: this.#retryMs,
        again(error) {
          if (!(error instanceof DriverFailure)) return false;
          const { failure } = error;
          if (failure === "lost" || failure === "unsure") onLost?.();
          return failure !== "refused" && failure !== "unsure";
        },
      });
    } catch (error) {
      throw error instanceof DriverFailure ? this.#storageFailed(operation, error.cause) : error;
    }
  }

  async #called<T>(call: () => T | Promise<T>): Promise<T> {
    let isAsync = false;
    try {
      const answer = call();
      isAsync = answer instanceof Promise;
      return await answer;
    } catch (error) {
      throw new DriverFailure(error, this.#errors.errorFailure(error, isAsync));
    }
  }

  #storageFailed({ name, path }: Operation, cause: unknown): SessileError<"STORAGE_FAILED"> {
    const errno = this.#errors.errorCode(cause) ?? "UNKNOWN";
    const text = cause instanceof Error ? cause.message : String(cause);
    const remedy = this.#errors.errorHint(cause);
    const hint = remedy === undefined ? "" : `: ${remedy}`;
    return new SessileError("STORAGE_FAILED", `${name} ${path}: ${errno} ${text}${hint}`, {
      cause,
      details: { operation: name, path, errno },
    });
  }
}

/** Codes of systems and drivers from before a connection exists. */
const unsentCodes = new Set(
  "ENOTFOUND EAI_AGAIN EAI_FAIL EAI_NODATA ECONNREFUSED CONNECT_TIMEOUT UND_ERR_CONNECT_TIMEOUT".split(" "),
);

/** System calls before a connection exists: with them, a code such as ETIMEDOUT is not of a sent statement. */
const connectCalls: ReadonlySet<unknown> = new Set(["connect", "getaddrinfo"]);

/** Codes of a handshake that no attempt changes: a certificate, a server without TLS. */
const finalCode =
  /^(?:ERR_TLS_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HANDSHAKE_|ERR_SSL_(?:WRONG_VERSION|UNSUPPORTED_PROTOCOL))/;

const maxDepth = 4;

/** The members of errors of Node, and of drivers that have the cause in `sourceError`. */
export interface NetworkError {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
  readonly sourceError?: unknown;
}

/**
 * The failure of a connection that was not made, so that nothing was sent: `busy`, or `refused` if no attempt
 * changes it. Undefined for any other failure.
 */
export function unsentFailure(error: unknown, depth = 0): "busy" | "refused" | undefined {
  const { cause, code, errors, sourceError, syscall } = (error ?? {}) as NetworkError;
  const name = typeof code === "string" ? code : "";
  if (finalCode.test(name)) return "refused";
  if (unsentCodes.has(name) || connectCalls.has(syscall)) return "busy";
  if (depth >= maxDepth) return undefined;
  // A name has several addresses, and each of them has its failure.
  if (Array.isArray(errors) && errors.length > 0)
    return errors.every((each) => unsentFailure(each, depth + 1) === "busy") ? "busy" : undefined;
  const inner = sourceError ?? cause;
  return inner === undefined ? undefined : unsentFailure(inner, depth + 1);
}
