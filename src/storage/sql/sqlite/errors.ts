/** Failures of SQLite and its drivers. */

import { unsentFailure } from "../database.js";
import type { SqlErrors, SqlFailure } from "../dialect.js";

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
function readCode(error: unknown): string | undefined {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown };
  if (typeof code === "string" && code.startsWith("SQLITE_")) return code;
  if (typeof errcode === "number") return resultCodes[errcode & 0xff] ?? `SQLITE_${errcode}`;
  const message = errorMessage(error);
  const named = /\bSQLITE_[A-Z_]{1,60}/.exec(message)?.[0];
  if (named !== undefined) return named;
  if (/\bdatabase (?:table |schema )?is locked\b/.test(message)) return "SQLITE_BUSY";
  if (/\bdisk I\/O error\b/.test(message)) return "SQLITE_IOERR";
  return typeof code === "string" && code !== "" ? code : undefined;
}

function readFailure(error: unknown, isAsync: boolean): SqlFailure {
  const code = readCode(error) ?? "";
  if (/^SQLITE_(?:BUSY|LOCKED)/.test(code)) return "busy";
  // A commit that could not be written or synced may be found by the recovery after a crash.
  if (code.startsWith("SQLITE_IOERR")) return "unsure";
  if (code.startsWith("SQLITE_") || !isAsync) return "refused";
  // Of a server over the network.
  return unsentFailure(error) ?? "lost";
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error that a driver throws at once is of a synchronous database, which loses no answers. */
export const sqliteErrors: SqlErrors = {
  errorFailure: readFailure,
  errorCode: readCode,
  errorHint: (error) =>
    /no such (?:table|column)/.test(errorMessage(error)) ? "call migrate() first" : undefined,
  waitMs: [5, 500],
};
