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
import type { DatabaseSession } from "../../../session/internal.js";
import type { SqliteStatement, SqliteValue } from "./driver.js";
import { moveBytes, planRewriting, remainingInDatabase } from "./erasure.js";
import { batchOf, bytesOf } from "./lines.js";
import { LogReader, type LogTables } from "./log-reader.js";
import { LogWriter } from "./log-writer.js";
import { type IndexedLog, termInsertions, tryIndexLog } from "./search.js";

/**
 * A session in two tables: its row, and the rows of its lines by their offset. An append is one transaction,
 * which inserts the lines if the head of the session's row is the expected one, and moves it: a
 * compare-and-swap.
 */
export class SqliteLog implements SessionLog, IndexedLog {
  readonly #tables: LogTables;
  readonly #reader: LogReader;
  readonly #writer: LogWriter;
  #previewed: boolean;

  constructor(tables: LogTables, session: DatabaseSession) {
    this.#tables = tables;
    this.#reader = new LogReader(tables, session);
    this.#writer = new LogWriter(this.#reader);
    this.#previewed = session.previewed;
  }

  get key(): LogReader["key"] {
    return this.#reader.key;
  }

  /** The position of a session before its first append. */
  get start(): LogPosition {
    return this.#reader.position(0);
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    const { sql, search } = this.#tables;
    const from = this.#reader.headOf(expected);
    const batch = batchOf(lines, from, { head: this.#previewed });
    const isShown = batch.shown.some((value) => value !== null);
    const termsEnd = search ? batch.end : 0;
    const changes: SqliteValue[] = [batch.end, termsEnd, ...batch.counts, ...(isShown ? batch.shown : [])];
    await this.#writer.write("append to", from, batch.rows, [
      ...(from === 0 ? [this.#writer.creation(batch.cwd)] : []),
      ...this.#writer.insertions(batch.rows, from),
      ...termInsertions(this.#writer.termsOf(lines, batch.at), [...this.key, from], sql.insertTerms),
      { sql: isShown ? sql.appendShown : sql.append, params: [...changes, ...this.key, from] },
    ]);
    this.#previewed ||= batch.shown[1] !== null;
    return { position: this.#reader.position(batch.end), at: batch.at };
  }

  read(
    from: LogPosition | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterable<LogBatch> {
    return this.#reader.read(from, options);
  }

  readBackwards(
    before: number | undefined,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterable<Omit<LogBatch, "restarted" | "next">> {
    return this.#reader.readBackwards(before, options);
  }

  readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]> {
    return this.#reader.readAt(places);
  }

  /** The old lines stay in the table, before the new ones. */
  async replace(
    lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    expected: LogPosition,
  ): Promise<LogPosition> {
    const all: Uint8Array[] = [];
    for await (const line of lines) all.push(line);
    const from = this.#reader.headOf(expected);
    const batch = batchOf(all, from, { head: false });
    const { sql, search } = this.#tables;
    const condition = [...this.key, from];
    const changes = [batch.end, search ? batch.end : 0, ...batch.counts, ...batch.shown];
    await this.#writer.write("replace", from, batch.rows, [
      ...(await this.#writer.termDeletions(from)),
      ...this.#writer.insertions(batch.rows, from),
      ...termInsertions(this.#writer.termsOf(all, batch.at), condition, sql.insertNewTerms),
      { sql: sql.replace, params: [...changes, ...condition] },
    ]);
    this.#previewed = batch.shown[1] !== null;
    return this.#reader.position(batch.end);
  }

  /** All lines get new places, so that readers at an older position start again. */
  async erase(changes: readonly LineReplacement[], expected: LogPosition): Promise<LogErasure> {
    const head = this.#reader.headOf(expected);
    const { database, sql } = this.#tables;
    const operation = this.#reader.operation("erase lines of");
    const [session] = await database.query(operation, sql.shown, this.key);
    if (session === undefined) throw this.#reader.gone();
    if (Number(session.head) !== head) throw await this.#writer.refusal(head);
    const base = Number(session.base);
    const removed = base === 0 ? [] : [`${base} bytes of lines from before a replacement`];
    const condition = [...this.key, head];
    const deletionBefore = (offset: number, of: readonly SqliteValue[]): SqliteStatement => ({
      sql: sql.deleteRowsBefore,
      params: [...of, offset, ...of],
    });
    if (changes.length === 0) {
      const deletion = [deletionBefore(base, condition), { sql: sql.shown, params: this.key }];
      const [now] = await database.retrying(operation, () => database.transaction(deletion));
      if (Number(now?.head) !== head) throw await this.#writer.refusal(head);
      return { position: expected, removed, remaining: remainingInDatabase };
    }
    const { end, rows, moves, shown } = planRewriting(session, changes, sql, condition);
    const termDeletions = await this.#writer.termDeletions(head);
    await this.#writer.write("erase lines of", head, rows, [
      ...termDeletions,
      ...this.#writer.insertions(rows, head),
      ...moves,
      deletionBefore(head, condition),
      ...(termDeletions.length === 0 ? [] : [{ sql: sql.optimize, params: [] }]),
      { sql: sql.erase, params: [end, ...shown, ...condition] },
    ]);
    if (termDeletions.length === 0) await this.#writer.forgetTerms();
    if (this.#tables.search) await tryIndexLog(sql, database, this);
    return { position: this.#reader.position(end), removed, remaining: remainingInDatabase };
  }

  async copy(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean> {
    if (!(from instanceof SqliteLog) || !this.#sharesTables(from)) return false;
    const { database, sql } = this.#tables;
    const end = last === undefined ? from.#reader.headOf(to) : last.at + last.length + 1;
    const operation = this.#reader.operation("copy to");
    const [source] = await database.query(operation, sql.source, [end, end, ...from.key]);
    if (source === undefined || Number(source.base) >= end || Number(source.head) < end) return false;
    const batch = batchOf([first], 0, { head: false });
    const shift = batch.end - Number(source.rest_at);
    const moved = (offset: unknown) => (offset === null ? null : Number(offset) + shift);
    const hasPreview = source.preview_at !== null && Number(source.preview_at) < end;
    const isWhole = Number(source.head) === end;
    const parts: SqliteStatement[] = [];
    for (let at = Number(source.rest_at); at < end; at += moveBytes) {
      const range = [at, Math.min(at + moveBytes, end)];
      parts.push({ sql: sql.copyRows, params: [shift, ...this.key, ...from.key, ...range] });
    }
    const isMade = await this.#writer.write(
      "copy to",
      0,
      batch.rows,
      [
        {
          sql: sql.createCopy,
          params: [...this.#writer.creation(batch.cwd).params, ...from.key, Number(source.base)],
        },
        ...this.#writer.insertions(batch.rows, 0),
        ...parts,
        {
          sql: sql.appendShown,
          params: [
            end + shift,
            0,
            ...(isWhole ? [numberOrNull(source.entries), numberOrNull(source.messages)] : [null, null]),
            0,
            hasPreview ? moved(source.preview_at) : null,
            moved(source.info_at),
            hasPreview ? bytesOf(source.preview) : null,
            ...this.key,
            0,
          ],
        },
      ],
      () => from.#isGone(Number(source.base)),
    );
    this.#previewed = isMade && hasPreview;
    if (isMade && this.#tables.search) await tryIndexLog(sql, database, this);
    return isMade;
  }

  changed(signal: AbortSignal): Promise<void> {
    return this.#tables.changes.next(this.#reader.session, signal);
  }

  async close(): Promise<void> {}

  #sharesTables(log: SqliteLog): boolean {
    const { database, prefix } = this.#tables;
    return log.#tables.database.driver === database.driver && log.#tables.prefix === prefix;
  }

  /** Whether the session is another one, or its lines were replaced. */
  async #isGone(base: number): Promise<boolean> {
    const values = [0, 0, ...this.key, 0, 0];
    const [row] = await this.#tables.database.run(this.#tables.sql.read, values);
    return row === undefined || Number(row.base) !== base;
  }
}

function numberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}
