/** The public interface of an open session. */

import type { Context, Message, Resource } from "../../content/index.js";
import type {
  Diagnostics,
  EntryDraft,
  EntryMap,
  PermissionRule,
  SessionEntry,
  SessionHeader,
  SessionInfoPatch,
  UnknownEntry,
} from "../../log/internal.js";
import type { SessionInfo } from "../runtime/session-info.js";
import type { ToolCallState, TurnContext, TurnState } from "../runtime/turn-settings.js";
import type { EntryNode, SessionTree } from "../tree/session-tree.js";
import type { EphemeralDraft, SessionEventMap, SessionEventName } from "./events.js";
import type {
  ClaimOptions,
  FollowReplyOptions,
  InterruptedPolicy,
  Reply,
  ReplyOptions,
  ReplyPart,
  TurnClaim,
} from "./turn.js";

/** Options of {@link Session.append}. */
export interface AppendOptions {
  /**
   * The behaviour if another writer appended to the conversation first. Labels, session_info and usage
   * entries are not a conflict.
   * - `reject`: the append fails with CONCURRENT_WRITER and writes nothing; the session reads the other
   *   entries.
   * - `branch`: the entries keep the parent that they were made for, after the other writer's entries in the
   *   log. Both branches exist, and the leaf stays on this handle's branch.
   * - `follow`: the entries follow the other writer's newest entry, and the leaf moves with them, also if
   *   `refresh` or `follow` read that entry since this handle's last append. Fails with CONCURRENT_WRITER and
   *   a `reason` if a tool call there is pending, or if the entries would lose a call or a reference. Not for
   *   leaf entries.
   * - `rebase`: only for label, session_info and usage entries. They follow the other writer's entries, and
   *   the leaf stays on this handle's branch. The next `reject` append still reports the conflict.
   *
   * Ids and timestamps stay. Queued appends follow their predecessor. @default "reject"
   */
  readonly conflict?: "reject" | "rebase" | "branch" | "follow";
  /**
   * The entry that this append must follow, directly or after labels, session_info and usage entries; null
   * for before the first. The append fails with CONCURRENT_WRITER if the leaf, including queued and staged
   * entries, is another one at the call. For a retry, whose first draft is already in the log, the parent of
   * that entry is compared. Not allowed with `rebase`. For {@link Session.branchWithSummary}, the leaf that
   * the summary covers. @default not compared
   */
  readonly after?: string | null;
  /** Withdraws a queued append. An append that is being written finishes. */
  readonly signal?: AbortSignal;
}

/**
 * `AsyncDisposable` if the compiler's libraries declare it. TypeScript's ES2022 libraries do not, and a
 * declaration that names it would not compile there.
 */
export type IfAsyncDisposable = SymbolConstructor extends {
  readonly asyncDispose: infer Key extends PropertyKey;
}
  ? {
      /** Closes the session, as `close` does. */
      readonly [key in Key]: () => Promise<void>;
    }
  : object;

/**
 * An open session: a tree of entries in a store, and a leaf. History is never rewritten; every change is an
 * entry. Any number of callers may share a handle; appends are written in the order of the calls.
 *
 * Several handles, in one process or in several, may open one session. Each has its own leaf. The second
 * writer gets an error instead of an accidental branch.
 */
export interface Session extends IfAsyncDisposable {
  readonly id: string;
  readonly header: SessionHeader;
  /**
   * The location in the store, such as an absolute path, also before the first append; undefined if the store
   * has no locations.
   */
  readonly location: string | undefined;
  /** Whether this handle may append: it was opened for writing, and the session is not of a newer version. */
  readonly writable: boolean;
  /** The leaf: the parent of the next entry. null before the first entry, or after `branch(null)`. */
  readonly leafId: string | null;
  /** Name, title, times, statistics, permissions. */
  readonly info: SessionInfo;
  /**
   * Problems found so far, oldest first; a long list keeps its start and end. Lines are checked as they are
   * read, and opening a long log reads its end alone; {@link Session.diagnose} checks all of it.
   */
  readonly diagnostics: Diagnostics;

  /**
   * Appends entries after the leaf, all or none, and moves the leaf to the last. Resolves when they are
   * durable as the store promises. The session owns the drafts from the call on: a later change alters the
   * handle's view, not the log. Writes staged entries first and does not return them. Calls need not wait for
   * earlier ones: each follows its predecessor, and fails with it.
   *
   * In a session without a file, an append of settings alone (model_change, thinking_level_change, label,
   * session_info, leaf, {@link turnSettings}) is staged: it resolves, and is written before the first entry
   * of another type, or by {@link Session.flush}. A session with only settings leaves no file. After a
   * staged entry of another type, settings are written at once.
   * @throws SessileError INVALID_ENTRY, ENTRY_NOT_FOUND, DUPLICATE_ID, LINE_TOO_LONG, BATCH_TOO_LARGE: the
   *   drafts; nothing was written
   * @throws SessileError CONCURRENT_WRITER, SESSION_LOCKED, STORAGE_FAILED: nothing was written
   * @throws TypeError for invalid options
   * @throws SessileError SESSION_EXISTS, SESSION_NOT_FOUND: another session took the id first, or this one
   *   was deleted
   * @throws SessileError SESSION_READ_ONLY, SESSION_CLOSED
   * @throws SessileError WRITER_POISONED: the end of the log is unknown; reopen the session
   */
  append(drafts: readonly EntryDraft[], options?: AppendOptions): Promise<readonly SessionEntry[]>;
  /** {@link Session.append} for one message. */
  appendMessage(
    message: Message,
    options?: AppendOptions,
  ): Promise<SessionEntry & { readonly type: "message" }>;
  /**
   * Adds entries after the leaf in memory. They are written with the next append, and lost without one. For
   * entries that do not justify a file, such as the choice of a model before the first message. The log names
   * another `prior` in them if a second writer appends meanwhile.
   */
  stage(drafts: readonly EntryDraft[]): readonly SessionEntry[];
  /** Writes staged entries and a moved leaf. */
  flush(): Promise<void>;

  /**
   * Moves the leaf, so that the next entry follows `id`; null for a new root. Takes effect in memory when it
   * resolves. `close` or `flush` records it as a leaf entry if no append followed.
   * @throws SessileError ENTRY_NOT_FOUND
   */
  branch(id: string | null): Promise<void>;
  /**
   * {@link Session.branch}, with a summary of the abandoned branch as the first entry of the new one.
   * Restores the leaf if the append fails.
   */
  branchWithSummary(
    id: string | null,
    summary: string,
    options?: Omit<EntryMap["branch_summary"], "fromId" | "summary"> & AppendOptions,
  ): Promise<SessionEntry & { readonly type: "branch_summary" }>;
  /**
   * Asks again with another text: appends a user message beside an earlier one, on a branch of its own, and moves the
   * leaf there. It follows the entry that the earlier one follows, whatever others appended meanwhile. The earlier
   * message and its branch stay.
   *
   * The text replaces those of the message. Its attachments stay as they are at the leaf: those that an edit excluded
   * stay out. All other fields stay, but for the time. Restores the leaf if the append fails. A later append of this
   * handle follows the new message, and fails with it: end a turn that runs on this handle first.
   * @param id the id of the entry of the earlier message
   * @param text may be empty if there is an attachment
   * @throws SessileError ENTRY_NOT_FOUND; INVALID_MESSAGE: the entry is no user message, or nothing is left of it
   * @throws SessileError as {@link Session.append}
   * @example
   * ```ts
   * const asked = await session.appendMessage(userMessage("What is wrong hear?"));
   * await session.editMessage(asked.id, "What is wrong here?");
   * ```
   */
  editMessage(
    id: string,
    text: string,
    options?: {
      /** In place of those of the message; none if empty. @default those of the message */
      readonly attachments?: readonly Resource[];
      /** The id of the new entry. A second call with it fails with DUPLICATE_ID. @default a new one */
      readonly id?: string;
      readonly signal?: AbortSignal;
    },
  ): Promise<SessionEntry & { readonly type: "message" }>;
  /**
   * Creates a session from the path to one entry, by default the leaf: without other branches, with resolved
   * labels. The new session is open for writing and names this one as its parent.
   */
  extract(leafId?: string, options?: { readonly cwd?: string; readonly id?: string }): Promise<Session>;

  /**
   * The tree of all entries. Reads what opening did not read, once; appends and reads of other writers'
   * entries extend the same tree. A log that was replaced has another one.
   */
  tree(options?: { readonly signal?: AbortSignal }): Promise<SessionTree>;
  /** One entry; undefined if it does not exist or its body is damaged. */
  entry(id: string): Promise<SessionEntry | UnknownEntry | undefined>;
  /**
   * The entries from the root to an entry, by default the leaf, in that order; empty for null. Unknown
   * entries are included, entries with a damaged body are omitted. Treat them as read-only.
   * @throws SessileError ENTRY_NOT_FOUND
   */
  path(leafId?: string | null): Promise<readonly (SessionEntry | UnknownEntry)[]>;
  /**
   * The newest part of the path to the leaf, for a chat's screen and for pages before it. Reads no other
   * bodies. {@link SessionStore.recent} does the same without opening the session.
   * @throws TypeError, RangeError for invalid options; SessileError ENTRY_NOT_FOUND for a cursor whose entry
   *   is gone
   */
  recent(options?: RecentOptions): Promise<RecentPage>;
  /**
   * The ends of the branches, newest first in the order of the log, for a branch picker. An end is an entry
   * that no entry of the conversation follows. Labels, session_info, usage and leaf entries are not part of
   * the conversation: they are no ends, and an entry before them is one.
   */
  leaves(options?: { readonly signal?: AbortSignal }): Promise<readonly SessionLeaf[]>;
  /** The stored line of an entry without its line feed; undefined if it does not exist. */
  raw(id: string): Promise<Uint8Array | undefined>;
  /**
   * The context for a model at the leaf or another entry; see {@link buildSessionContext}. Treat it as
   * read-only.
   */
  context(leafId?: string | null): Promise<Context>;
  /** Model, thinking level, tools, policies and revert in force at the leaf or another entry. */
  turn(leafId?: string | null): Promise<TurnContext>;
  /**
   * The tool calls in context at the leaf or another entry, with their states. Calls before a compaction are
   * not in context.
   */
  toolStates(leafId?: string | null): Promise<readonly ToolCallState[]>;
  /** Whether the last turn at the leaf or another entry is finished, and how to continue it if not. */
  turnState(leafId?: string | null): Promise<TurnState>;

  /**
   * Claims the turn: until it is released, no other handle or process can claim it or record a reply. Reads what
   * others appended, and moves the leaf to their newest entry if it follows this handle's. A claim whose process has
   * ended, or that was not renewed in time, is taken over. The append of its holder, if that comes back, fails with
   * TURN_LOST.
   *
   * Appends need no claim. A claim keeps two agents from one turn; {@link AppendOptions.conflict} keeps two writers
   * from one place.
   * @throws SessileError TURN_BUSY with the holder; SESSION_READ_ONLY, SESSION_CLOSED, STORAGE_FAILED
   */
  claimTurn(options?: ClaimOptions): Promise<TurnClaim>;
  /**
   * Opens a reply, which is recorded while it streams, and survives the end of the process. Claims the turn for as
   * long as it is open, unless this handle has.
   * @throws SessileError as {@link Session.claimTurn} and {@link Session.append}
   */
  reply(options: ReplyOptions): Promise<Reply>;
  /**
   * Ends the replies that processes left when they ended; `turnState` tells of one.
   * @param policy default: keep
   * @throws SessileError as {@link Session.claimTurn} and {@link Session.append}
   */
  recoverReply(policy?: InterruptedPolicy): Promise<void>;
  /**
   * Yields a reply of any process, from its start or an offset on, up to its end. After it, from its entry.
   * @param id the reply's, as {@link Session.turnState} has it
   * @throws SessileError REPLY_NOT_FOUND; TypeError for a `from` that is no offset
   */
  followReply(id: string, options?: FollowReplyOptions): AsyncIterable<ReplyPart>;

  /** Appends a session_info. Fields outside the patch stay. Follows other writers' entries. */
  updateInfo(patch: SessionInfoPatch): Promise<SessionInfo>;
  /** Records a permanent permission; see {@link evaluatePermission}. */
  approveAlways(approval: Pick<PermissionRule, "permission" | "pattern">): Promise<SessionInfo>;

  /**
   * Reads entries of other writers. Returns the positions of all entries that came since the last call,
   * including those that a conflicting append read. A writable session keeps its leaf.
   */
  refresh(): Promise<readonly EntryNode[]>;
  /**
   * Yields every entry from now on, by this handle or another writer, until the signal aborts or the session
   * closes.
   */
  follow(options: {
    readonly signal: AbortSignal;
    readonly pollMs?: number;
  }): AsyncIterable<SessionEntry | UnknownEntry>;
  /** Reads every line in whole and returns all problems. */
  diagnose(): Promise<Diagnostics>;

  /** Adds a listener for an event. Returns a function that removes it. */
  on<E extends SessionEventName>(event: E, listener: (payload: SessionEventMap[E]) => void): () => void;
  /**
   * Emits an event to the listeners of `ephemeral` without recording it.
   * @throws SessileError INVALID_ENTRY for a type that is not ephemeral: what is recorded is appended
   */
  publish(event: EphemeralDraft): void;

  /**
   * Waits for pending appends, records a moved leaf, and releases the log. Rewrites the session_info if it is
   * too far from the end for a list to find. The store stays open.
   */
  close(): Promise<void>;
}

/**
 * Options of {@link Session.recent}. A page ends at the first bound reached, and has whole turns: it begins
 * with a user message. Of a turn that exceeds the bounds it has the last entries, with the call of each
 * result; at least one, whatever the bounds.
 */
export interface RecentOptions {
  /** Bytes of lines. Minimum: 1. @default 4 MiB */
  readonly bytes?: number;
  /** Messages, summaries of branches and custom messages. Minimum: 1. @default no bound */
  readonly messages?: number;
  /** Tokens of these, as `estimateMessageTokens` counts. Minimum: 1. @default no bound */
  readonly tokens?: number;
  /** The `before` of the page after the wanted one. @default the newest page */
  readonly before?: string;
  readonly signal?: AbortSignal;
}

/** A page of a path. All pages, joined, are {@link Session.path}. */
export interface RecentPage {
  /** In path order: the newest is the last. Edits are entries of their own, after the edited entry. */
  readonly entries: readonly (SessionEntry | UnknownEntry)[];
  /** Whether the path has entries before these. */
  readonly truncated: boolean;
  /** The cursor of the page before this one, if `truncated`. Text that can be stored and sent. */
  readonly before?: string;
}

/** The end of a branch; see {@link Session.leaves}. Pass its id to `branch`, `path` or `context`. */
export interface SessionLeaf extends EntryNode {
  readonly label?: string;
  /** Whether it is the end of the session's own branch: only entries outside the conversation follow it. */
  readonly current: boolean;
}
