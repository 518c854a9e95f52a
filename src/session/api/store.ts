/** The public interface of session stores. */

import type { IngestOptions, IngestSource } from "../../attachments/index.js";
import type { BlobStore } from "../../blobs/index.js";
import type { Resource } from "../../content/index.js";
import type { SessileError } from "../../core/errors/index.js";
import type { SessionEntry, SessionHeader } from "../../log/internal.js";
import type { RecordingOptions } from "../runtime/recording.js";
import type { SessionInfo } from "../runtime/session-info.js";
import type { SessionBackend } from "./backend.js";
import type { RecentOptions, RecentPage, Session } from "./session.js";

/**
 * A session in a list. A list shows `title`, else `name`, else `firstMessage`; all three may be absent.
 * `slug` is for URLs and is always there.
 */
export interface SessionSummary {
  readonly id: string;
  readonly cwd: string;
  readonly name?: string;
  readonly title?: string;
  readonly slug: string;
  /** ISO 8601. */
  readonly created: string;
  /** ISO 8601. */
  readonly modified: string;
  /** ISO 8601; absent while the session is active. */
  readonly archivedAt?: string;
  readonly parentSession?: string;
  /**
   * The text of the first user message, or the names of its attachments; never a descriptor. At most 200
   * characters.
   */
  readonly firstMessage?: string;
  /** Bytes. */
  readonly size: number;
  readonly location?: string;
  /** Pass it as `after` to continue after this session. */
  readonly cursor: string;
  /** Counts over the whole session; only with `stats`. */
  readonly counts?: { readonly entries: number; readonly messages: number };
  readonly stats?: SessionInfo["stats"];
}

/**
 * A reference to a session: its id, or a result of {@link SessionStore.list} or {@link SessionStore.open}. A
 * `location` selects the session there, even if another one has the same id, such as a copied file.
 */
export type SessionRef = string | { readonly id: string; readonly location?: string | undefined };

/** Filters of {@link SessionStore.list}. Sessions come newest first, by time of modification. */
export interface SessionQuery {
  /** @default the unnamed partition */
  readonly partition?: string;
  /** Only sessions of this project directory. */
  readonly cwd?: string;
  /** true: only archived sessions; false: only active ones; absent: both. */
  readonly archived?: boolean;
  /** Only sessions modified at or after this time. */
  readonly since?: Date;
  /** Only sessions modified before this time. */
  readonly until?: Date;
  /** The `cursor` of the last session of the previous page. */
  readonly after?: string | undefined;
  /** Maximum number. Minimum: 1. @default all */
  readonly limit?: number;
  /** Whether to count entries and messages, which reads each session in whole. @default false */
  readonly stats?: boolean;
  readonly signal?: AbortSignal;
}

/** A query of {@link SessionStore.search}. */
export interface SearchQuery {
  /**
   * Words, all of which an entry must have: each matches words that begin with it, in any case and
   * compatibility form, and also at a capital within an identifier. `"quoted words"` match whole words in
   * that order; so do words joined by punctuation, as in `rate-limit` or `a_name`, the last by its beginning.
   * In scripts without spaces, such as Chinese, any run of characters matches. At most 10,000 characters, and
   * 100 words and quotations.
   */
  readonly text: string;
  /** @default the unnamed partition */
  readonly partition?: string;
  /** Only sessions of this project directory. */
  readonly cwd?: string;
  /** Only messages of this role, such as `user`, or entries of this type, such as `compaction`. */
  readonly role?: string;
  /** Only entries of this time or later. */
  readonly since?: Date;
  /** Only entries before this time. */
  readonly until?: Date;
  /**
   * `path`: the entries on the path to each session's leaf. `all`: those on every branch; an edit hides text
   * on the branches that have it. @default "path"
   */
  readonly branch?: "path" | "all";
  /** Maximum number of hits. Minimum: 1. @default 100 */
  readonly limit?: number;
  readonly signal?: AbortSignal;
}

/** An entry from {@link SessionStore.search}. */
export interface SearchHit {
  readonly sessionId: string;
  /** The location of the session, if the store has locations. */
  readonly location?: string;
  /** The labelled entry for a label, the edited entry for an edit. */
  readonly entryId: string;
  /** The role of a message; the type of any other entry. */
  readonly role: string;
  /** The text around the match of the query's first word, in NFKC and in one line. Untrusted text. */
  readonly snippet: string;
  /** The time of the entry. ISO 8601. */
  readonly at: string;
}

/** The events of a store. */
export interface SessionStoreEventMap {
  created: { readonly id: string };
  updated: { readonly id: string; readonly info: SessionInfo };
  deleted: { readonly id: string };
  /**
   * A list skipped a possible session: it is unreadable, or has no header near its start. A garbage
   * collection that uses the list must stop: references of such a session are unknown.
   */
  skipped: { readonly location: string; readonly error: SessileError };
}

/** Options of {@link SessionStore.fork}. */
export interface ForkOptions {
  /**
   * The last entry to copy: all lines of the log up to it, other branches included. For one branch alone use
   * {@link Session.extract}. @default all entries
   */
  readonly upTo?: string;
  /** @default the directory of the source */
  readonly cwd?: string;
  readonly id?: string;
  /** The partition of the source. */
  readonly partition?: string;
  /** The partition of the new session. @default the same */
  readonly toPartition?: string;
  /**
   * Called with each readable entry, in file order; returns its replacement, such as the entry without inline
   * images. Type, id, parent and timestamp must stay. The same object copies the line byte for byte;
   * unchanged members of another object are copied byte for byte too.
   */
  readonly rewrite?: RewriteEntry;
  /**
   * `fresh` gives the resources of the copy new ids everywhere: blocks, views, observations, texts. Signed
   * content keeps the old ids. Blobs and digests are the same. @default "same"
   */
  readonly resources?: "same" | "fresh";
}

/** The input of {@link SessionStore.adopt}. An `ImportedSession` of `sessile/interop` fits. */
export interface AdoptableSession {
  /** Its version becomes the current one. `id` is a name as of {@link SessionStore.create}. */
  readonly header: SessionHeader;
  /** Parents come before their children. Written in this order. */
  readonly entries: readonly SessionEntry[];
  readonly leafId: string | null;
}

/** Options of {@link SessionStore.adopt}. */
export interface AdoptOptions extends RecordingOptions {
  /** @default the unnamed partition */
  readonly partition?: string;
  /**
   * If the session exists: `refuse` throws SESSION_EXISTS. `append` adds the entries that it lacks and moves
   * the leaf to `leafId`, unless something was appended here: the path to the leaf has an entry that
   * `entries` lacks, and none of them has its time. One with the time of one of them is an earlier state of
   * it.
   * @default "refuse"
   */
  readonly existing?: "refuse" | "append";
}

/** Returns the replacement of an entry in a copy; see {@link ForkOptions.rewrite}. */
export type RewriteEntry = <E extends SessionEntry>(entry: E) => E | Promise<E>;

/** A store of sessions. Closing a session never closes its store; a store needs no close. */
export interface SessionStore {
  /**
   * Creates a session, open for writing. Stores nothing before the first append.
   * @throws SessileError SESSION_EXISTS; TypeError for an invalid id or partition
   */
  create(
    options: {
      /** The project's directory. */
      readonly cwd: string;
      /**
       * Letters, digits, dots, underscores and hyphens, without a dot or hyphen at the ends. @default a UUID
       * of version 7
       */
      readonly id?: string;
      readonly partition?: string;
      readonly parentSession?: string;
    } & RecordingOptions,
  ): Promise<Session>;
  /**
   * Opens a session, by default for reading. Never fails because of a lock.
   * @throws SessileError SESSION_NOT_FOUND, EMPTY, NO_HEADER, NOT_A_FILE
   */
  open(
    session: SessionRef,
    options?: { readonly mode?: "read" | "write"; readonly partition?: string } & RecordingOptions,
  ): Promise<Session>;
  /**
   * {@link Session.recent} without opening the session: reads its log from the end, in time and memory that
   * do not grow with the log. A parent far back, before another branch, is searched for in as many bytes as
   * that branch has; a page may end at such a place. Of a log of version 1, and of one whose parents stand
   * after their children, all is read.
   * @throws SessileError SESSION_NOT_FOUND, EMPTY, NO_HEADER, NOT_A_FILE; ENTRY_NOT_FOUND for a cursor whose
   *   entry is gone
   * @throws TypeError, RangeError for invalid options
   */
  recent(session: SessionRef, options?: RecentOptions & { readonly partition?: string }): Promise<RecentPage>;
  /**
   * Yields matching sessions, newest first. Stop iterating to stop reading. Skips unreadable files, with a
   * `skipped` event each.
   */
  list(query?: SessionQuery): AsyncIterable<SessionSummary>;
  /**
   * Yields entries whose text matches, newest first: the text of messages, calls and results, summaries,
   * names and labels, never base64. Only text in force is found, not text that an edit removed or replaced.
   * Answered by an index if the backend has one; else all lines are read. An index and a scan find the same.
   * A text without words finds nothing.
   * @throws TypeError, RangeError for invalid options
   */
  search(query: SearchQuery): AsyncIterable<SearchHit>;
  /** The newest matching session that is not archived. */
  latest(query?: Omit<SessionQuery, "limit" | "after">): Promise<SessionSummary | undefined>;
  /**
   * Creates a session from the lines of another, byte for byte, with entry ids and all branches; with an
   * entry, from the lines up to it. Its title ends with "(fork #N)": a number that none of the 256 sessions
   * of its directory has that changed last. Open for writing.
   * @throws SessileError SESSION_NOT_FOUND, ENTRY_NOT_FOUND, SESSION_EXISTS; INVALID_ENTRY for a result of
   *   `rewrite`
   */
  fork(session: SessionRef, options?: ForkOptions): Promise<Session>;
  /**
   * Creates a session from entries with their ids, parents and times, all or none: one append. For sessions
   * of other programs, such as an import. Open for writing. Ids in fields of entries are not looked up.
   * @throws SessileError SESSION_EXISTS; INVALID_ENTRY, DUPLICATE_ID, ENTRY_NOT_FOUND (a parent or the leaf),
   *   LINE_TOO_LONG, BATCH_TOO_LARGE, INLINE_BYTES: the entries. Nothing was written
   * @throws SessileError SESSION_MISMATCH with `append` if the session has entries, and none of these
   * @throws TypeError for an invalid id, directory or partition
   */
  adopt(session: AdoptableSession, options?: AdoptOptions): Promise<Session>;
  /** Deletes a session. Returns whether it existed. */
  delete(session: SessionRef, options?: { readonly partition?: string }): Promise<boolean>;
  /** Archives a session, or makes it active again. */
  archive(
    session: SessionRef,
    options?: { readonly archived?: boolean; readonly partition?: string },
  ): Promise<SessionInfo>;
  /**
   * Yields each partition that may have sessions once, the unnamed one as an empty string, in any order.
   * @throws TypeError if the backend cannot list its partitions
   */
  partitions(): AsyncIterable<string>;
  /** Adds a listener for an event. Returns a function that removes it. */
  on<E extends keyof SessionStoreEventMap>(
    event: E,
    listener: (payload: SessionStoreEventMap[E]) => void,
  ): () => void;
  /** The storage, for programs that move whole logs, as `sessile/sync` does. */
  readonly backend: SessionBackend;
}

/** Options of `attach`: those of `ingest`, with the blobs of the place. */
export type AttachOptions = Omit<IngestOptions, "blobs">;

/**
 * Sessions, blobs and attachments of one place: a folder, a database. Every door of a storage gives one, so that
 * a move is another door. Sessions store inline images in `blobs`.
 */
export interface AgentStorage<Source = IngestSource> {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  /** Stores an attachment, and returns the resource for a message; see `ingest`. */
  attach(source: Source, options?: AttachOptions): Promise<Resource>;
}
