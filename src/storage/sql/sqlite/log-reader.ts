/** Reads of the lines of one session. */

import type { LinePlace, LogBatch, LogPosition, SessionLog } from "../../../session/index.js";
import { DatabaseLog, type DatabaseSession } from "../../../session/internal.js";
import { linesBackwards } from "./backwards.js";
import type { Changes } from "./changes.js";
import type { Database } from "./database.js";
import type { SqliteRow } from "./driver.js";
import {
  bytesOf,
  endsLine,
  firstPageBytes,
  LineJoiner,
  type LogRow,
  maxRowBytes,
  pageBytes,
  placesByPage,
} from "./lines.js";
import type { Statements } from "./statements.js";

/** A log of less than this number of times the last bytes is read from its start. */
const leastShare = 4;

/** The tables of a log, shared by all logs of a backend. */
export interface LogTables {
  readonly prefix: string;
  readonly sql: Statements;
  readonly database: Database;
  readonly changes: Changes;
  readonly maxLineBytes: number;
  /** Whether appends index the words of their lines. */
  readonly search: boolean;
}

/** The rows of one session, found by its names and its epoch. */
export class LogReader extends DatabaseLog {
  readonly tables: LogTables;

  constructor(tables: LogTables, session: DatabaseSession) {
    super(session);
    this.tables = tables;
  }

  async *read(
    from: LogPosition | undefined,
    options: Parameters<SessionLog["read"]>[1] = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    const { database, sql, maxLineBytes } = this.tables;
    const last =
      from === undefined && options.lastBytes ? await this.#lastLines(options.lastBytes) : undefined;
    if (last !== undefined) {
      yield last;
      return;
    }
    const bytes = Math.min(options.batchBytes ?? pageBytes, pageBytes);
    const lines = new LineJoiner(maxLineBytes);
    let next = from === undefined ? 0 : this.headOf(from);
    let end: number | undefined;
    for (let isFirst = from === undefined; ; isFirst = false) {
      options.signal?.throwIfAborted();
      const values = [next, next, ...this.key, bytes, end ?? Number.MAX_SAFE_INTEGER];
      const rows = await database.query(this.operation("read"), sql.read, values);
      const [first] = rows;
      if (first === undefined) throw this.gone();
      const [base, head] = [Number(first.base), Number(first.head)];
      const restarted = !isFirst && (next > head || (base > 0 && next <= base));
      if (restarted) lines.clear();
      if (restarted || end === undefined) end = head;
      if (first.at === null) {
        // The new lines begin after the end that this page was bounded by.
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

  /** The last lines of the log; undefined if they are a large part of it, or if no line begins there. */
  async #lastLines(bytes: number): Promise<LogBatch | undefined> {
    const { database, sql, maxLineBytes } = this.tables;
    const values = [Number.MAX_SAFE_INTEGER, bytes, ...this.key];
    const found = await database.query(this.operation("read"), sql.readBefore, values);
    const [first] = found;
    if (first === undefined) throw this.gone();
    const [base, head] = [Number(first.base), Number(first.head)];
    if (first.at === null) return undefined;
    if (Number(first.at) === base) return this.#batchOf(found, new LineJoiner(maxLineBytes));
    if (head - base < leastShare * bytes) return undefined;
    // The first rows may be the rest of a line.
    const ended = found.findIndex(({ line }) => endsLine(bytesOf(line)));
    const whole = ended < 0 ? [] : found.slice(ended + 1);
    const batch = this.#batchOf(whole, new LineJoiner(maxLineBytes));
    return batch && { ...batch, skipped: true };
  }

  async *readBackwards(
    before: number | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Omit<LogBatch, "restarted" | "next">, void, undefined> {
    const { database, sql, maxLineBytes } = this.tables;
    let bytes = firstPageBytes;
    const readBefore = async (end: number) => {
      for (;;) {
        options.signal?.throwIfAborted();
        const page = bytes;
        bytes = Math.min(4 * bytes, pageBytes);
        const found = await database.query(this.operation("read"), sql.readBefore, [end, page, ...this.key]);
        const [first] = found;
        if (first === undefined) throw this.gone();
        // No row begins in a page that is smaller than a row.
        if (first.at === null && page < maxRowBytes) continue;
        return { base: Number(first.base), rows: first.at === null ? [] : found.map(rowOf) };
      }
    };
    yield* linesBackwards(before ?? Number.MAX_SAFE_INTEGER, readBefore, maxLineBytes);
  }

  async readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]> {
    const { database, sql } = this.tables;
    const found: (Uint8Array | undefined)[] = [];
    for (const page of placesByPage(places)) {
      const offsets = JSON.stringify(page.map(({ at }) => at));
      const rows = await database.query(this.operation("read"), sql.readAt, [...this.key, offsets]);
      const rowAt = new Map(rows.map((row) => [Number(row.at), bytesOf(row.line)]));
      for (const { at, length } of page) {
        const bytes = rowAt.get(at);
        const isWhole = bytes === undefined || endsLine(bytes);
        found.push(isWhole ? bytes?.subarray(0, -1) : await this.#readLong(at, length));
      }
    }
    return found;
  }

  /** A line of several rows. */
  async #readLong(at: number, length: number): Promise<Uint8Array | undefined> {
    const { database, sql } = this.tables;
    const lines = new LineJoiner(Number.MAX_SAFE_INTEGER);
    for (let start = at; start <= at + length; start += maxRowBytes) {
      const values = [...this.key, start, Math.min(start + maxRowBytes, at + length + 1)];
      for (const row of await database.query(this.operation("read"), sql.readRange, values)) {
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
    const batch: LogBatch = { lines, at, next: this.position(next) };
    return tooLong.length === 0 ? batch : { ...batch, tooLong };
  }
}

export function rowOf(row: SqliteRow): LogRow {
  return { at: Number(row.at), bytes: bytesOf(row.line) };
}
