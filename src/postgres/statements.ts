/**
 * The SQL of the session backend. Lines travel as one array of bytes and their lengths, which every driver
 * sends and reads alike, and faster than an array of arrays. Numbers come back as text.
 */

import { identifier } from "./options.js";

/** The statements for the tables of one schema. */
export type Statements = ReturnType<typeof statementsFor>;

/** Lines of a parameter of bytes, cut by the lengths in a text such as `{12,7}`: columns at (from 1), line. */
function cutLines(bytes: string, lengths: string): string {
  return `(
    select at, substring(${bytes}::bytea from (1 + sum(length) over (order by at) - length)::integer for length) as line
    from unnest(${lengths}::text::integer[]) with ordinality as cut (length, at)
  ) as given`;
}

/** The time of a change: grows with each change of a session, also where the server's clock steps back. */
const nextTime = "greatest(modified_at, clock_timestamp())";

/** The SQL for the tables of a schema. */
export function statementsFor(schemaName: string) {
  const schema = identifier(schemaName);
  const session = `${schema}.session`;
  const entry = `${schema}.entry`;
  const listed = `id, (extract(epoch from modified_at) * 1000)::bigint::text as modified, size::text,
    header, preview, info`;
  const newestFirst = "order by modified_at desc, id desc";
  return {
    /** partition, id */
    find: `select epoch::text, head::text, preview is not null as previewed from ${session}
      where partition = $1 and id = $2`,

    /** partition, id, epoch, cwd, count, size, lengths, bytes, then the summary */
    create: `with made as (
        insert into ${session} (partition, id, epoch, cwd, head, size, modified_at, created_at,
          header, preview_at, preview, info_at, info)
        values ($1, $2, $3::uuid, $4, $5::bigint, $6::bigint, clock_timestamp(), clock_timestamp(),
          $9::bytea, $10::bigint, $11::bytea, $12::bigint, $13::bytea)
        on conflict do nothing returning head
      ), added as (
        insert into ${entry} (partition, id, seq, line)
        select $1, $2, given.at - 1, given.line from made, ${cutLines("$8", "$7")}
      )
      select head::text from made`,

    /** partition, id, epoch, head, count, size, lengths, bytes */
    append: `with moved as (
        update ${session} set head = head + $5::bigint, size = size + $6::bigint, modified_at = ${nextTime}
        where partition = $1 and id = $2 and epoch = $3::uuid and head = $4::bigint
        returning head
      ), added as (
        insert into ${entry} (partition, id, seq, line)
        select $1, $2, $4::bigint + given.at - 1, given.line from moved, ${cutLines("$8", "$7")}
      )
      select head::text from moved`,

    /** As append, then the summary: its lines' numbers are those in the log. */
    appendSummary: `with moved as (
        update ${session} set head = head + $5::bigint, size = size + $6::bigint, modified_at = ${nextTime},
          header = coalesce(header, $9::bytea),
          preview_at = coalesce(preview_at, $10::bigint), preview = coalesce(preview, $11::bytea),
          info_at = coalesce($12::bigint, info_at), info = coalesce($13::bytea, info)
        where partition = $1 and id = $2 and epoch = $3::uuid and head = $4::bigint
        returning head
      ), added as (
        insert into ${entry} (partition, id, seq, line)
        select $1, $2, $4::bigint + given.at - 1, given.line from moved, ${cutLines("$8", "$7")}
      )
      select head::text from moved`,

    /**
     * partition, id, epoch, first line, bytes at most, lines at most, end: one page of lines, which begins at
     * the log's first line if the given one is not in the log
     */
    read: `select s.base::text, s.head::text, p.start::text, p.lengths, p.bytes
      from ${session} s left join lateral (
        select min(seq) as start, string_agg(octet_length(line)::text, ',' order by seq) as lengths,
          string_agg(line, ''::bytea order by seq) as bytes
        from (
          select seq, line, sum(octet_length(line)) over (order by seq) - octet_length(line) as before
          from (
            select seq, line from ${entry} e
            where e.partition = s.partition and e.id = s.id and seq < least(s.head, $7::bigint)
              and seq >= case when $4::bigint between s.base and s.head then $4::bigint else s.base end
            order by seq limit $6::integer
          ) rows
        ) sums where before < $5::bigint
      ) p on true
      where s.partition = $1 and s.id = $2 and s.epoch = $3::uuid`,

    /** partition, id, epoch, sequence numbers */
    readAt: `select string_agg(coalesce(octet_length(line), -1)::text, ',' order by at) as lengths,
        string_agg(line, ''::bytea order by at) as bytes
      from unnest($4::text::bigint[]) with ordinality as wanted (seq, at)
      left join (
        select e.seq, e.line from ${entry} e join ${session} s using (partition, id)
        where e.partition = $1 and e.id = $2 and s.epoch = $3::uuid and e.seq = any ($4::text::bigint[])
      ) found using (seq)`,

    /** partition, id, epoch, cwd, header; source's partition, id, epoch and the end of the copied lines */
    copy: `with source as (
        select * from ${session}
        where partition = $6 and id = $7 and epoch = $8::uuid and head >= $9::bigint and base < $9::bigint
      ), lines as (
        select e.seq - s.base as seq, e.line from source s join ${entry} e using (partition, id)
        where e.seq > s.base and e.seq < $9::bigint
      ), made as (
        insert into ${session} (partition, id, epoch, cwd, head, size, modified_at, created_at,
          header, preview_at, preview, info_at, info)
        select $1, $2, $3::uuid, $4, $9::bigint - s.base,
          (select coalesce(sum(octet_length(line) + 1), 0) from lines) + octet_length($5::bytea) + 1,
          clock_timestamp(), clock_timestamp(), $5::bytea,
          case when s.preview_at < $9::bigint then s.preview_at - s.base end,
          case when s.preview_at < $9::bigint then s.preview end,
          i.seq, i.line
        from source s left join lateral (
          select s.info_at - s.base as seq, s.info as line where s.info_at < $9::bigint
          union all (
            select seq, line from lines where s.info_at >= $9::bigint
              and substring(line from 1 for 22) = '{"type":"session_info"'::bytea
            order by seq desc limit 1
          )
        ) i on true
        on conflict do nothing returning id
      ), first as (
        insert into ${entry} (partition, id, seq, line) select $1, $2, 0, $5::bytea from made
      ), added as (
        insert into ${entry} (partition, id, seq, line) select $1, $2, seq, line from made, lines
      )
      select exists (select from source) as reached, exists (select from made) as made`,

    /** partition, time and id of the session before */
    list: `select ${listed} from ${session}
      where partition = $1 and (modified_at, id) < ($2::text::timestamptz, $3) ${newestFirst} limit $4::integer`,

    /** As list, then the directory. */
    listOfCwd: `select ${listed} from ${session}
      where partition = $1 and cwd = $5 and (modified_at, id) < ($2::text::timestamptz, $3)
      ${newestFirst} limit $4::integer`,

    /** partition, id, epoch */
    delete: `delete from ${session} where partition = $1 and id = $2 and epoch = $3::uuid returning true as deleted`,

    /** the lower bound, the number at most: one probe of the index for each partition */
    partitions: `with recursive found (partition, count) as (
        (select partition, 1 from ${session} where partition >= $1 order by partition limit 1)
        union all
        select next.partition, count + 1 from found, lateral (
          select s.partition from ${session} s where s.partition > found.partition order by s.partition limit 1
        ) next where count < $2::integer
      )
      select partition from found`,
  };
}
