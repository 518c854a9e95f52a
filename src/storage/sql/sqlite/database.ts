/** Calls of the driver: classes of failures, attempts again. */

import { describe, integerOption } from "../../../core/arguments.js";
import { SessileError } from "../../../core/errors/index.js";
import type { SqliteDriver, SqliteRow, SqliteStatement, SqliteValue } from "./driver.js";

/** An operation, for errors: its name, and its session. */
export interface Operation {
  readonly name: string;
  readonly path: string;
}

/**
 * A failed call. `refused`: nothing was done. `busy`: nothing was done, and another attempt may succeed.
 * `lost`: it may be done, and another attempt may tell. `unsure`: no attempt tells whether it is done.
 */
type Failure = "refused" | "busy" | "lost" | "unsure";

/** A failure of the driver, before it becomes a SessileError. */
class DriverFailure extends Error {
  readonly failure: Failure;

  constructor(error: unknown, isAsync: boolean) {
    super("the driver failed", { cause: error });
    this.failure = failureOf(error, isAsync);
  }
}

const firstWaitMs = 5;
const maxWaitMs = 500;

/** Runs statements through a driver, and makes further attempts after failures that may pass. */
export class Database {
  readonly driver: SqliteDriver;
  readonly #retryMs: number;

  constructor(driver: SqliteDriver, retryMs: number | undefined) {
    if (typeof driver?.all !== "function" || typeof driver.transaction !== "function") {
      throw new TypeError(`driver: expected an object with all and transaction, got ${describe(driver)}`);
    }
    this.driver = driver;
    this.#retryMs = integerOption("retryMs", retryMs, 10_000, 0);
  }

  /** Runs a statement once. Rejects with a failure for {@link Database.retrying}. */
  run(sql: string, params: readonly SqliteValue[]): Promise<readonly SqliteRow[]> {
    return called(() => this.driver.all(sql, params));
  }

  /** Runs statements in one transaction once, and returns the rows of the last one. */
  async transaction(statements: readonly SqliteStatement[]): Promise<readonly SqliteRow[]> {
    return (await called(() => this.driver.transaction(statements))).at(-1) ?? [];
  }

  /** Runs a statement that may be repeated, until its outcome is known. */
  query(operation: Operation, sql: string, params: readonly SqliteValue[]): Promise<readonly SqliteRow[]> {
    return this.retrying(operation, () => this.run(sql, params));
  }

  /**
   * Makes attempts until one succeeds, with growing random waits, within the bound of the options.
   *
   * @param attempt a SessileError of it is final
   * @param onLost called for each attempt that may have been done although it failed
   * @throws SessileError STORAGE_FAILED with the code of the last attempt
   */
  async retrying<T>(operation: Operation, attempt: () => Promise<T>, onLost?: () => void): Promise<T> {
    const end = performance.now() + this.#retryMs;
    for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, maxWaitMs)) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof DriverFailure)) throw error;
        const { failure, cause } = error;
        if (failure === "lost" || failure === "unsure") onLost?.();
        const left = end - performance.now();
        const isFinal = failure === "refused" || failure === "unsure";
        if (isFinal || left <= 0) throw storageFailed(operation, cause);
        await new Promise((resolve) => setTimeout(resolve, Math.min(Math.random() * wait, left)));
      }
    }
  }
}

/** Calls the driver. An error that it throws at once is of a synchronous database, which loses no answers. */
async function called<T>(call: () => T | Promise<T>): Promise<T> {
  let answer: T | Promise<T>;
  try {
    answer = call();
  } catch (error) {
    throw new DriverFailure(error, false);
  }
  if (!(answer instanceof Promise)) return answer;
  try {
    return await answer;
  } catch (error) {
    throw new DriverFailure(error, true);
  }
}

/** Primary result codes, https://www.sqlite.org/rescode.html (read 2026-11-23). */
const resultCodes: Readonly<Record<number, string>> = {
  1: "SQLITE_ERROR",
  3: "SQLITE_PERM",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  9: "SQLITE_INTERRUPT",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  17: "SQLITE_SCHEMA",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  21: "SQLITE_MISUSE",
  26: "SQLITE_NOTADB",
};

/**
 * The code of a driver's error: SQLite's name for it, if the driver tells it. better-sqlite3, bun:sqlite and
 * libSQL have it as `code`, node:sqlite as the number `errcode`, Durable Objects in the message.
 */
function codeOf(error: unknown): string | undefined {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown };
  if (typeof code === "string" && code.startsWith("SQLITE_")) return code;
  if (typeof errcode === "number") return resultCodes[errcode & 0xff] ?? `SQLITE_${errcode}`;
  const message = messageOf(error);
  const named = /\bSQLITE_[A-Z_]{1,60}/.exec(message)?.[0];
  if (named !== undefined) return named;
  if (/\bdatabase (?:table |schema )?is locked\b/.test(message)) return "SQLITE_BUSY";
  if (/\bdisk I\/O error\b/.test(message)) return "SQLITE_IOERR";
  return typeof code === "string" && code !== "" ? code : undefined;
}

function failureOf(error: unknown, isAsync: boolean): Failure {
  const code = codeOf(error) ?? "";
  if (/^SQLITE_(?:BUSY|LOCKED)/.test(code)) return "busy";
  // A commit that could not be written or synced may be found by the recovery after a crash.
  if (code.startsWith("SQLITE_IOERR")) return "unsure";
  return code.startsWith("SQLITE_") || !isAsync ? "refused" : "lost";
}

function storageFailed({ name, path }: Operation, cause: unknown): SessileError<"STORAGE_FAILED"> {
  const errno = codeOf(cause) ?? "UNKNOWN";
  const text = messageOf(cause);
  const hint = /no such (?:table|column)/.test(text) ? ": call migrate() first" : "";
  return new SessileError("STORAGE_FAILED", `${name} ${path}: ${errno} ${text}${hint}`, {
    cause,
    details: { operation: name, path, errno },
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
