/**
 * The SQL of the session backend. Values are anonymous, in the order of the text, since not every driver has
 * numbered ones. A key is made in SQL alone: numbers of that size have no place in JavaScript.
 */

import { maxOffset, offsetBits } from "./tables.js";

/** The statements for tables of one prefix. */
export type Statements = ReturnType<typeof statementsFor>;

/** Rows of one insert. A Durable Object takes 100 values a statement. */
export const maxInsertRows = 40;

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
  const named = `"partition" = ? and id = ?`;
  const same = `${named} and epoch = ?`;
  const newestFirst = "order by modified_at desc, id desc limit ?";
  const lineAt = (offset: string) => `(select line from ${entry} where key = ${keyOf("s.no", offset)})`;
  const listed = `select no, id, modified_at, head - base as size, entries, messages, preview,
      header_at, info_at, ${lineAt("header_at")} as header, ${lineAt("info_at")} as info
    from ${session} as s where`;
  const before = "(modified_at, id) < (?, ?)";
  const created = `("partition", id, epoch, cwd, base, head, modified_at, entries, messages)`;
  const inserts = new Map<number, string>();
  const returned = `where ${same} and head = ? returning head`;
  return {
    /** partition, id */
    find: `select epoch, head, preview_at is not null as previewed from ${session} where ${named}`,

    /** partition, id, epoch, cwd: a session without lines, for the statements that follow */
    create: `insert into ${session} ${created}
      values (?, ?, ?, ?, 0, 0, ${now}, 0, 0) on conflict do nothing`,

    /** As create, then partition, id, epoch and base of a source, and twice the end of the copied lines. */
    createCopy: `insert into ${session} ${created}
      select ?, ?, ?, ?, 0, 0, ${now}, 0, 0 from ${session}
      where ${same} and base = ? and base < ? and head >= ?
      on conflict do nothing`,

    /** Offset and bytes of each row, then partition, id, epoch, and the head that the session still has. */
    insertRows(count: number): string {
      const known = inserts.get(count);
      if (known !== undefined) return known;
      const rows = Array.from({ length: count }, () => "(?, ?)").join(", ");
      const made = `insert into ${entry} (key, line)
        select ${keyOf("s.no", "v.column1")}, v.column2 from (values ${rows}) as v cross join ${session} as s
        where ${same} and head = ?`;
      inserts.set(count, made);
      return made;
    },

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

    /** new head, counts; partition, id, epoch, expected head */
    append: `update ${session} set head = ?, modified_at = max(modified_at, ${now}),
      entries = entries + ?, messages = messages + ? ${returned}`,

    /** As append, with the offsets of header, preview and info, and the preview. The first preview stays. */
    appendShown: `update ${session} set head = ?, modified_at = max(modified_at, ${now}),
      entries = entries + ?, messages = messages + ?,
      header_at = coalesce(header_at, ?), preview_at = coalesce(preview_at, ?),
      info_at = coalesce(?, info_at), preview = coalesce(preview, ?) ${returned}`,

    /** As appendShown: the lines take the place of all others, which stay in the table. */
    replace: `update ${session} set base = head, head = ?, modified_at = max(modified_at, ${now}),
      entries = ?, messages = ?, header_at = ?, preview_at = ?, info_at = ?, preview = ? ${returned}`,

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
