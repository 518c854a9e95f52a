/**
 * The index of words, a table of FTS5: it has the terms of the lines from the first one up to an offset. A
 * search reads all lines after that offset.
 */

import { termKey } from "../../../session/internal.js";
import type { LineTerms, ListPlace, RowIndex, SearchPage, SqlStatement, SqlValue } from "../dialect.js";
import { type InsertInto, maxInsertRows, type RowCondition } from "../row-statements.js";
import { maxOffset, offsetBits, offsetByKey, rowKey, termsTable, unindexedIndex } from "./tables.js";

/**
 * Offsets in one text at most: 600 kB. A row of a search has two. A Durable Object takes 2 MB a text or row.
 */
export const maxPlaces = 50_000;

/** Sessions of a page of a search. */
const [firstPage, maxPage] = [50, 1000];

type TermsQuery = Parameters<RowIndex["search"]>[0];

/** The bits of an offset within a part of a log, 128 KiB: it has at most 65,536 lines. */
const partBits = 17;

/** The index for the tables of a prefix. */
export function termsIndex(prefix: string, insertInto: InsertInto): RowIndex {
  const session = `${prefix}session`;
  const entry = `${prefix}entry`;
  const terms = `${prefix}terms`;
  const same = `"partition" = ? and id = ? and epoch = ?`;
  const bound = (offset: string) =>
    `(select ${rowKey("no", offset)} from ${session} where ${same} and head = ?)`;

  function insertTerms(
    lines: readonly LineTerms[],
    condition: RowCondition,
    values: readonly SqlValue[],
  ): readonly SqlStatement[] {
    const kept = lines.filter(([, text]) => text !== "");
    const statements: SqlStatement[] = [];
    for (let start = 0; start < kept.length; start += maxInsertRows) {
      const some = kept.slice(start, start + maxInsertRows);
      const sql = insertInto(`${terms} (rowid, terms)`, some.length, condition);
      statements.push({ sql, params: [...some.flat(), ...values] });
    }
    return statements;
  }

  /**
   * Sessions with lines that match, or that are not in the index, and the offsets of both, or `*` for too
   * many. One statement, so that no erasure moves lines between two. Offsets are joined in parts of a log: a
   * part has too few lines to exceed the limit of a text.
   */
  function termsPage(query: TermsQuery, after: ListPlace | undefined, limit: number): SearchPage {
    const { anyOf, partition, since, cwd } = query;
    const statement = {
      sql: `with part (part, places, at) as (
        select rowid >> ${partBits}, count(*), group_concat(${offsetByKey("rowid")}) from ${terms}
        where ${terms} match ? group by 1
      ), upto (no, places, at) as (
        select part >> ${offsetBits - partBits},
          sum(places) over (partition by part >> ${offsetBits - partBits} order by part), at from part
      ), found (no, at) as materialized (
        select no, iif(max(places) > ${maxPlaces}, '*', group_concat(at) filter (where places <= ${maxPlaces}))
        from upto group by no
      )
      select s.id, s.modified_at as modified, found.at, case when s.terms_at < s.head then (
          select iif(count(*) > ${maxPlaces}, '*', group_concat(at)) from (
            select ${offsetByKey("e.key")} as at from ${entry} as e
            where e.key >= ${rowKey("s.no", "max(s.base, s.terms_at)")} and e.key < ${rowKey("s.no", "s.head")}
            limit ${maxPlaces} + 1)
        ) end as unread
      from ${session} as s left join found on found.no = s.no
      where s."partition" = ? and s.cwd = coalesce(?, s.cwd) and s.modified_at >= ?
        and (s.modified_at, s.id) < (?, ?)
        and (s.terms_at < s.head or found.no is not null)
      order by s.modified_at desc, s.id desc limit ?`,
      params: [
        ...[termQuery(anyOf, partition), partition, cwd, since],
        ...[after?.modifiedAt ?? Number.MAX_SAFE_INTEGER, after?.id ?? "", limit],
      ],
    };
    return {
      statement,
      sessions: (rows) => rows,
      next(rows) {
        const last = rows.at(-1);
        if (rows.length < limit || last === undefined) return undefined;
        const place = { modifiedAt: Number(last.modified), id: String(last.id) };
        return termsPage(query, place, Math.min(4 * limit, maxPage));
      },
    };
  }

  const readDeleteTerms = `delete from ${terms}
      where rowid >= (select ${rowKey("no", "0")} from ${session} where ${same})
        and rowid < (select ${rowKey("no + 1", "0")} from ${session} where ${same})`;

  return {
    insertTerms,
    deleteTerms: (key, head) =>
      head === undefined
        ? { sql: readDeleteTerms, params: [...key, ...key] }
        : {
            sql: `delete from ${terms}
      where rowid >= ${bound("0")} and rowid <= ${bound(`${maxOffset - 1}`)}`,
            params: [...key, head, ...key, head],
          },
    async make(run) {
      await run({ sql: termsTable(prefix), params: [] });
      await run({ sql: unindexedIndex(prefix), params: [] });
    },
    exists: {
      sql: `select 1 as found from sqlite_master where name = '${terms}' collate nocase`,
      params: [],
    },
    optimize: { sql: `insert into ${terms} (${terms}) values ('optimize')`, params: [] },
    forget: (key) => [
      { sql: readDeleteTerms, params: [...key, ...key] },
      { sql: `insert into ${terms} (${terms}) values ('optimize')`, params: [] },
      { sql: `update ${session} set terms_at = base where ${same}`, params: key },
    ],
    isLate: true,
    hasKeys: true,

    search: (query) => termsPage(query, undefined, firstPage),
    candidates({ at, unread }) {
      const [found, rest] = [textNumbers(at), textNumbers(unread)];
      return found === undefined || rest === undefined ? undefined : [...found, ...rest];
    },
    unindexed: (after, limit) => ({
      sql: `select "partition", id, epoch from ${session}
      where terms_at < head and ("partition", id) > (?, ?) order by "partition", id limit ?`,
      params: [...after, limit],
    }),
    termsAt: (key) => ({ sql: `select base, head, terms_at from ${session} where ${same}`, params: key }),
    index: (key, from, lines, end) => [
      ...insertTerms(lines, "terms_at = ?", [...key, from]),
      {
        sql: `update ${session} set terms_at = ? where ${same} and terms_at = ?`,
        params: [end, ...key, from],
      },
    ],
  };
}

/** Alternatives of terms as a query of FTS5. Terms have no quotation marks. */
function termQuery(anyOf: readonly (readonly string[])[], partition: string): string {
  const key = termKey(partition);
  return anyOf.map((terms) => `(${terms.map((term) => `"${key}${term}"*`).join(" AND ")})`).join(" OR ");
}

/** Numbers that SQLite has joined by commas; undefined if there are too many. */
function textNumbers(text: unknown): readonly number[] | undefined {
  if (text === "*") return undefined;
  return text === null ? [] : String(text).split(",").map(Number);
}
