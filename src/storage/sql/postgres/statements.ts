/**
 * The SQL of the session backend. Lines travel as one array of bytes and their lengths, which every driver
 * sends and reads alike, and faster than an array of arrays. Numbers come back as text.
 */

import { identifier, literal } from "./options.js";

/** An array that goes with lines: a value for each of them. */
interface LineColumn {
  readonly name: string;
  readonly array: string;
}

/**
 * Lines of a parameter of bytes, cut by lengths such as `{12,7}`: columns at (from 1) and line, and those of
 * further arrays. The arrays are read side by side: a join of two could compare each pair of elements.
 */
function cutLines(bytes: string, lengths: string, columns: readonly LineColumn[] = []): string {
  const names = columns.map(({ name }) => `${name}, `).join("");
  const arrays = columns.map(({ array }) => `, ${array}`).join("");
  return `(
    select at, ${names}substring(${bytes}::bytea
      from (1 + sum(length) over (order by at) - length)::integer for length) as line
    from unnest(${lengths}::text::integer[]${arrays}) with ordinality as cut (length, ${names}at)
  ) as given`;
}

/** The time of a change: grows with each change of a session, also if the server's clock steps back. */
const nextTime = "greatest(modified_at, statement_timestamp())";

const insertedColumns = `partition, id, epoch, cwd, head, size, modified_at, created_at,
  entries, messages, header, preview_at, preview, info_at, info`;

/**
 * The SQL for the tables of a schema.
 * @param search whether lines have words: two arrays, the offsets and texts of their rows, are then the values
 *   after those that a statement names
 */
export function statementsFor(schemaName: string, search = false) {
  const schema = identifier(schemaName);
  const session = `${schema}.session`;
  const entry = `${schema}.entry`;
  const words = `${schema}.words`;
  const terms = `${schema}.indexed_terms(terms, key)`;
  const relation = (table: string): string => `to_regclass(${literal(`${schema}.${table}`)})`;
  /** The indices of a search that are there. */
  const indices = `select x.*, c.relname as name from pg_index x join pg_class c on c.oid = x.indexrelid
      where c.relnamespace = (select relnamespace from pg_class where oid = ${relation("session")})
        and (c.relname = 'session_unindexed' or c.relname ~ '^words_terms(_[0-9]+)?$')`;
  /** The line of a number: one probe of the index for each. A join could compare each pair of rows. */
  const lineAt = (seq: string): string =>
    `select e.line from ${entry} e where e.partition = $1 and e.id = $2 and e.seq = ${seq}`;
  const ifSearch = (text: string): string => (search ? text : "");
  const listed = `id, (extract(epoch from modified_at) * 1000)::bigint::text as modified, size::text,
    entries::text, messages::text, header, preview, info`;
  const inserted = `(${insertedColumns}${ifSearch(", words_at")})`;
  /** An index has the minutes, in which sessions are sorted. */
  const newestFirst = `and modified_minute <= date_trunc('minute', $2::text::timestamptz at time zone 'UTC')
      order by modified_minute desc, modified_at desc, id desc`;
  const lineColumns = "partition, id, seq, line";
  const addLines = (table: string, from: string): string => `
    insert into ${entry} (${lineColumns})
    select $1, $2, ${from} + given.at - 1, given.line from ${table}, ${cutLines("$8", "$7")}`;
  /** Rows of words, their offsets and texts in the values from a number on. */
  const addWords = (table: string, from: string, value: number): string => `
    insert into ${words} (partition, id, seq, key, terms)
    select $1, $2, ${from} + given.at, $${value}, given.terms
    from ${table}, unnest($${value + 1}::text::bigint[], string_to_array($${value + 2}::text, E'\f'))
      as given (at, terms)`;
  /** Deletes the words of lines before a number. */
  const removeWords = (end: string): string => `
    delete from ${words} w using moved where w.partition = $1 and w.id = $2 and w.seq < ${end}`;
  /** Words that came since the statement began would not be seen, and stay. */
  const sameWords = `and words_at = (select words_at from ${session} where partition = $1 and id = $2)`;
  const withWords = (table: string, from: string, values: number): string =>
    ifSearch(`, worded as (${addWords(table, from, values + 1)})`);
  /**
   * An update of the session, if its epoch and head are as expected, and the lines that follow.
   * @param values the number of values without terms
   */
  const change = (
    values: number,
    changes: string,
    added = addLines("moved", "$4::bigint"),
    further = "",
    condition = "",
  ): string => `with moved as (
      update ${session} set head = head + $5::bigint, modified_at = ${nextTime}, ${changes}
      where partition = $1 and id = $2 and epoch = $3::uuid and head = $4::bigint ${condition}
      returning head${ifSearch(", words_at")}
    ), added as (${added})${withWords("(select from moved where words_at = head) as moved", "$4::bigint", values)}${further}
    select head::text from moved`;
  const indexed = ifSearch("words_at = case when words_at = head then head + $5::bigint else words_at end,");
  const counted = `${indexed} size = size + $6::bigint,
      entries = entries + $9::bigint, messages = messages + $10::bigint`;
  /**
   * The session and the lines of a page, each in a row: one value of all lines takes the server twice as long, and
   * the client too (21 and 7 ms for 1,500 lines, 10 and 4 as rows).
   */
  const page = (within: string, order: string, maxLength: string): string =>
    `select s.base::text, s.head::text, p.seq::text as at, p.too_long::text, p.line
      from ${session} s left join lateral (
        select seq, line, case when line is null then length end as too_long
        from (
          select *, sum(octet_length(line)) over (order by ${order} rows unbounded preceding) as up_to
          from (
            select seq, octet_length(line) as length,
              case when octet_length(line) <= ${maxLength}::integer then line end as line
            from ${entry} e where e.partition = $1 and e.id = $2 and ${within}
            order by ${order} limit $6::integer
          ) as rows
        ) as sums where coalesce(up_to, 0) - coalesce(octet_length(line), 0) < $5::bigint
      ) as p on true
      where s.partition = $1 and s.id = $2 and s.epoch = $3::uuid`;
  const searched = (from: string): string => `${from}.id, ${from}.epoch::text,
          (extract(epoch from ${from}.modified_at) * 1000)::bigint::text as modified, ${from}.size::text,
          greatest(${from}.words_at, ${from}.base)::text as words_at, ${from}.head::text`;
  /**
   * The ranges of a session's lines that may have a term like one of the patterns: from the first line of a row with
   * it to the row's last. The column has a number of distinct values by which the key is read even if one session has
   * most rows, and the plan costs too little to be compiled, which takes 100 ms.
   */
  const linesLike = (patterns: string, id: string): string => `
          select string_agg(format('%s-%s', w.seq + line.first - 1, w.seq + line.count - 1), ',')
          from ${words} w cross join lateral (
            select min(at) filter (where each.terms like any (${patterns}::text::text[])) as first, count(*) as count
            from unnest(string_to_array(w.terms, E'\\n')) with ordinality as each (terms, at)
          ) as line
          where w.partition = $1 and w.id = ${id} and w.terms like any (${patterns}::text::text[])`;
  /** The picked sessions whose lines and words are still the same, with these. */
  const deleted = `deleted as (
        delete from ${session} s using picked where s.partition = $1 and s.id = picked.id and s.head = picked.head
          and s.words_at = picked.words_at
        returning s.id
      ), lines as (
        delete from ${entry} e using deleted where e.partition = $1 and e.id = deleted.id
      ), unworded as (
        delete from ${words} w using deleted where w.partition = $1 and w.id = deleted.id
      )`;
  const isBefore = `partition = $1 and modified_at < $2::text::timestamptz
      and modified_minute <= date_trunc('minute', $2::text::timestamptz at time zone 'UTC')`;
  /** Whether a log beside a session's has none. The name of one beside a long name does not tell. */
  const isAlone = `length(split_part(s.id, '~', 1)) < 120 and not exists (
              select from ${session} o where o.partition = $1 and o.id = split_part(s.id, '~', 1)
            )`;
  return {
    /** partition, id */
    find: `select epoch::text, head::text, size::text, preview is not null as previewed from ${session}
      where partition = $1 and id = $2`,

    /** partition, id, epoch, cwd, count, size, lengths, bytes, counts, header, preview, info */
    create: `with made as (
        insert into ${session} ${inserted}
        values ($1, $2, $3::uuid, $4, $5::bigint, $6::bigint, statement_timestamp(), statement_timestamp(),
          $9::bigint, $10::bigint, $11::bytea, $12::bigint, $13::bytea, $14::bigint, $15::bytea
          ${ifSearch(", $5::bigint")})
        on conflict do nothing returning head
      ), added as (${addLines("made", "0")})${withWords("made", "0", 15)}
      select head::text from made`,

    /** partition, id, epoch, head, count, size, lengths, bytes, counts */
    append: change(10, counted),

    /** partition, id, epoch, head, line, counts: as append, for one line, with a tenth less work */
    appendLine: `with moved as (
        update ${session} set head = head + 1, modified_at = ${nextTime},
          ${ifSearch("words_at = case when words_at = head then head + 1 else words_at end,")}
          size = size + octet_length($5::bytea) + 1, entries = entries + $6::bigint, messages = messages + $7::bigint
        where partition = $1 and id = $2 and epoch = $3::uuid and head = $4::bigint
        returning head${ifSearch(", words_at")}
      ), added as (
        insert into ${entry} (${lineColumns})
        select $1, $2, $4::bigint, $5::bytea from moved
      )${withWords("(select from moved where words_at = head) as moved", "$4::bigint", 7)}
      select head::text from moved`,

    /** As append, then header, preview and info. The cache keeps the first of the former two. */
    appendSummary: change(
      15,
      `${counted}, header = coalesce(header, $11::bytea),
      preview_at = coalesce(preview_at, $12::bigint), preview = coalesce(preview, $13::bytea),
      info_at = coalesce($14::bigint, info_at), info = coalesce($15::bytea, info)`,
    ),

    /** As appendSummary: the lines take the place of all others, which stay in the table. */
    replace: change(
      15,
      `${ifSearch("words_at = head + $5::bigint,")} base = head, size = $6::bigint,
      entries = $9::bigint, messages = $10::bigint, header = $11::bytea,
      preview_at = $12::bigint, preview = $13::bytea, info_at = $14::bigint, info = $15::bytea`,
      undefined,
      `, unworded as (${removeWords("$4::bigint")})`,
      sameWords,
    ),

    /** partition, id, epoch: the lines that a list shows, and the number from before a replacement */
    shown: `select base::text, head::text, preview_at::text, info_at::text, (
        select count(*) from ${entry} e where e.partition = $1 and e.id = $2 and e.seq < base
      )::text as kept from ${session}
      where partition = $1 and id = $2 and epoch = $3::uuid`,

    /**
     * partition, id, epoch, head, numbers of lines, lengths, bytes; whether preview and info change, and to
     * what: all lines get new numbers, these lines with other bytes, and the old ones are deleted, with all words.
     */
    erase: `with given as (
        select * from ${cutLines("$7", "$6", [{ name: "seq", array: "$5::text::bigint[]" }])}
      ), grown as (
        select coalesce(sum(octet_length(given.line) - octet_length((${lineAt("given.seq")}))), 0) as bytes
        from given
      ), moved as (
        update ${session} set base = head, head = head + (head - base), modified_at = ${nextTime},
          size = size + (select bytes from grown),
          preview = case when $8::boolean then $9::bytea else preview end,
          preview_at = case when $8::boolean and $9::bytea is null then null
            else preview_at + (head - base) end,
          info = case when $10::boolean then $11::bytea else info end,
          info_at = case when $10::boolean and $11::bytea is null then null else info_at + (head - base) end
        where partition = $1 and id = $2 and epoch = $3::uuid and head = $4::bigint ${sameWords}
        returning base, head - base as count
      ), added as (
        insert into ${entry} (${lineColumns})
        select $1, $2, given.seq + moved.count, given.line
        from moved, given where given.seq >= moved.base - moved.count and given.seq < moved.base
        union all
        select $1, $2, e.seq + moved.count, e.line
        from moved join ${entry} e
          on e.partition = $1 and e.id = $2 and e.seq >= moved.base - moved.count and e.seq < moved.base
        where e.seq not in (select seq from given)
      ), removed as (
        delete from ${entry} e using moved where e.partition = $1 and e.id = $2 and e.seq < moved.base
      ), unworded as (${removeWords("moved.base")})
      select (base + count)::text as head from moved`,

    /** partition, id, epoch: deletes lines from before a replacement. */
    purge: `delete from ${entry} where partition = $1 and id = $2
        and seq < (select base from ${session} where partition = $1 and id = $2 and epoch = $3::uuid)`,

    /**
     * partition, id, epoch, first line, bytes at most, lines at most, end, length of a line at most: one page
     * of lines, which begins at the log's first line if the given one is not in the log. A line that is too
     * long has its length and no bytes.
     */
    read: page(
      `e.seq < least(s.head, $7::bigint)
          and e.seq >= case when $4::bigint between s.base and s.head then $4::bigint else s.base end`,
      "seq",
      "$8",
    ),

    /**
     * partition, id, epoch, end or null, bytes at most, lines at most, length of a line at most: one page of
     * the lines before the end, the last one first.
     */
    readBackwards: page(
      "e.seq >= s.base and e.seq < least(s.head, coalesce($4::bigint, s.head))",
      "seq desc",
      "$7",
    ),

    /** partition, id, epoch, the first and the last numbers of ranges: the lines */
    readAt: `select e.seq::text as at, e.line
      from unnest($4::text::bigint[], $5::text::bigint[]) as wanted (first, last) cross join lateral (
        select seq, line from ${entry}
        where partition = $1 and id = $2 and seq between wanted.first and wanted.last offset 0
      ) as e
      where exists (select from ${session} where partition = $1 and id = $2 and epoch = $3::uuid)`,

    /** partition, id, epoch, cwd, header; partition, id and epoch of the source, end of the copied lines; the key of its terms */
    copy: `with source as (
        select * from ${session}
        where partition = $6 and id = $7 and epoch = $8::uuid and head >= $9::bigint and base < $9::bigint
      ), lines as (
        select e.seq - s.base as seq, e.line from source s join ${entry} e using (partition, id)
        where e.seq > s.base and e.seq < $9::bigint
      ), made as (
        insert into ${session} ${inserted}
        select $1, $2, $3::uuid, $4, $9::bigint - s.base,
          (select coalesce(sum(octet_length(line) + 1), 0) from lines) + octet_length($5::bytea) + 1,
          statement_timestamp(), statement_timestamp(),
          case when s.head = $9::bigint then s.entries end, case when s.head = $9::bigint then s.messages end,
          $5::bytea,
          case when s.preview_at < $9::bigint then s.preview_at - s.base end,
          case when s.preview_at < $9::bigint then s.preview end,
          i.seq, i.line${ifSearch(", greatest(0, least(s.words_at, $9::bigint) - s.base)")}
        from source s left join lateral (
          select s.info_at - s.base as seq, s.info as line where s.info_at < $9::bigint
          union all (
            select seq, line from lines where s.info_at >= $9::bigint
              and substring(line from 1 for 22) = '{"type":"session_info"'::bytea
            order by seq desc limit 1
          )
        ) as i on true
        on conflict do nothing returning id
      ), first as (
        insert into ${entry} (partition, id, seq, line) select $1, $2, 0, $5::bytea from made
      ), added as (
        insert into ${entry} (${lineColumns})
        select $1, $2, seq, line from made, lines
      )${ifSearch(`, worded as (
        insert into ${words} (partition, id, seq, key, terms)
        select $1, $2, w.seq - s.base, $10, array_to_string(
          (string_to_array(w.terms, E'\\n'))[1:($9::bigint - w.seq)::integer], E'\\n')
        from made, source s join ${words} w using (partition, id) where w.seq >= s.base and w.seq < $9::bigint
      )`)}
      select exists (select from source) as reached, exists (select from made) as made`,

    /** partition, time and id of the session before, the number at most */
    list: `select ${listed} from ${session}
      where partition = $1 and (modified_at, id) < ($2::text::timestamptz, $3)
      ${newestFirst} limit $4::integer`,

    /** As list, then the directory. */
    listOfCwd: `select ${listed} from ${session}
      where partition = $1 and cwd = $5 and (modified_at, id) < ($2::text::timestamptz, $3)
      ${newestFirst} limit $4::integer`,

    /**
     * partition, time and id of the session before, the number at most, patterns of terms, time since, cwd or
     * null: of so many sessions, newest first, those with lines that have a term or no words yet, and the last.
     */
    searchNewest: `select *
      from (
        select ${searched("s")}, (${linesLike("$5", "s.id")}) as found,
          row_number() over (order by s.modified_at desc, s.id desc) as place
        from (
          select * from ${session}
          where partition = $1 and modified_at >= $6::text::timestamptz and ($7::text is null or cwd = $7)
            and (modified_at, id) < ($2::text::timestamptz, $3)
            ${newestFirst} limit $4::integer
        ) as s
      ) as page
      where found is not null or words_at::bigint < head::bigint or place = $4::integer
      order by place`,

    /**
     * As searchNewest, and a query: all sessions with lines that have its terms or no words yet; or one row with
     * \`many\` if more than so many rows have the terms.
     */
    searchAll: `with worded as materialized (
        select id from ${words} where partition = $1 and ${terms} @@ $8::text::tsquery limit $4::integer + 1
      ), counted as (select count(*) > $4::integer as many from worded)
      select many, page.*
      from counted left join lateral (
        select ${searched("s")}, (${linesLike("$5", "s.id")}) as found
        from (
          select id from worded union select id from ${session} where partition = $1 and unindexed
        ) as named join ${session} s on s.partition = $1 and s.id = named.id
        where not many and s.modified_at >= $6::text::timestamptz and ($7::text is null or s.cwd = $7)
          and (s.modified_at, s.id) < ($2::text::timestamptz, $3)
        order by s.modified_at desc, s.id desc
      ) as page on true`,

    /**
     * partition, ids, epochs, bytes at most: the lines of each session that has no more, as read gives them.
     */
    readWhole: `select wanted.at::integer - 1 as session, s.base::text, s.head::text, e.seq::text as at,
        null as too_long, e.line
      from unnest($2::text::text[], $3::text::uuid[]) with ordinality as wanted (id, epoch, at)
      cross join lateral (
        select id, base, head from ${session} where partition = $1 and id = wanted.id and epoch = wanted.epoch
          and size <= $4::bigint
      ) as s
      cross join lateral (
        select seq, line from ${entry} where partition = $1 and id = s.id and seq >= s.base and seq < s.head
        offset 0
      ) as e
      order by wanted.at, e.seq`,

    /** partition and id of the session before, the number at most: those with lines without words. */
    unindexed: `select partition, id, epoch::text
      from ${session} where unindexed and (partition, id) > ($1, $2)
      order by partition, id limit $3::integer`,

    /** partition, id, epoch */
    termsAt: `select base::text, head::text, greatest(words_at, base)::text as terms_at from ${session}
      where partition = $1 and id = $2 and epoch = $3::uuid`,

    /** partition, id, epoch, number of the first line, the number after the last line, rows of words */
    index: `with moved as (
        update ${session} set words_at = $5::bigint
        where partition = $1 and id = $2 and epoch = $3::uuid and greatest(words_at, base) = $4::bigint
          and head >= $5::bigint
        returning head
      )${addWords("moved", "$4::bigint", 6)}`,

    /** The tables of words: one, or its parts. */
    wordTables: `select c.relname as name from pg_class c
      where c.oid = ${relation("words")} and c.relkind = 'r'
        or c.oid in (select inhrelid from pg_inherits where inhparent = ${relation("words")})`,
    /**
     * The indices of a search. Made while others append, which no index of several tables is. Pending terms, in kB:
     * see `cleanIndex`.
     */
    makeIndices: (wordTables: readonly string[]) => [
      ...wordTables.flatMap((table) => {
        const index = identifier(table.replace("words", "words_terms"));
        return [
          `create index concurrently if not exists ${index} on ${schema}.${identifier(table)} using gin ((${terms}))
            with (gin_pending_list_limit = 8192)`,
          `alter index if exists ${schema}.${index} alter column 1 set statistics 0`,
        ];
      }),
      `create index concurrently if not exists session_unindexed on ${session} (partition, id) where unindexed`,
    ],
    /**
     * Moves the pending terms of rows to the index. An append that finds the list full has to; while this runs, none
     * does. Each term of a list costs one write of its places in the index, so that a long list costs less.
     */
    cleanIndex: `select gin_clean_pending_list(i.indexrelid) from (${indices}) as i where i.name like 'words_terms%'`,
    /** Builds of indices under way, of other programs too. */
    building: `select pid from pg_stat_progress_create_index
      where relid in (select indrelid from (${indices}) as i) or relid in (${relation("words")}, ${relation("session")})`,
    /** Those that were not finished, and are of no use. */
    brokenIndices: `select i.indexrelid::regclass::text as name from (${indices}) as i where not i.indisvalid`,

    /**
     * partition, id, epoch: a session to which nothing was appended since this statement began. It would not see
     * the lines of such an append, and leave them.
     */
    delete: `with picked as materialized (
        select id, head, words_at from ${session} where partition = $1 and id = $2 and epoch = $3::uuid
      ), ${deleted}
      select true as deleted from deleted`,

    /** partition, the number at most: sessions that were there, and those of them that this call deleted */
    deleteSome: `with picked as materialized (
        select id, head, words_at from ${session} where partition = $1 limit $2::integer
      ), ${deleted}
      select (select count(*) from picked)::integer as picked, (select count(*) from deleted)::integer as deleted,
        (select count(*) from deleted where strpos(id, '~') = 0)::integer as sessions`,

    /**
     * partition, time, sessions and bytes at most: the oldest sessions before the time, with logs that were beside a
     * deleted one, and those of them that this call deleted. One that an append changes meanwhile stays.
     */
    deleteBefore: `with picked as materialized (
        select * from (
          select id, head, words_at, size, sum(size) over (order by modified_minute, id) - size as before
          from (
            select * from ${session} s where ${isBefore} and (strpos(id, '~') = 0 or ${isAlone})
            order by modified_minute, id limit $3::integer
          ) as oldest
        ) as sums where before < $4::bigint
      ), ${deleted}
      select (select count(*) from picked)::integer as picked, count(*)::integer as sessions,
        coalesce(sum(picked.size), 0)::text as bytes
      from deleted join picked using (id) where strpos(id, '~') = 0`,

    /** partition, time: what deleteBefore would delete. */
    countBefore: `select count(*)::integer as sessions, coalesce(sum(size), 0)::text as bytes from ${session}
      where ${isBefore} and strpos(id, '~') = 0`,

    /** The lower bound, the number at most: one probe of the index for each partition. */
    partitions: `with recursive found (partition, count) as (
        (select partition, 1 from ${session} where partition >= $1 order by partition limit 1)
        union all
        select next.partition, count + 1 from found, lateral (
          select s.partition from ${session} s where s.partition > found.partition
          order by s.partition limit 1
        ) as next where count < $2::integer
      )
      select partition as name from found`,

    /**
     * partitions, ids, positions: the index of each session that is elsewhere. One probe of the index for each:
     * a join is planned for a hundred of them.
     */
    moved: `select at::integer - 1 as at
      from unnest($1::text::text[], $2::text::text[], $3::text::text[])
        with ordinality as wanted (partition, id, position, at)
      where position is distinct from (
        select s.epoch::text || ':' || s.head from ${session} s
        where s.partition = wanted.partition and s.id = wanted.id
      )`,

    /** The durability of a commit in a crash of the server. */
    durability: `select current_setting('synchronous_commit') <> 'off'
      and current_setting('fsync') = 'on' as synced`,
  };
}
