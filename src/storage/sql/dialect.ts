/**
 * The contract of a SQL dialect: the driver port, the classes of its failures, and the statements of sessions.
 * A dialect keeps lines in one of two forms: rows by their offset in the log (`rowStatements` writes the SQL
 * over a {@link RowSyntax}), or rows by their number, with statements of its own.
 */

import type { Durability } from "../../core/arguments.js";
import type { LinePlace, LineReplacement, LogBatch, SearchIndexQuery } from "../../session/index.js";
import type { DatabaseSession } from "../../session/internal.js";

/** A row by the names of its columns. Bytes are a `Uint8Array`, an `ArrayBuffer`, or a text of PostgreSQL. */
// biome-ignore lint/suspicious/noExplicitAny: each statement knows its columns
export type SqlRow = Readonly<Record<string, any>>;

/** A text, a number, bytes or null. */
// biome-ignore lint/suspicious/noExplicitAny: a column may come back as a value
export type SqlValue = any;

/** A statement with its values. */
export interface SqlStatement {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

/** The driver port. Both methods may be synchronous. */
export interface SqlDriver {
  /** Runs one statement and returns its rows. */
  all(sql: string, params: readonly SqlValue[]): readonly SqlRow[] | Promise<readonly SqlRow[]>;
  /**
   * Runs statements in one transaction, all or none, and returns the rows of each. A change gives at least one
   * row if it changed something.
   */
  transaction(
    statements: readonly SqlStatement[],
  ): readonly (readonly SqlRow[])[] | Promise<readonly (readonly SqlRow[])[]>;
}

/**
 * A failed call. `refused`: nothing was done. `busy`: nothing was done, and another attempt may succeed.
 * `lost`: it may be done, and another attempt may tell. `unsure`: no attempt tells whether it is done.
 */
export type SqlFailure = "refused" | "busy" | "lost" | "unsure";

/** The failures of an engine and its drivers. */
export interface SqlErrors {
  /** @param isAsync whether a promise rejected; a synchronous driver loses no answers */
  errorFailure(error: unknown, isAsync: boolean): SqlFailure;
  /** The engine's or the system's code. */
  errorCode(error: unknown): string | undefined;
  /** What to do about it, if that is known. */
  errorHint(error: unknown): string | undefined;
  /** The waits between attempts: the bound of the first one, and of all. */
  readonly waitMs: readonly [first: number, most: number];
}

/** Partition, id and epoch. */
export type SessionKey = readonly [partition: string, id: string, epoch: string];

/** A session of a list, as a cursor. */
export interface ListPlace {
  readonly modifiedAt: number;
  readonly id: string;
}

/** The terms of a line in the index, and the place of the line. */
export type LineTerms = readonly [at: number, terms: string];

/** A line of a batch that a list shows. */
export interface ShownLine {
  readonly at: number;
  readonly line: Uint8Array;
}

/** The lines of one write, with their places. */
export interface LineBatch {
  /** The head before the write, which is the place of the first line. */
  readonly from: number;
  /** The head after it. */
  readonly end: number;
  /** With their line feeds. */
  readonly lines: readonly Uint8Array[];
  readonly at: readonly number[];
  /** Bytes of the lines. */
  readonly size: number;
  /** The directory of the header among the lines. */
  readonly cwd: string | undefined;
  /** Null if only a reader of the whole log can count. */
  readonly counts: readonly [entries: number | null, messages: number | null];
  readonly header: ShownLine | undefined;
  readonly preview: ShownLine | undefined;
  readonly info: ShownLine | undefined;
  /** The terms of the lines; empty without an index. */
  readonly terms: readonly LineTerms[];
}

/** A write of other lines in place of some, at new places. */
export interface Rewriting {
  readonly statements: readonly SqlStatement[];
  /** The head after it. */
  readonly end: number;
  /** The places of the new lines. */
  readonly places: readonly LinePlace[];
}

/** A copy of a log. */
export interface CopyPlan {
  readonly statements: readonly SqlStatement[];
  /** Whether the list has the header and the preview of the copy. */
  readonly previewed: boolean;
  /** Whether the rows of the last statement mean that it was made. */
  isDone(rows: readonly SqlRow[]): boolean;
  /** Whether a copy that was not made can never be: the source was deleted, or its lines replaced. */
  isImpossible(): Promise<boolean>;
}

/** Runs one statement. */
export type RunStatement = (statement: SqlStatement) => Promise<readonly SqlRow[]>;

/** A page of a log. */
export interface LinePage {
  /** The lines that end in it; undefined if none does. */
  readonly batch: Pick<LogBatch, "lines" | "at" | "tooLong"> | undefined;
  /** The place of the first row. */
  readonly first: number;
  /** The place after the last whole line. */
  readonly next: number;
  /** The place after the last row. */
  readonly end: number;
}

/** Reads pages of one log from its start; keeps a line that goes on in the next page. */
export interface PageReader {
  page(rows: readonly SqlRow[]): LinePage;
  /** Drops an open line: the log begins anew. */
  clear(): void;
}

/** The lines of a log as a dialect keeps them. */
export interface LineRows {
  /** How far a line of so many bytes, with its line feed, moves the head. */
  step(length: number): number;
  /** Whether the column of a list has the line whole; then without its line feed. */
  shownLine(value: SqlValue): Uint8Array | undefined;
  reader(maxLineBytes: number): PageReader;
  /** The rows of a page from the end of the log, without those of a line that begins before. */
  wholeRows(rows: readonly SqlRow[]): readonly SqlRow[];
  /** Pages from the end; `read` gives the rows before a place, or undefined for the end of the log. */
  backwards(
    before: number | undefined,
    read: (end: number | undefined, bytes: number) => Promise<readonly SqlRow[]>,
    maxLineBytes: number,
  ): AsyncGenerator<Pick<LogBatch, "lines" | "at" | "tooLong">, void, undefined>;
  readAt(
    key: SessionKey,
    places: readonly LinePlace[],
    run: RunStatement,
  ): Promise<readonly (Uint8Array | undefined)[]>;
}

/** A range of a log that is read as one page. */
export interface PageQuery {
  readonly bytes: number;
  /** About the lines that these bytes have, as far as it is known: a statement need not look at more. */
  readonly lines?: number | undefined;
  readonly maxLineBytes: number;
}

/**
 * The statements of sessions. The last statement of a write answers with a row if it was done, and with none
 * if the epoch or the head of the session's row are not the expected ones.
 */
export interface SessionStatements {
  /** Answers with epoch, head, size in bytes, and previewed. */
  find(partition: string, id: string): SqlStatement;
  /** id, modified, size, header, header_at, preview, info, info_at, entries, messages; newest first. */
  list(partition: string, after: ListPlace | undefined, limit: number, cwd: string | undefined): SqlStatement;
  /** The texts after a bound that are partitions, in order, as `name`. */
  partitions(from: string, limit: number): SqlStatement;
  /** @param hasTerms whether there is an index of its own */
  delete(key: SessionKey, hasTerms: boolean): readonly SqlStatement[];
  /** Deletes some sessions of a partition; answers with picked, deleted, and those that are sessions. */
  deleteSome?(partition: string, limit: number): SqlStatement;
  /** @param cwd the directory of a session whose header is not among the lines */
  append(key: SessionKey, batch: LineBatch, cwd: string): readonly SqlStatement[];
  replace(key: SessionKey, batch: LineBatch, hasTerms: boolean): readonly SqlStatement[];
  /** base, head, and what an erasure changes. */
  shown(key: SessionKey): SqlStatement;
  /** What lines from before a replacement the answer of `shown` tells of. */
  keptLines(shown: SqlRow): readonly string[];
  /** Deletes them. The last statement may answer with the head, which is then compared. */
  purge(key: SessionKey, shown: SqlRow): readonly SqlStatement[];
  erase(key: SessionKey, shown: SqlRow, changes: readonly LineReplacement[], hasTerms: boolean): Rewriting;
  /** Plans a copy up to `end`; undefined if the source does not reach there. */
  planCopy(
    session: DatabaseSession,
    batch: LineBatch,
    source: SessionKey,
    end: number,
    run: RunStatement,
  ): Promise<CopyPlan | undefined>;
  /** base, head, at (of the first row, null without one), and the rows of a page that begins at `from`. */
  page(key: SessionKey, query: PageQuery & { readonly from: number; readonly end: number }): SqlStatement;
  /** As page, for the rows before `end`, or before the end of the log. */
  pageBefore(key: SessionKey, query: PageQuery & { readonly end: number | undefined }): SqlStatement;
  /** Answers with the index, as `at`, of each of these sessions that is elsewhere: moved, or gone. */
  moved(sessions: readonly FollowedSession[]): SqlStatement;
  /** Answers with `synced`: whether a commit survives a crash of the server. */
  readonly durability?: SqlStatement;
}

/** A page of a search: sessions with candidates, newest first. */
export interface SearchPage {
  /** Answers with id, modified, and what `candidates` reads. */
  readonly statement: SqlStatement;
  /** The sessions of an answer. */
  sessions(rows: readonly SqlRow[]): readonly SqlRow[];
  /** The page after it. */
  next(rows: readonly SqlRow[]): SearchPage | undefined;
}

/** The index of words. */
export interface IndexStatements {
  /** Makes the index, if there is none. Each is a transaction of its own. */
  make(run: RunStatement): Promise<void>;
  /** Answers with a row if there is one. Absent if terms are columns of the lines. */
  readonly exists?: SqlStatement;
  /** Removes the bytes of deleted terms. */
  readonly optimize?: SqlStatement;
  /** Deletes the terms of a session, so that a search reads all its lines. */
  forget?(key: SessionKey): readonly SqlStatement[];
  /** Whether copies and erasures leave lines without terms. */
  readonly isLate: boolean;
  /** Whether terms begin with the key of their partition. */
  readonly hasKeys: boolean;
  /** The first page. */
  search(
    query: Pick<SearchIndexQuery, "anyOf" | "partition"> & {
      readonly since: number;
      readonly cwd: string | null;
    },
  ): SearchPage;
  /** The places of lines; undefined for too many. */
  candidates(row: SqlRow): readonly number[] | undefined;
  /** Short sessions whole, by the partition, ids and epochs: `session` is the index, the rest as of `page`. */
  readWhole?(partition: string, sessions: readonly SqlRow[], maxBytes: number): SqlStatement;
  /** Sessions with lines without terms: partition, id, epoch. */
  unindexed(after: readonly [partition: string, id: string], limit: number): SqlStatement;
  /** base, head, and terms_at, up to where lines have their terms. */
  termsAt(key: SessionKey): SqlStatement;
  /** Adds the terms of lines from a place on. */
  index(key: SessionKey, from: number, terms: readonly LineTerms[], end: number): readonly SqlStatement[];
}

/** A session that a reader follows. */
export interface FollowedSession {
  readonly partition: string;
  readonly id: string;
  /** Where the reader is, as a log has it: epoch and head. */
  readonly position: string;
}

/** Listens for names of changed sessions until the returned function is called. `lost` may be called again. */
export type ListenForChanges = (
  heard: (names: readonly string[]) => void,
  lost: () => void,
) => Promise<() => Promise<void>>;

/** A database as the backend of sessions needs it, bound to the names of its tables. */
export interface SqlDialect {
  /** The schema of the tables, or the beginning of their names. */
  readonly name: string;
  readonly errors: SqlErrors;
  readonly rows: LineRows;
  readonly sql: SessionStatements;
  readonly index: IndexStatements | undefined;
  /** Places where the bytes of deleted rows may remain, for people. */
  readonly remaining: readonly string[];
  /** What remains of a partition beside its sessions. */
  readonly remainingOfPartition?: readonly string[];
  /** The first page of a list, and the largest. */
  readonly listPages: readonly [first: number, most: number];
  /** Makes the tables, or brings those of an older version to this one. */
  migrate(
    run: RunStatement,
    transaction: (statements: readonly SqlStatement[]) => Promise<unknown>,
    parts?: number,
  ): Promise<void>;
  /** Absent if readers only poll. */
  readonly listen?: ListenForChanges | undefined;
  /** Tells other processes of a change, of the session with a name. Does not wait. */
  readonly notify?: ((name: string) => void) | undefined;
}

/** The SQL that differs between dialects with rows by their offset. `e` is the table of rows. */
export interface RowSyntax {
  /** The names of the tables. */
  readonly session: string;
  readonly entry: string;
  /** The column of the partition, quoted if it is a reserved word. */
  readonly partition: string;
  /** Milliseconds since 1970 by the database's clock. */
  readonly now: string;
  greatest(...of: readonly string[]): string;
  least(...of: readonly string[]): string;
  concat(...of: readonly string[]): string;
  /** Ends an insert that does nothing if the session exists. */
  readonly orNothing: string;
  /** Ends an update or a delete, so that it answers with a row. */
  returning(column: string): string;
  /** The columns of a row's key, and their values. */
  readonly key: string;
  readKey(no: string, offset: string): string;
  readonly offset: string;
  readonly order: string;
  /** Whether a row is in a range, or at an offset, of a session's log. */
  within(no: string, from: string, to: string): string;
  at(no: string, offset: string): string;
  /** Deletes rows: all, or those in a range of offsets, of the session whose number a subquery finds. */
  deleteRows(no: SqlStatement, below?: number): SqlStatement;
  /** Rows of two values, as a table `v` with column1 and column2. */
  values(count: number): string;
  /** A JSON array as a table `wanted` with the column `value`. */
  readonly numbers: string;
  /** A JSON array of triples of texts as a table `wanted` with the columns at (from 0), a, b and c. */
  readonly triples: string;
  /** Whether a session is before a place in a list. */
  before(place: ListPlace): SqlStatement;
  /** Partitions from a bound on, as `name`. */
  partitions(from: string, limit: number): SqlStatement;
  /** Begins a write, if its first statement would not take the lock of the session's row. */
  lock?(condition: string): string;
  /** Whether commits are durable, as `synced`. */
  readonly durability?: string;
}

/** The SQL of blobs that differs between dialects. Values are `?` in the order of the text. */
export interface BlobSyntax {
  /** The tables of blobs, of the trash, and of the bytes. */
  readonly blob: string;
  readonly trash: string;
  readonly part: string;
  /** The column of the partition, quoted if it is a reserved word. */
  readonly partition: string;
  readonly now: string;
  greatest(...of: readonly string[]): string;
  returning(column: string): string;
  /** Ends an insert that does nothing if there is a row of its key. */
  orNothing(table: string, key: string): string;
  /** Ends the insert of a blob that takes the place of another one, with a later time. */
  readonly orReplace: string;
  /** Moves a row to another table; the last statement answers with a row if there was one. */
  move(row: {
    readonly from: string;
    readonly to: string;
    readonly columns: string;
    readonly values: string;
    readonly orNothing: string;
    readonly where: SqlStatement;
  }): readonly SqlStatement[];
}

/** The index of words of a dialect with rows by their offset: its statements, and those of a write. */
export interface RowIndex extends IndexStatements {
  /** Inserts the terms of lines, if `condition` of the session holds. */
  insertTerms(
    terms: readonly LineTerms[],
    condition: "head = ?" | "head = ? and terms_at = head" | "terms_at = ?",
    values: readonly SqlValue[],
  ): readonly SqlStatement[];
  /** Deletes the terms of a session whose head is the expected one, or whatever it is. */
  deleteTerms(key: SessionKey, head?: number): SqlStatement;
}

/** Options that all stores of sessions in a database have. */
export interface SqlOptions {
  readonly retryMs?: number | undefined;
  readonly maxLineBytes?: number | undefined;
}

/** The operations of a database beside those of every backend. */
export interface SqlTables {
  /**
   * Makes the tables, or brings those of an older version to this one, in one transaction. Tables of a newer
   * version stay as they are.
   */
  migrate(): Promise<void>;
  /** Yields the partitions that have a session, in order; the unnamed partition is an empty string. */
  partitions(): AsyncIterable<string>;
}

/** A database whose server decides how durable a commit is. */
export interface SqlServerTables extends SqlTables {
  /** The durability of an acknowledged append: `disk`, or `os` if a crash of the server may lose the last ones. */
  durability(): Promise<Durability>;
}
