/**
 * The tables, as a list of migrations. Each adds to those before it, so that programs of an older version
 * work on newer tables. A released migration is never edited.
 */

import { describe } from "../../../core/arguments.js";
import type { BlobSyntax, RowSyntax } from "../dialect.js";
import { moveByTwo } from "../row-statements.js";

/**
 * The bits of a key that are the offset of its bytes in the log; those above are the number of the session.
 * One table with an integer key is one b-tree: a row costs one write, and the lines of a log lie together.
 */
export const offsetBits = 36;
export const maxOffset: number = 2 ** offsetBits;
const maxSessions = 2 ** (63 - offsetBits);

/** The statements of each version. Index 0 makes version 1. */
const migrations: readonly ((prefix: string) => readonly string[])[] = [
  (prefix) => [
    `create table if not exists ${prefix}session (
      no integer primary key check (no < ${maxSessions}),
      "partition" text not null,
      id text not null,
      -- Identifies the session: one that is deleted and created again has another.
      epoch text not null,
      -- The offsets of the first line and of the end. Never reused, also not by a migration of the lines,
      -- which raises "base" and keeps the old ones.
      base integer not null,
      head integer not null check (head < ${maxOffset}),
      -- Milliseconds since 1970.
      modified_at integer not null,
      cwd text not null,
      -- For lists: counts, null if they are unknown; the offsets of the header, of the first user message
      -- and of the last session_info; the preview of that message as a short line.
      entries integer,
      messages integer,
      header_at integer,
      preview_at integer,
      info_at integer,
      preview blob,
      -- The offset up to which the index has the terms of all lines.
      terms_at integer not null default 0,
      unique ("partition", id)
    )`,
    `create index if not exists ${prefix}session_modified on ${prefix}session ("partition", modified_at, id)`,
    `create index if not exists ${prefix}session_cwd on ${prefix}session ("partition", cwd, modified_at, id)`,
    // The bytes of a line with its line feed; of a long one in several rows, of which only the last has it.
    `create table if not exists ${prefix}entry (key integer primary key, line blob not null)`,
  ],
  (prefix) => [
    `create table if not exists ${prefix}blob (
      "partition" text not null,
      ref text not null,
      -- The name of its rows in blob_part.
      upload text not null unique,
      size integer not null,
      -- Milliseconds since 1970.
      touched_at integer not null,
      primary key ("partition", ref)
    )`,
    `create table if not exists ${prefix}blob_trash (
      upload text not null primary key,
      "partition" text not null,
      ref text not null,
      size integer not null,
      touched_at integer not null,
      trashed_at integer not null
    )`,
    `create index if not exists ${prefix}blob_trash_ref on ${prefix}blob_trash ("partition", ref)`,
    `create table if not exists ${prefix}blob_part (
      upload text not null,
      no integer not null,
      "partition" text not null,
      bytes blob not null,
      made_at integer not null,
      unique (upload, no)
    )`,
    `create index if not exists ${prefix}blob_part_partition on ${prefix}blob_part ("partition")`,
  ],
];

/** The version of the tables that this library makes. */
export const tablesVersion: number = migrations.length;

/** The statements that make the table of the version. */
export function versionTable(prefix: string): readonly string[] {
  return [
    `create table if not exists ${prefix}version (version integer not null)`,
    `insert into ${prefix}version select 0 where not exists (select 1 from ${prefix}version)`,
  ];
}

/**
 * The index of words: the terms of each line under the key of its first row. It keeps neither the terms'
 * places nor a copy of their text. All characters beyond ASCII are part of a term.
 */
export function termsTable(prefix: string): string {
  return `create virtual table if not exists ${prefix}terms
    using fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')`;
}

/** The index of the sessions with lines that have no terms. */
export function unindexedIndex(prefix: string): string {
  return `create index if not exists ${prefix}session_unindexed on ${prefix}session ("partition", id)
    where terms_at < head`;
}

/** The statements that bring the tables from one version to another. */
export function migrationsBetween(
  prefix: string,
  from: number,
  to: number = tablesVersion,
): readonly string[] {
  return [
    ...migrations.slice(from, to).flatMap((statements) => statements(prefix)),
    `update ${prefix}version set version = ${to} where version < ${to}`,
  ];
}

/** Returns the beginning of the names of the tables. Throws a TypeError for one that SQLite refuses. */
export function prefixArgument(prefix: unknown = "sessile_"): string {
  // Names that begin with sqlite_ are SQLite's, those with _cf_ Cloudflare's.
  if (typeof prefix === "string" && /^(?!sqlite_|_cf_)(?:[a-z_][a-z0-9_]{0,62})?$/i.test(prefix))
    return prefix;
  const expected = "at most 63 letters, digits and underscores, no digit first, not sqlite_ or _cf_";
  throw new TypeError(`prefix: expected ${expected}, got ${describe(prefix)}`);
}

// The SQL of SQLite. A key is made in SQL alone: numbers of that size have no place in JavaScript.

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
