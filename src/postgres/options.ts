/** The options of the session backend, and the driver that it needs. */

/**
 * The driver, as far as it is used. A `Pool` of pg 8 and a PGlite fit as they are. Bytes are given as
 * `Uint8Array`, all else as text, numbers, booleans or null; bytes come back as `Uint8Array`.
 */
export interface PostgresQuery {
  // biome-ignore lint/suspicious/noExplicitAny: rows have the type that the caller of a driver states
  query(text: string, values?: any[]): Promise<{ readonly rows: any[] }>;
}

/** Options of {@link postgresSessionBackend}. */
export interface PostgresSessionsOptions {
  /** The driver: each call may use another connection. */
  readonly db: PostgresQuery;
  /** The schema of the tables, made by `migrate`. @default "sessile" */
  readonly schema?: string;
  /** For how long an operation is tried again after a lost connection or a deadlock. @default 10 s */
  readonly retryMs?: number;
}

export const defaultSchema = "sessile";

/** The longest name in PostgreSQL, in bytes. A longer one is cut, so that two could become one. */
const maxNameBytes = 63;

/** Returns the name of a schema. Throws a TypeError for a name that PostgreSQL would change. */
export function schemaArgument(schema: unknown): string {
  if (typeof schema === "string" && schema !== "" && !schema.includes("\0")) {
    if (new TextEncoder().encode(schema).length <= maxNameBytes) return schema;
  }
  throw new TypeError(`schema: expected a name of 1 to ${maxNameBytes} bytes`);
}

/** A name as an SQL identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as an SQL literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const maxCwdLength = 500;

/**
 * The part of a directory that a list selects by: its beginning, since a long text has no place in an index,
 * and without NULs, which PostgreSQL refuses.
 */
export function cwdKey(cwd: string): string {
  return cwd.slice(0, maxCwdLength).replaceAll("\0", "\ufffd");
}
