import type { Context, Message } from "../content/index.js";
import type { SessileError } from "../errors/index.js";
import type { Diagnostics } from "./diagnostics.js";
import type {
  EntryDraft,
  EntryMap,
  SessionEntry,
  SessionHeader,
  SessionInfoPatch,
  UnknownEntry,
} from "./entries.js";
import type { EphemeralEvent, SessionEventMap, SessionEventName } from "./events.js";
import type { SessionInfo } from "./info.js";
import type { PermissionRule } from "./permissions.js";
import type { RecordingOptions } from "./recording.js";
import type { EntryNode, SessionTree } from "./tree/tree.js";
import type { ToolCallState, TurnContext } from "./turn.js";

/** Options of {@link Session.append}. */
export interface AppendOptions {
  /**
   * What happens if another writer added entries to the conversation first; labels, session_info and usage are no
   * conflict.
   *
   * - `reject`, the default: nothing is written, the append fails with CONCURRENT_WRITER, and the session has read
   *   what came.
   * - `branch`: the entries stay under the parent that they were made for, behind the other's in the log. Both
   *   branches are there, and this handle's tip goes on with its own.
   * - `follow`: the entries go after the other's newest entry, and the tip with them, also if `refresh` or `follow`
   *   read that entry since this handle's last append. CONCURRENT_WRITER with a `reason` if a tool call there waits
   *   for its result, or the entries would lose a call or a target that they name. Not for leaf entries.
   * - `rebase`, for label, session_info and usage entries alone: they go after the other's, and the tip stays on this
   *   handle's own branch. The next append that is `reject` is told of the other all the same.
   *
   * Ids and timestamps stay. Appends that were called without waiting follow the one before, wherever that goes.
   */
  readonly conflict?: "reject" | "rebase" | "branch" | "follow";
  /**
   * The entry that this append is made for, and is to follow; null for before the first. Where the tip, counting appends
   * that wait and what is staged, is another one at the call, it fails with CONCURRENT_WRITER, and nothing is written.
   * Where the first draft is an entry that is there already, as when a call is made again, what that one follows is
   * compared instead. Not together with `rebase`. For {@link Session.branchWithSummary} the leaf that is left, which its
   * `fromId` then names. Default: not compared.
   */
  readonly after?: string | null;
  /** Withdraws an append that is still waiting. One that is being written finishes. */
  readonly signal?: AbortSignal;
}

/**
 * `AsyncDisposable`, where the libraries of whoever compiles have it: those of TypeScript's ES2022 do not, and a declaration
 * that names it would not compile there.
 */
type IfAsyncDisposable = SymbolConstructor extends { readonly asyncDispose: infer Key extends PropertyKey }
  ? {
      /** Closes the session, as `close` does. */
      readonly [key in Key]: () => Promise<void>;
    }
  : object;

/**
 * A session that is open: a tree of entries in a store, and a tip. History is never rewritten; everything that changes
 * something is an entry. One handle may be used by any number of callers; appends are written in the order of the calls.
 *
 * Two handles, in one process or in several, may have a session open. Each sees its own tip; the one that writes second
 * is told so instead of forking the history by accident.
 */
export interface Session extends IfAsyncDisposable {
  readonly id: string;
  readonly header: SessionHeader;
  /** Where the store keeps it, or will from the first append on, such as an absolute path; undefined where that means nothing. */
  readonly location: string | undefined;
  /** Whether this handle may append: it was opened for that, and no newer version wrote the session. */
  readonly writable: boolean;
  /** The tip: what the next entry follows. null before the first entry, or after `branch(null)`. */
  readonly leafId: string | null;
  readonly tree: SessionTree;
  /** Name, title, times, statistics, permissions. */
  readonly info: SessionInfo;
  /** What was found wrong so far, oldest first; of very much the middle is only counted. Content is checked as it is read; {@link Session.diagnose} checks all of it. */
  readonly diagnostics: Diagnostics;

  /**
   * Writes entries after the tip, all or none, and moves the tip to the last. Once it resolves they last as the store
   * promises. The drafts are the session's from the call on: whoever changes them afterwards changes what this handle shows,
   * and not the log. Staged entries go along, and are not among those it gives. Calls may be made without waiting for
   * earlier ones: each follows the one before, and fails with it.
   *
   * Of a session that its store does not have yet, an append of settings alone (model_change, thinking_level_change, label,
   * session_info, leaf, {@link turnSettings}) is staged: it resolves, and is written in front of the first entry of another
   * type, or by {@link Session.flush}. Where neither comes, the session leaves nothing.
   *
   * @throws SessileError INVALID_ENTRY, ENTRY_NOT_FOUND, DUPLICATE_ID, LINE_TOO_LONG, BATCH_TOO_LARGE: the drafts;
   *   nothing was written
   * @throws SessileError CONCURRENT_WRITER, SESSION_LOCKED, STORAGE_FAILED: nothing was written
   * @throws TypeError for options that are none
   * @throws SessileError SESSION_EXISTS, SESSION_NOT_FOUND: another session took the id first, or this one was deleted
   * @throws SessileError SESSION_READ_ONLY, SESSION_CLOSED
   * @throws SessileError WRITER_POISONED: unknown what was written; open the session again
   */
  append(drafts: readonly EntryDraft[], options?: AppendOptions): Promise<readonly SessionEntry[]>;
  /** {@link Session.append} for one message. */
  appendMessage(
    message: Message,
    options?: AppendOptions,
  ): Promise<SessionEntry & { readonly type: "message" }>;
  /**
   * Puts entries after the tip in memory alone; they are written with the next append, and lost if none comes. For what
   * is not worth a file yet, such as the choice of a model before the first message.
   */
  stage(drafts: readonly EntryDraft[]): readonly SessionEntry[];
  /** Writes what is staged, and where the tip was moved to. */
  flush(): Promise<void>;

  /**
   * Moves the tip, so that the next entry follows this one; null for a new root. Takes effect at once in memory. If
   * nothing is appended afterwards, `close` or `flush` records it as a leaf entry; browsing alone writes nothing more.
   *
   * @throws SessileError ENTRY_NOT_FOUND
   */
  branch(id: string | null): void;
  /**
   * {@link Session.branch}, and a summary of the branch that is left as the first entry of the new one. Where it cannot
   * be written the tip goes back.
   */
  branchWithSummary(
    id: string | null,
    summary: string,
    options?: Omit<EntryMap["branch_summary"], "fromId" | "summary"> & AppendOptions,
  ): Promise<SessionEntry & { readonly type: "branch_summary" }>;
  /**
   * A new session of the path to one entry, the tip if absent: no other branches, labels resolved. The new session is
   * open for writing, and names this one as its parent.
   */
  extract(leafId?: string, options?: { readonly cwd?: string; readonly id?: string }): Promise<Session>;

  /** One entry; undefined if there is none, or its body is damaged. */
  entry(id: string): Promise<SessionEntry | UnknownEntry | undefined>;
  /** One entry's line as stored, without its line feed; undefined if there is none. */
  raw(id: string): Promise<Uint8Array | undefined>;
  /** What a model is to see next, at the tip or another leaf; see {@link buildSessionContext}. Treat it as read-only. */
  context(leafId?: string | null): Promise<Context>;
  /** Model, thinking level, tools, policies and revert in force at the tip or another leaf. */
  turn(leafId?: string | null): Promise<TurnContext>;
  /** The tool calls in context at the tip or another leaf, and how far each came. Those before a compaction are not in context. */
  toolStates(leafId?: string | null): Promise<readonly ToolCallState[]>;

  /** Appends a session_info: what the patch does not name stays. Goes after other writers' entries. */
  updateInfo(patch: SessionInfoPatch): Promise<SessionInfo>;
  /** Records that a permission was granted for good; see {@link evaluatePermission}. */
  approveAlways(approval: Pick<PermissionRule, "permission" | "pattern">): Promise<SessionInfo>;

  /**
   * Reads what other writers added, and gives the places of all that came since the last call, also of what an append read
   * that met a conflict. A writable session keeps its own tip.
   */
  refresh(): Promise<readonly EntryNode[]>;
  /** Every entry from now on, by this handle or another writer, until the signal aborts or the session closes. */
  follow(options: {
    readonly signal: AbortSignal;
    readonly pollMs?: number;
  }): AsyncIterable<SessionEntry | UnknownEntry>;
  /** Reads every line in whole and gives all that is wrong. */
  diagnose(): Promise<Diagnostics>;

  /** Calls the listener for each event of this name; the function that it returns ends that. */
  on<E extends SessionEventName>(event: E, listener: (payload: SessionEventMap[E]) => void): () => void;
  /** Sends an event that is not kept to the listeners of `ephemeral`. */
  publish(event: EphemeralEvent): void;

  /**
   * Waits for what is being written, records a moved tip, and lets the log go. Writes the session_info again where so much
   * was appended behind it that a list would no longer find it. The store stays open.
   */
  close(): Promise<void>;
}

/** A session in a list. */
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
  /** What the first user message says, or the names of its attachments; never a descriptor. At most 200 characters. */
  readonly firstMessage?: string;
  /** Bytes. */
  readonly size: number;
  readonly location?: string;
  /** Pass it as `after` to go on behind this session. */
  readonly cursor: string;
  /** Counted over the whole session; only when `stats` was asked for. */
  readonly counts?: { readonly entries: number; readonly messages: number };
  readonly stats?: SessionInfo["stats"];
}

/**
 * Which session: its id, or what {@link SessionStore.list} or {@link SessionStore.open} gave of it. Where that has a
 * `location`, it is the session that lies there, also if another has the same id, such as a copy of a file.
 */
export type SessionRef = string | { readonly id: string; readonly location?: string | undefined };

/** What {@link SessionStore.list} looks for. Sessions come newest first, by time of modification. */
export interface SessionQuery {
  /** Default the unnamed one. */
  readonly partition?: string;
  /** Only sessions of this project directory. */
  readonly cwd?: string;
  /** true: only archived ones; false: only active ones; absent: both. */
  readonly archived?: boolean;
  /** Only sessions modified at or after this time. */
  readonly since?: Date;
  /** Only sessions modified before this time. */
  readonly until?: Date;
  /** The `cursor` of the last session of the page before. */
  readonly after?: string;
  /** At most this many. Minimum 1, default all. */
  readonly limit?: number;
  /** Count entries and messages, which reads each session in whole. Default false. */
  readonly stats?: boolean;
  readonly signal?: AbortSignal;
}

/** The events of a store: what was done through it. */
export interface SessionStoreEventMap {
  created: { readonly id: string };
  updated: { readonly id: string; readonly info: SessionInfo };
  deleted: { readonly id: string };
  /**
   * A list left this out, and a session may be there: it cannot be read, or has no header near its start. Whoever collects
   * garbage by a list must not go on: what such a session names is not among the marks.
   */
  skipped: { readonly location: string; readonly error: SessileError };
}

/** What {@link SessionStore.fork} copies, and where to. */
export interface ForkOptions {
  /** The last entry to copy. Default: all. */
  readonly upTo?: string;
  /** Default: that of the session forked. */
  readonly cwd?: string;
  readonly id?: string;
  /** Of the session forked. */
  readonly partition?: string;
  /** Of the new session. Default: the same. */
  readonly toPartition?: string;
  /**
   * Called with each entry that can be read, in the order of the file; gives what stands in its place, such as the entry
   * without the images that it has inline. Type, id, parent and timestamp stay. Where it gives the very same object the
   * line is copied byte for byte; in another, each part that is the very same is.
   */
  readonly rewrite?: RewriteEntry;
  /**
   * `fresh`: the resources of the copy have ids of their own, wherever the old ones stood: blocks, views, observations,
   * texts. What a provider signed keeps the old ones. Blobs and digests are the same. `same`, the default: all ids stay.
   */
  readonly resources?: "same" | "fresh";
}

/** Gives what stands in an entry's place in a copy; see {@link ForkOptions.rewrite}. */
export type RewriteEntry = <E extends SessionEntry>(entry: E) => E | Promise<E>;

/** Keeps sessions. Closing a session never closes its store; a store has nothing to close. */
export interface SessionStore {
  /**
   * A new session, open for writing. Nothing is stored before the first append.
   *
   * @throws SessileError SESSION_EXISTS; TypeError for an id or a partition that is no name
   */
  create(
    options: {
      /** The project's directory. */
      readonly cwd: string;
      /** Default a UUID of version 7. Letters, digits, dots, underscores and hyphens, no dot or hyphen at the ends. */
      readonly id?: string;
      readonly partition?: string;
      readonly parentSession?: string;
    } & RecordingOptions,
  ): Promise<Session>;
  /**
   * Opens a session, for reading unless asked otherwise. Never fails for a lock.
   *
   * @throws SessileError SESSION_NOT_FOUND, EMPTY, NO_HEADER, NOT_A_FILE
   */
  open(
    session: SessionRef,
    options?: { readonly mode?: "read" | "write"; readonly partition?: string } & RecordingOptions,
  ): Promise<Session>;
  /**
   * Sessions that fit, newest first. Stop iterating to stop reading. What cannot be read is left out, and is a `skipped`
   * event of the store.
   */
  list(query?: SessionQuery): AsyncIterable<SessionSummary>;
  /** The newest session that fits and is not archived. */
  latest(query?: Omit<SessionQuery, "limit" | "after">): Promise<SessionSummary | undefined>;
  /**
   * A new session with the lines of another, byte for byte, entry ids and all branches included; up to an entry, the
   * lines of the file up to that one. Its title says "(fork #N)". Open for writing.
   *
   * @throws SessileError SESSION_NOT_FOUND, ENTRY_NOT_FOUND, SESSION_EXISTS; INVALID_ENTRY for what `rewrite` gives
   */
  fork(session: SessionRef, options?: ForkOptions): Promise<Session>;
  /** Deletes a session. Whether there was one. */
  delete(session: SessionRef, options?: { readonly partition?: string }): Promise<boolean>;
  /** Marks a session as archived, or as active again. */
  archive(
    session: SessionRef,
    options?: { readonly archived?: boolean; readonly partition?: string },
  ): Promise<SessionInfo>;
  /** Calls the listener for each event; the function that it returns ends that. */
  on<E extends keyof SessionStoreEventMap>(
    event: E,
    listener: (payload: SessionStoreEventMap[E]) => void,
  ): () => void;
}
