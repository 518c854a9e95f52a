/** The options of the session backend, and the driver that it needs. */

import { describe } from "../../../core/arguments.js";
import { encodeUtf8 } from "../../../core/bytes.js";

/**
 * The part of a driver that is used. A `Pool` of pg 8 and a PGlite fit as they are. Bytes are given as
 * `Uint8Array`, all else as text, numbers or null. Bytes come back as `Uint8Array`.
 */
export interface PostgresQuery {
  /** Runs one statement with its values. */
  // biome-ignore lint/suspicious/noExplicitAny: rows have the type that the caller of a driver states
  query(text: string, values?: any[]): Promise<{ readonly rows: any[] }>;
}

/** Options of {@link postgresSessionBackend}. */
export interface PostgresSessionsOptions {
  /** The driver: each call may use another connection. */
  readonly db: PostgresQuery;
  /**
   * A driver for lists and for sessions that are opened to read, such as the pool of a replica. They show the
   * state of the replica, which may lag. @default db
   */
  readonly read?: PostgresQuery;
  /** The schema of the tables, made by `migrate`. @default "sessile" */
  readonly schema?: string;
  /**
   * Whether statements have names, so that a connection plans them once: for pg, whose `query` takes
   * `{ name, text, values }`. Not behind a pooler that gives each transaction another connection.
   * @default false
   */
  readonly prepare?: boolean;
  /**
   * Whether appends are notified, for `listen`: after their commit, those of this process since the last
   * notification in one statement. @default false
   */
  readonly notify?: boolean;
  /**
   * Whether an append indexes the words of its lines, for `search`: `migrate` makes the index, and indexes
   * the lines that are there. A search reads all lines that were written without it, and finds the same.
   * @default false
   */
  readonly search?: boolean;
  /**
   * Calls `heard` with the payload of each notification on a channel, over a connection of its own, and `lost`
   * when that has ended; resolves to a function that ends it. One call serves all sessions that are followed on
   * `db`, and another one follows a lost connection. With it, `follow` reads as soon as a writer with `notify`
   * appended; a notification that is lost costs the time of a poll.
   */
  readonly listen?: (
    channel: string,
    heard: (payload: string) => void,
    lost: () => void,
  ) => Promise<() => Promise<void>>;
  /**
   * For how long an operation is tried again after a lost connection, a deadlock or a restart of the server,
   * in milliseconds. @default 10 s
   */
  readonly retryMs?: number;
  /** Maximum bytes of one line that is read. @default 64 MiB */
  readonly maxLineBytes?: number;
}

/** The longest name in PostgreSQL, in bytes. A longer one is cut, so that two could become one. */
const maxNameBytes = 63;

/** Returns the name of a schema. Throws a TypeError for a name that PostgreSQL refuses or changes. */
export function schemaArgument(schema: unknown = "sessile"): string {
  if (typeof schema === "string" && schema !== "" && !schema.includes("\0") && schema.isWellFormed()) {
    if (encodeUtf8(schema).length <= maxNameBytes) return schema;
  }
  throw new TypeError(`schema: expected a name of 1 to ${maxNameBytes} bytes, got ${describe(schema)}`);
}

/** A name as an SQL identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as an SQL literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
