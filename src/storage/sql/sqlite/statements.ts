/**
 * The SQL of the session backend. Values are anonymous, in the order of the text, since not every driver has
 * numbered ones. A key is made in SQL alone: numbers of that size have no place in JavaScript.
 */

import { maxOffset, offsetBits } from "./tables.js";

/** The statements for tables of one prefix. */
export type Statements = ReturnType<typeof statementsFor>;

/** Rows of one insert. A Durable Object takes 100 values a statement. */
export const maxInsertRows = 40;

/**
 * Offsets in one text at most: 600 kB. A row of a search has two. A Durable Object takes 2 MB a text or row.
 */
export const maxPlaces = 50_000;

/** The bits of an offset within a part of a log, 128 KiB: it has at most 65,536 lines. */
const partBits = 17;

/** Milliseconds since 1970 by the database's clock, also before SQLite 3.42. */
const now = "cast((julianday('now') - 2440587.5) * 86400000.0 + 0.5 as integer)";

const keyOf = (no: string, offset: string): string => `((${no} << ${offsetBits}) | (${offset}))`;
const offsetOf = (key: string): string => `(${key} & ${maxOffset - 1})`;
/** `{"type":"session_info"` */
const infoStart = "x'7b2274797065223a2273657373696f6e5f696e666f22'";

/** The SQL for the tables of a prefix. */
export function statementsFor(prefix: string) {
  const session = `${prefix}session`;
  const entry = `${prefix}entry`;
  const terms = `${prefix}terms`;
  const named = `"partition" = ? and id = ?`;
  const same = `${named} and epoch = ?`;
  const newestFirst = "order by modified_at desc, id desc limit ?";
  const lineAt = (offset: string) => `(select line from ${entry} where key = ${keyOf("s.no", offset)})`;
  const listed = `select no, id, modified_at, head - base as size, entries, messages, preview,
      header_at, info_at, ${lineAt("header_at")} as header, ${lineAt("info_at")} as info
    from ${session} as s where`;
  const before = "(modified_at, id) < (?, ?)";
  const created = `("partition", id, epoch, cwd, base, head, modified_at, entries, messages)`;
  const inserts = new Map<string, string>();
  const returned = `where ${same} and head = ? returning head`;
  const bound = (offset: string) =>
    `(select ${keyOf("no", offset)} from ${session} where ${same} and head = ?)`;
  /** Moves the offset of the index along if its end is that of the log. */
  const indexed = "terms_at = iif(terms_at = head, max(head, ?), terms_at)";
  /** Values with their offsets, if the session is as expected. */
  const insert = (into: string, count: number, condition: string): string => {
    const known = inserts.get(`${into} ${count} ${condition}`);
    if (known !== undefined) return known;
    const rows = Array.from({ length: count }, () => "(?, ?)").join(", ");
    const made = `insert into ${into}
      select ${keyOf("s.no", "v.column1")}, v.column2 from (values ${rows}) as v cross join ${session} as s
      where ${same} and ${condition}`;
    inserts.set(`${into} ${count} ${condition}`, made);
    return made;
  };
  return {
    /** partition, id */
    find: `select epoch, head, preview_at is not null as previewed from ${session} where ${named}`,

    /** partition, id, epoch, cwd: a session without lines, for the statements that follow */
    create: `insert into ${session} ${created}
      values (?, ?, ?, ?, 0, 0, ${now}, 0, 0) on conflict do nothing`,

    /** As create, then partition, id, epoch and base of a source. A base grows, beyond all lines before. */
    createCopy: `insert into ${session} ${created}
      select ?, ?, ?, ?, 0, 0, ${now}, 0, 0 from ${session}
      where ${same} and base = ?
      on conflict do nothing`,

    /** Offset and bytes of each row, then partition, id, epoch, and the head that the session still has. */
    insertRows: (count: number) => insert(`${entry} (key, line)`, count, "head = ?"),

    /** As insertRows, with the terms of lines. Lines after some without terms get none either. */
    insertTerms: (count: number) => insert(`${terms} (rowid, terms)`, count, "head = ? and terms_at = head"),

    /** As insertTerms, for lines of a replacement. */
    insertNewTerms: (count: number) => insert(`${terms} (rowid, terms)`, count, "head = ?"),

    /** As insertTerms, for lines that are there: with the offset that the index has come to. */
    insertOldTerms: (count: number) => insert(`${terms} (rowid, terms)`, count, "terms_at = ?"),

    /** new offset of the index; partition, id, epoch, old offset */
    setTermsAt: `update ${session} set terms_at = ? where ${same} and terms_at = ?`,

    /**
     * Shift of the offsets; partition, id, epoch of the copy; partition, id, epoch of the source; first
     * offset and end of a part of its rows.
     */
    copyRows: `insert into ${entry} (key, line)
      select ${keyOf("c.no", `${offsetOf("e.key")} + ?`)}, e.line
      from (select no from ${session} where ${same} and head = 0) as c
      cross join (select no from ${session} where ${same}) as s
      cross join ${entry} as e
      where e.key >= ${keyOf("s.no", "?")} and e.key < ${keyOf("s.no", "?")}`,

    /** new head, the same if its lines are in the index, else 0; counts; partition, id, epoch, head */
    append: `update ${session} set head = ?, ${indexed}, modified_at = max(modified_at, ${now}),
      entries = entries + ?, messages = messages + ? ${returned}`,

    /** As append, with the offsets of header, preview and info, and the preview. The first preview stays. */
    appendShown: `update ${session} set head = ?, ${indexed}, modified_at = max(modified_at, ${now}),
      entries = entries + ?, messages = messages + ?,
      header_at = coalesce(header_at, ?), preview_at = coalesce(preview_at, ?),
      info_at = coalesce(?, info_at), preview = coalesce(preview, ?) ${returned}`,

    /** As appendShown: the lines take the place of all others, which stay in the table. */
    replace: `update ${session} set base = head, head = ?, terms_at = max(head, ?),
      modified_at = max(modified_at, ${now}), entries = ?, messages = ?,
      header_at = ?, preview_at = ?, info_at = ?, preview = ? ${returned}`,

    /** As replace, without counts and terms. */
    erase: `update ${session} set base = head, head = ?, terms_at = head,
      modified_at = max(modified_at, ${now}), header_at = ?, preview_at = ?, info_at = ?, preview = ? ${returned}`,

    /** Shift of the offsets; partition, id, epoch and head; first offset and end of a part of its rows. */
    moveRows: `insert into ${entry} (key, line)
      select ${keyOf("s.no", `${offsetOf("e.key")} + ?`)}, e.line
      from (select no from ${session} where ${same} and head = ?) as s cross join ${entry} as e
      where e.key >= ${keyOf("s.no", "?")} and e.key < ${keyOf("s.no", "?")}`,

    /** partition, id, epoch, head; offset; partition, id, epoch, head: deletes the rows before the offset. */
    deleteRowsBefore: `delete from ${entry} where key >= ${bound("0")} and key < (? | ${bound("0")})`,

    /** partition, id, epoch, head, twice: deletes the terms of the session. */
    deleteTerms: `delete from ${terms}
      where rowid >= ${bound("0")} and rowid <= ${bound(`${maxOffset - 1}`)}`,

    /** partition, id, epoch, twice: as deleteTerms, whatever the head is. */
    deleteTermsOf: `delete from ${terms}
      where rowid >= (select ${keyOf("no", "0")} from ${session} where ${same})
        and rowid < (select ${keyOf("no + 1", "0")} from ${session} where ${same})`,

    /** partition, id, epoch: makes a search read all lines, until they are in the index again. */
    forgetTerms: `update ${session} set terms_at = base where ${same}`,

    /** Removes deleted terms from the index. */
    optimize: `insert into ${terms} (${terms}) values ('optimize')`,

    /** Whether there is an index. */
    hasTerms: `select 1 as found from sqlite_master where name = '${terms}' collate nocase`,

    /** partition, id, epoch: the parts of a session that an erasure changes */
    shown: `select base, head, header_at, preview_at, info_at, preview from ${session} where ${same}`,
    /**
     * Twice the offset, which is that of the log's first line if it is not in the log; partition, id, epoch;
     * bytes of the page and end: rows in order, at least one.
     */
    read: `with s as (
        select no, base, head, case when ? between base and head then ? else base end as start
        from ${session} where ${same}
      )
      select s.base, s.head, ${offsetOf("e.key")} as at, e.line
      from s left join ${entry} as e
        on e.key >= ${keyOf("s.no", "s.start")} and e.key < ${keyOf("s.no", "min(s.start + ?, s.head, ?)")}
      order by e.key`,

    /** partition, id, epoch, offsets as JSON */
    readAt: `select ${offsetOf("e.key")} as at, e.line
      from (select no from ${session} where ${same}) as s cross join json_each(?) as wanted
      cross join ${entry} as e on e.key = ${keyOf("s.no", "wanted.value")}`,

    /** end, which is at most that of the log; bytes of the page; partition, id, epoch: rows in order */
    readBefore: `select s.base, s.head, ${offsetOf("e.key")} as at, e.line
      from (select no, base, head, min(?, head) as stop, ? as bytes from ${session} where ${same}) as s
      left join ${entry} as e on e.key >= ${keyOf("s.no", "max(s.base, s.stop - s.bytes)")}
        and e.key < ${keyOf("s.no", "s.stop")}
      order by e.key`,

    /** partition, id, epoch, first offset, end */
    readRange: `select ${offsetOf("e.key")} as at, e.line
      from (select no from ${session} where ${same}) as s cross join ${entry} as e
      where e.key >= ${keyOf("s.no", "?")} and e.key < ${keyOf("s.no", "?")} order by e.key`,

    /** The end of the copied lines, twice; partition, id, epoch: the parts of a source that a copy needs. */
    source: `select base, head, entries, messages, preview_at, preview,
        (select ${offsetOf("e.key")} + length(e.line) from ${entry} as e
          where e.key >= ${keyOf("s.no", "s.base")} and e.key < ${keyOf("s.no", "s.head")}
            and substr(e.line, -1) = x'0a' order by e.key limit 1) as rest_at,
        case when info_at < ? then info_at else (
          select ${offsetOf("e.key")} from ${entry} as e
          where e.key >= ${keyOf("s.no", "s.base")} and e.key < ${keyOf("s.no", "?")}
            and s.info_at is not null and substr(e.line, 1, 22) = ${infoStart}
          order by e.key desc limit 1) end as info_at
      from ${session} as s where ${same}`,

    /** partition, time and id of the session before, the number at most */
    list: `${listed} "partition" = ? and ${before} ${newestFirst}`,

    /** partition, cwd, time and id of the session before, the number at most */
    listOfCwd: `${listed} "partition" = ? and cwd = ? and ${before} ${newestFirst}`,

    /**
     * query, partition, directory or null, time at least, time and id of the session before, the number at
     * most: sessions with lines that match, or that are not in the index, and the offsets of both, or `*` for
     * too many. One statement, so that no erasure moves lines between two. Offsets are joined in parts of a
     * log: a part has too few lines to exceed the limit of a text.
     */
    search: `with part (part, places, at) as (
        select rowid >> ${partBits}, count(*), group_concat(${offsetOf("rowid")}) from ${terms}
        where ${terms} match ? group by 1
      ), upto (no, places, at) as (
        select part >> ${offsetBits - partBits},
          sum(places) over (partition by part >> ${offsetBits - partBits} order by part), at from part
      ), found (no, at) as materialized (
        select no, iif(max(places) > ${maxPlaces}, '*', group_concat(at) filter (where places <= ${maxPlaces}))
        from upto group by no
      )
      select s.id, s.modified_at, found.at, case when s.terms_at < s.head then (
          select iif(count(*) > ${maxPlaces}, '*', group_concat(at)) from (
            select ${offsetOf("e.key")} as at from ${entry} as e
            where e.key >= ${keyOf("s.no", "max(s.base, s.terms_at)")} and e.key < ${keyOf("s.no", "s.head")}
            limit ${maxPlaces} + 1)
        ) end as unread
      from ${session} as s left join found on found.no = s.no
      where s."partition" = ? and s.cwd = coalesce(?, s.cwd) and s.modified_at >= ?
        and (s.modified_at, s.id) < (?, ?)
        and (s.terms_at < s.head or found.no is not null)
      order by s.modified_at desc, s.id desc limit ?`,

    /** partition and id before, the number at most: sessions with lines that are not in the index */
    unindexed: `select "partition", id, epoch from ${session}
      where terms_at < head and ("partition", id) > (?, ?) order by "partition", id limit ?`,

    /** partition, id, epoch */
    termsAt: `select base, head, terms_at from ${session} where ${same}`,

    /** partition, id, epoch, twice */
    deleteRows: `delete from ${entry}
      where key >= (select ${keyOf("no", "0")} from ${session} where ${same})
        and key < (select ${keyOf("no + 1", "0")} from ${session} where ${same})`,

    /** partition, id, epoch */
    delete: `delete from ${session} where ${same} returning id`,

    /** The partition before, the number at most: one probe of the index for each partition. */
    partitions: `with recursive found (name) as (
        select min("partition") from ${session} where "partition" >= ?
        union all
        select (select min("partition") from ${session} where "partition" > found.name)
        from found where found.name is not null
      )
      select name from found where name is not null limit ?`,

    version: `select max(version) as version from ${prefix}version`,
  };
}
