/** Tables of an SQLite database of another program: whether their rows are stored, or made by a query. */

/** The part of a reader that {@link assertStoredTables} uses. */
interface Rows {
  all(sql: string): readonly Readonly<Record<string, unknown>>[];
}

/** The tables of opencode that are read. */
const names = ["session", "message", "part"];

/**
 * Refuses a database in which one of these tables is a view, a virtual table, or has computed columns: a file
 * of a few kilobytes could then have rows without end. A table that is absent is not refused.
 *
 * @throws Error with the reason
 */
export function assertStoredTables(database: Rows): void {
  const list = names.map((name) => `'${name}'`).join(", ");
  const schema = database.all(`SELECT name, type, sql FROM sqlite_master WHERE lower(name) IN (${list})`);
  for (const { name, type, sql } of schema) {
    const isVirtual = /^\s{0,20}create\s{1,20}virtual\b/i.test(String(sql).slice(0, 100));
    if (type === "table" && !isVirtual) continue;
    throw new Error(`${String(name)} is a ${isVirtual ? "virtual table" : String(type)}, not a stored table`);
  }
  for (const name of names) {
    const columns = database.all(`SELECT name, hidden FROM pragma_table_xinfo('${name}')`);
    const computed = columns.find(({ hidden }) => Number(hidden) > 0);
    if (computed !== undefined)
      throw new Error(`the column ${String(computed.name)} of ${name} is computed, not stored`);
  }
}
