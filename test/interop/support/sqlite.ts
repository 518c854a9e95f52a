/** The option `sqlite` of an import over sql.js, which runs on every version of Node. */

import type { SqliteReader } from "sessile/interop";
import initSqlJs from "sql.js";

export async function sqlite(bytes: Uint8Array): Promise<SqliteReader> {
  const { Database } = await initSqlJs();
  const database = new Database(bytes);
  return {
    all(sql) {
      const statement = database.prepare(sql);
      try {
        const rows: Record<string, unknown>[] = [];
        while (statement.step()) rows.push(statement.getAsObject());
        return rows;
      } finally {
        statement.free();
      }
    },
  };
}

/** A database of tables, each with the columns of its first row. */
export async function sqliteFile(
  tables: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>,
): Promise<Uint8Array> {
  const { Database } = await initSqlJs();
  const database = new Database();
  for (const [table, rows] of Object.entries(tables)) {
    const columns = Object.keys(rows[0] ?? { id: "" });
    database.run(`CREATE TABLE ${table} (${columns.join(", ")})`);
    const places = columns.map(() => "?").join(", ");
    for (const row of rows)
      database.run(
        `INSERT INTO ${table} VALUES (${places})`,
        columns.map((column) => row[column] ?? null),
      );
  }
  return database.export();
}
