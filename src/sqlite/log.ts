/** The lines of one session in the database. */

import { SessileError } from "../errors/index.js";
import type { LinePlace, LogAppend, LogBatch, LogPosition, SessionLog } from "../session/index.js";
import type { Changes } from "./changes.js";
import type { Database } from "./database.js";
import type { SqliteRow, SqliteStatement, SqliteValue } from "./driver.js";
import {
  batchOf,
  bytesOf,
  cwdKey,
  endsLine,
  isSameRow,
  type LineBatch,
  LineJoiner,
  type LogRow,
  maxRowBytes,
  pageBytes,
  placesByPage,
} from "./lines.js";
import { maxInsertRows, type Statements } from "./statements.js";

/** The session of a log. */
export interface LogSession {
  readonly partition: string;
  readonly id: string;
  /** Identifies the session among those that had the id. */
  readonly epoch: string;
  /** The directory, for the session's first append. */
  readonly cwd: string;
  /** Whether a list has the header and the preview. */
  readonly previewed: boolean;
}

/** The tables of a log, shared by all logs of a backend. */
export interface LogTables {
  readonly prefix: string;
  readonly sql: Statements;
  readonly database: Database;
  readonly changes: Changes;
  readonly maxLineBytes: number;
}

/** The bytes that one statement of a copy has. SQLite keeps them apart until it inserts them. */
const copyBytes = 8 * 1024 * 1024;

/**
 * A session in two tables: its row, and the rows of its lines by their offset. An append is one transaction,
 * which inserts the lines if the head of the session's row is the expected one, and moves it (compare-and-swap).
 */
export class SqliteLog implements SessionLog {
  readonly #tables: LogTables;
  readonly #session: LogSession;
  #previewed: boolean;

  constructor(tables: LogTables, session: LogSession) {
    this.#tables = tables;
    this.#session = session;
    this.#previewed = session.previewed;
  }

  /** The position of a session before its first append. */
  get start(): LogPosition {
    return this.#position(0);
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const { sql } = this.#tables;
    const from = this.#headOf(expected);
    const batch = batchOf(lines, from, { head: this.#previewed });
    const isShown = batch.shown.some((value) => value !== null);
    const changes: SqliteValue[] = [batch.end, ...batch.counts, ...(isShown ? batch.shown : [])];
    await this.#write("append to", from, batch.rows, [
      ...(from === 0 ? [this.#creation(batch)] : []),
      ...this.#insertions(batch.rows, from),
      { sql: isShown ? sql.appendShown : sql.append, params: [...changes, ...this.#key, from] },
    ]);
    this.#previewed ||= batch.shown[1] !== null;
    return { position: this.#position(batch.end), at: batch.at };
  }

  async *read(
    from: LogPosition | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    const { database, sql, maxLineBytes } = this.#tables;
    const lines = new LineJoiner(maxLineBytes);
    let next = from === undefined ? 0 : this.#headOf(from);
    let end: number | undefined;
    for (let isFirst = from === undefined; ; isFirst = false) {
      options.signal?.throwIfAborted();
      const values = [next, next, ...this.#key, pageBytes, end ?? Number.MAX_SAFE_INTEGER];
      const rows = await database.query(this.#operation("read"), sql.read, values);
      const [first] = rows;
      if (first === undefined) throw this.#gone();
      const [base, head] = [Number(first.base), Number(first.head)];
      const restarted = !isFirst && (next > head || (base > 0 && next <= base));
      if (restarted) lines.clear();
      if (restarted || end === undefined) end = head;
      if (first.at === null) {
        // The new lines begin behind the end that this page was bounded by.
        if (!restarted || base === head) return;
        next = base;
        continue;
      }
      const batch = this.#batchOf(rows, lines);
      // A page may have a part of one long line alone.
      if (batch !== undefined) yield restarted ? { ...batch, restarted } : batch;
      const last = rowOf(rows.at(-1) as SqliteRow);
      next = last.at + last.bytes.length;
      if (next >= end) return;
    }
  }

  async readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]> {
    const { database, sql } = this.#tables;
    const found: (Uint8Array | undefined)[] = [];
    for (const page of placesByPage(places)) {
      const offsets = JSON.stringify(page.map(({ at }) => at));
      const rows = await database.query(this.#operation("read"), sql.readAt, [...this.#key, offsets]);
      const rowAt = new Map(rows.map((row) => [Number(row.at), bytesOf(row.line)]));
      for (const { at, length } of page) {
        const bytes = rowAt.get(at);
        const isWhole = bytes === undefined || endsLine(bytes);
        found.push(isWhole ? bytes?.subarray(0, -1) : await this.#readLong(at, length));
      }
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
    const batch = batchOf(all, from, { head: false });
    const changes = [batch.end, ...batch.counts, ...batch.shown];
    await this.#write("replace", from, batch.rows, [
      ...this.#insertions(batch.rows, from),
      { sql: this.#tables.sql.replace, params: [...changes, ...this.#key, from] },
    ]);
    this.#previewed = batch.shown[1] !== null;
    return this.#position(batch.end);
  }

  async copy(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean> {
    if (!(from instanceof SqliteLog) || !this.#sharesTables(from)) return false;
    const { database, sql } = this.#tables;
    const end = last === undefined ? from.#headOf(to) : last.at + last.length + 1;
    const operation = this.#operation("copy to");
    const [source] = await database.query(operation, sql.source, [end, end, ...from.#key]);
    if (source === undefined || Number(source.base) >= end || Number(source.head) < end) return false;
    const batch = batchOf([first], 0, { head: true });
    const shift = batch.end - Number(source.rest_at);
    const moved = (offset: unknown) => (offset === null ? null : Number(offset) + shift);
    const hasPreview = source.preview_at !== null && Number(source.preview_at) < end;
    const isWhole = Number(source.head) === end;
    const parts: SqliteStatement[] = [];
    for (let at = Number(source.rest_at); at < end; at += copyBytes) {
      const range = [at, Math.min(at + copyBytes, end)];
      parts.push({ sql: sql.copyRows, params: [shift, ...this.#key, ...from.#key, ...range] });
    }
    const isMade = await this.#write(
      "copy to",
      0,
      batch.rows,
      [
        {
          sql: sql.createCopy,
          params: [...this.#creation(batch).params, ...from.#key, Number(source.base), end, end],
        },
        ...this.#insertions(batch.rows, 0),
        ...parts,
        {
          sql: sql.appendShown,
          params: [
            end + shift,
            ...(isWhole ? [numberOrNull(source.entries), numberOrNull(source.messages)] : [null, null]),
            0,
            hasPreview ? moved(source.preview_at) : null,
            moved(source.info_at),
            hasPreview ? bytesOf(source.preview) : null,
            ...this.#key,
            0,
          ],
        },
      ],
      () => from.#isGone(Number(source.base)),
    );
    this.#previewed = isMade && hasPreview;
    return isMade;
  }

  changed(signal: AbortSignal): Promise<void> {
    return this.#tables.changes.next(this.#session, signal);
  }

  async close(): Promise<void> {}

  get #key(): readonly [string, string, string] {
    const { partition, id, epoch } = this.#session;
    return [partition, id, epoch];
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

  #sharesTables(log: SqliteLog): boolean {
    const { database, prefix } = this.#tables;
    return log.#tables.database.driver === database.driver && log.#tables.prefix === prefix;
  }

  #creation({ cwd = this.#session.cwd }: LineBatch): SqliteStatement {
    return { sql: this.#tables.sql.create, params: [...this.#key, cwdKey(cwd)] };
  }

  #insertions(rows: readonly LogRow[], head: number): readonly SqliteStatement[] {
    const statements: SqliteStatement[] = [];
    for (let start = 0; start < rows.length; start += maxInsertRows) {
      const some = rows.slice(start, start + maxInsertRows);
      const values = some.flatMap(({ at, bytes }) => [at, bytes]);
      statements.push({
        sql: this.#tables.sql.insertRows(some.length),
        params: [...values, ...this.#key, head],
      });
    }
    return statements;
  }

  /**
   * Runs a write until its outcome is known: done, refused, or neither within the time for attempts.
   * @param expected the head before the write, and the offset of its first row
   * @param rows the first rows that the log has from there on if the write was done
   * @param isImpossible whether a refused write can never be done; it then resolves to false
   * @throws SessileError as {@link SessionLog.append}
   */
  async #write(
    name: string,
    expected: number,
    rows: readonly LogRow[],
    statements: readonly SqliteStatement[],
    isImpossible: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<boolean> {
    const { database, changes } = this.#tables;
    let isWriting = false;
    let isLost = false;
    const attempt = async (): Promise<boolean> => {
      isWriting = false;
      if (isLost && (await this.#isWritten(rows))) return true;
      isWriting = true;
      const answer = await database.transaction(statements);
      isWriting = false;
      if (answer.length > 0) return true;
      // A lost write that was still running may have come first.
      if (isLost && (await this.#isWritten(rows))) return true;
      if (await isImpossible()) return false;
      throw await this.#refusal(expected);
    };
    try {
      const isDone = await database.retrying(this.#operation(name), attempt, () => {
        isLost ||= isWriting;
      });
      if (isDone) changes.tell(this.#session);
      return isDone;
    } catch (error) {
      if (!isLost || !SessileError.is(error, "STORAGE_FAILED")) throw error;
      const { id } = this.#session;
      const reason = `the answer to a write was lost (${error.message})`;
      throw new SessileError("WRITER_POISONED", `the end of session ${id} is unknown: ${reason}`, {
        cause: error,
        details: { id, reason },
      });
    }
  }

  /** Whether the log has these rows. Lines have ids, and a write is done whole or not. */
  async #isWritten(rows: readonly LogRow[]): Promise<boolean> {
    for (let start = 0; start < rows.length; ) {
      const { at } = rows[start] as LogRow;
      const found = await this.#tables.database.run(this.#tables.sql.readRange, [
        ...this.#key,
        at,
        at + pageBytes,
      ]);
      const same = rows.slice(start).filter((row) => row.at < at + pageBytes);
      const isSame = same.every((row, index) => {
        const other = found[index];
        return other !== undefined && isSameRow(rowOf(other), row);
      });
      if (!isSame) return false;
      start += same.length;
    }
    return true;
  }

  /** Whether the session is another one, or its lines were replaced. */
  async #isGone(base: number): Promise<boolean> {
    const values = [0, 0, ...this.#key, 0, 0];
    const [row] = await this.#tables.database.run(this.#tables.sql.read, values);
    return row === undefined || Number(row.base) !== base;
  }

  /** The reason why a write found another state than the expected one. */
  async #refusal(expected: number): Promise<SessileError> {
    const { partition, id, epoch } = this.#session;
    const [row] = await this.#tables.database.run(this.#tables.sql.find, [partition, id]);
    if (expected === 0 && row !== undefined) return existsError(id);
    if (row?.epoch !== epoch) return this.#gone();
    return new SessileError("CONCURRENT_WRITER", "another writer came first", {
      details: { expected: this.#position(expected), actual: this.#position(Number(row.head)) },
    });
  }

  #gone(): SessileError<"SESSION_NOT_FOUND"> {
    const { id } = this.#session;
    return new SessileError("SESSION_NOT_FOUND", `session ${id} was deleted`, { details: { id } });
  }

  /** A line of several rows. */
  async #readLong(at: number, length: number): Promise<Uint8Array | undefined> {
    const { database, sql } = this.#tables;
    const lines = new LineJoiner(Number.MAX_SAFE_INTEGER);
    for (let start = at; start <= at + length; start += maxRowBytes) {
      const values = [...this.#key, start, Math.min(start + maxRowBytes, at + length + 1)];
      for (const row of await database.query(this.#operation("read"), sql.readRange, values)) {
        const line = lines.push(rowOf(row));
        if (line !== undefined) return line.bytes;
      }
    }
    return undefined;
  }

  /** The lines that end in a page, those that are too long apart; undefined if none ends. */
  #batchOf(rows: readonly SqliteRow[], joiner: LineJoiner): LogBatch | undefined {
    const lines: Uint8Array[] = [];
    const at: number[] = [];
    const tooLong: LinePlace[] = [];
    let next: number | undefined;
    for (const row of rows) {
      const line = joiner.push(rowOf(row));
      if (line === undefined) continue;
      next = line.at + line.length + 1;
      if (line.bytes === undefined) {
        tooLong.push({ at: line.at, length: line.length });
        continue;
      }
      lines.push(line.bytes);
      at.push(line.at);
    }
    if (next === undefined) return undefined;
    const batch: LogBatch = { lines, at, next: this.#position(next) };
    return tooLong.length === 0 ? batch : { ...batch, tooLong };
  }
}

function rowOf(row: SqliteRow): LogRow {
  return { at: Number(row.at), bytes: bytesOf(row.line) };
}

function numberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

export function existsError(id: string): SessileError<"SESSION_EXISTS"> {
  return new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
}
