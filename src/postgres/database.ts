/** Calls of the driver: classes of failures, attempts again, errors with the server's code. */

import { SessileError } from "../errors/index.js";
import { integerOption } from "../internal/arguments.js";
import type { PostgresQuery, PostgresSessionsOptions } from "./options.js";

// biome-ignore lint/suspicious/noExplicitAny: each statement knows its columns
type Row = Record<string, any>;

/**
 * A failed call. `refused`: the server answered, and nothing was done. `lost`: the connection ended, and the
 * statement may be done, or may still be at work. `busy`: nothing was done, and it may succeed if tried again.
 */
type Failure = "refused" | "lost" | "busy";

const firstWaitMs = 20;
const maxWaitMs = 2000;

/** Runs statements through a driver, and tries again after failures that may pass. */
export class Database {
  readonly db: PostgresQuery;
  readonly #retryMs: number;

  constructor({ db, retryMs }: Pick<PostgresSessionsOptions, "db" | "retryMs">) {
    if (typeof db?.query !== "function")
      throw new TypeError("db: expected an object with a method query, such as a Pool of pg");
    this.db = db;
    this.#retryMs = integerOption("retryMs", retryMs, 10_000, 0);
  }

  /** Runs a statement once. */
  async run(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.db.query(text, [...values])).rows;
  }

  /** Runs a statement that may be repeated. */
  async query(
    operation: string,
    path: string,
    text: string,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    return this.retrying(operation, path, () => this.run(text, values));
  }

  /**
   * Makes attempts until one succeeds, with growing random waits, within the bound. Throws STORAGE_FAILED.
   *
   * @param attempt its own SessileErrors are final
   * @param outcome called with the error instead, if an attempt was lost: returns what to throw
   */
  async retrying<T>(
    operation: string,
    path: string,
    attempt: () => Promise<T>,
    onLost?: () => void,
  ): Promise<T> {
    const end = Date.now() + this.#retryMs;
    for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, maxWaitMs)) {
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof SessileError) throw error;
        const failure = failureOf(error);
        if (failure === "lost") onLost?.();
        if (failure === "refused" || Date.now() >= end) throw storageFailed(operation, path, error);
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * wait));
    }
  }
}

/** The code of a failure: an SQLSTATE, or that of the system or driver. */
function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === "string" && code !== "" ? code : undefined;
}

function isSqlState(code: string | undefined): boolean {
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code);
}

/** Serialization failure, deadlock, too many connections, the server starts or stops. */
const busy: ReadonlySet<string> = new Set(["40001", "40P01", "53300", "57P03"]);
/** The server ended the connection. An error of class 08 is one too. */
const ended: ReadonlySet<string> = new Set(["57P01", "57P02", "40003"]);

function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  // The driver's own errors: nobody knows how far the statement came.
  if (code === undefined || !isSqlState(code)) return code === "ECONNREFUSED" ? "busy" : "lost";
  if (busy.has(code)) return "busy";
  return ended.has(code) || code.startsWith("08") ? "lost" : "refused";
}

/** Undefined table, undefined column, invalid schema name. */
const missing: ReadonlySet<string> = new Set(["42P01", "42703", "3F000"]);

/** STORAGE_FAILED with the code of a driver's error. */
function storageFailed(operation: string, path: string, cause: unknown): SessileError<"STORAGE_FAILED"> {
  const errno = codeOf(cause) ?? "UNKNOWN";
  const hint = missing.has(errno) ? "; call migrate() first" : "";
  const message = cause instanceof Error ? cause.message : String(cause);
  return new SessileError("STORAGE_FAILED", `${operation} ${path}: ${errno} ${message}${hint}`, {
    cause,
    details: { operation, path, errno },
  });
}

/** Bytes of a column. Some drivers give the text of bytes. */
export function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string" && value.startsWith("\\x"))
    return Uint8Array.from(value.slice(2).match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  throw new TypeError("db: expected a column of type bytea as a Uint8Array");
}
