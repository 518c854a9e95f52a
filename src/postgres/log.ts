/** The lines of one session in the database. */

import { SessileError } from "../errors/index.js";
import { concatBytes } from "../internal/bytes.js";
import type { LinePlace, LogAppend, LogBatch, LogPosition, SessionLog } from "../session/index.js";
import { summarizeLines } from "../session/internal.js";
import { bytesOf, type Database } from "./database.js";
import { cwdKey } from "./options.js";
import type { Statements } from "./statements.js";

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

/** A page has at least one line, and else at most these bytes and lines. */
const pageBytes = 4 * 1024 * 1024;
const pageLines = 4096;
/** The greatest array of bytes that a statement may have: PostgreSQL's is 1 GB, as text of twice the length. */
const maxBatchBytes = 256 * 1024 * 1024;
const maxHead = Number.MAX_SAFE_INTEGER;

/**
 * A session in two tables: its row, and a row for each line. An append is one statement, which moves the head
 * of the session's row if it is the expected one, and inserts the lines.
 */
export class PostgresLog implements SessionLog {
  readonly #database: Database;
  readonly #reader: Database;
  readonly #sql: Statements;
  readonly #session: LogSession;
  #previewed: boolean;

  /** @param reader runs the reads: the database, or a copy that may lag */
  constructor(database: Database, reader: Database, sql: Statements, session: LogSession) {
    this.#database = database;
    this.#reader = reader;
    this.#sql = sql;
    this.#session = session;
    this.#previewed = session.previewed;
  }

  /** The position of a session before its first append. */
  get start(): LogPosition {
    return this.#position(0);
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const from = this.#headOf(expected);
    const batch = this.#batch(lines);
    const summary = summarizeLines(batch.lines, { head: this.#previewed });
    const { header, preview, info } = summary;
    const shown = [
      header?.line ?? null,
      preview === undefined ? null : from + preview.at,
      preview?.line ?? null,
      info === undefined ? null : from + info.at,
      info?.line ?? null,
    ];
    const { partition, id, epoch, cwd } = this.#session;
    const key = [partition, id, epoch];
    const rest = [lines.length, batch.size, batch.lengths, batch.bytes];
    const statement: readonly [string, readonly unknown[]] =
      from === 0
        ? [this.#sql.create, [...key, cwdKey(header?.cwd ?? cwd), ...rest, ...shown]]
        : shown.some((value) => value !== null)
          ? [this.#sql.appendSummary, [...key, from, ...rest, ...shown]]
          : [this.#sql.append, [...key, from, ...rest]];
    await this.#write("append to", expected, batch.lines, () => this.#database.run(...statement));
    if (preview !== undefined) this.#previewed = true;
    return { position: this.#position(from + lines.length), at: lines.map((_, index) => from + index) };
  }

  async *read(
    from: LogPosition | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<LogBatch, void, undefined> {
    let next = from === undefined ? 0 : this.#headOf(from);
    let end = maxHead;
    for (let first = from === undefined; ; first = false) {
      options.signal?.throwIfAborted();
      const values = [...this.#key, next, pageBytes, pageLines, end];
      const [row] = await this.#reader.query("read", this.#path, this.#sql.read, values);
      if (row === undefined) throw this.#gone();
      const [base, head] = [Number(row.base), Number(row.head)];
      // A copy that lags has not yet what another one showed.
      if (head < next && this.#reader !== this.#database) return;
      const restarted = !first && (next > head || (base > 0 && next <= base));
      if (restarted || end === maxHead) end = head;
      if (row.lengths === null) return;
      const batch = this.#pageOf(Number(row.start), row);
      yield restarted ? { ...batch, restarted } : batch;
      next = this.#headOf(batch.next);
      if (next >= end) return;
    }
  }

  async readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]> {
    const found: (Uint8Array | undefined)[] = [];
    for (const part of partsOf(places)) {
      const values = [...this.#key, `{${part.map(({ at }) => at).join(",")}}`];
      const [row] = await this.#reader.query("read", this.#path, this.#sql.readAt, values);
      found.push(...linesOf(row?.lengths ?? null, row?.bytes));
    }
    return found;
  }

  async copy(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean> {
    if (!(from instanceof PostgresLog) || from.#database.db !== this.#database.db || from.#sql !== this.#sql)
      return false;
    const end = last === undefined ? from.#headOf(to) : last.at + 1;
    const { partition, id, epoch, cwd } = this.#session;
    const header = first.subarray(0, -1);
    const values = [partition, id, epoch, cwdKey(cwd), header, ...from.#key, end];
    let reached = true;
    await this.#write("copy to", this.start, [header], async () => {
      const rows = await this.#database.run(this.#sql.copy, values);
      reached = rows[0]?.reached === true;
      return reached && rows[0]?.made !== true ? [] : rows;
    });
    return reached;
  }

  async close(): Promise<void> {}

  get #key(): readonly [string, string, string] {
    const { partition, id, epoch } = this.#session;
    return [partition, id, epoch];
  }

  get #path(): string {
    const { partition, id } = this.#session;
    return partition === "" ? id : `${partition}/${id}`;
  }

  #position(head: number): LogPosition {
    return `${this.#session.epoch}:${head}` as LogPosition;
  }

  #headOf(position: LogPosition): number {
    const [epoch, head] = position.split(":");
    if (epoch !== this.#session.epoch) throw this.#gone();
    return Number(head);
  }

  /**
   * Runs a write until its outcome is known. A write returns a row if it was done.
   * @throws SessileError as {@link SessionLog.append}
   */
  async #write(
    operation: string,
    expected: LogPosition,
    lines: readonly Uint8Array[],
    write: () => Promise<readonly unknown[]>,
  ): Promise<void> {
    let writing = false;
    let lost = false;
    try {
      await this.#database.retrying(
        operation,
        this.#path,
        async () => {
          writing = false;
          // A lost write that is still at work is seen by the next one, which waits for it.
          if (lost && (await this.#isWritten(expected, lines))) return;
          writing = true;
          const rows = await write();
          writing = false;
          if (rows.length > 0) return;
          if (lost && (await this.#isWritten(expected, lines))) return;
          throw await this.#refusal(expected);
        },
        () => {
          lost ||= writing;
        },
      );
    } catch (error) {
      if (!lost || !SessileError.is(error, "STORAGE_FAILED")) throw error;
      const { id } = this.#session;
      const reason = `the connection was lost during a write: ${error.message}`;
      throw new SessileError("WRITER_POISONED", `the end of session ${id} is unknown: ${reason}`, {
        cause: error,
        details: { id, reason },
      });
    }
  }

  /** Whether the log has these lines at a position. Lines have ids, and a write is done whole or not at all. */
  async #isWritten(expected: LogPosition, lines: readonly Uint8Array[]): Promise<boolean> {
    const from = this.#headOf(expected);
    const places = lines.map(({ length }, index) => ({ at: from + index, length }));
    let at = 0;
    for (const part of partsOf(places)) {
      const values = [...this.#key, `{${part.map((place) => place.at).join(",")}}`];
      const [row] = await this.#database.run(this.#sql.readAt, values);
      for (const found of linesOf(row?.lengths ?? null, row?.bytes))
        if (found === undefined || !equalBytes(found, lines[at++] as Uint8Array)) return false;
    }
    return true;
  }

  /** Why a write found another state than the expected one. */
  async #refusal(expected: LogPosition): Promise<SessileError> {
    const { partition, id, epoch } = this.#session;
    const [row] = await this.#database.run(this.#sql.find, [partition, id]);
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

  #batch(lines: readonly Uint8Array[]) {
    const size = lines.reduce((sum, { length }) => sum + length, 0);
    if (size > maxBatchBytes) {
      const message = `an append of ${size} bytes, at most ${maxBatchBytes}: append fewer entries`;
      throw new SessileError("BATCH_TOO_LARGE", message, {
        details: { bytes: size, maxBytes: maxBatchBytes },
      });
    }
    const bare = lines.map((line) => line.subarray(0, -1));
    const lengths = `{${bare.map(({ length }) => length).join(",")}}`;
    return { size, lines: bare, lengths, bytes: concatBytes(bare, size - lines.length) };
  }

  #pageOf(start: number, row: Readonly<Record<string, unknown>>): LogBatch {
    const bounds: number[] = [];
    const at: number[] = [];
    let offset = 0;
    for (const length of lengthsOf(row.lengths)) {
      bounds.push(offset, offset + length);
      at.push(start + at.length);
      offset += length;
    }
    return { lines: { bytes: bytesOf(row.bytes), bounds }, at, next: this.#position(start + at.length) };
  }
}

export function existsError(id: string): SessileError<"SESSION_EXISTS"> {
  return new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
}

/** Places in groups, so that no answer has much more than the bytes of a page. */
function* partsOf(places: readonly LinePlace[]): Generator<readonly LinePlace[]> {
  let part: LinePlace[] = [];
  let bytes = 0;
  for (const place of places) {
    if (part.length === pageLines || (part.length > 0 && bytes + place.length > pageBytes)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(place);
    bytes += place.length;
  }
  if (part.length > 0) yield part;
}

function lengthsOf(lengths: unknown): readonly number[] {
  return typeof lengths === "string" ? lengths.split(",").map(Number) : [];
}

/** The lines of an answer: undefined for a negative length. */
function linesOf(lengths: unknown, bytes: unknown): (Uint8Array | undefined)[] {
  const all = bytes === null || bytes === undefined ? new Uint8Array() : bytesOf(bytes);
  let offset = 0;
  return lengthsOf(lengths).map((length) => {
    if (length < 0) return undefined;
    offset += length;
    return all.subarray(offset - length, offset);
  });
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
