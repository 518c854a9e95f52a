/** The SQL of SQLite. A key is made in SQL alone: numbers of that size have no place in JavaScript. */

import type { BlobSyntax, RowSyntax } from "../dialect.js";
import { moveByTwo } from "../row-statements.js";
import { maxOffset, offsetBits } from "./tables.js";

export const rowKey = (no: string, offset: string): string => `((${no} << ${offsetBits}) | (${offset}))`;
export const offsetByKey = (key: string): string => `(${key} & ${maxOffset - 1})`;

/** Also before SQLite 3.42. */
const now = "cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer)";
const greatest = (...of: readonly string[]): string => `max(${of.join(", ")})`;
const returning = (column: string): string => ` returning ${column}`;

/** The SQL for the tables of a prefix. */
export function sqliteSyntax(prefix: string): RowSyntax {
  const entry = `${prefix}entry`;
  return {
    session: `${prefix}session`,
    entry,
    partition: `"partition"`,
    now,
    greatest,
    least: (...of) => `min(${of.join(", ")})`,
    concat: (...of) => of.join(" || "),
    orNothing: "on conflict do nothing",
    returning,
    key: "key",
    readKey: rowKey,
    offset: offsetByKey("e.key"),
    order: "e.key",
    within: (no, from, to) => `e.key >= ${rowKey(no, from)} and e.key < ${rowKey(no, to)}`,
    at: (no, offset) => `e.key = ${rowKey(no, offset)}`,
    deleteRows: (no, below) => ({
      sql: `delete from ${entry}
      where key >= (${no.sql} << ${offsetBits}) and key < ${
        below === undefined ? `((${no.sql} + 1) << ${offsetBits})` : `(? | (${no.sql} << ${offsetBits}))`
      }`,
      params: [...no.params, ...(below === undefined ? [] : [below]), ...no.params],
    }),
    values: (count) => `(values ${Array.from({ length: count }, () => "(?, ?)").join(", ")})`,
    numbers: "json_each(?) as wanted",
    triples: `(select key as at, json_extract(value, '$[0]') as a, json_extract(value, '$[1]') as b,
      json_extract(value, '$[2]') as c from json_each(?)) as wanted`,
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

/** The SQL for the tables of blobs. */
export function sqliteBlobSyntax(prefix: string): BlobSyntax {
  const blob = `${prefix}blob`;
  return {
    blob,
    trash: `${prefix}blob_trash`,
    part: `${prefix}blob_part`,
    partition: `"partition"`,
    now,
    greatest,
    returning,
    orNothing: () => "on conflict do nothing",
    orReplace: `on conflict ("partition", ref) do update set upload = excluded.upload, size = excluded.size,
      touched_at = max(${blob}.touched_at + 1, excluded.touched_at)`,
    move: moveByTwo(returning),
  };
}
