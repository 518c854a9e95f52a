/** The SQL of SQLite. A key is made in SQL alone: numbers of that size have no place in JavaScript. */

import type { RowSyntax } from "../dialect.js";
import { maxOffset, offsetBits } from "./tables.js";

export const keyOf = (no: string, offset: string): string => `((${no} << ${offsetBits}) | (${offset}))`;
export const offsetOf = (key: string): string => `(${key} & ${maxOffset - 1})`;

/** The SQL for the tables of a prefix. */
export function sqliteSyntax(prefix: string): RowSyntax {
  const entry = `${prefix}entry`;
  return {
    session: `${prefix}session`,
    entry,
    partition: `"partition"`,
    // Also before SQLite 3.42.
    now: "cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer)",
    greatest: (...of) => `max(${of.join(", ")})`,
    least: (...of) => `min(${of.join(", ")})`,
    orNothing: "on conflict do nothing",
    returning: (column) => ` returning ${column}`,
    key: "key",
    keyOf,
    offset: offsetOf("e.key"),
    order: "e.key",
    within: (no, from, to) => `e.key >= ${keyOf(no, from)} and e.key < ${keyOf(no, to)}`,
    at: (no, offset) => `e.key = ${keyOf(no, offset)}`,
    deleteRows: (no, below) => ({
      sql: `delete from ${entry}
      where key >= (${no.sql} << ${offsetBits}) and key < ${
        below === undefined ? `((${no.sql} + 1) << ${offsetBits})` : `(? | (${no.sql} << ${offsetBits}))`
      }`,
      params: [...no.params, ...(below === undefined ? [] : [below]), ...no.params],
    }),
    values: (count) => `(values ${Array.from({ length: count }, () => "(?, ?)").join(", ")})`,
    numbers: "json_each(?) as wanted",
    before: ({ modifiedAt, id }) => ({ sql: "(modified_at, id) < (?, ?)", params: [modifiedAt, id] }),
    // One probe of the index for each partition.
    partitions: (from, limit) => ({
      sql: `with recursive found (name) as (
        select min("partition") from ${prefix}session where "partition" >= ?
        union all
        select (select min("partition") from ${prefix}session where "partition" > found.name)
        from found where found.name is not null
      )
      select name from found where name is not null limit ?`,
      params: [from, limit],
    }),
  };
}
