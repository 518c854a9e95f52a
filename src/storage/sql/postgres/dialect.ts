/** The dialect of PostgreSQL: every write is one statement, with all lines in one array. */

import { sleep } from "../../../core/concurrency.js";
import { cwdKey, summarizeLines } from "../../../session/internal.js";
import type {
  IndexStatements,
  LineBatch,
  ListPlace,
  SearchPage,
  SessionKey,
  SessionStatements,
  SqlDialect,
  SqlRow,
  SqlStatement,
  SqlValue,
} from "../dialect.js";
import { postgresErrors } from "./driver.js";
import {
  type LineRange,
  linesWithin,
  lineValues,
  numberedRows,
  readTime,
  sqlArray,
  termPatterns,
  termQuery,
  wordRows,
  wordsKey,
} from "./lines.js";
import { migrationTo } from "./migrations.js";
import { statementsFor } from "./statements.js";

/** The tables of a schema. */
export interface PostgresDialectOptions {
  readonly schema: string;
  readonly search: boolean;
  readonly listen: SqlDialect["listen"];
  readonly notify: SqlDialect["notify"];
  /** Told of the terms that a write indexes, in characters. */
  readonly indexing?: ((length: number) => void) | undefined;
}

/** Sessions that a search looks through without the index, first and at most. */
const [firstNewest, maxNewest] = [64, 4096];
/** Rows of words that a search takes from the index. Of a more common word the newest sessions have some. */
const maxWordRows = 2000;
/** Lines of a session beyond which all are read. */
const maxCandidates = 50_000;
/** Attempts to build the indices beside other programs that do, and the time between two looks at their builds. */
const [maxBuilds, buildMs] = [10, 200];

export function postgresDialect(options: PostgresDialectOptions): SqlDialect {
  const { schema, search, listen, notify, indexing } = options;
  const texts = statementsFor(schema, search);
  const statement = (sql: string, ...params: readonly SqlValue[]): SqlStatement => ({ sql, params });
  /** A write: the rows of words are its last values. */
  function write(sql: string, key: SessionKey, terms: LineBatch["terms"], ...params: readonly SqlValue[]) {
    const words = search ? wordRows(terms, key[0]) : [];
    indexing?.(words.at(-1)?.length ?? 0);
    return [statement(sql, ...key, ...params, ...words)];
  }
  const readAt = (key: SessionKey, ranges: readonly LineRange[]) => {
    const ends = [0, 1].map((end) => sqlArray(ranges.map((range) => range[end] as number)));
    return statement(texts.readAt, ...key, ...ends);
  };

  const sql: SessionStatements = {
    find: (partition, id) => statement(texts.find, partition, id),

    list(partition, after, limit, cwd) {
      const values = [partition, readTime(after?.modifiedAt ?? Infinity), after?.id ?? "", limit];
      return cwd === undefined
        ? statement(texts.list, ...values)
        : statement(texts.listOfCwd, ...values, cwdKey(cwd));
    },

    partitions: (from, limit) => statement(texts.partitions, from, limit),
    delete: (key) => [statement(texts.delete, ...key)],
    deleteSome: (partition, limit) => statement(texts.deleteSome, partition, limit),

    append(key, batch, cwd) {
      const { counts, from, lines, terms } = batch;
      const isShown = batch.header !== undefined || batch.preview !== undefined || batch.info !== undefined;
      const [line] = lines;
      if (from > 0 && !isShown && lines.length === 1 && line !== undefined)
        return write(texts.appendLine, key, terms, from, line.subarray(0, -1), ...counts);
      const values = [...lineValues(lines), ...counts];
      if (from === 0) {
        return write(texts.create, key, terms, cwdKey(batch.cwd ?? cwd), ...values, ...lineBatchShown(batch));
      }
      if (isShown) return write(texts.appendSummary, key, terms, from, ...values, ...lineBatchShown(batch));
      return write(texts.append, key, terms, from, ...values);
    },

    replace(key, batch) {
      const values = [batch.from, ...lineValues(batch.lines), ...batch.counts, ...lineBatchShown(batch)];
      return write(texts.replace, key, batch.terms, ...values);
    },

    shown: (key) => statement(texts.shown, ...key),
    keptLines: ({ kept }) => (Number(kept) === 0 ? [] : [`${kept} lines from before a replacement`]),
    purge: (key) => [statement(texts.purge, ...key)],

    erase(key, shown, changes) {
      const [base, head] = [Number(shown.base), Number(shown.head)];
      const given = changes.map(({ line }) => line);
      const [, , lengths, bytes] = lineValues(given);
      const summaryAt = (place: string | null) => {
        const change = place === null ? undefined : changes.find(({ at }) => at === Number(place));
        return change && summarizeLines([change.line.subarray(0, -1)], { head: false });
      };
      const [first, info] = [summaryAt(shown.preview_at), summaryAt(shown.info_at)];
      const preview = [first !== undefined, first?.preview?.line ?? null];
      const latest = [info !== undefined, info?.info?.line ?? null];
      const values = [head, sqlArray(changes.map(({ at }) => at)), lengths, bytes, ...preview, ...latest];
      return {
        statements: [statement(texts.erase, ...key, ...values)],
        end: 2 * head - base,
        places: changes.map(({ at, line }) => ({ at: at + head - base, length: line.length - 1 })),
      };
    },

    async planCopy({ partition, id, epoch, cwd }, batch, source, end) {
      let isReached = true;
      const header = batch.lines[0]?.subarray(0, -1);
      const made = [partition, id, epoch, cwdKey(batch.cwd ?? cwd), header];
      return {
        statements: [
          statement(texts.copy, ...made, ...source, end, ...(search ? [wordsKey(partition)] : [])),
        ],
        previewed: false,
        isDone([row]: readonly SqlRow[]) {
          isReached = row?.reached === true;
          return row?.made === true;
        },
        isImpossible: async () => !isReached,
      };
    },

    page: (key, query) => {
      const { bytes, end, from, maxLineBytes } = query;
      return statement(texts.read, ...key, from, bytes, linesWithin(query), end, maxLineBytes);
    },
    pageBefore: (key, query) => {
      const { bytes, end = null, maxLineBytes } = query;
      return statement(texts.readBackwards, ...key, end, bytes, linesWithin(query), maxLineBytes);
    },
    moved: (sessions) =>
      statement(
        texts.moved,
        sqlArray(sessions.map(({ partition }) => partition)),
        sqlArray(sessions.map(({ id }) => id)),
        sqlArray(sessions.map(({ position }) => position)),
      ),
    durability: statement(texts.durability),
  };

  type WordsQuery = Parameters<IndexStatements["search"]>[0];
  const isSession = ({ id, found, words_at, head }: SqlRow): boolean =>
    id !== null && (found !== null || Number(words_at) < Number(head));
  const wordsPage = (
    { anyOf, partition, since, cwd }: WordsQuery,
    after: ListPlace | undefined,
    limit: number,
    sql: string,
  ): SqlStatement =>
    statement(
      sql,
      partition,
      readTime(after?.modifiedAt ?? Infinity),
      after?.id ?? "",
      limit,
      sqlArray(termPatterns(anyOf)),
      readTime(since),
      cwd,
      ...(sql === texts.searchAll ? [termQuery(anyOf, partition)] : []),
    );
  /** Looks through the newest sessions: a common word is soon found, and an index has all places of it. */
  const newest = (query: WordsQuery, after: ListPlace | undefined, limit: number): SearchPage => ({
    statement: wordsPage(query, after, limit, texts.searchNewest),
    sessions: (rows) => rows.filter(isSession),
    next(rows) {
      const last = rows.at(-1);
      if (last === undefined || Number(last.place) < limit) return undefined;
      const place = { modifiedAt: Number(last.modified), id: String(last.id) };
      return after === undefined ? all(query, place) : newest(query, place, Math.min(4 * limit, maxNewest));
    },
  });
  /** Looks for all sessions in the index, unless they are many. */
  const all = (query: WordsQuery, after: ListPlace): SearchPage => ({
    statement: wordsPage(query, after, maxWordRows, texts.searchAll),
    sessions: (rows) => rows.filter(isSession),
    next: ([row]) => (row?.many === true ? newest(query, after, 4 * firstNewest) : undefined),
  });

  /** A table of words beside the lines. */
  const index: IndexStatements = {
    async make(run) {
      // Two builds on one table wait for each other, until the server ends one of them: its index is broken.
      for (let attempt = 1; attempt <= maxBuilds; attempt++) {
        while ((await run(statement(texts.building))).length > 0) await sleep(buildMs);
        const broken = await run(statement(texts.brokenIndices));
        if (attempt > 1 && broken.length === 0) return;
        for (const { name } of broken) await run(statement(`drop index concurrently if exists ${name}`));
        const tables = (await run(statement(texts.wordTables))).map(({ name }) => String(name));
        for (const sql of texts.makeIndices(tables)) await run(statement(sql));
      }
    },
    isLate: true,
    hasKeys: false,
    search: (query) => newest(query, undefined, firstNewest),
    candidates({ found, words_at: from, head }) {
      const ranges =
        found === null
          ? []
          : String(found)
              .split(",")
              .map((range) => range.split("-").map(Number));
      ranges.push([Number(from), Number(head) - 1]);
      const at = new Set<number>();
      for (const [first = 0, last = 0] of ranges) {
        if (at.size + last - first > maxCandidates) return undefined;
        for (let line = first; line <= last; line++) at.add(line);
      }
      return [...at];
    },
    readWhole: (partition, sessions, maxBytes) =>
      statement(
        texts.readWhole,
        partition,
        sqlArray(sessions.map(({ id }) => id)),
        sqlArray(sessions.map(({ epoch }) => epoch)),
        maxBytes,
      ),
    unindexed: (after, limit) => statement(texts.unindexed, ...after, limit),
    termsAt: (key) => statement(texts.termsAt, ...key),
    index: (key, from, terms, end) => write(texts.index, key, terms, from, end),
  };

  return {
    name: schema,
    errors: postgresErrors,
    rows: numberedRows(readAt),
    sql,
    index,
    remaining: [
      "dead rows, keys of indices and statistics of the database until a `vacuum (full, analyze)`",
      "the write-ahead log, replicas and backups of the database, and the log of the server if it has values",
    ],
    remainingOfPartition: ["the row of the partition in the table quota"],
    listPages: [50, 1000],
    async migrate(run, _transaction, parts) {
      await run(statement(migrationTo(schema, undefined, parts)));
    },
    listen,
    notify,
  };
}

function lineBatchShown({ header, preview, info }: LineBatch): readonly SqlValue[] {
  const placed = (found: LineBatch["info"]) => [found?.at ?? null, found?.line ?? null];
  return [header?.line ?? null, ...placed(preview), ...placed(info)];
}
