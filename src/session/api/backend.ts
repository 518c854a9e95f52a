/**
 * The port between a session and its storage. A backend stores lines and compares positions; it knows nothing
 * of entries, trees or contexts. `sessionStoreConformance` is its specification.
 */

import type { SessileError } from "../../core/errors/index.js";

/** The end of a log, as one writer saw it. Opaque: equal positions mean the same log in the same state. */
export type LogPosition = string & { readonly __position: unique symbol };

/**
 * The location of one line. Numbers grow along the log: byte offsets in a file, sequence numbers in a table.
 */
export interface LinePlace {
  readonly at: number;
  /** Bytes without the line feed. */
  readonly length: number;
}

/** A line that exceeds the reader's maximum. */
export interface LongLine extends LinePlace {
  /**
   * The bytes before a run of NULs that reaches to the line's end, as a crash leaves them. Copies omit the
   * run.
   */
  readonly bytesBeforeNuls?: number;
}

/** Lines in one array of bytes. */
export interface LineRanges {
  readonly bytes: Uint8Array;
  /** Start and end of each line, without its line feed: two numbers per line. */
  readonly bounds: readonly number[];
}

/** The bytes of a whole read, which stay as they are, so that a first context need not read them again. */
export interface KeptBytes {
  readonly bytes: Uint8Array;
  /** The location of the first byte, which begins a line. */
  readonly at: number;
  /** The index after the last line feed. */
  readonly end: number;
  /** Whether the log still has these bytes. */
  isCurrent(): boolean;
  /** Whether the bytes have this text of ASCII. */
  includes(text: string): boolean;
  /** The text of a range; undefined if the bytes are not UTF-8. */
  text(start: number, end: number): string | undefined;
}

/** A batch of lines from {@link SessionLog.read}. */
export interface LogBatch {
  /**
   * Lines without their line feeds, each by itself or all in one array, which is faster for many lines. The
   * bytes are valid until the next batch is requested.
   */
  readonly lines: readonly Uint8Array[] | LineRanges;
  /** Whether the bytes stay valid after that, so that a first context need not read them again. */
  readonly stays?: true;
  /** The location of each line. */
  readonly at: readonly number[];
  /** Lines that exceed the reader's maximum. Their bytes are not kept. */
  readonly tooLong?: readonly LongLine[];
  /** The bytes after the last line feed of the log: a line without its line feed, or a torn tail. */
  readonly tail?: { readonly bytes: Uint8Array; readonly at: number };
  /** The position after this batch, for a later read. Excludes the tail. */
  readonly next: LogPosition;
  /** Whether the log is not the one of `from`: this batch starts at its first line. */
  readonly restarted?: true;
  /** Whether lines precede this batch, which is the first one of a read with `lastBytes`. */
  readonly skipped?: true;
  /** The bytes of all lines in place of {@link lines} and {@link at}, for a read with `kept`. */
  readonly kept?: KeptBytes;
}

/** The result of an append. */
export interface LogAppend {
  readonly position: LogPosition;
  /** The location of each line. */
  readonly at: readonly number[];
  /** Whether another program wrote lines although the log was locked; read from `expected` to see them. */
  readonly interleaved?: true;
}

export type { Durability } from "../../core/arguments.js";

/** A line that takes the place of another one; see {@link SessionLog.erase}. */
export interface LineReplacement extends LinePlace {
  /** With its line feed. */
  readonly line: Uint8Array;
}

/** The result of {@link SessionLog.erase}. */
export interface LogErasure {
  readonly position: LogPosition;
  /** Copies of old lines that were removed, such as the file before a migration. */
  readonly removed: readonly string[];
  /** What may still hold the old lines and is beyond this backend, for people. */
  readonly remaining: readonly string[];
}

/** The lines of one session. */
export interface SessionLog {
  /** The location for people, such as an absolute path. */
  readonly location?: string;
  /**
   * Appends lines, all or none, by compare-and-swap: only if the log still ends at `expected`. Each line has
   * its line feed. Resolves when they are durable as the store promises. The first append of a created
   * session makes it exist.
   * @throws SessileError CONCURRENT_WRITER if the log ends elsewhere; nothing was written
   * @throws SessileError SESSION_NOT_FOUND if the session was deleted; SESSION_EXISTS if another writer
   *   created it in the meantime
   * @throws SessileError SESSION_LOCKED, STORAGE_FAILED; nothing was written
   * @throws SessileError WRITER_POISONED if the end of the log is unknown, as after a lost answer whose lines
   *   cannot be looked up
   */
  append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend>;
  /**
   * Reads lines from a position or from the start, up to the end of the log at that time.
   * @throws SessileError SESSION_NOT_FOUND if the session was deleted
   */
  read(
    from: LogPosition | undefined,
    options?: {
      readonly signal?: AbortSignal;
      /** A hint: about the number of bytes of the first batches, for a reader that may need no more. */
      readonly batchBytes?: number;
      /**
       * A hint, without a position: only the lines that begin in about the last bytes of this number are wanted.
       * A log that is not much longer is read from its start. Without support for it, all logs are.
       */
      readonly lastBytes?: number;
      /** A hint, without a position: the reader finds the lines in {@link LogBatch.kept} itself. */
      readonly kept?: boolean;
    },
  ): AsyncIterable<LogBatch>;
  /**
   * Reads lines backwards from the end of the log, or those before the line at `before`: each batch has the
   * lines directly before those of the last one, in the order of the log. The
   * first batch of the end has the tail. Reads on only as batches are requested. Optional: without it,
   * `recent` reads the log from its start.
   * @throws SessileError SESSION_NOT_FOUND if the session was deleted
   */
  readBackwards?(
    before: number | undefined,
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterable<Omit<LogBatch, "restarted" | "next">>;
  /** Reads these lines, in the order of the request; undefined for a line that no longer exists. */
  readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]>;
  /**
   * Replaces all lines, each with its line feed, as a migration does, and keeps the old log beside it.
   * Optional: without it, older versions open for reading only.
   */
  replace?(
    lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    expected: LogPosition,
  ): Promise<LogPosition>;
  /**
   * Puts lines in place of others, all or none, and removes the old ones from the storage: also copies of
   * them that earlier calls of `replace` kept, and caches. A reader at an older position starts again.
   * Optional: without it, entries cannot be erased.
   * @param changes in the order of the log; may be empty, to remove copies alone
   * @throws SessileError as {@link SessionLog.append}
   */
  erase?(changes: readonly LineReplacement[], expected: LogPosition): Promise<LogErasure>;
  /**
   * Makes this created log from a durable log, without parsing its lines: `first` replaces its first line,
   * then its bytes up to and including the line at `last`, or up to `to`. Atomic, and durable as an append.
   * Returns false, and makes nothing, if the source belongs to another backend or no longer reaches there.
   * Optional: without it, lines are read and appended.
   * @throws SessileError SESSION_EXISTS, SESSION_LOCKED, STORAGE_FAILED; nothing was made
   */
  copy?(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean>;
  /**
   * Called after a read whose session is to be written. Refuses a log that may not be written. If its last line
   * has no line feed (`endsOpen`), ends it: a whole line by a line feed, a torn one by a tab and a line feed.
   * Removes nothing. Optional.
   */
  prepare?(endsOpen: boolean): Promise<void>;
  /**
   * Resolves when the log may have changed since a position, after `pollMs` at the latest unless it has looked
   * by itself, or when the signal aborts. Optional: without it, readers poll.
   */
  changed?(
    signal: AbortSignal,
    since: { readonly position: LogPosition | undefined; readonly pollMs: number },
  ): Promise<void>;
  /**
   * Deletes the session of this log, which ends at this position; never one that has its id by now. Nobody
   * appends to it any more. Optional: without it, turns cannot be claimed and replies not recorded.
   * @param at undefined if a read gave nothing, as of a log whose creation was cut short
   */
  delete?(at: LogPosition | undefined): Promise<void>;
  /**
   * The platform's CRC-32, unsigned as in zlib. Optional: without it, checksums are computed in JavaScript.
   */
  readonly crc32?: (bytes: Uint8Array) => number;
  /** Waits for pending writes, and releases descriptors and locks. */
  close(): Promise<void>;
}

/** A session from {@link SessionBackend.list}. The bytes are valid until the next one is requested. */
export interface StoredSession {
  /** The id in the header, by which the session is opened; of a log without a header any name. */
  readonly id: string;
  /**
   * The unique sort key among sessions of the same time, for the cursor of a list. @default the id
   */
  readonly key?: string;
  /** Lines from the start: the header and at least the first entries. */
  readonly head: readonly Uint8Array[];
  /** The newest session_info, wherever it is, or lines with it as the last one. May overlap with `head`. */
  readonly tail: readonly Uint8Array[];
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
  /** Bytes. */
  readonly size: number;
  readonly location?: string;
  /** Counts over the whole session, if the backend has them: a list then need not open it. */
  readonly counts?: { readonly entries: number; readonly messages: number };
}

/** Options of {@link SessionBackend.list}. */
export interface StoredSessionQuery {
  readonly partition: string;
  /** Only sessions before this one in the order of the list: `modifiedAt`, and `key` or else `id` as `id`. */
  readonly after?: { readonly modifiedAt: number; readonly id: string };
  /** A hint: the backend may omit sessions of another directory, by path: spellings and links of one are one. */
  readonly cwd?: string;
  /** Called for a skipped possible session, with its location and the reason. */
  readonly skipped?: (location: string, error: SessileError) => void;
  readonly signal?: AbortSignal;
}

/** A query of an index; see {@link SessionBackend.search}. */
export interface SearchIndexQuery {
  readonly partition: string;
  /**
   * A line is a candidate if it has, for one of these alternatives, all of its terms. A line has a term if
   * one of its own terms begins with it.
   */
  readonly anyOf: readonly (readonly string[])[];
  /** Only sessions modified at or after this time, in milliseconds since 1970. */
  readonly since?: number;
  /** A hint: the backend may omit sessions of another directory, by path: spellings and links of one are one. */
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

/** A session with lines that may match; see {@link SessionBackend.search}. */
export interface SearchCandidates extends Pick<StoredSession, "id" | "modifiedAt" | "location"> {
  /**
   * The numbers of the lines, as in {@link LinePlace.at}, in any order. If the log is replaced or erased
   * meanwhile, its lines have greater numbers than all of these. Absent if there are many: all lines are read.
   * Empty if none may match: that session and later ones have no newer entry than `modifiedAt`.
   */
  readonly at?: readonly number[];
  /** The session's log, opened for reading. @default opened by the id */
  readonly log?: SessionLog;
}

/** A process, for people and for {@link SessionBackend.processes}: a JSON object. */
export interface ProcessRecord {
  readonly host?: string;
  readonly pid?: number;
  readonly [field: string]: unknown;
}

/** The storage of sessions: four methods, and the log. */
export interface SessionBackend {
  /**
   * How a lease knows its holder. `isGone` is undefined if only time can tell, as of a process of another machine.
   * Optional: without it, time alone decides.
   */
  readonly processes?: {
    /** This process, as a lease names it. */
    own(): ProcessRecord;
    /** Whether a process has ended. */
    isGone(other: ProcessRecord): boolean | undefined;
  };
  /**
   * The same sessions without replicas that lag, for an erasure, which has to see every reference and fork.
   * Optional: without it, all reads see the newest state.
   */
  readonly primary?: SessionBackend;
  /**
   * Returns a log for a new session, with the position of its start. Nothing needs to exist before the first
   * append.
   * @throws SessileError SESSION_EXISTS
   */
  create(session: {
    readonly id: string;
    readonly partition: string;
    readonly cwd: string;
    /** ISO 8601. */
    readonly timestamp: string;
    /**
     * Where a log belongs that is beside a session's, whose id then has a tilde. A backend without locations ignores
     * it.
     */
    readonly location?: string | undefined;
  }): Promise<{ readonly log: SessionLog; readonly position: LogPosition }>;
  /**
   * The log of the session with this id in its header, or undefined. Never writes in read mode.
   * @param options.location selects the session there; a backend without locations ignores it
   */
  open(
    id: string,
    options: {
      readonly partition: string;
      readonly mode: "read" | "write";
      readonly location?: string | undefined;
    },
  ): Promise<SessionLog | undefined>;
  /**
   * The path of a project's directory without links, for a new session and for the query of a list. Optional:
   * without it, links are other directories.
   */
  resolveDirectory?(cwd: string): Promise<string>;
  /** Yields sessions by time of modification, newest first, then by id. */
  list(query: StoredSessionQuery): AsyncIterable<StoredSession>;
  /**
   * Yields each partition that may have sessions once, the unnamed one as an empty string. Optional: without
   * it, callers name the partitions.
   */
  partitions?(): AsyncIterable<string>;
  /**
   * Finds lines by an index of their terms, which an append, a replacement or a copy fills in the same
   * transaction as the lines; `searchTermsOfLine` makes the terms of a line. Yields sessions in the order of
   * {@link SessionBackend.list}. May yield lines that do not match, and lines that are no longer in the log;
   * never misses one that does: each candidate is read and compared. Optional: without it, all lines are
   * read.
   */
  search?(query: SearchIndexQuery): AsyncIterable<SearchCandidates>;
  /**
   * Deletes everything of a named partition: its sessions, also unreadable ones, and their sidecar files.
   * Returns the number of sessions, and what may still hold content of them, for people. Optional: without
   * it, they are deleted one by one.
   */
  deletePartition?(
    partition: string,
  ): Promise<{ readonly sessions: number; readonly remaining: readonly string[] }>;
  /** Deletes a session. Returns whether it existed. See {@link SessionBackend.open} for `location`. */
  delete(
    id: string,
    options: { readonly partition: string; readonly location?: string | undefined },
  ): Promise<boolean>;
}
