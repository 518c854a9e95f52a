/** PostgreSQL and SQLite in this process, for tests that both pass, with faults between store and database. */

import type { PGlite } from "@electric-sql/pglite";
import { type SearchQuery, type SessionBackend, type SessionStore, sessionStore, userMessage } from "sessile";
import { postgresSessionBackend } from "sessile/postgres";
import { databaseDriver, type SqliteDriver, sqliteSessionBackend } from "sessile/sqlite";
import * as postgres from "../postgres/pglite.js";
import * as sqlite from "../sqlite/databases.js";

/** A call of a driver. */
export interface Call {
  readonly texts: readonly string[];
  /** Whether it writes lines. */
  readonly isWrite: boolean;
  readonly isDelete: boolean;
  readonly isSearch: boolean;
}

/** Faults of the calls between a store and its database. */
export interface Faults {
  readonly calls: Call[];
  /** Called before each call; may throw in its place. */
  before: ((call: Call) => void | Promise<void>) | undefined;
  /** Called after each call; may throw in place of its answer. */
  after: ((call: Call) => void | Promise<void>) | undefined;
}

export type Backend = SessionBackend & { migrate(): Promise<void>; partitions(): AsyncIterable<string> };

export interface BackendOptions {
  readonly search?: boolean;
  readonly retryMs?: number;
  readonly maxLineBytes?: number;
  /** Of SQLite. */
  readonly prefix?: string;
}

/** Tables of sessions in a database. */
export interface Tables {
  readonly faults: Faults;
  /** A backend whose calls may have faults. */
  backend(options?: BackendOptions): Backend;
  /** A backend past the faults. */
  direct(options?: BackendOptions): Backend;
  /** Runs a statement in which `session`, `entry` and `version` are the names of the tables. */
  rows(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** All bytes of the tables and their indices, without free pages. */
  contents(): AsyncIterable<Uint8Array>;
  /** Ends a call that is under way in the database, of which the store has lost the connection. */
  readonly unsent: Unsent;
}

/** Makes the next write of lines run only when `run` is called; the store sees a lost connection. */
interface Unsent {
  hold(): { run(): Promise<void> };
}

/** A database engine. */
export interface Engine {
  readonly name: string;
  /** Makes empty tables. */
  start(options?: { readonly search?: boolean }): Promise<Tables>;
  readonly lostConnection: () => Error;
  /** What the database throws if another attempt may succeed. */
  readonly busy: () => Error;
  /** What it throws if the disk is full. */
  readonly full: () => Error;
}

export const storeOf = (backend: Backend): SessionStore => sessionStore(backend);

function callOf(texts: readonly string[]): Call {
  return {
    texts,
    isWrite: texts.some((text) => postgres.writesLines(text) || text.startsWith("insert into sessile_entry")),
    isSearch: texts.some((text) => /like any|@@ |\bmatch \?/.test(text)),
    isDelete: texts.some((text) => /^delete|\bdelete from \S*session\b/.test(text)),
  };
}

class FaultyCalls implements Faults {
  readonly calls: Call[] = [];
  before: Faults["before"];
  after: Faults["after"];
  #held: { run: () => Promise<void> } | undefined;
  #isHolding = false;

  async call<T>(
    texts: readonly string[],
    lostConnection: () => Error,
    run: () => T | Promise<T>,
  ): Promise<T> {
    const call = callOf(texts);
    this.calls.push(call);
    await Promise.resolve();
    await this.before?.(call);
    if (this.#isHolding && call.isWrite) {
      this.#isHolding = false;
      if (this.#held !== undefined)
        this.#held.run = async () => {
          await run();
        };
      throw lostConnection();
    }
    const answer = await run();
    await this.after?.(call);
    return answer;
  }

  hold(): { run(): Promise<void> } {
    const held = { run: () => Promise.reject(new Error("nothing was written")) };
    this.#held = held;
    this.#isHolding = true;
    return { run: () => held.run() };
  }
}

const schema = "shared";
let made: Promise<PGlite> | undefined;

/** Makes the tables once: a truncation is faster than a schema. */
function tablesOnce(): Promise<PGlite> {
  made ??= (async () => {
    const server = await postgres.pglite();
    await server.query(`drop schema if exists ${schema} cascade`);
    await postgresSessionBackend({ db: server, schema, search: true }).migrate();
    return server;
  })();
  return made;
}

const postgresEngine: Engine = {
  name: "PostgreSQL",
  lostConnection: postgres.lostConnection,
  busy: () => postgres.serverError("40001"),
  full: () => postgres.serverError("53100"),
  async start({ search = false } = {}) {
    const server = await tablesOnce();
    await server.query(`truncate ${schema}.session, ${schema}.entry, ${schema}.words cascade`);
    const faults = new FaultyCalls();
    const db = {
      query: (text: string, values?: unknown[]) =>
        faults.call([text], postgres.lostConnection, () =>
          server.query<Record<string, unknown>>(text, values),
        ),
    };
    const backendOn = (given: typeof db | PGlite, options: BackendOptions = {}) =>
      postgresSessionBackend({ db: given, schema, search, ...options });
    const rows: Tables["rows"] = async (text) =>
      (
        await server.query<Record<string, unknown>>(
          text.replace(/\b(session|entry|version)\b/g, `${schema}.$1`),
        )
      ).rows;
    return {
      faults,
      unsent: faults,
      backend: (options) => backendOn(db, options),
      direct: (options) => backendOn(server, options),
      rows,
      async *contents() {
        for (const table of ["session", "entry", "words", "blob_ref"]) {
          const { rows: found } = await server.query<{ row: string }>(
            `select t::text as row from ${schema}.${table} t`,
          );
          for (const { row } of found) {
            yield new TextEncoder().encode(row);
            for (const [, digits = ""] of row.matchAll(/\\x([0-9a-f]+)/g)) yield Buffer.from(digits, "hex");
          }
        }
      },
    };
  },
};

export const sqliteEngine: Engine = {
  name: "SQLite",
  lostConnection: sqlite.lostConnection,
  busy: () => sqlite.sqliteError("SQLITE_BUSY"),
  full: () => sqlite.sqliteError("SQLITE_FULL"),
  async start({ search = false } = {}) {
    const database = sqlite.memoryDatabase();
    const driver = databaseDriver(database);
    const faults = new FaultyCalls();
    const faulty: SqliteDriver = {
      all: (sql, params) => faults.call([sql], sqlite.lostConnection, () => driver.all(sql, params)),
      transaction: (statements) =>
        faults.call(
          statements.map(({ sql }) => sql),
          sqlite.lostConnection,
          () => driver.transaction(statements),
        ),
    };
    const backendOn = (given: SqliteDriver, options: BackendOptions = {}) =>
      sqliteSessionBackend({ driver: given, search, ...options });
    await backendOn(driver).migrate();
    const rows: Tables["rows"] = async (text) =>
      driver.all(text.replace(/\b(session|entry|version)\b/g, "sessile_$1"), []);
    return {
      faults,
      unsent: faults,
      backend: (options) => backendOn(faulty, options),
      direct: (options) => backendOn(driver, options),
      rows,
      async *contents() {
        yield database.contents();
      },
    };
  },
};

export const engines: readonly Engine[] = [postgresEngine, sqliteEngine];

/** Appends messages of the user to a session, which it makes if there is none. */
export async function write(
  store: SessionStore,
  id: string,
  texts: readonly string[],
  partition?: string,
): Promise<void> {
  const named = partition === undefined ? {} : { partition };
  const session = await store
    .open(id, { mode: "write", ...named })
    .catch(() => store.create({ cwd: "/work", id, ...named }));
  for (const text of texts) await session.appendMessage(userMessage(text));
  await session.close();
}

/** The snippets of all hits, sorted. */
export async function find(
  store: SessionStore,
  text: string,
  query: Omit<SearchQuery, "text"> = {},
): Promise<string[]> {
  const found: string[] = [];
  for await (const { snippet } of store.search({ text, ...query })) found.push(snippet);
  return found.sort();
}
