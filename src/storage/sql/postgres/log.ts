/** The lines of one session in the database. */

import type {
  LinePlace,
  LineReplacement,
  LogAppend,
  LogBatch,
  LogErasure,
  LogPosition,
  SessionLog,
} from "../../../session/index.js";
import { cwdKey, DatabaseLog, type DatabaseSession } from "../../../session/internal.js";
import { ChangeWaiter, type Channels, channelOf } from "./channels.js";
import type { Database, Row } from "./database.js";
import {
  batchOf,
  bytesOf,
  erasureValues,
  isSameLines,
  lengthsOf,
  linesOf,
  linesWithin,
  numbersOf,
  pageBytes,
  placesByPage,
  remainingInDatabase,
  summaryValues,
  termsOf,
} from "./lines.js";
import type { Statements } from "./statements.js";

/** The tables of a log, shared by all logs of a backend. */
export interface LogTables {
  readonly schema: string;
  readonly sql: Statements;
  readonly database: Database;
  /** Runs the reads: the database, or a replica that may lag. */
  readonly reader: Database;
  readonly notify: boolean;
  /** Whether lines are written with their terms. */
  readonly search: boolean;
  readonly channels: Channels | undefined;
  readonly maxLineBytes: number;
}

/** How a write is known to be done: by the rows of its answer, or by its lines after a lost one. */
interface WriteCheck {
  readonly isDone?: (rows: readonly Row[]) => boolean;
  readonly places?: readonly LinePlace[];
}

const maxHead = Number.MAX_SAFE_INTEGER;
/** The first page of a log that is read backwards, which is often the only one. */
const firstPageBytes = 64 * 1024;
/** A log of less than this number of times the last lines is read from its start. */
const leastShare = 4;

/**
 * A session in two tables: its row, and a row for each line. An append is one statement, which moves the head
 * of the session's row if it is the expected one (compare-and-swap), and inserts the lines.
 */
export class PostgresLog implements SessionLog {
  readonly #tables: LogTables;
  readonly #row: DatabaseLog;
  readonly #waiter: ChangeWaiter | undefined;
  readonly changed?: (signal: AbortSignal) => Promise<void>;
  #previewed: boolean;

  constructor(tables: LogTables, session: DatabaseSession) {
    this.#tables = tables;
    this.#row = new DatabaseLog(session);
    this.#previewed = session.previewed;
    const { channels } = tables;
    if (channels === undefined) return;
    const { partition, id } = session;
    const waiter = new ChangeWaiter((heard) => channels.subscribe(partition, id, heard));
    this.#waiter = waiter;
    this.changed = (signal) => waiter.changed(signal);
  }

  /** The position of a session before its first append. */
  get start(): LogPosition {
    return this.#row.position(0);
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const from = this.#row.headOf(expected);
    const batch = batchOf(lines);
    const { header, preview, countValues, shownValues, isShown } = summaryValues(batch.lines, from, {
      head: this.#previewed,
    });
    const { sql } = this.#tables;
    const values = [...this.#row.key, from, ...batch.values, ...countValues];
    const terms = this.#termsOf(batch.lines);
    if (from === 0) {
      values[3] = cwdKey(header?.cwd ?? this.#row.session.cwd);
      const all = [...values, ...shownValues, ...terms];
      await this.#write("append to", expected, batch.lines, sql.create, all);
    } else if (isShown) {
      const all = [...values, ...shownValues, ...terms];
      await this.#write("append to", expected, batch.lines, sql.appendSummary, all);
    } else {
      const statement = lines.length === 1 ? sql.appendLine : sql.append;
      await this.#write("append to", expected, batch.lines, statement, [...values, ...terms]);
    }
    this.#previewed ||= preview !== undefined;
    return { position: this.#row.position(from + lines.length), at: lines.map((_, index) => from + index) };
  }

  async *read(
    from: LogPosition | undefined,
    options: Parameters<SessionLog["read"]>[1] = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    const { reader, database, sql, maxLineBytes } = this.#tables;
    const last =
      from === undefined && options.lastBytes ? await this.#lastLines(options.lastBytes) : undefined;
    if (last !== undefined) {
      yield last;
      return;
    }
    const bytes = Math.min(options.batchBytes ?? pageBytes, pageBytes);
    let next = from === undefined ? 0 : this.#row.headOf(from);
    let end = maxHead;
    for (let isFirst = from === undefined; ; isFirst = false) {
      options.signal?.throwIfAborted();
      const values = [...this.#row.key, next, bytes, linesWithin(bytes), end, maxLineBytes];
      const [row] = await reader.query(this.#row.operation("read"), sql.read, values);
      if (row === undefined) throw this.#row.gone();
      const [base, head] = [Number(row.base), Number(row.head)];
      // The replica lags behind the one that answered before.
      if (head < next && reader !== database) return;
      const restarted = !isFirst && (next > head || (base > 0 && next <= base));
      if (restarted || end === maxHead) end = head;
      if (row.lengths === null) return;
      const batch = this.#batchOf(row);
      yield restarted ? { ...batch, restarted } : batch;
      next = this.#row.headOf(batch.next);
      if (next >= end) return;
    }
  }

  /** The last lines of the log in one page; undefined if they are a large part of it. */
  async #lastLines(bytes: number): Promise<LogBatch | undefined> {
    const { reader, sql, maxLineBytes } = this.#tables;
    const values = [...this.#row.key, null, bytes, linesWithin(bytes), maxLineBytes];
    const [row] = await reader.query(this.#row.operation("read"), sql.readBackwards, values);
    if (row === undefined) throw this.#row.gone();
    if (row.lengths === null) return undefined;
    const batch = this.#batchOf(row);
    const skipped = Number(row.start) - Number(row.base);
    if (skipped === 0) return batch;
    const count = this.#row.headOf(batch.next) - Number(row.start);
    return skipped < (leastShare - 1) * count ? undefined : { ...batch, skipped: true };
  }

  async *readBackwards(
    before: number | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    const { reader, sql, maxLineBytes } = this.#tables;
    for (let end = before ?? null, bytes = firstPageBytes; ; bytes = Math.min(4 * bytes, pageBytes)) {
      options.signal?.throwIfAborted();
      const values = [...this.#row.key, end, bytes, linesWithin(bytes), maxLineBytes];
      const [row] = await reader.query(this.#row.operation("read"), sql.readBackwards, values);
      if (row === undefined) throw this.#row.gone();
      if (row.lengths === null) return;
      yield this.#batchOf(row);
      end = Number(row.start);
      if (end <= Number(row.base)) return;
    }
  }

  async readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]> {
    const { reader, sql } = this.#tables;
    const found: (Uint8Array | undefined)[] = [];
    for (const page of placesByPage(places)) {
      const values = [...this.#row.key, numbersOf(page)];
      const [row] = await reader.query(this.#row.operation("read"), sql.readAt, values);
      for (const line of linesOf(row)) found.push(line);
    }
    return found;
  }

  /** The old lines stay in the table, before the new ones. */
  async replace(
    lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    expected: LogPosition,
  ): Promise<LogPosition> {
    const all: Uint8Array[] = [];
    for await (const line of lines) all.push(line);
    const from = this.#row.headOf(expected);
    const batch = batchOf(all);
    const { countValues, shownValues, preview } = summaryValues(batch.lines, from, { head: false });
    const terms = this.#termsOf(batch.lines);
    const values = [...this.#row.key, from, ...batch.values, ...countValues, ...shownValues, ...terms];
    await this.#write("replace", expected, batch.lines, this.#tables.sql.replace, values);
    this.#previewed = preview !== undefined;
    return this.#row.position(from + all.length);
  }

  /** All lines get new numbers, so that readers at an older position start again. */
  async erase(changes: readonly LineReplacement[], expected: LogPosition): Promise<LogErasure> {
    const head = this.#row.headOf(expected);
    const { database, sql } = this.#tables;
    const operation = this.#row.operation("erase lines of");
    const [shown] = await database.query(operation, sql.shown, this.#row.key);
    if (shown === undefined) throw this.#row.gone();
    if (Number(shown.head) !== head) throw await this.#refusal(expected);
    const removed = Number(shown.kept) === 0 ? [] : [`${shown.kept} lines from before a replacement`];
    const done = { removed, remaining: remainingInDatabase };
    if (changes.length === 0) {
      await database.query(operation, sql.purge, this.#row.key);
      return { ...done, position: expected };
    }
    const { lines, values, places } = erasureValues(changes, head, shown);
    const all = [...this.#row.key, head, ...values, ...this.#termsOf(lines)];
    await this.#write("erase lines of", expected, lines, sql.erase, all, { places });
    return { ...done, position: this.#row.position(2 * head - Number(shown.base)) };
  }

  async copy(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean> {
    if (!(from instanceof PostgresLog) || !this.#sharesTables(from)) return false;
    const end = last === undefined ? from.#row.headOf(to) : last.at + 1;
    const { partition, id, epoch, cwd } = this.#row.session;
    // Terms begin with their partition.
    if (this.#tables.search && partition !== from.#row.session.partition) return false;
    const header = first.subarray(0, -1);
    const { cwd: written = cwd } = summaryValues([header], 0, { head: false }).header ?? {};
    const values = [partition, id, epoch, cwdKey(written), header, ...from.#row.key, end];
    let isReached = true;
    const isDone = ([row]: readonly Row[]) => {
      isReached = row?.reached === true;
      return !isReached || row?.made === true;
    };
    await this.#write("copy to", this.start, [header], this.#tables.sql.copy, values, { isDone });
    return isReached;
  }

  async close(): Promise<void> {
    await this.#waiter?.close();
  }

  #termsOf(lines: readonly Uint8Array[]): readonly string[] {
    return this.#tables.search ? [termsOf(lines, this.#row.session.partition)] : [];
  }

  #sharesTables(log: PostgresLog): boolean {
    const { database, schema } = this.#tables;
    return log.#tables.database.db === database.db && log.#tables.schema === schema;
  }

  /**
   * Runs a write until its outcome is known: done, refused, or neither within the time for attempts.
   * @param lines the lines that the log has from `expected` on, or at `places`, if the write was done
   * @throws SessileError as {@link SessionLog.append}
   */
  async #write(
    name: string,
    expected: LogPosition,
    lines: readonly Uint8Array[],
    statement: string,
    values: readonly unknown[],
    {
      isDone = (rows) => rows.length > 0,
      places = placesFrom(this.#row.headOf(expected), lines),
    }: WriteCheck = {},
  ): Promise<void> {
    const { database, notify, schema } = this.#tables;
    const { partition } = this.#row.session;
    const all = notify && name !== "copy to" ? [...values, channelOf(schema, partition)] : values;
    await this.#row.write({
      retrying: (attempt, onLost) => database.retrying(this.#row.operation(name), attempt, onLost),
      run: async () => isDone(await database.run(statement, all)),
      isWritten: () => this.#isWritten(places, lines),
      refused: async () => {
        throw await this.#refusal(expected);
      },
    });
  }

  /** Whether the log has these lines at these places. Lines have ids, and a write is done whole or not. */
  async #isWritten(places: readonly LinePlace[], lines: readonly Uint8Array[]): Promise<boolean> {
    let first = 0;
    for (const page of placesByPage(places)) {
      const [row] = await this.#tables.database.run(this.#tables.sql.readAt, [
        ...this.#row.key,
        numbersOf(page),
      ]);
      if (!isSameLines(linesOf(row), lines.slice(first, first + page.length))) return false;
      first += page.length;
    }
    return true;
  }

  async #refusal(expected: LogPosition): Promise<Error> {
    const { partition, id } = this.#row.session;
    const [row] = await this.#tables.database.run(this.#tables.sql.find, [partition, id]);
    return this.#row.refusal(this.#row.headOf(expected), row);
  }

  /** The lines of a page, those that are too long apart. */
  #batchOf(row: Row): LogBatch {
    const start = Number(row.start);
    const bounds: number[] = [];
    const at: number[] = [];
    const tooLong: LinePlace[] = [];
    let offset = 0;
    const lengths = lengthsOf(row.lengths);
    for (const [index, length] of lengths.entries()) {
      if (length < 0) tooLong.push({ at: start + index, length: -length });
      if (length < 0) continue;
      bounds.push(offset, offset + length);
      at.push(start + index);
      offset += length;
    }
    const next = this.#row.position(start + lengths.length);
    const batch: LogBatch = { lines: { bytes: bytesOf(row.bytes), bounds }, at, next };
    return tooLong.length === 0 ? batch : { ...batch, tooLong };
  }
}

function placesFrom(from: number, lines: readonly Uint8Array[]): readonly LinePlace[] {
  return lines.map(({ length }, index) => ({ at: from + index, length }));
}
