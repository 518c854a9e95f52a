import type { SessileError } from "../errors/index.js";

/**
 * The port between a session and whatever keeps its lines. A backend stores lines and compares positions; it knows
 * nothing of entries, trees or contexts. It is right when it passes `sessionStoreConformance`.
 */

/** Where a log ends, as one writer saw it. Opaque: two are the same log in the same state when they are equal. */
export type LogPosition = string & { readonly __position: unique symbol };

/** Where one line lies. Numbers grow along the log: byte offsets in a file, sequence numbers in a table. */
export interface LinePlace {
  readonly at: number;
  /** Bytes without the line feed. */
  readonly length: number;
}

/** A line over the size that a reader takes. */
export interface LongLine extends LinePlace {
  /** So many bytes stand before a run of NULs that reaches to its end, as a crash leaves them: copies leave these out. */
  readonly bytesBeforeNuls?: number;
}

/** Lines that lie in one array of bytes. */
export interface LineRanges {
  readonly bytes: Uint8Array;
  /** Where each line begins and where it ends, without its line feed: two numbers a line. */
  readonly bounds: readonly number[];
}

/** A run of lines, as {@link SessionLog.read} gives it. */
export interface LogBatch {
  /**
   * Lines without their line feeds, each by itself or all in one array, which is quicker where there are many. The bytes
   * hold only until the next batch is asked for.
   */
  readonly lines: readonly Uint8Array[] | LineRanges;
  /** Where each line lies. */
  readonly at: readonly number[];
  /** Lines over the size that the reader takes, of which no byte is kept. */
  readonly tooLong?: readonly LongLine[];
  /** What follows the last line feed at the end of the log: a line that lacks its own, or a torn one. */
  readonly tail?: { readonly bytes: Uint8Array; readonly at: number };
  /** The position after this batch, from which a later read goes on. A tail is not part of it. */
  readonly next: LogPosition;
  /** The log is not the one that `from` was a position of: this is its first line again. */
  readonly restarted?: true;
}

/** What an append did. */
export interface LogAppend {
  readonly position: LogPosition;
  /** Where each line lies. */
  readonly at: readonly number[];
  /** Lines of another program came in between although the log was locked; read from `expected` to see them. */
  readonly interleaved?: true;
}

export type { Durability } from "../internal/arguments.js";

/** One session's lines. */
export interface SessionLog {
  /** Where people find it, such as an absolute path. */
  readonly location?: string;
  /**
   * Adds lines, all or none, if the log still ends at `expected`. Each line comes with its line feed. Once it resolves they last as the store promises.
   * The first append of a created session makes it exist.
   *
   * @throws SessileError CONCURRENT_WRITER where the log ends elsewhere; nothing was written
   * @throws SessileError SESSION_NOT_FOUND where the session was deleted; SESSION_EXISTS where a created one was made
   *   by another in the meantime
   * @throws SessileError SESSION_LOCKED, STORAGE_FAILED; nothing was written
   * @throws SessileError WRITER_POISONED where it is unknown what was written
   */
  append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend>;
  /**
   * Lines from a position on, or from the start, up to the end that the log has when it is reached.
   *
   * @throws SessileError SESSION_NOT_FOUND where the session was deleted
   */
  read(from: LogPosition | undefined, options?: { readonly signal?: AbortSignal }): AsyncIterable<LogBatch>;
  /** The bytes of these lines, in the order asked for; undefined for one that is no longer there. */
  readAt(places: readonly LinePlace[]): Promise<readonly (Uint8Array | undefined)[]>;
  /**
   * Puts other lines, each with its line feed, in the place of all, as a migration does, keeping the old log beside it. Optional: a backend
   * without it opens older versions for reading only.
   */
  replace?(
    lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    expected: LogPosition,
  ): Promise<LogPosition>;
  /**
   * Makes this created log out of another one that lasts, without a look at its lines: `first` in the place of its first
   * line, then its bytes up to and with the line at `last`, or up to `to`. Whole or not at all; lasting as an append. False
   * where the other is another backend's, or does not reach there any more; then nothing was made. Optional: without it
   * lines are read and appended.
   *
   * @throws SessileError SESSION_EXISTS, SESSION_LOCKED, STORAGE_FAILED; nothing was made
   */
  copy?(from: SessionLog, first: Uint8Array, to: LogPosition, last?: LinePlace): Promise<boolean>;
  /**
   * Ends a last line that has no line feed: a whole one by a line feed, a torn one by a tab and a line feed. Nothing is
   * removed. Optional.
   */
  prepare?(): Promise<void>;
  /** Resolves when the log may have changed, or the signal aborts. Optional: without it, readers poll. */
  changed?(signal: AbortSignal): Promise<void>;
  /** The platform's CRC-32, unsigned as in zlib. Optional: without it, checksums are computed in JavaScript. */
  readonly crc32?: (bytes: Uint8Array) => number;
  /** Lets go of descriptors and locks. Waits for what is being written. */
  close(): Promise<void>;
}

/** One session as {@link SessionBackend.list} finds it. The bytes hold only until the next one is asked for. */
export interface StoredSession {
  /**
   * What orders it among sessions of the same time, and no two of those share: the id, or a name that begins with one. The
   * list shows the id in the header.
   */
  readonly id: string;
  /** Lines from the start: the header and at least the first entries. */
  readonly head: readonly Uint8Array[];
  /** Lines of the end: of the last 64 KiB at least those that may be a session_info, whole. May overlap with `head`. */
  readonly tail: readonly Uint8Array[];
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
  /** Bytes. */
  readonly size: number;
  readonly location?: string;
}

/** What {@link SessionBackend.list} looks for. */
export interface StoredSessionQuery {
  readonly partition: string;
  /** Only what was modified before this session in the order of the list; see `StoredSession` id and modifiedAt. */
  readonly after?: { readonly modifiedAt: number; readonly id: string };
  /** A hint: sessions of another directory may be left out, and may be given. */
  readonly cwd?: string;
  /** To be called for what is left out although a session may be there, with where it lies and why. */
  readonly skipped?: (location: string, error: SessileError) => void;
  readonly signal?: AbortSignal;
}

/** Keeps sessions. Four methods, and the log. */
export interface SessionBackend {
  /**
   * A log for a new session, with the position of its start. Nothing needs to exist before the first append.
   *
   * @throws SessileError SESSION_EXISTS
   */
  create(session: {
    readonly id: string;
    readonly partition: string;
    readonly cwd: string;
    /** ISO 8601. */
    readonly timestamp: string;
  }): Promise<{ readonly log: SessionLog; readonly position: LogPosition }>;
  /**
   * The log of the session with this id in its header, or undefined. In read mode nothing is ever written.
   *
   * @param options.location only the one that lies there; a backend without locations ignores it
   */
  open(
    id: string,
    options: {
      readonly partition: string;
      readonly mode: "read" | "write";
      readonly location?: string | undefined;
    },
  ): Promise<SessionLog | undefined>;
  /** Sessions by time of modification, newest first, then by id. */
  list(query: StoredSessionQuery): AsyncIterable<StoredSession>;
  /** Whether there was one; see {@link SessionBackend.open} for `location`. */
  delete(
    id: string,
    options: { readonly partition: string; readonly location?: string | undefined },
  ): Promise<boolean>;
}
