/** The lines of one session in the database. */

import { SessileError } from "../errors/index.js";
import type {
  LinePlace,
  LineReplacement,
  LogAppend,
  LogBatch,
  LogErasure,
  LogPosition,
  SessionLog,
} from "../session/index.js";
import { ChangeWaiter, type Channels, channelOf } from "./channels.js";
import type { Database, Row } from "./database.js";
import { erasureValues, remainingInDatabase } from "./erasure.js";
import {
  batchOf,
  bytesOf,
  isSameLines,
  lengthsOf,
  linesOf,
  linesWithin,
  numbersOf,
  pageBytes,
  placesByPage,
  summaryValues,
} from "./lines.js";
import { cwdKey } from "./options.js";

import type { Statements } from "./statements.js";
import { termsOf } from "./terms.js";

/** The session of a log. */
export interface LogSession {
  readonly partition: string;
  readonly id: string;
  /** Identifies the session among those that had the id. */
  readonly epoch: string;
  /** The directory, for the session's first append. */
  readonly cwd: string;
  /** Whether the list's cache has the header and the preview. */
  readonly previewed: boolean;
}

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

/**
 * A session in two tables: its row, and a row for each line. An append is one statement, which moves the head
 * of the session's row if it is the expected one (compare-and-swap), and inserts the lines.
 */
export class PostgresLog implements SessionLog {
  readonly #tables: LogTables;
  readonly #session: LogSession;
  readonly #waiter: ChangeWaiter | undefined;
  readonly changed?: (signal: AbortSignal) => Promise<void>;
  #previewed: boolean;

  constructor(tables: LogTables, session: LogSession) {
    this.#tables = tables;
    this.#session = session;
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
    return this.#position(0);
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const from = this.#headOf(expected);
    const batch = batchOf(lines);
    const { header, preview, countValues, shownValues, isShown } = summaryValues(batch.lines, from, {
      head: this.#previewed,
    });
    const { sql } = this.#tables;
    const values = [...this.#key, from, ...batch.values, ...countValues];
    const terms = this.#termsOf(batch.lines);
    if (from === 0) {
      values[3] = cwdKey(header?.cwd ?? this.#session.cwd);
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
    return { position: this.#position(from + lines.length), at: lines.map((_, index) => from + index) };
  }

  async *read(
    from: LogPosition | undefined,
    options: { readonly signal?: AbortSignal; readonly batchBytes?: number } = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    const { reader, database, sql, maxLineBytes } = this.#tables;
    const bytes = Math.min(options.batchBytes ?? pageBytes, pageBytes);
    let next = from === undefined ? 0 : this.#headOf(from);
    let end = maxHead;
    for (let isFirst = from === undefined; ; isFirst = false) {
      options.signal?.throwIfAborted();
      const values = [...this.#key, next, bytes, linesWithin(bytes), end, maxLineBytes];
      const [row] = await reader.query(this.#operation("read"), sql.read, values);
      if (row === undefined) throw this.#gone();
      const [base, head] = [Number(row.base), Number(row.head)];
      // The replica lags behind the one that answered before.
      if (head < next && reader !== database) return;
      const restarted = !isFirst && (next > head || (base > 0 && next <= base));
      if (restarted || end === maxHead) end = head;
      if (row.lengths === null) return;
      const batch = this.#batchOf(row);
      yield restarted ? { ...batch, restarted } : batch;
      next = this.#headOf(batch.next);
      if (next >= end) return;
    }
  }

  async *readBackwards(
    before: number | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    const { reader, sql, maxLineBytes } = this.#tables;
    for (let end = before ?? null, bytes = firstPageBytes; ; bytes = Math.min(4 * bytes, pageBytes)) {
      options.signal?.throwIfAborted();
      const values = [...this.#key, end, bytes, linesWithin(bytes), maxLineBytes];
      const [row] = await reader.query(this.#operation("read"), sql.readBackwards, values);
      if (row === undefined) throw this.#gone();
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
      const values = [...this.#key, numbersOf(page)];
      const [row] = await reader.query(this.#operation("read"), sql.readAt, values);
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
    const from = this.#headOf(expected);
    const batch = batchOf(all);
    const { countValues, shownValues, preview } = summaryValues(batch.lines, from, { head: false });
    const terms = this.#termsOf(batch.lines);
    const values = [...this.#key, from, ...batch.values, ...countValues, ...shownValues, ...terms];
    await this.#write("replace", expected, batch.lines, this.#tables.sql.replace, values);
    this.#previewed = preview !== undefined;
    return this.#position(from + all.length);
  }

  /** All lines get new numbers, so that readers at an older position start again. */
  async erase(changes: readonly LineReplacement[], expected: LogPosition): Promise<LogErasure> {
    const head = this.#headOf(expected);
    const { database, sql } = this.#tables;
    const operation = this.#operation("erase lines of");
    const [shown] = await database.query(operation, sql.shown, this.#key);
    if (shown === undefined) throw this.#gone();
    if (Number(shown.head) !== head) throw await this.#refusal(expected);
    const removed = Number(shown.kept) === 0 ? [] : [`${shown.kept} lines from before a replacement`];
    const done = { removed, remaining: remainingInDatabase };
    if (changes.length === 0) {
      await database.query(operation, sql.purge, this.#key);
      return { ...done, position: expected };
    }
    const { lines, values, places } = erasureValues(changes, head, shown);
    const all = [...this.#key, head, ...values, ...this.#termsOf(lines)];
    await this.#write("erase lines of", expected, lines, sql.erase, all, { places });
    return { ...done, position: this.#position(2 * head - Number(shown.base)) };
  }

  async copy(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean> {
    if (!(from instanceof PostgresLog) || !this.#sharesTables(from)) return false;
    const end = last === undefined ? from.#headOf(to) : last.at + 1;
    const { partition, id, epoch, cwd } = this.#session;
    // Terms begin with their partition.
    if (this.#tables.search && partition !== from.#session.partition) return false;
    const header = first.subarray(0, -1);
    const { cwd: written = cwd } = summaryValues([header], 0, { head: false }).header ?? {};
    const values = [partition, id, epoch, cwdKey(written), header, ...from.#key, end];
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

  get #key(): readonly unknown[] {
    const { partition, id, epoch } = this.#session;
    return [partition, id, epoch];
  }

  #termsOf(lines: readonly Uint8Array[]): readonly string[] {
    return this.#tables.search ? [termsOf(lines, this.#session.partition)] : [];
  }

  #operation(name: string) {
    const { partition, id } = this.#session;
    return { name, path: partition === "" ? id : `${partition}/${id}` };
  }

  #position(head: number): LogPosition {
    return `${this.#session.epoch}:${head}` as LogPosition;
  }

  #headOf(position: LogPosition): number {
    const [epoch, head] = position.split(":");
    if (epoch !== this.#session.epoch) throw this.#gone();
    return Number(head);
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
      places = placesFrom(this.#headOf(expected), lines),
    }: WriteCheck = {},
  ): Promise<void> {
    const { database, notify, schema } = this.#tables;
    const { partition } = this.#session;
    const all = notify && name !== "copy to" ? [...values, channelOf(schema, partition)] : values;
    let isWriting = false;
    let isLost = false;
    const attempt = async (): Promise<void> => {
      isWriting = false;
      // A lost write that is still running is seen below: the next one waits for it.
      if (isLost && (await this.#isWritten(places, lines))) return;
      isWriting = true;
      const rows = await database.run(statement, all);
      isWriting = false;
      if (isDone(rows)) return;
      if (isLost && (await this.#isWritten(places, lines))) return;
      throw await this.#refusal(expected);
    };
    try {
      await database.retrying(this.#operation(name), attempt, () => {
        isLost ||= isWriting;
      });
    } catch (error) {
      if (!isLost || !SessileError.is(error, "STORAGE_FAILED")) throw error;
      const { id } = this.#session;
      const reason = `the connection was lost during a write (${error.message})`;
      throw new SessileError("WRITER_POISONED", `the end of session ${id} is unknown: ${reason}`, {
        cause: error,
        details: { id, reason },
      });
    }
  }

  /** Whether the log has these lines at these places. Lines have ids, and a write is done whole or not. */
  async #isWritten(places: readonly LinePlace[], lines: readonly Uint8Array[]): Promise<boolean> {
    let first = 0;
    for (const page of placesByPage(places)) {
      const [row] = await this.#tables.database.run(this.#tables.sql.readAt, [...this.#key, numbersOf(page)]);
      if (!isSameLines(linesOf(row), lines.slice(first, first + page.length))) return false;
      first += page.length;
    }
    return true;
  }

  /** The reason why a write found another state than the expected one. */
  async #refusal(expected: LogPosition): Promise<SessileError> {
    const { partition, id, epoch } = this.#session;
    const [row] = await this.#tables.database.run(this.#tables.sql.find, [partition, id]);
    if (this.#headOf(expected) === 0 && row !== undefined) return existsError(id);
    if (row?.epoch !== epoch) return this.#gone();
    const actual = this.#position(Number(row.head));
    return new SessileError("CONCURRENT_WRITER", "another writer came first", {
      details: { expected, actual },
    });
  }

  #gone(): SessileError<"SESSION_NOT_FOUND"> {
    const { id } = this.#session;
    return new SessileError("SESSION_NOT_FOUND", `session ${id} was deleted`, { details: { id } });
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
    const next = this.#position(start + lengths.length);
    const batch: LogBatch = { lines: { bytes: bytesOf(row.bytes), bounds }, at, next };
    return tooLong.length === 0 ? batch : { ...batch, tooLong };
  }
}

function placesFrom(from: number, lines: readonly Uint8Array[]): readonly LinePlace[] {
  return lines.map(({ length }, index) => ({ at: from + index, length }));
}

export function existsError(id: string): SessileError<"SESSION_EXISTS"> {
  return new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
}
