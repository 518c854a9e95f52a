/**
 * The references of a partition's sessions, for a garbage collection. Each line is read once in its life: a
 * collection reads the lines since the one before it, and keeps their references in a table.
 */

import type { BlobMark } from "../../../blobs/index.js";
import type { BlobRef } from "../../../content/index.js";
import { concatBytes } from "../../../core/bytes.js";
import { SessileError } from "../../../core/errors/index.js";
import { type LogPosition, sessionBlobRoots } from "../../../session/index.js";
import { eachLine } from "../../../session/internal.js";
import type { Database } from "../database.js";
import type { SqlRow } from "../dialect.js";
import { readBytes } from "../lines.js";
import { postgresSessionBackend } from "./backend.js";
import { postgresDatabase } from "./driver.js";
import { sqlArray } from "./lines.js";
import { identifier, type PostgresSessionsOptions, schemaArgument } from "./options.js";

/** Options of {@link postgresBlobMarks}. */
export type PostgresMarksOptions = Pick<PostgresSessionsOptions, "db" | "schema" | "prepare" | "retryMs"> & {
  /** The partition of the sessions. @default the unnamed one */
  readonly partition?: string;
  readonly signal?: AbortSignal;
};

/**
 * Yields the references of all sessions of a partition, as {@link sessionBlobRoots} does for one: a session
 * with a damaged line, or of a newer version, is incomplete, so that the collection refuses. Lines that an
 * earlier call has read are not read again. A partition without sessions has no marks.
 *
 * @throws SessileError STORAGE_FAILED
 * @example
 * ```ts
 * import { Pool } from "pg";
 *
 * await collectGarbage(blobs, { marks: postgresBlobMarks({ db: new Pool() }) });
 * ```
 */
export async function* postgresBlobMarks(
  options: PostgresMarksOptions,
): AsyncGenerator<BlobMark, void, undefined> {
  const { partition = "", signal } = options;
  const scan = new Scan(options, partition);
  const root = partition === "" ? "the unnamed partition" : `partition ${partition}`;
  const { now, since } = await scan.begin();
  yield* scan.newLines(signal, false, since);
  for await (const refs of scan.refs()) {
    signal?.throwIfAborted();
    yield { root, refs, complete: true };
  }
  // A fork that was made meanwhile may name blobs of a session that is deleted by now.
  for (let found = true; found; ) {
    found = false;
    for await (const mark of scan.newLines(signal, true, now)) {
      found ||= mark.complete;
      yield mark;
    }
  }
  await scan.end(now, since === undefined);
}

/** A session with lines that were not read yet. */
interface Unread {
  readonly id: string;
  readonly epoch: string;
  readonly from: number;
  readonly to: number;
  /** Bytes of all its lines. */
  readonly size: number;
  /** The end of the kept references, if the lines were replaced or erased since. */
  readonly replaced: number | undefined;
  /** The header, if the unread lines do not have it. */
  readonly header: Uint8Array | undefined;
}

/**
 * Sessions are looked at that changed since the scan before: 1 of 100,000 sessions takes 2 ms in place of 270. A change
 * has its time before it is committed, so the look begins this much earlier; one in a transaction of a longer time, or
 * with another clock, is found by the scan of all sessions that is due again after the second time. Until then the
 * lease and the trash keep its blobs.
 */
const overlap = "1 day";
const wholeEvery = "7 days";

const pageSessions = 500;
const pageBytes = 1024 * 1024;
const pageRefs = 10_000;
const lineFeed = new Uint8Array([10]);

class Scan {
  readonly #options: PostgresMarksOptions;
  readonly #partition: string;
  readonly #database: Database;
  readonly #sql: ReturnType<typeof schemaStatements>;
  readonly #incomplete = new Set<string>();

  constructor(options: PostgresMarksOptions, partition: string) {
    this.#options = options;
    this.#partition = partition;
    this.#database = postgresDatabase(options.db, options);
    this.#sql = schemaStatements(schemaArgument(options.schema));
  }

  /** The time of the server in seconds, and that since which sessions have to be looked at; undefined for all of them. */
  async begin(): Promise<{ readonly now: string; readonly since: string | undefined }> {
    const [row] = await this.#query(this.#sql.begin, []);
    return { now: row?.now, since: row?.since ?? undefined };
  }

  /** Notes that all references are known, if they are. */
  async end(now: string, isWhole: boolean): Promise<void> {
    // An incomplete session is looked at again, however old it is.
    if (this.#incomplete.size === 0) await this.#query(this.#sql.end, [now, isWhole ? "whole" : "part"]);
  }

  /**
   * Reads all new lines, and keeps their references. Yields a mark for each session that is incomplete, once,
   * and with `all` for each session that was read. A session that is deleted meanwhile has none.
   */
  async *newLines(
    signal: AbortSignal | undefined,
    all: boolean,
    since: string | undefined,
  ): AsyncGenerator<BlobMark, void> {
    const [sql, values] = since === undefined ? [this.#sql.unread, []] : [this.#sql.changed, [since]];
    for (let last = ""; ; ) {
      const unread = (await this.#query(sql, [last, pageSessions, ...values])).map(rowUnread);
      let isStale = false;
      for (const group of groups(unread)) {
        signal?.throwIfAborted();
        const marks = await this.#read(group);
        await this.#keep(group, marks);
        isStale ||= marks.length < group.length;
        for (const mark of marks) {
          const isNew = mark.complete ? all : !this.#incomplete.has(mark.root);
          if (!mark.complete) this.#incomplete.add(mark.root);
          if (isNew) yield mark;
        }
      }
      // Another session may have the id of a deleted one by now.
      if (isStale) continue;
      if (unread.length < pageSessions) return;
      last = unread.at(-1)?.id ?? "";
    }
  }

  /** All kept references, each once. An empty page if there are sessions and no references. */
  async *refs(): AsyncGenerator<readonly BlobRef[], void> {
    const [row] = await this.#query(this.#sql.any, []);
    if (row?.found !== true) return;
    for (let last = ""; ; ) {
      const [page] = await this.#query(this.#sql.refs, [last, pageRefs]);
      const text: string = page?.refs ?? "";
      const refs: BlobRef[] = [];
      for (let at = 0; at < text.length; at += keyLength) refs.push(refByKey(text.slice(at, at + keyLength)));
      yield refs;
      if (refs.length < pageRefs) return;
      last = text.slice(-keyLength);
    }
  }

  async #read(group: readonly Unread[]): Promise<readonly BlobMark[]> {
    const [large] = group;
    if (group.length === 1 && large !== undefined && large.size > pageBytes) return this.#readLarge(large);
    const rows = await this.#query(this.#sql.lines, [
      sqlArray(group.map(({ id }) => id)),
      sqlArray(group.map(({ epoch }) => epoch)),
      sqlArray(group.map(({ from }) => from)),
      sqlArray(group.map(({ to }) => to)),
    ]);
    const bytesById = new Map(rows.map(({ id, bytes }) => [id, readBytes(bytes)]));
    return Promise.all(
      group.flatMap(({ id, header }) => {
        const bytes = bytesById.get(id);
        return bytes === undefined ? [] : [sessionBlobRoots(id, withHeader(header, [bytes, lineFeed]))];
      }),
    );
  }

  /** Reads one session in pages. Yields no mark if it is gone. */
  async #readLarge({ id, epoch, from, header }: Unread): Promise<readonly BlobMark[]> {
    const backend = postgresSessionBackend(this.#options);
    const log = await backend.open(id, { partition: this.#partition, mode: "write" });
    if (log === undefined) return [];
    let tooLong = 0;
    const chunks = async function* (): AsyncGenerator<Uint8Array, void> {
      if (header !== undefined) yield concatBytes([header, lineFeed]);
      for await (const batch of log.read(`${epoch}:${from}` as LogPosition)) {
        const lines: Uint8Array[] = [];
        eachLine(batch, {
          line: (bytes, _, start, end) => lines.push(bytes.subarray(start, end), lineFeed),
          tooLong: () => tooLong++,
        });
        yield concatBytes(lines);
      }
    };
    try {
      const mark = await sessionBlobRoots(id, chunks());
      return [tooLong === 0 ? mark : { ...mark, complete: false, reason: "LINE_TOO_LONG" }];
    } catch (error) {
      if (SessileError.is(error, "SESSION_NOT_FOUND")) return [];
      throw error;
    } finally {
      await log.close();
    }
  }

  /** Keeps the references of complete sessions, unless another session has the id by now. */
  async #keep(group: readonly Unread[], marks: readonly BlobMark[]): Promise<void> {
    const readMark = new Map(marks.map((mark) => [mark.root, mark]));
    const read = group.filter(({ id }) => readMark.get(id)?.complete === true);
    if (read.length === 0) return;
    const replaced = read.flatMap(({ id, replaced }) =>
      replaced === undefined ? [] : [[id, replaced] as const],
    );
    if (replaced.length > 0) {
      const ends = replaced.map(([, end]) => end);
      await this.#query(this.#sql.forget, [sqlArray(replaced.map(([id]) => id)), sqlArray(ends)]);
    }
    const named = read.flatMap(({ id }) =>
      Array.from(readMark.get(id)?.refs ?? [], (ref) => [id, keyByRef(ref)] as const),
    );
    await this.#query(this.#sql.keep, [
      sqlArray(read.map(({ id }) => id)),
      sqlArray(read.map(({ epoch }) => epoch)),
      sqlArray(read.map(({ to }) => to)),
      sqlArray(named.map(([id]) => id)),
      sqlArray(named.map(([, key]) => key)),
    ]);
  }

  #query(text: string, values: readonly unknown[]): Promise<readonly SqlRow[]> {
    const operation = { name: "read references of", path: this.#partition };
    return this.#database.query(operation, text, [this.#partition, ...values]);
  }
}

function schemaStatements(schemaName: string) {
  const schema = identifier(schemaName);
  const unread = (condition: string): string => `
      select s.id, s.epoch::text, s.base::text, s.head::text, s.size::text, s.header, r.head::text as read
      from ${schema}.session s left join ${schema}.blob_scan r using (partition, id)
      where s.partition = $1 and s.id > $2 and (r.head is null or r.head < s.head) ${condition}
        -- Logs beside those of sessions have texts alone.
        and strpos(s.id, '~') = 0
      order by s.id limit $3::integer`;
  return {
    /** partition: no time since which to look after a clock that was set back, or if all sessions are due */
    begin: `select extract(epoch from clock_timestamp())::text as now, (
        select extract(epoch from scanned_at) from ${schema}.blob_scan_time where partition = $1
          and scanned_at <= clock_timestamp() and whole_at <= clock_timestamp()
          and whole_at > clock_timestamp() - interval '${wholeEvery}'
      )::text as since`,

    /** partition, the time of the begin, "whole" if all sessions were looked at */
    end: `insert into ${schema}.blob_scan_time as old (partition, scanned_at, whole_at)
      values ($1, to_timestamp($2::text::float8), to_timestamp($2::text::float8))
      on conflict (partition) do update set scanned_at = excluded.scanned_at,
        whole_at = case when $3::text = 'whole' then excluded.whole_at else old.whole_at end`,

    /** partition, the id before, the number at most */
    unread: unread(""),

    /** The same, then a time: an index has the minutes of changes. */
    changed: unread(
      `and s.modified_minute >= date_trunc('minute', (to_timestamp($4::text::float8) - interval '${overlap}') at time zone 'UTC')`,
    ),

    /**
     * partition, ids, epochs, first sequence numbers, ends: the lines of each session that is still there,
     * joined by line feeds
     */
    lines: `select s.id, string_agg(e.line, '\\x0a'::bytea order by e.seq) as bytes
      from unnest($2::text::text[], $3::text::uuid[], $4::text::bigint[], $5::text::bigint[])
        as wanted (id, epoch, start, stop)
      join ${schema}.session s on s.partition = $1 and s.id = wanted.id and s.epoch = wanted.epoch
      left join ${schema}.entry e
        on e.partition = $1 and e.id = wanted.id and e.seq >= wanted.start and e.seq < wanted.stop
      group by s.id`,

    /**
     * partition, ids, ends of the kept references: a later statement keeps those of the new lines. Not if another
     * collection has kept newer ones meanwhile.
     */
    forget: `with old as (
        delete from ${schema}.blob_scan s using unnest($2::text::text[], $3::text::bigint[]) as replaced (id, head)
        where s.partition = $1 and s.id = replaced.id and s.head = replaced.head
        returning s.id
      )
      delete from ${schema}.blob_ref r using old where r.partition = $1 and r.id = old.id`,

    /** partition, ids, epochs, ends; the references: ids and keys */
    keep: `with kept as (
        select s.id, wanted.stop
        from unnest($2::text::text[], $3::text::uuid[], $4::text::bigint[]) as wanted (id, epoch, stop)
        join ${schema}.session s on s.partition = $1 and s.id = wanted.id and s.epoch = wanted.epoch
          -- Not of lines that were replaced or erased, and read by another collection, meanwhile.
          and s.base < wanted.stop
        for key share of s
      ), scanned as (
        insert into ${schema}.blob_scan as old (partition, id, head) select $1, id, stop from kept
        on conflict (partition, id) do update set head = greatest(old.head, excluded.head)
      )
      insert into ${schema}.blob_ref (partition, ref, id)
      select distinct $1, decode(named.key, 'hex'), named.id
      from unnest($5::text::text[], $6::text::text[]) as named (id, key) join kept using (id)
      on conflict do nothing`,

    /** partition */
    any: `select exists (select from ${schema}.session where partition = $1) as found`,

    /** partition, the key before, the number at most: the keys, each once, joined */
    refs: `select string_agg(encode(ref, 'hex'), '' order by ref) as refs from (
        select distinct ref from ${schema}.blob_ref
        where partition = $1 and ref > decode($2, 'hex') order by ref limit $3::integer
      ) as page`,
  };
}

function rowUnread(row: SqlRow): Unread {
  const [base, head, read] = [Number(row.base), Number(row.head), Number(row.read ?? 0)];
  const isContinued = read > base && row.header !== null;
  return {
    id: row.id,
    epoch: row.epoch,
    from: isContinued ? read : base,
    to: head,
    size: Number(row.size),
    replaced: row.read !== null && read <= base ? read : undefined,
    header: isContinued ? readBytes(row.header) : undefined,
  };
}

/** Sessions that are read at once: a large one alone. */
function* groups(unread: readonly Unread[]): Generator<readonly Unread[], void> {
  let group: Unread[] = [];
  let bytes = 0;
  for (const session of unread) {
    if (group.length > 0 && bytes + session.size > pageBytes) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(session);
    bytes += session.size;
  }
  if (group.length > 0) yield group;
}

function* withHeader(header: Uint8Array | undefined, chunks: readonly Uint8Array[]): Generator<Uint8Array> {
  if (header !== undefined) yield* [header, lineFeed];
  yield* chunks;
}

/** A reference in the table: a byte for its algorithm, and its digest; in hexadecimal digits. */
const keyLength = 66;

function keyByRef(ref: BlobRef): string {
  return `${ref.startsWith("sha256") ? "00" : "01"}${ref.slice(7)}`;
}

function refByKey(key: string): BlobRef {
  return `${key.startsWith("00") ? "sha256" : "blake3"}:${key.slice(2)}`;
}
