/**
 * The tables, as a list of migrations. Each adds to those before it, so that programs of an older version
 * work on newer tables. A released migration is never edited.
 */

import { identifier, literal } from "./options.js";

/** The statements of each version, for a quoted schema. Index 0 makes version 1. */
const migrations: readonly ((schema: string) => string)[] = [
  (schema) => `
    create table ${schema}.session (
      partition text collate "C" not null,
      id text collate "C" not null,
      -- Identifies the session: one that is deleted and created again has another.
      epoch uuid not null,
      -- The sequence numbers of the first line and of the next one. Never reused, also not by a migration
      -- of the lines, which raises "base" and keeps the old ones.
      base bigint not null default 0,
      head bigint not null,
      -- Bytes of the lines with their line feeds.
      size bigint not null,
      modified_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      -- The beginning of the directory, for lists of a project.
      cwd text collate "C" not null,
      -- For lists, which read no entries: counts, null if they are unknown; the header, the first user
      -- message's preview as a short line, the last session_info, and the sequence numbers of these two.
      entries bigint,
      messages bigint,
      preview_at bigint,
      info_at bigint,
      header bytea,
      preview bytea,
      info bytea,
      primary key (partition, id)
    ) with (autovacuum_vacuum_scale_factor = 0.05);
    create index session_modified on ${schema}.session (partition, modified_at, id);
    create index session_cwd on ${schema}.session (partition, cwd, modified_at, id);
    create table ${schema}.entry (
      partition text collate "C" not null,
      id text collate "C" not null,
      seq bigint not null,
      -- The line without its line feed, byte for byte.
      line bytea not null,
      primary key (partition, id, seq),
      foreign key (partition, id) references ${schema}.session on delete cascade
    );
    begin
      alter table ${schema}.entry alter column line set compression lz4;
    exception when others then
      -- PostgreSQL before 14, or built without lz4: pglz.
      null;
    end;`,
  (schema) => `
    create table ${schema}.quota (
      partition text collate "C" primary key,
      -- Bytes of stored blobs; null before the first count.
      used bigint,
      -- Bytes that were ever added.
      added bigint not null default 0,
      -- The puts under way, by id: bytes, until (milliseconds since 1970), and ref.
      reservations jsonb not null default '{}'
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);`,
  (schema) => `
    create table ${schema}.blob_scan (
      partition text collate "C" not null,
      id text collate "C" not null,
      -- The sequence number up to which the references of the session are in blob_ref.
      head bigint not null,
      primary key (partition, id),
      foreign key (partition, id) references ${schema}.session on delete cascade
    );
    create table ${schema}.blob_ref (
      partition text collate "C" not null,
      -- A byte for the algorithm (0: SHA-256, 1: BLAKE3) and the digest.
      ref bytea not null,
      id text collate "C" not null,
      primary key (partition, ref, id),
      foreign key (partition, id) references ${schema}.session on delete cascade
    );
    create index blob_ref_session on ${schema}.blob_ref (partition, id);`,
  (schema) => `
    -- The terms of the line, if a program with an index wrote it or filled them in.
    alter table ${schema}.entry add column terms tsvector;
    -- The sequence number before which every line has its terms.
    alter table ${schema}.session add column indexed bigint not null default 0;`,
  (schema) => `
    create table ${schema}.blob (
      partition text collate "C" not null,
      ref text collate "C" not null,
      -- The name of its rows in blob_part.
      upload text collate "C" not null unique,
      size bigint not null,
      -- Milliseconds since 1970.
      touched_at bigint not null,
      primary key (partition, ref)
    );
    create table ${schema}.blob_trash (
      upload text collate "C" primary key,
      partition text collate "C" not null,
      ref text collate "C" not null,
      size bigint not null,
      touched_at bigint not null,
      trashed_at bigint not null
    );
    create index blob_trash_ref on ${schema}.blob_trash (partition, ref);
    create table ${schema}.blob_part (
      upload text collate "C" not null,
      no integer not null,
      partition text collate "C" not null,
      bytes bytea not null,
      made_at bigint not null,
      primary key (upload, no)
    );
    create index blob_part_partition on ${schema}.blob_part (partition);
    -- Images and archives are compressed already.
    alter table ${schema}.blob_part alter column bytes set storage external;`,
  (schema) => `
    -- An append locks no row of another table, and changes no key of an index more than once a minute, so that
    -- its update stays in the page (HOT) if the page has room.
    alter table ${schema}.entry drop constraint if exists entry_partition_id_fkey;
    alter table ${schema}.session set (fillfactor = 70);
    alter table ${schema}.session add column modified_minute timestamp
      generated always as (date_trunc('minute', modified_at at time zone 'UTC')) stored;
    drop index if exists ${schema}.session_modified, ${schema}.session_cwd;
    create index session_minute on ${schema}.session (partition, modified_minute);
    create index session_cwd_minute on ${schema}.session (partition, cwd, modified_minute);`,
  (schema) => `
    -- When all references of a partition were read last, and when from all of its sessions.
    create table ${schema}.blob_scan_time (
      partition text collate "C" primary key,
      scanned_at timestamptz not null,
      whole_at timestamptz not null
    );`,
  (schema) => `
    create table ${schema}.words (
      partition text collate "C" not null,
      id text collate "C" not null,
      -- The sequence number of the first of its lines.
      seq bigint not null,
      -- Of the partition: precedes each term in the index.
      key text collate "C" not null,
      -- The terms of each line, a space before each, and line feeds between lines.
      terms text collate "C" not null
    );
    -- What the index has of a row: its terms, each after the key, so that no tenant reads the postings of another.
    -- Its cost keeps the planner from reading all rows.
    create function ${schema}.indexed_terms(terms text, key text) returns tsvector
      language plpgsql immutable strict parallel safe cost 1000 as $body$ begin
        return array_to_tsvector(string_to_array(
          substr(replace(translate(terms, E'\\n', ''), ' ', ' ' || key), 2), ' '));
      end $body$;
    create index words_session on ${schema}.words (partition, id);
    -- The planner needs no samples of content, and an erasure would have to remove them.
    alter table ${schema}.words alter column terms set statistics 0;
    alter table ${schema}.entry alter column line set statistics 0;
    alter table ${schema}.session alter column header set statistics 0,
      alter column preview set statistics 0, alter column info set statistics 0;
    begin
      alter table ${schema}.words alter column terms set compression lz4;
    exception when others then
      null;
    end;
    drop index if exists ${schema}.entry_terms;
    -- The sequence number before which the words of all lines are in the table.
    alter table ${schema}.session add column words_at bigint not null default 0;
    -- An index of the column stays as it is while a head grows, so that an update is HOT.
    alter table ${schema}.session add column unindexed boolean
      generated always as (words_at < head) stored;`,
  (schema) => `${fewRows(schema, "words")};`,
];

/** Has the planner expect two rows of each session in a table of words, from its next analyze on. */
function fewRows(schema: string, table: string): string {
  return `alter table ${schema}.${table} alter column id set (n_distinct = -0.5)`;
}

/** The version of the tables that this library makes. */
export const schemaVersion: number = migrations.length;

/**
 * Splits the empty tables of lines and words by a hash of the partition. Each part has indices of its own, and is
 * vacuumed by itself.
 */
function splitTables(schema: string, parts: number): string {
  const inFormat = schema.replaceAll("%", "%%");
  const split = (table: string, keys: string) => `
    create table ${schema}.${table}_parts (like ${schema}.${table} including all excluding indexes)
      partition by hash (partition);
    drop table ${schema}.${table};
    alter table ${schema}.${table}_parts rename to ${table};
    ${keys}
    for part in 0 .. ${parts - 1} loop
      execute format(${literal(`create table ${inFormat}.${table}_%s partition of ${inFormat}.${table}
        for values with (modulus ${parts}, remainder %s)`)}, part, part);
    end loop;`;
  return `
    ${split("entry", `alter table ${schema}.entry add primary key (partition, id, seq);`)}
    alter table ${schema}.entry alter column line set statistics 0;
    ${split("words", `create index words_session on ${schema}.words (partition, id);`)}
    alter table ${schema}.words alter column terms set statistics 0;
    for part in 0 .. ${parts - 1} loop
      execute format(${literal(fewRows(inFormat, "words_%s"))}, part);
    end loop;`;
}

/**
 * One statement that brings the tables of a schema to a version, under an advisory lock and in one
 * transaction. It changes nothing in tables of that version or a newer one.
 *
 * @param parts the number of tables that lines are split into; tables that are there must have as many
 */
export function migrationTo(schema: string, version: number = schemaVersion, parts?: number): string {
  const quoted = identifier(schema);
  const steps = migrations
    .slice(0, version)
    .map((migration, index) => `if found_version < ${index + 1} then ${migration(quoted)} end if;`);
  const splitting =
    parts === undefined
      ? ""
      : `if found_version = 0 then ${splitTables(quoted, parts)} end if;
      select count(*) into found_parts from pg_inherits
        where inhparent = ${literal(`${quoted}.entry`)}::regclass;
      if found_parts <> ${parts} then
        raise exception 'the tables are there, with % parts instead of ${parts}', found_parts
          using errcode = 'feature_not_supported';
      end if;`;
  return `do ${literal(`
    declare
      found_version integer;
      found_parts integer;
    begin
      perform pg_advisory_xact_lock(hashtextextended(${literal(`sessile ${schema}`)}, 0));
      if not exists (select from pg_namespace where nspname = ${literal(schema)}) then
        create schema ${quoted};
      end if;
      create table if not exists ${quoted}.version (version integer not null);
      select max(version.version) into found_version from ${quoted}.version;
      if found_version is null then
        insert into ${quoted}.version values (0);
        found_version := 0;
      end if;
      ${steps.join("\n")}
      ${splitting}
      update ${quoted}.version set version = ${version} where version.version < ${version};
    end`)}`;
}
