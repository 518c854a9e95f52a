/** The tables of MySQL, and its SQL. */

import type { BlobSyntax, RowSyntax } from "../dialect.js";
import { moveByTwo } from "../row-statements.js";

const inInnoDb = "engine = InnoDB default charset = utf8mb4 collate = utf8mb4_bin row_format = dynamic";

/** The statements that make the tables. Each can be run again. A released one is never edited. */
export function migrations(prefix: string): readonly string[] {
  return [
    `create table if not exists ${prefix}session (
      no bigint not null auto_increment primary key,
      \`partition\` varchar(128) not null,
      id varchar(128) not null,
      -- Identifies the session: one that is deleted and created again has another.
      epoch char(36) not null,
      -- The offsets of the first line and of the end. Never reused, also not by a migration of the lines,
      -- which raises base and keeps the old ones.
      base bigint not null,
      head bigint not null,
      -- Milliseconds since 1970.
      modified_at bigint not null,
      cwd varchar(500) not null,
      -- For lists: counts, null if they are unknown; the offsets of the header, of the first user message
      -- and of the last session_info; the preview of that message as a short line.
      entries bigint,
      messages bigint,
      header_at bigint,
      preview_at bigint,
      info_at bigint,
      preview mediumblob,
      -- For an index of words, which this version does not have.
      terms_at bigint not null default 0,
      unique key session_id (\`partition\`, id),
      key session_modified (\`partition\`, modified_at, id),
      key session_cwd (\`partition\`, cwd, modified_at, id)
    ) ${inInnoDb}`,
    // The bytes of a line with its line feed; of a long one in several rows, of which only the last has it.
    `create table if not exists ${prefix}entry (
      no bigint not null,
      at bigint not null,
      line longblob not null,
      primary key (no, at)
    ) ${inInnoDb}`,
    `create table if not exists ${prefix}blob (
      \`partition\` varchar(128) not null,
      ref varchar(80) not null,
      -- The name of its rows in blob_part.
      upload char(36) not null unique,
      size bigint not null,
      -- Milliseconds since 1970.
      touched_at bigint not null,
      primary key (\`partition\`, ref)
    ) ${inInnoDb}`,
    `create table if not exists ${prefix}blob_trash (
      upload char(36) not null primary key,
      \`partition\` varchar(128) not null,
      ref varchar(80) not null,
      size bigint not null,
      touched_at bigint not null,
      trashed_at bigint not null,
      key trash_ref (\`partition\`, ref)
    ) ${inInnoDb}`,
    `create table if not exists ${prefix}blob_part (
      upload char(36) not null,
      no int not null,
      \`partition\` varchar(128) not null,
      bytes longblob not null,
      made_at bigint not null,
      primary key (upload, no),
      key part_partition (\`partition\`)
    ) ${inInnoDb}`,
    `create table if not exists ${prefix}version (version int not null primary key) ${inInnoDb}`,
    `insert into ${prefix}version values (1) on duplicate key update version = version`,
  ];
}

/** Without the time zone of the server, in which an hour of autumn comes twice. */
const now = "(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)";
const greatest = (...of: readonly string[]): string => `greatest(${of.join(", ")})`;
/** The driver counts the rows of a change. */
const returning = (): string => "";

/** The SQL for the tables of a prefix. InnoDB keeps rows in the order of (no, at): a log lies together. */
export function mysqlSyntax(prefix: string): RowSyntax {
  const session = `${prefix}session`;
  const entry = `${prefix}entry`;
  return {
    session,
    entry,
    partition: "`partition`",
    now,
    greatest,
    least: (...of) => `least(${of.join(", ")})`,
    concat: (...of) => `concat(${of.join(", ")})`,
    // `insert ignore` would also ignore a value that is too long.
    orNothing: `on duplicate key update ${session}.no = ${session}.no`,
    returning,
    key: "no, at",
    readKey: (no, offset) => `${no}, ${offset}`,
    offset: "e.at",
    order: "e.at",
    within: (no, from, to) => `e.no = ${no} and e.at >= ${from} and e.at < ${to}`,
    at: (no, offset) => `e.no = ${no} and e.at = ${offset}`,
    deleteRows: (no, below) => ({
      sql: `delete from ${entry} where no = ${no.sql}${below === undefined ? "" : " and at < ?"}`,
      params: [...no.params, ...(below === undefined ? [] : [below])],
    }),
    // A value of a prepared statement has no type of its own.
    values: (count) =>
      `(select cast(? as signed) as column1, cast(? as binary) as column2${" union all select cast(? as signed), cast(? as binary)".repeat(count - 1)})`,
    numbers: "json_table(?, '$[*]' columns (value bigint path '$')) as wanted",
    triples: `(select no - 1 as at, a, b, c from json_table(?, '$[*]' columns (no for ordinality,
      a varchar(128) path '$[0]', b varchar(128) path '$[1]', c varchar(80) path '$[2]')) as t) as wanted`,
    // MySQL uses no index for a comparison of pairs.
    before: ({ modifiedAt, id }) => ({
      sql: "modified_at <= ? and (modified_at < ? or id < ?)",
      params: [modifiedAt, modifiedAt, id],
    }),
    partitions: (from, limit) => ({
      sql: `select distinct \`partition\` as name from ${session} where \`partition\` >= ?
      order by \`partition\` limit ?`,
      params: [from, limit],
    }),
    // Two appends that read the row before they change it would wait for each other.
    lock: (condition) => `select no from ${session} where ${condition} for update`,
    durability: "select @@innodb_flush_log_at_trx_commit = 1 as synced",
  };
}

/** The SQL for the tables of blobs. */
export function mysqlBlobSyntax(prefix: string): BlobSyntax {
  return {
    blob: `${prefix}blob`,
    trash: `${prefix}blob_trash`,
    part: `${prefix}blob_part`,
    partition: "`partition`",
    now,
    greatest,
    returning,
    orNothing: (table) => `on duplicate key update ${table}.upload = ${table}.upload`,
    orReplace: `on duplicate key update upload = values(upload), size = values(size),
      touched_at = greatest(touched_at + 1, values(touched_at))`,
    // At READ COMMITTED the insert takes no lock: a row that changes after it would be in both tables.
    move: (row) => [
      { sql: `select ref from ${row.from} where ${row.where.sql} for update`, params: row.where.params },
      ...moveByTwo(returning)(row),
    ],
  };
}
