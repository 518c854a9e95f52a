/** The option `sqlite` of an import, on every version of Node. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SqliteReader } from "sessile/interop";
import { fileDatabase, type TestDatabase } from "../../sqlite/databases.js";

type Rows = ReturnType<SqliteReader["all"]>;

/** Calls `use` with a database of these bytes, and gives its answer, and the bytes after it. */
export function withDatabase<T>(
  bytes: Uint8Array | undefined,
  use: (database: TestDatabase) => T,
): { readonly answer: T; readonly bytes: Uint8Array } {
  const dir = mkdtempSync(join(tmpdir(), "sessile-database-"));
  const path = join(dir, "some.db");
  try {
    if (bytes !== undefined) writeFileSync(path, bytes);
    const database = fileDatabase(path);
    try {
      return { answer: use(database), bytes: readFileSync(path) };
    } finally {
      database.close();
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
}

export async function sqlite(bytes: Uint8Array): Promise<SqliteReader> {
  return { all: (sql) => withDatabase(bytes, (database) => database.prepare(sql).all() as Rows).answer };
}

/** A database of tables, each with the columns of its first row. */
export async function sqliteFile(
  tables: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>,
): Promise<Uint8Array> {
  return withDatabase(undefined, (database) => {
    for (const [table, rows] of Object.entries(tables)) {
      const columns = Object.keys(rows[0] ?? { id: "" });
      database.exec(`CREATE TABLE ${table} (${columns.join(", ")})`);
      const places = columns.map(() => "?").join(", ");
      const insert = database.prepare(`INSERT INTO ${table} VALUES (${places})`);
      for (const row of rows) insert.run(...(columns.map((column) => row[column] ?? null) as never[]));
    }
  }).bytes;
}
