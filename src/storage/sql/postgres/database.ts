/** Calls of the driver: names of statements, and attempts again after failures. */

import { integerOption } from "../../../core/arguments.js";
import { encodeUtf8 } from "../../../core/bytes.js";
import { crc32 } from "../../../core/crc32.js";
import { SessileError } from "../../../core/errors/index.js";
import { codeOf, failureOf } from "./failures.js";
import type { PostgresQuery, PostgresSessionsOptions } from "./options.js";

/** A row of an answer, by the names of its columns. */
// biome-ignore lint/suspicious/noExplicitAny: each statement knows its columns
export type Row = Readonly<Record<string, any>>;

/** An operation, for errors: its name, and its session or schema. */
export interface Operation {
  readonly name: string;
  readonly path: string;
}

const firstWaitMs = 20;
const maxWaitMs = 2000;

/** Runs statements through a driver, and makes further attempts after failures that may pass. */
export class Database {
  readonly db: PostgresQuery;
  readonly #retryMs: number;
  readonly #prepare: boolean;
  /** The name of each statement by its text. */
  readonly #names = new Map<string, string>();

  constructor(db: PostgresQuery, { retryMs, prepare }: Pick<PostgresSessionsOptions, "prepare" | "retryMs">) {
    if (typeof db?.query !== "function")
      throw new TypeError("db: expected an object with a method query, such as a Pool of pg");
    this.db = db;
    this.#retryMs = integerOption("retryMs", retryMs, 10_000, 0);
    this.#prepare = prepare ?? false;
  }

  /** Runs a statement once. Rejects with the driver's error. */
  async run(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    if (!this.#prepare) return (await this.db.query(text, [...values])).rows;
    const named = { name: this.#nameOf(text), text, values: [...values] };
    return (await this.db.query(named as unknown as string)).rows;
  }

  /** Runs a statement that may be repeated, until its outcome is known. */
  async query(operation: Operation, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.retrying(operation, () => this.run(text, values));
  }

  /**
   * Makes attempts until one succeeds, with growing random waits, within the bound of the options.
   *
   * @param attempt rejects with the driver's errors; a SessileError is final
   * @param onLost called for each attempt that may have been done although it failed
   * @throws SessileError STORAGE_FAILED with the code of the last attempt
   */
  async retrying<T>(operation: Operation, attempt: () => Promise<T>, onLost?: () => void): Promise<T> {
    const end = Date.now() + this.#retryMs;
    for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, maxWaitMs)) {
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof SessileError) throw error;
        const failure = failureOf(error);
        if (failure === "lost") onLost?.();
        const left = end - Date.now();
        if (failure === "refused" || left <= 0) throw storageFailed(operation, error);
        await new Promise((resolve) => setTimeout(resolve, Math.min(Math.random() * wait, left)));
      }
    }
  }

  #nameOf(text: string): string {
    const name = this.#names.get(text) ?? `sessile_${crc32(encodeUtf8(text)).toString(16)}_${text.length}`;
    this.#names.set(text, name);
    return name;
  }
}

/** Undefined table, undefined column, undefined schema. */
const notMigrated: ReadonlySet<string> = new Set(["42P01", "42703", "3F000"]);

function storageFailed({ name, path }: Operation, cause: unknown): SessileError<"STORAGE_FAILED"> {
  const errno = codeOf(cause) ?? "UNKNOWN";
  const hint = notMigrated.has(errno) ? ": call migrate() first" : "";
  const message = cause instanceof Error ? cause.message : String(cause);
  return new SessileError("STORAGE_FAILED", `${name} ${path}: ${errno} ${message}${hint}`, {
    cause,
    details: { operation: name, path, errno },
  });
}
