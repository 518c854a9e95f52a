/** The lines of one session in a database. */

import { isSideLogId } from "../../core/ids.js";
import type {
  LinePlace,
  LineReplacement,
  LogAppend,
  LogBatch,
  LogErasure,
  LogPosition,
  SessionLog,
} from "../../session/index.js";
import { DatabaseLog, type DatabaseSession, eachLine } from "../../session/internal.js";
import type { Changes, ChangeWatch } from "./changes.js";
import type { Database } from "./database.js";
import type { LineBatch, RunStatement, SqlDialect, SqlRow, SqlStatement } from "./dialect.js";
import { isSame, lineBatch, pageBytes, placesByPage } from "./lines.js";
import { tryIndexLog } from "./search.js";

/** The tables of a log, shared by all logs of a backend. */
export interface LogTables {
  readonly dialect: SqlDialect;
  readonly database: Database;
  /** Runs the reads: the database, or a replica that may lag. */
  readonly reader: Database;
  /** The followed sessions of the database. */
  readonly changes: Changes;
  readonly maxLineBytes: number;
  /** Whether appends index the words of their lines. */
  readonly isIndexing: boolean;
}

/** A log of less than this number of times the last lines is read from its start. */
const leastShare = 4;

/**
 * A session in two tables: its row, and the rows of its lines. An append is one transaction, which inserts the
 * lines if the head of the session's row is the expected one, and moves it: a compare-and-swap.
 */
export class SqlLog extends DatabaseLog implements SessionLog {
  readonly #tables: LogTables;
  readonly #dialect: SqlDialect;
  readonly #watch: ChangeWatch;
  #previewed: boolean;
  /** The whole log, if it was read with others: for a handle of one search. */
  readonly #whole: LogBatch | undefined;

  constructor(tables: LogTables, session: DatabaseSession, whole?: readonly SqlRow[]) {
    super(session);
    const page = whole && tables.dialect.rows.reader(tables.maxLineBytes).page(whole);
    this.#whole = page?.batch && { ...page.batch, next: this.position(page.next) };
    this.#tables = tables;
    this.#dialect = tables.dialect;
    this.#previewed = session.previewed;
    const { changes, dialect, reader } = tables;
    this.#watch = changes.watch(session, {
      client: reader.client,
      async moved(sessions) {
        const { sql, params } = dialect.sql.moved(sessions);
        const operation = { name: "poll", path: `${sessions.length} sessions` };
        return (await reader.queryWithin(operation, sql, params)).map(({ at }) => Number(at));
      },
    });
  }

  /** The position of a session before its first append. */
  get start(): LogPosition {
    return this.position(0);
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const batch = this.#lineBatch(lines, this.positionHead(expected), this.#previewed);
    const statements = this.#dialect.sql.append(this.key, batch, this.session.cwd);
    await this.#write("append to", batch.from, statements, lineBatchPlaces(batch), lines);
    this.#previewed ||= batch.preview !== undefined;
    return { position: this.position(batch.end), at: batch.at };
  }

  async *read(
    from: LogPosition | undefined,
    options: Parameters<SessionLog["read"]>[1] = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    const { reader, database, maxLineBytes } = this.#tables;
    if (from === undefined && this.#whole !== undefined) {
      yield this.#whole;
      return;
    }
    const { lastBytes = 0 } = options;
    const isLong = lastBytes > 0 && (this.session.size ?? 0) >= leastShare * lastBytes;
    const last = from === undefined && isLong ? await this.#lastLines(lastBytes) : undefined;
    if (last !== undefined) {
      yield last;
      return;
    }
    const bytes = Math.min(options.batchBytes ?? pageBytes, pageBytes);
    const lines = this.#dialect.rows.reader(maxLineBytes);
    let next = from === undefined ? 0 : this.positionHead(from);
    let end: number | undefined;
    let lineCount = this.#linesWithin(bytes);
    for (let isFirst = from === undefined; ; isFirst = false) {
      options.signal?.throwIfAborted();
      const within = { bytes, lines: lineCount, maxLineBytes };
      const query = { ...within, from: next, end: end ?? Number.MAX_SAFE_INTEGER };
      const rows = await this.#query("read", this.#dialect.sql.page(this.key, query));
      const { base, head, at } = this.#first(rows);
      // The replica lags behind the one that answered before.
      if (head < next && reader !== database) return;
      const restarted = !isFirst && (next > head || (base > 0 && next <= base));
      if (restarted) lines.clear();
      if (restarted || end === undefined) end = head;
      if (at === null) {
        // The new lines begin after the end that this page was bounded by.
        if (!restarted || base === head) return;
        next = base;
        continue;
      }
      const page = lines.page(rows);
      lineCount = rows.length;
      // A page may have a part of one long line alone.
      if (page.batch !== undefined) {
        const batch: LogBatch = { ...page.batch, next: this.position(page.next), stays: true };
        yield restarted ? { ...batch, restarted } : batch;
      }
      next = page.end;
      if (next >= end) return;
    }
  }

  /** About how many lines a number of bytes has, if the session was found. */
  #linesWithin(bytes: number): number | undefined {
    const { lines = 0, size = 0 } = this.session;
    return size > 0 && lines > 0 ? (lines * bytes) / size : undefined;
  }

  /** The last lines of the log; undefined if no line begins there. */
  async #lastLines(bytes: number): Promise<LogBatch | undefined> {
    const { maxLineBytes } = this.#tables;
    const query = { end: undefined, bytes, lines: this.#linesWithin(bytes), maxLineBytes };
    const rows = await this.#query("read", this.#dialect.sql.pageBefore(this.key, query));
    const { base, at } = this.#first(rows);
    if (at === null) return undefined;
    const whole = at === base ? rows : this.#dialect.rows.wholeRows(rows);
    const { batch, first, next } = this.#dialect.rows.reader(maxLineBytes).page(whole);
    if (batch === undefined) return undefined;
    const last: LogBatch = { ...batch, next: this.position(next), stays: true };
    return first === base ? last : { ...last, skipped: true };
  }

  readBackwards(
    before: number | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterable<Omit<LogBatch, "restarted" | "next">> {
    const { maxLineBytes } = this.#tables;
    const read = async (end: number | undefined, bytes: number) => {
      options.signal?.throwIfAborted();
      const query = { end, bytes, maxLineBytes };
      const rows = await this.#query("read", this.#dialect.sql.pageBefore(this.key, query));
      if (rows.length === 0) throw this.gone();
      return rows;
    };
    return this.#dialect.rows.backwards(before, read, maxLineBytes);
  }

  async readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]> {
    if (this.#whole !== undefined) {
      const lines = new Map<number, Uint8Array>();
      const line = (bytes: Uint8Array, at: number, start: number, end: number) =>
        lines.set(at, bytes.subarray(start, end));
      eachLine(this.#whole, { line, tooLong: () => undefined });
      return places.map(({ at }) => lines.get(at));
    }
    return this.#dialect.rows.readAt(this.key, places, (statement) => this.#query("read", statement));
  }

  /** The old lines stay in the table, before the new ones. */
  async replace(
    lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    expected: LogPosition,
  ): Promise<LogPosition> {
    const all: Uint8Array[] = [];
    for await (const line of lines) all.push(line);
    const batch = this.#lineBatch(all, this.positionHead(expected), false);
    const statements = this.#dialect.sql.replace(this.key, batch, await this.hasTerms());
    await this.#write("replace", batch.from, statements, lineBatchPlaces(batch), all);
    this.#previewed = batch.preview !== undefined;
    return this.position(batch.end);
  }

  /** All lines get new places, so that readers at an older position start again. */
  async erase(changes: readonly LineReplacement[], expected: LogPosition): Promise<LogErasure> {
    const head = this.positionHead(expected);
    const { sql, index, remaining } = this.#dialect;
    const { database } = this.#tables;
    const operation = this.operation("erase lines of");
    const shownLines = sql.shown(this.key);
    const [shown] = await database.query(operation, shownLines.sql, shownLines.params);
    if (shown === undefined) throw this.gone();
    if (Number(shown.head) !== head) throw await this.#refusal(head);
    const done = { removed: sql.keptLines(shown), remaining };
    if (changes.length === 0) {
      const purge = sql.purge(this.key, shown);
      const [now] = await database.retrying(operation, () => database.transaction(purge));
      if (now !== undefined && Number(now.head) !== head) throw await this.#refusal(head);
      return { ...done, position: expected };
    }
    const hasTerms = await this.hasTerms();
    const { end, places, statements } = sql.erase(this.key, shown, changes, hasTerms);
    const lines = changes.map(({ line }) => line);
    await this.#write("erase lines of", head, statements, places, lines);
    // Another program may have made the index since the last look.
    if (!hasTerms && (await this.hasTerms())) {
      const forget = index?.forget?.(this.key) ?? [];
      await database.retrying(operation, () => database.transaction(forget));
    }
    await this.#indexLate();
    return { ...done, position: this.position(end) };
  }

  async copy(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean> {
    if (!(from instanceof SqlLog) || !this.#sharesTables(from)) return false;
    const { rows, sql } = this.#dialect;
    const end = last === undefined ? from.positionHead(to) : last.at + rows.step(last.length + 1);
    const batch = lineBatch([first], 0, rows.step, { head: false });
    const run: RunStatement = (statement) => this.#query("copy to", statement, this.#tables.database);
    const plan = await sql.planCopy(this.session, batch, from.key, end, run);
    if (plan === undefined) return false;
    const isMade = await this.#write("copy to", 0, plan.statements, lineBatchPlaces(batch), [first], plan);
    this.#previewed = isMade && plan.previewed;
    if (isMade) await this.#indexLate();
    return isMade;
  }

  async delete(): Promise<void> {
    const { dialect, database } = this.#tables;
    // Logs beside those of sessions have no terms.
    const hasTerms = !isSideLogId(this.session.id) && (await this.hasTerms());
    const statements = dialect.sql.delete(this.key, hasTerms);
    await database.retrying(this.operation("delete"), () => database.transaction(statements));
    tellChange(this.#tables, this.#watch.name, this.#watch);
  }

  changed(...args: Parameters<ChangeWatch["changed"]>): Promise<void> {
    return this.#watch.changed(...args);
  }

  close(): Promise<void> {
    return this.#watch.close();
  }

  /** Whether there is an index of its own. Another program may have made it. */
  async hasTerms(): Promise<boolean> {
    const exists = this.#dialect.index?.exists;
    return exists !== undefined && (await this.#query("look into the index of", exists)).length > 0;
  }

  /** Indexes a log whose lines were moved. */
  async #indexLate(): Promise<void> {
    const { index } = this.#dialect;
    if (this.#tables.isIndexing && index?.isLate) await tryIndexLog(index, this.#tables.database, this);
  }

  #lineBatch(lines: readonly Uint8Array[], from: number, head: boolean): LineBatch {
    const { index, rows } = this.#dialect;
    const keyed = index?.hasKeys === true ? this.session.partition : "";
    return lineBatch(lines, from, rows.step, {
      head,
      indexedPartition: this.#tables.isIndexing && !isSideLogId(this.session.id) ? keyed : undefined,
    });
  }

  #first(rows: readonly SqlRow[]): { base: number; head: number; at: number | null } {
    const [first] = rows;
    if (first === undefined) throw this.gone();
    const { base, head, at } = first;
    return { base: Number(base), head: Number(head), at: at === null ? null : Number(at) };
  }

  #query(
    name: string,
    { sql, params }: SqlStatement,
    database: Database = this.#tables.reader,
  ): Promise<readonly SqlRow[]> {
    return database.query(this.operation(name), sql, params);
  }

  #sharesTables(log: SqlLog): boolean {
    const { database, dialect } = this.#tables;
    return log.#tables.database.client === database.client && log.#tables.dialect.name === dialect.name;
  }

  /**
   * Runs a write until its outcome is known: done, refused, or neither within the time for attempts.
   * @param lines the lines, with their line feeds, that the log has at `places` if the write was done
   * @throws SessileError as {@link SessionLog.append}
   */
  async #write(
    name: string,
    expected: number,
    statements: readonly SqlStatement[],
    places: readonly LinePlace[],
    lines: readonly Uint8Array[],
    {
      isDone = (rows) => rows.length > 0,
      isImpossible = () => Promise.resolve(false),
    }: {
      readonly isDone?: (rows: readonly SqlRow[]) => boolean;
      readonly isImpossible?: () => Promise<boolean>;
    } = {},
  ): Promise<boolean> {
    const { database } = this.#tables;
    const done = await this.write({
      retrying: (attempt, onLost) => database.retrying(this.operation(name), attempt, onLost),
      run: async () => isDone(await database.transaction(statements)),
      isWritten: () => this.#isWritten(places, lines),
      refused: async () => {
        if (await isImpossible()) return false;
        const row = await this.#found();
        // Only the index of words has changed meanwhile.
        if (expected > 0 && row?.epoch === this.session.epoch && Number(row.head) === expected)
          return this.#write(name, expected, statements, places, lines, { isDone, isImpossible });
        throw this.refusal(expected, row);
      },
    });
    if (done) tellChange(this.#tables, this.#watch.name, this.#watch);
    return done;
  }

  /** Whether the log has these lines at these places. Lines have ids, and a write is done whole or not. */
  async #isWritten(places: readonly LinePlace[], lines: readonly Uint8Array[]): Promise<boolean> {
    const run: RunStatement = ({ sql, params }) => this.#tables.database.run(sql, params);
    let first = 0;
    for (const page of placesByPage(places)) {
      const found = await this.#dialect.rows.readAt(this.key, page, run);
      for (const line of found) if (!isSame(line, lines[first++]?.subarray(0, -1))) return false;
    }
    return true;
  }

  async #refusal(expected: number): Promise<Error> {
    return this.refusal(expected, await this.#found());
  }

  /** The row that has the session's id now. */
  async #found(): Promise<SqlRow | undefined> {
    const { partition, id } = this.session;
    const { sql, params } = this.#dialect.sql.find(partition, id);
    return (await this.#tables.database.run(sql, params))[0];
  }
}

/** Wakes the readers of a session by its name: those of this process, and if the dialect notifies, of others. */
export function tellChange({ changes, dialect }: LogTables, name: string, by?: ChangeWatch): void {
  changes.tell(name, by);
  dialect.notify?.(name);
}

function lineBatchPlaces({ at, lines }: LineBatch): readonly LinePlace[] {
  return at.map((place, index) => ({ at: place, length: (lines[index]?.length ?? 1) - 1 }));
}
