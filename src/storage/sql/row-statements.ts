/**
 * The SQL of sessions whose lines are rows by their offset, over the syntax of a dialect. Values are anonymous,
 * in the order of the text, since not every driver has numbered ones. An update changes `head` last, since MySQL
 * assigns from left to right.
 */

import type { LineReplacement } from "../../session/index.js";
import { cwdKey, summarizeLines } from "../../session/internal.js";
import type {
  BlobSyntax,
  LineBatch,
  LineRows,
  ListPlace,
  RowIndex,
  RowSyntax,
  SessionKey,
  SessionStatements,
  SqlRow,
  SqlStatement,
  SqlValue,
} from "./dialect.js";
import { type LogRow, lineRows, offsetRows, readBytes } from "./lines.js";

/** Rows of one insert, and their bytes. A Durable Object takes 100 values, MySQL packets of 16 MiB. */
export const maxInsertRows = 40;
const maxInsertBytes = 4 * 1024 * 1024;

/** `{"type":"session_info"` */
const infoStart = "x'7b2274797065223a2273657373696f6e5f696e666f22'";
const newest: ListPlace = { modifiedAt: Number.MAX_SAFE_INTEGER, id: "" };

/** A condition of the session: that its head, or the end of its index, is still a value. */
export type RowCondition = "head = ?" | "head = ? and terms_at = head" | "terms_at = ?";

/** An insert of so many values at offsets of a session, under a condition. */
export type InsertInto = (into: string, count: number, condition: RowCondition) => string;

/** The statements for tables of one syntax. */
export function rowStatements(
  s: RowSyntax,
  indexOn?: (insertInto: InsertInto) => RowIndex,
): { readonly sql: SessionStatements; readonly rows: LineRows; readonly index: RowIndex | undefined } {
  const { session, entry, now, partition } = s;
  const named = `${partition} = ? and id = ?`;
  const same = `${named} and epoch = ?`;
  const sameSource = `source.${partition} = ? and source.id = ? and source.epoch = ?`;
  const numberByKey = (key: readonly SqlValue[], columns = "no"): SqlStatement => ({
    sql: `(select ${columns} from ${session} where ${same}${key.length > 3 ? " and head = ?" : ""})`,
    params: key,
  });
  const lineAt = (offset: string) => `(select line from ${entry} as e where ${s.at("s.no", offset)})`;
  const listed = `select no, id, modified_at as modified, head - base as size, entries, messages, preview,
      header_at, info_at, ${lineAt("header_at")} as header, ${lineAt("info_at")} as info
    from ${session} as s where ${partition} = ?`;
  const created = `(${partition}, id, epoch, cwd, base, head, modified_at, entries, messages)`;
  /** Moves the offset of the index along if its end is that of the log. */
  const indexed = `terms_at = case when terms_at = head then ${s.greatest("head", "?")} else terms_at end`;
  const touched = `modified_at = ${s.greatest("modified_at", now)}`;
  const inserts = new Map<string, string>();
  const lock = (key: SessionKey): readonly SqlStatement[] =>
    s.lock === undefined ? [] : [{ sql: s.lock(same), params: key }];

  /** Values with their offsets, if the session is as expected. */
  const insertInto: InsertInto = (into, count, condition) => {
    const name = `${into} ${count} ${condition}`;
    const known = inserts.get(name);
    if (known !== undefined) return known;
    const made = `insert into ${into}
      select ${s.readKey("s.no", "v.column1")}, v.column2 from ${s.values(count)} as v cross join ${session} as s
      where ${same} and ${condition}`;
    inserts.set(name, made);
    return made;
  };
  const index = indexOn?.(insertInto);
  const insertions = (rows: readonly LogRow[], key: SessionKey, head: number): readonly SqlStatement[] => {
    const statements: SqlStatement[] = [];
    for (let start = 0; start < rows.length; ) {
      let [end, bytes] = [start, 0];
      while (end < Math.min(rows.length, start + maxInsertRows) && bytes < maxInsertBytes) {
        bytes += rows[end++]?.bytes.length ?? 0;
      }
      const some = rows.slice(start, end);
      const sql = insertInto(`${entry} (${s.key}, line)`, some.length, "head = ?");
      statements.push({ sql, params: [...some.flatMap(({ at, bytes }) => [at, bytes]), ...key, head] });
      start = end;
    }
    return statements;
  };
  const batchRows = ({ at, lines }: LineBatch): readonly LogRow[] =>
    lines.flatMap((line, index) => lineRows(line, at[index] as number));
  const lineBatchShown = ({ header, preview, info }: LineBatch): readonly SqlValue[] => [
    header?.at ?? null,
    preview?.at ?? null,
    info?.at ?? null,
    preview?.line ?? null,
  ];
  /** Changes the session if its head is the expected one. */
  const update = (
    changes: string,
    values: readonly SqlValue[],
    key: SessionKey,
    head: number,
  ): SqlStatement => ({
    sql: `update ${session} set ${changes} where ${same} and head = ?${s.returning("head")}`,
    params: [...values, ...key, head],
  });
  /** Counts and what a list shows, for lines after others. The first header and preview stay. */
  const appended = (
    key: SessionKey,
    { from, end, termsEnd }: { readonly from: number; readonly end: number; readonly termsEnd: number },
    counts: readonly SqlValue[],
    shown?: readonly SqlValue[],
  ): SqlStatement => {
    const counted = `${indexed}, ${touched}, entries = entries + ?, messages = messages + ?`;
    if (shown === undefined) return update(`${counted}, head = ?`, [termsEnd, ...counts, end], key, from);
    const cached = `header_at = coalesce(header_at, ?), preview_at = coalesce(preview_at, ?),
      info_at = coalesce(?, info_at), preview = coalesce(preview, ?)`;
    return update(`${counted}, ${cached}, head = ?`, [termsEnd, ...counts, ...shown, end], key, from);
  };
  const replaced = (changes: string): string => `base = head, ${changes}, head = ?`;
  const lineBatchTermsEnd = ({ terms, end }: LineBatch): number => (terms.length > 0 ? end : 0);
  const page = (
    from: string,
    to: string,
    start: string,
  ): string => `select s.base, s.head, ${s.offset} as at, e.line
      from (${start}) as s left join ${entry} as e on ${s.within("s.no", from, to)}
      order by ${s.order}`;
  const range = `${s.offset} as at, e.line
      from (select no from ${session} where ${same}) as s cross join ${entry} as e`;
  /** Shift of the offsets, then the session of the rows, and a part of its log. */
  const moveRows = (from: string) => `insert into ${entry} (${s.key}, line)
      select ${s.readKey("s.no", `${s.offset} + ?`)}, e.line
      from (select no from ${session} where ${from}) as s cross join ${entry} as e
      where ${s.within("s.no", "?", "?")}`;
  const copyRows = `insert into ${entry} (${s.key}, line)
      select ${s.readKey("c.no", `${s.offset} + ?`)}, e.line
      from (select no from ${session} where ${same} and head = 0) as c
      cross join (select no from ${session} where ${same}) as s
      cross join ${entry} as e
      where ${s.within("s.no", "?", "?")}`;

  const statements: SessionStatements & Parameters<typeof offsetRows>[0] = {
    find: (...names) => ({
      sql: `select epoch, head, head - base as size, preview_at is not null as previewed from ${session} where ${named}`,
      params: names,
    }),

    list(of, after, limit, cwd) {
      const before = s.before(after ?? newest);
      const sql = `${cwd === undefined ? listed : `${listed} and cwd = ?`} and ${before.sql}
      order by modified_at desc, id desc limit ?`;
      return { sql, params: [of, ...(cwd === undefined ? [] : [cwdKey(cwd)]), ...before.params, limit] };
    },

    partitions: s.partitions,

    delete: (key, hasTerms) => [
      ...lock(key),
      ...(hasTerms && index !== undefined ? [index.deleteTerms(key)] : []),
      s.deleteRows(numberByKey(key)),
      { sql: `delete from ${session} where ${same}${s.returning("id")}`, params: key },
    ],

    append(key, batch, cwd) {
      const { from, counts } = batch;
      const shown = lineBatchShown(batch);
      const isShown = shown.some((value) => value !== null);
      const made = {
        sql: `insert into ${session} ${created}
      values (?, ?, ?, ?, 0, 0, ${now}, 0, 0) ${s.orNothing}`,
        params: [...key, cwdKey(batch.cwd ?? cwd)],
      };
      return [
        ...(from === 0 ? [made] : lock(key)),
        ...insertions(batchRows(batch), key, from),
        ...(index?.insertTerms(batch.terms, "head = ? and terms_at = head", [...key, from]) ?? []),
        appended(key, { ...batch, termsEnd: lineBatchTermsEnd(batch) }, counts, isShown ? shown : undefined),
      ];
    },

    replace(key, batch, hasTerms) {
      const { from, end, counts } = batch;
      const changes = `terms_at = ${s.greatest("head", "?")}, ${touched}, entries = ?, messages = ?,
      header_at = ?, preview_at = ?, info_at = ?, preview = ?`;
      const values = [lineBatchTermsEnd(batch), ...counts, ...lineBatchShown(batch), end];
      return [
        ...lock(key),
        ...(hasTerms && index !== undefined ? [index.deleteTerms(key, from)] : []),
        ...insertions(batchRows(batch), key, from),
        ...(index?.insertTerms(batch.terms, "head = ?", [...key, from]) ?? []),
        update(replaced(changes), values, key, from),
      ];
    },

    shown: (key) => ({
      sql: `select base, head, header_at, preview_at, info_at, preview from ${session} where ${same}`,
      params: key,
    }),

    keptLines: ({ base }) => (Number(base) === 0 ? [] : [`${base} bytes of lines from before a replacement`]),

    purge: (key, { base, head }) => [
      ...lock(key),
      s.deleteRows(numberByKey([...key, Number(head)]), Number(base)),
      // One row, also if the session is gone.
      { sql: `select max(head) as head from ${session} where ${same}`, params: key },
    ],

    erase(key, shown, changes, hasTerms) {
      const head = Number(shown.head);
      const condition = [...key, head];
      const sql = { moveRows: moveRows(`${same} and head = ?`) };
      const plan = planRewriting(shown, changes, sql, condition);
      const erased = `terms_at = head, ${touched}, header_at = ?, preview_at = ?, info_at = ?, preview = ?`;
      const removesTerms = hasTerms && index !== undefined;
      return {
        end: plan.end,
        places: placesAfter(changes, head - Number(shown.base)),
        statements: [
          ...lock(key),
          ...(removesTerms ? [index.deleteTerms(key, head)] : []),
          ...insertions(plan.rows, key, head),
          ...plan.moves,
          s.deleteRows(numberByKey(condition), head),
          ...(removesTerms && index.optimize !== undefined ? [index.optimize] : []),
          update(replaced(erased), [...plan.shown, plan.end], key, head),
        ],
      };
    },

    async planCopy({ partition: of, id, epoch, cwd }, batch, from, end, run) {
      const key = [of, id, epoch] as const;
      const [source] = await run({ sql: readSource, params: [end, end, ...from] });
      if (source === undefined || Number(source.base) >= end || Number(source.head) < end) return undefined;
      const base = Number(source.base);
      const shift = batch.end - Number(source.rest_at);
      const moved = (offset: SqlValue) => (offset === null ? null : Number(offset) + shift);
      const previewed = source.preview_at !== null && Number(source.preview_at) < end;
      const isWhole = Number(source.head) === end;
      const parts: SqlStatement[] = [];
      for (let at = Number(source.rest_at); at < end; at += moveBytes) {
        const to = Math.min(at + moveBytes, end);
        parts.push({ sql: copyRows, params: [shift, ...key, ...from, at, to] });
      }
      const made = {
        sql: `insert into ${session} ${created}
      select ?, ?, ?, ?, 0, 0, ${now}, 0, 0 from ${session} as source
      where ${sameSource} and source.base = ?
      ${s.orNothing}`,
        params: [...key, cwdKey(batch.cwd ?? cwd), ...from, base],
      };
      const counts = isWhole ? [numberOrNull(source.entries), numberOrNull(source.messages)] : [null, null];
      const preview = previewed ? readBytes(source.preview) : null;
      const previewAt = previewed ? moved(source.preview_at) : null;
      return {
        previewed,
        isDone: (rows) => rows.length > 0,
        /** Whether the source is another session, or its lines were replaced. */
        async isImpossible() {
          const [row] = await run(statements.shown(from));
          return row === undefined || Number(row.base) !== base;
        },
        statements: [
          // At READ COMMITTED each statement would see another state of the source.
          ...lock(from),
          made,
          ...insertions(batchRows(batch), key, 0),
          ...parts,
          appended(key, { from: 0, end: end + shift, termsEnd: 0 }, counts, [
            0,
            previewAt,
            moved(source.info_at),
            preview,
          ]),
        ],
      };
    },

    page: (key, { from, bytes, end }) => ({
      sql: page(
        "s.start",
        s.least("s.start + ?", "s.head", "?"),
        `select no, base, head, case when ? between base and head then ? else base end as start
        from ${session} where ${same}`,
      ),
      params: [from, from, ...key, bytes, end],
    }),

    pageBefore: (key, { end = Number.MAX_SAFE_INTEGER, bytes }) => ({
      sql: page(
        s.greatest("s.base", "s.stop - s.bytes"),
        "s.stop",
        `select no, base, head, ${s.least("?", "head")} as stop, ? as bytes from ${session} where ${same}`,
      ),
      params: [end, bytes, ...key],
    }),

    readAt: (key, offsets) => ({
      sql: `select ${s.offset} as at, e.line
      from (select no from ${session} where ${same}) as s cross join ${s.numbers}
      cross join ${entry} as e on ${s.at("s.no", "wanted.value")}`,
      params: [...key, JSON.stringify(offsets)],
    }),

    readRange: (key, from, to) => ({
      sql: `select ${range}
      where ${s.within("s.no", "?", "?")} order by ${s.order}`,
      params: [...key, from, to],
    }),

    moved: (sessions) => ({
      sql: `select at from ${s.triples} where c <> coalesce(
        (select ${s.concat("epoch", "':'", "head")} from ${session} where ${partition} = a and id = b), '')`,
      params: [JSON.stringify(sessions.map(({ partition: of, id, position }) => [of, id, position]))],
    }),

    ...(s.durability !== undefined && { durability: { sql: s.durability, params: [] } }),
  };

  /** The end of the copied lines, twice; then the source: the parts of it that a copy needs. */
  const readSource = `select base, head, entries, messages, preview_at, preview,
        (select ${s.offset} + length(e.line) from ${entry} as e
          where ${s.within("s.no", "s.base", "s.head")}
            and substr(e.line, -1) = x'0a' order by ${s.order} limit 1) as rest_at,
        case when info_at < ? then info_at else (
          select ${s.offset} from ${entry} as e
          where ${s.within("s.no", "s.base", "?")}
            and s.info_at is not null and substr(e.line, 1, 22) = ${infoStart}
          order by ${s.order} desc limit 1) end as info_at
      from ${session} as s where ${same}`;

  return { sql: statements, rows: offsetRows(statements), index };
}

/** Moves a row by an insert and a delete in one transaction. */
export function moveByTwo(returning: BlobSyntax["returning"]): BlobSyntax["move"] {
  return ({ columns, from, orNothing, to, values, where }) => [
    {
      sql: `insert into ${to} (${columns}) select ${values} from ${from} where ${where.sql} ${orNothing}`,
      params: where.params,
    },
    { sql: `delete from ${from} where ${where.sql}${returning("ref")}`, params: where.params },
  ];
}

/** The places of replaced lines: all lines move by `shift`, and by what those before them grew. */
function placesAfter(changes: readonly LineReplacement[], shift: number) {
  let moved = shift;
  return changes.map(({ at, length, line }) => {
    const place = { at: at + moved, length: line.length - 1 };
    moved += line.length - (length + 1);
    return place;
  });
}

function numberOrNull(value: SqlRow[string]): number | null {
  return value === null || value === undefined ? null : Number(value);
}

// An erasure: the whole log is written after its old end, with lines in place of others.

/** Bytes of rows that one statement moves. SQLite keeps them apart until it inserts them. */
const moveBytes: number = 8 * 1024 * 1024;

/** A new log after an old one. */
interface RowRewriting {
  /** The offset after the new lines. */
  readonly end: number;
  /** The new rows of the replaced lines. */
  readonly rows: readonly LogRow[];
  /** Statements that move the rows of the other lines. */
  readonly moves: readonly SqlStatement[];
  /** The offsets of header, preview and info in the new log, and the preview. */
  readonly shown: readonly SqlValue[];
}

/**
 * Plans the new lines.
 * @param session the session's row: base, head, and the offsets of the lines that a list shows
 * @param condition partition, id, epoch and head of the session
 */
export function planRewriting(
  session: SqlRow,
  changes: readonly LineReplacement[],
  sql: { readonly moveRows: string },
  condition: readonly SqlValue[],
): RowRewriting {
  const [base, head] = [Number(session.base), Number(session.head)];
  const rows: LogRow[] = [];
  const moves: SqlStatement[] = [];
  /** The offset after the unchanged lines so far, and what is added to the offsets of those that follow. */
  let from = base;
  let shift = head - base;
  /** The new offset of a line of the old log. */
  const shifts: (readonly [from: number, shift: number])[] = [[base, shift]];
  const move = (to: number): void => {
    for (let at = from; at < to; at += moveBytes) {
      const range = [at, Math.min(at + moveBytes, to)];
      moves.push({ sql: sql.moveRows, params: [shift, ...condition, ...range] });
    }
  };
  for (const { at, length, line } of changes) {
    move(at);
    for (const row of lineRows(line, at + shift)) rows.push(row);
    from = at + length + 1;
    shift += line.length - (length + 1);
    shifts.push([from, shift]);
  }
  move(head);
  const moved = (offset: unknown): number | null => {
    if (offset === null) return null;
    const old = Number(offset);
    return old + (shifts.findLast(([start]) => start <= old)?.[1] ?? 0);
  };
  const summaryAt = (offset: unknown) => {
    const change = offset === null ? undefined : changes.find(({ at }) => at === Number(offset));
    return change && summarizeLines([change.line.subarray(0, -1)], { head: false });
  };
  const [first, info] = [summaryAt(session.preview_at), summaryAt(session.info_at)];
  const isShown = session.preview_at !== null && (first === undefined || first.preview !== undefined);
  const isNamed = info === undefined || info.info !== undefined;
  const preview = first?.preview?.line ?? readBytes(session.preview);
  return {
    end: head + shift,
    rows,
    moves,
    shown: [
      moved(session.header_at),
      isShown ? moved(session.preview_at) : null,
      isNamed ? moved(session.info_at) : null,
      isShown ? preview : null,
    ],
  };
}
