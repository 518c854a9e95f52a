/** Calls of a driver of PostgreSQL: names of statements. */

import { crc32, encodeUtf8 } from "../../../core/bytes.js";
import { Database } from "../database.js";
import type { SqlErrors, SqlValue } from "../dialect.js";
import { readCode, readFailure } from "./failures.js";
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
