/** The implementation of `Session`: it delegates to the state and to the append queue. */

import type { Context, Message } from "../../content/index.js";
import { withRequests } from "../../content/internal.js";
import { assertOptions, describe } from "../../core/arguments.js";
import { uuidv7 } from "../../core/ids.js";
import { type OnOperation, observed } from "../../core/operations.js";
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
import type { EphemeralDraft, SessionEventMap, SessionEventName } from "../api/events.js";
import type {
  AppendOptions,
  IfAsyncDisposable,
  RecentOptions,
  RecentPage,
  Session,
  SessionLeaf,
} from "../api/session.js";
import type {
  ClaimOptions,
  FollowReplyOptions,
  InterruptedPolicy,
  Reply,
  ReplyOptions,
  ReplyPart,
  TurnClaim,
} from "../api/turn.js";
import { type EntryRequests, NeedsWholeLog } from "../context/build-context.js";
import { assertEdit, editMessageSteps } from "../context/edited-message.js";
import { LogReader } from "../tree/log-reader.js";
import {
  branchEnds,
  type EntryNode,
  type EntryTable,
  lastInConversation,
  noRow,
  type SessionTree,
  tableRow,
  treeRows,
} from "../tree/session-tree.js";
import { AppendQueue, type Revise } from "./append.js";
import { checkEvent } from "./drafts.js";
import { type EntrySlice, entrySteps } from "./entry-cache.js";
import { eachLine } from "./log-lines.js";
import { followEntries, parseRecentCursor, recentBounds, stepsOfRows, takeRecent } from "./recent.js";
import { needsInfoRewrite, type SessionInfo, withApproval } from "./session-info.js";
import type { SessionState } from "./session-state.js";
import type { SessionTurn } from "./session-turn.js";
import type { SideOf } from "./side-log.js";
import {
  type ToolCallState,
  type TurnContext,
  type TurnState,
  toolStateSteps,
  turnStateSteps,
  turnSteps,
} from "./turn-settings.js";

/** The part of the store that a session uses to make another session. */
export type Extract = (
  session: LiveSession,
  leafId: string,
  options: { readonly cwd?: string; readonly id?: string },
) => Promise<Session>;

function assertEntryId(id: unknown): void {
  if (typeof id !== "string") throw new TypeError(`id: expected the id of an entry, got ${describe(id)}`);
}

/** Entries of a slice: its lines may be short. */
const maxSliceRows = 4096;

/**
 * The entries of a session with these ids, from an index on: as many as have about a MiB of lines. So a walk over a
 * long session has few of its entries in memory.
 */
export async function readSlice(session: Session, ids: readonly string[], from: number): Promise<EntrySlice> {
  if (session instanceof LiveSession) return session.slice(ids, from);
  return { entries: [await session.entry(ids[from] as string)], end: from + 1 };
}

/** Why an append could not be queued: those that follow it fail with it. */
interface Failure {
  readonly error: unknown;
}

// As a method, `[Symbol.asyncDispose]` would be in a declaration that ES2022 libraries do not compile.
export interface LiveSession extends IfAsyncDisposable {}

/** The implementation of {@link Session}. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor defines the member
export class LiveSession implements Session {
  readonly #state: SessionState;
  readonly #queue: AppendQueue;
  readonly #store: Pick<SideOf, "backend" | "partition">;
  readonly #extract: Extract;
  /** Made by the first call that asks for the turn. */
  #turn: SessionTurn | undefined;
  #closing: Promise<void> | undefined;
  /** The last call that waits until entries are read that it names; later appends and moves wait for it. */
  #indexing: Promise<Failure | undefined> | undefined;

  constructor(state: SessionState, store: Pick<SideOf, "backend" | "partition">, extract: Extract) {
    this.#state = state;
    this.#queue = new AppendQueue(state);
    this.#store = store;
    this.#extract = extract;
    // A static block would keep a bundler from leaving the class out.
    Object.defineProperty(this, Symbol.asyncDispose, { value: () => this.close() });
  }

  get id(): string {
    return this.#state.header.id;
  }

  get header(): SessionHeader {
    return this.#state.header;
  }

  get location(): string | undefined {
    return this.#state.log.location;
  }

  get writable(): boolean {
    return this.#state.writable && !this.#state.closed;
  }

  get leafId(): string | null {
    return this.#state.leafId;
  }

  async tree(options: { readonly signal?: AbortSignal } = {}): Promise<SessionTree> {
    await this.#state.complete(options.signal);
    return this.#tree;
  }

  get info(): SessionInfo {
    return this.#state.info;
  }

  get diagnostics(): Diagnostics {
    return this.#state.diagnostics;
  }

  append(drafts: readonly EntryDraft[], options?: AppendOptions): Promise<readonly SessionEntry[]> {
    return this.#append(drafts, options);
  }

  appendMessage(
    message: Message,
    options?: AppendOptions,
  ): Promise<SessionEntry & { readonly type: "message" }> {
    return this.#append([{ type: "message", message }], options, undefined, true);
  }

  stage(drafts: readonly EntryDraft[]): readonly SessionEntry[] {
    this.#assertOpen();
    return this.#queue.stage(drafts, this.#indexing !== undefined);
  }

  async flush(): Promise<void> {
    await this.#queued();
    await this.#queue.flush();
    await this.#writeLeaf();
  }

  async branch(id: string | null): Promise<void> {
    this.#assertOpen();
    if (id !== null) assertEntryId(id);
    if (this.#indexing === undefined && this.#knows(id)) return this.#moveTo(id);
    return this.#inOrder(
      "moves",
      () => this.#readUntil(id),
      () => this.#moveTo(id),
    );
  }

  #moveTo(id: string | null): void {
    if (id !== null) tableRow(treeRows(this.#tree), id);
    this.#state.branch(id);
  }

  async branchWithSummary(
    id: string | null,
    summary: string,
    options: Omit<EntryMap["branch_summary"], "fromId" | "summary"> & AppendOptions = {},
  ): Promise<SessionEntry & { readonly type: "branch_summary" }> {
    const { conflict = "reject", signal, after, ...fields } = options;
    this.#assertOpen();
    if (conflict === "follow")
      throw new TypeError('conflict: "follow" cannot go with the place of a summary');
    const append = () => {
      if (after !== undefined) this.#queue.assertLeaf(after);
      const fromId = (after === undefined ? this.#state.leafId : after) ?? "root";
      const draft = { type: "branch_summary", fromId, summary, ...fields } as const;
      return this.#appendAfter(id, draft, { conflict, ...(signal && { signal }) });
    };
    if (this.#indexing === undefined && this.#knows(id)) return append();
    return this.#inOrder("moves", () => this.#readUntil(id, signal), append);
  }

  /** Moves the leaf, and appends an entry there. Restores the leaf if the append fails. */
  async #appendAfter<T extends keyof EntryMap>(
    id: string | null,
    draft: EntryDraft & { readonly type: T },
    options: AppendOptions,
  ): Promise<SessionEntry & { readonly type: T }> {
    const left = this.#state.leafId;
    this.#moveTo(id);
    const { chain } = this.#state;
    try {
      const [entry] = await this.#queue.append([draft], options);
      return entry as SessionEntry & { readonly type: T };
    } catch (error) {
      if (chain === this.#state.chain) this.#moveTo(left);
      throw error;
    }
  }

  async editMessage(
    id: string,
    text: string,
    options: Parameters<Session["editMessage"]>[2] = {},
  ): Promise<SessionEntry & { readonly type: "message" }> {
    this.#assertOpen();
    assertEntryId(id);
    assertOptions(options, "{ attachments, id, signal }");
    const { attachments, signal, id: entryId } = options;
    assertEdit(text, attachments);
    const read = async () => {
      // An append that waits may edit the message.
      await this.#queue.idle();
      // Before the id is looked for: an entry that was not read may have it.
      if (entryId !== undefined) await this.#state.complete(signal);
      await this.#readUntil(id, signal);
      const edited = await this.#retried(this.leafId, signal, (rows, row) =>
        this.#state.cache.run(editMessageSteps(rows, row, id, text, attachments)),
      );
      await this.#readUntil(edited.parentId, signal);
      return edited;
    };
    return this.#inOrder("moves", read, ({ parentId, message }) => {
      const draft = { type: "message", message, ...(entryId === undefined ? {} : { id: entryId }) } as const;
      return this.#appendAfter(parentId, draft, { conflict: "branch", ...(signal && { signal }) });
    });
  }

  async extract(
    leafId = this.#state.leafId,
    options: { readonly cwd?: string; readonly id?: string } = {},
  ): Promise<Session> {
    if (leafId === null) throw new TypeError("leafId: expected an entry id, and the session has no leaf");
    tableRow(treeRows(await this.tree()), leafId);
    return observed(this.#onOperation, "extract", () => this.#extract(this, leafId, options));
  }

  async entry(id: string): Promise<SessionEntry | UnknownEntry | undefined> {
    assertEntryId(id);
    if (!this.#knows(id)) await this.#state.complete();
    const row = treeRows(this.#tree).row(id);
    return row === noRow ? undefined : this.#state.cache.read(row);
  }

  async path(leafId: string | null = this.#state.leafId): Promise<readonly (SessionEntry | UnknownEntry)[]> {
    return this.#over(leafId, (rows, row) => entrySteps(rows, row));
  }

  async recent(options: RecentOptions = {}): Promise<RecentPage> {
    const bounds = recentBounds(options);
    const leafId = options.before === undefined ? this.leafId : parseRecentCursor(options.before).id;
    const { signal } = options;
    return this.#retried(leafId, signal, (rows, row) =>
      takeRecent(stepsOfRows(rows, this.#state.cache, row, signal), bounds),
    );
  }

  async leaves(options?: { readonly signal?: AbortSignal }): Promise<readonly SessionLeaf[]> {
    const tree = await this.tree(options);
    const { leafId } = this;
    const rows = treeRows(tree);
    const last = lastInConversation(leafId, rows);
    return branchEnds(rows).map((row) => {
      const node = tree.node(rows.id(row)) as EntryNode;
      const label = tree.label(node.id);
      return { ...node, ...(label === undefined ? {} : { label }), current: row === last };
    });
  }

  async raw(id: string): Promise<Uint8Array | undefined> {
    const [bytes] = await this.rawLines([id]);
    return bytes;
  }

  /** The stored lines of these entries; undefined for an entry without one. */
  async rawLines(ids: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    if (!ids.every((id) => this.#knows(id))) await this.#state.complete();
    const rows = treeRows(this.#tree);
    return rows.read(
      this.#state.log,
      ids.map((id) => rows.row(id)),
    );
  }

  /** Bodies of entries from an index on: at least one, about a MiB of lines. The session keeps none of them. */
  async slice(ids: readonly string[], from: number): Promise<EntrySlice> {
    const table = treeRows(await this.tree());
    const rows = ids.slice(from, from + maxSliceRows).map((id) => table.row(id));
    // An erasure may have replaced the log since.
    const known = rows.includes(noRow) ? rows.slice(0, rows.indexOf(noRow)) : rows;
    if (known.length === 0) return { entries: [undefined], end: from + 1 };
    const { entries, end } = await this.#state.cache.slice(known);
    return { entries, end: from + end };
  }

  /** Runs a computation over bodies of entries. */
  run<T>(steps: EntryRequests<T>): Promise<T> {
    return this.#state.cache.run(steps);
  }

  async context(leafId: string | null = this.#state.leafId): Promise<Context> {
    if (this.#knows(leafId)) this.#row(leafId);
    const context = () => this.#retried(leafId, undefined, (_, row) => this.#state.context(row));
    const { onOperation } = this.#state.settings;
    return onOperation === undefined ? context() : observed(onOperation, "context", context);
  }

  async turn(leafId: string | null = this.#state.leafId): Promise<TurnContext> {
    return this.#over(leafId, turnSteps);
  }

  async toolStates(leafId: string | null = this.#state.leafId): Promise<readonly ToolCallState[]> {
    return this.#over(leafId, toolStateSteps);
  }

  async turnState(leafId: string | null = this.#state.leafId): Promise<TurnState> {
    if (leafId !== this.leafId || !this.#state.exists) return this.#over(leafId, turnStateSteps);
    const beside = await (await this.#loadTurn()).beside();
    if (beside === undefined) return this.#over(this.leafId, turnStateSteps);
    if (beside.state === "busyElsewhere") {
      const { owner, replyId, state } = beside;
      return { state, ...owner, ...(replyId === undefined ? {} : { replyId }) };
    }
    const { reply, message, state } = beside;
    return { state, entryId: reply.after, replyId: reply.id, message };
  }

  async claimTurn(options: ClaimOptions = {}): Promise<TurnClaim> {
    this.#assertOpen();
    return (await this.#loadTurn()).claim(options);
  }

  async reply(options: ReplyOptions): Promise<Reply> {
    this.#assertOpen();
    assertOptions(options, "{ provider, model }");
    return (await this.#loadTurn()).reply(options);
  }

  async recoverReply(policy: InterruptedPolicy = "keep"): Promise<void> {
    this.#assertOpen();
    return (await this.#loadTurn()).recover(policy);
  }

  async *followReply(
    id: string,
    options: FollowReplyOptions = {},
  ): AsyncGenerator<ReplyPart, void, undefined> {
    const { followReply } = await import("./follow-reply.js");
    yield* followReply({ state: this.#state, of: this.#sideOf, readOn: () => this.readOn() }, id, options);
  }

  async #loadTurn(): Promise<SessionTurn> {
    const { SessionTurn } = await import("./session-turn.js");
    this.#turn ??= new SessionTurn({
      state: this.#state,
      of: this.#sideOf,
      append: (drafts, options) => this.#append(drafts, options),
      idle: () => this.#idle(),
      flush: () => this.#queue.flush(),
      readOn: () => this.readOn(),
    });
    return this.#turn;
  }

  get #sideOf(): SideOf {
    const { header, location } = this;
    return { ...this.#store, header, location, mode: this.#state.mode };
  }

  async updateInfo(patch: SessionInfoPatch): Promise<SessionInfo> {
    await this.append([{ ...patch, type: "session_info" }], { conflict: "rebase" });
    return this.info;
  }

  async approveAlways(approval: Pick<PermissionRule, "permission" | "pattern">): Promise<SessionInfo> {
    this.#assertOpen();
    // Merged with the rules in force at the write, so that concurrent grants are kept.
    await this.#append([{ type: "session_info" }], { conflict: "rebase" }, (info) => ({
      permission: withApproval(info.permission ?? [], approval),
    }));
    return this.info;
  }

  async refresh(): Promise<readonly EntryNode[]> {
    const state = this.#state;
    if (state.closed) throw state.closedError();
    const read = () =>
      state.mutex.run(async () => {
        if (!state.exists) return [];
        await state.readRemoteChanges();
        const tree = treeRows(state.reader.tree);
        return state.takeUnreported().map((row) => this.#tree.node(tree.id(row)) as EntryNode);
      });
    return observed(this.#onOperation, "refresh", read);
  }

  /**
   * Reads new lines for a call that does not tell its caller of them, such as a copy, which must know what was erased.
   * The next append compares all the same, so that it does not branch off before entries that the caller has not seen.
   */
  async readOn(): Promise<void> {
    const state = this.#state;
    await state.mutex.run(async () => {
      if (state.exists && !state.closed) await state.readUntold();
    });
  }

  follow(options: {
    readonly signal: AbortSignal;
    readonly pollMs?: number;
  }): AsyncGenerator<SessionEntry | UnknownEntry, void, undefined> {
    assertOptions(options, "{ signal }");
    return followEntries(this.#state, options);
  }

  async diagnose(): Promise<Diagnostics> {
    const state = this.#state;
    return state.mutex.run(async () => {
      const reader = new LogReader({ maxDepth: state.settings.maxDepth, full: true });
      if (!state.exists) return reader.diagnostics;
      for await (const batch of state.log.read(undefined)) {
        eachLine(batch, reader);
        if (batch.tail !== undefined) reader.tail(batch.tail.bytes, batch.tail.at);
      }
      reader.finish();
      return reader.diagnostics;
    });
  }

  on<E extends SessionEventName>(event: E, listener: (payload: SessionEventMap[E]) => void): () => void {
    return this.#state.events.on(event, listener);
  }

  publish(draft: EphemeralDraft): void {
    checkEvent(draft);
    const state = this.#state;
    if (draft.type === "compacting") state.setCompacting(draft.active);
    if (!state.events.has("ephemeral")) return;
    const now = state.settings.now();
    const event = { ...draft, id: uuidv7(now), timestamp: new Date(now).toISOString(), sessionId: this.id };
    state.events.emit("ephemeral", event);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The source of a copy: the log, and the position read so far. */
  get source(): Pick<
    SessionState,
    "log" | "position" | "endsOpen" | "settings" | "reader" | "leafId" | "migrate" | "assertWritable"
  > {
    return this.#state;
  }

  async #close(): Promise<void> {
    const state = this.#state;
    await this.#idle();
    await this.#turn?.close();
    try {
      if (state.wrote && state.staged.length === 0 && needsInfoRewrite(state.reader)) {
        await this.#queue.append([{ type: "session_info" }], { conflict: "rebase" });
      }
      await this.#writeLeaf();
    } catch (error) {
      // A convenience: acknowledged entries are in the log even if this fails.
      state.events.emit("error", { error, operation: "close" });
    }
    await state.close();
  }

  /** Records a moved leaf if the log would give another one. */
  async #writeLeaf(): Promise<void> {
    const state = this.#state;
    const { leafId, reader } = state;
    if (!state.moved || !state.writable || !state.exists || state.closed || leafId === reader.leafId) return;
    const rows = treeRows(reader.tree);
    if (leafId !== null && rows.line(rows.row(leafId)) === undefined) return;
    await this.#queue.append([{ type: "leaf", targetId: leafId }]);
  }

  get #tree(): SessionTree {
    return this.#state.reader.tree;
  }

  get #onOperation(): OnOperation | undefined {
    return this.#state.settings.onOperation;
  }

  /** Appends of one handle keep the order of the calls, also if one has to wait for the entries that it names. */
  #append<T = readonly SessionEntry[]>(
    given: readonly EntryDraft[],
    options?: AppendOptions,
    revise?: Revise,
    isSingle = false,
  ): Promise<T> {
    const state = this.#state;
    if (this.#closing !== undefined) return Promise.reject(state.closedError());
    const isAborted = options?.signal?.aborted === true;
    const drafts = isAborted || state.asked.requests.length === 0 ? given : withRequests(state.asked, given);
    // An aborted append is refused at the call, alone.
    if (isAborted || (this.#indexing === undefined && !state.isPartial))
      return this.#queue.append(drafts, options, revise, isSingle);
    const needsAll = () => state.isPartial && this.#queue.namesUnread(drafts, options?.after);
    const append = () => this.#queue.append<T>(drafts, options, revise, isSingle);
    if (this.#indexing === undefined && !needsAll()) return append();
    const kind = options?.conflict === "rebase" ? "rebases" : "follows";
    const read = () => (needsAll() ? state.complete(options?.signal) : undefined);
    return this.#inOrder(kind, read, append);
  }

  /**
   * Acts after the calls that wait until entries are read, and after the read of this one. A failed append fails those
   * that follow it, up to a move of the leaf, as in the queue.
   */
  #inOrder<T, R>(
    kind: "follows" | "rebases" | "moves",
    read: () => R | Promise<R>,
    act: (found: R) => T | Promise<T>,
  ): Promise<T> {
    const before = this.#indexing;
    return new Promise<T>((resolve, reject) => {
      const turn = async (): Promise<Failure | undefined> => {
        const failed = await before;
        let found: R;
        try {
          if (failed !== undefined && kind === "follows") throw failed.error;
          found = await read();
        } catch (error) {
          reject(error);
          return kind === "rebases" ? failed : { error };
        } finally {
          if (this.#indexing === waiting) this.#indexing = undefined;
        }
        resolve(new Promise<T>((done) => done(act(found))));
        return kind === "moves" ? undefined : failed;
      };
      const waiting = turn();
      this.#indexing = waiting;
    });
  }

  /** Resolves when no call waits. */
  async #idle(): Promise<void> {
    await this.#queued();
    await this.#queue.idle();
  }

  /** Resolves when no call waits for entries to be read. */
  async #queued(): Promise<void> {
    while (this.#indexing !== undefined) await this.#indexing;
  }

  /** Runs a computation over the entries that were read; if it needs others, over all. */
  #over<T>(leafId: string | null, steps: (rows: EntryTable, row: number) => EntryRequests<T>): Promise<T> {
    return this.#retried(leafId, undefined, (rows, row) => this.#state.cache.run(steps(rows, row)));
  }

  async #retried<T>(
    leafId: string | null,
    signal: AbortSignal | undefined,
    run: (rows: EntryTable, row: number) => Promise<T>,
  ): Promise<T> {
    const state = this.#state;
    if (!this.#knows(leafId)) await state.complete(signal);
    try {
      return await run(treeRows(this.#tree), this.#row(leafId));
    } catch (error) {
      if (!(error instanceof NeedsWholeLog)) throw error;
      await state.complete(signal);
      return run(treeRows(this.#tree), this.#row(leafId));
    }
  }

  /** Whether an entry is in the tree, or the tree has all entries. */
  #knows(id: string | null): boolean {
    return id === null || !this.#state.isPartial || this.#tree.has(id);
  }

  /** Reads all entries if this one is not among those that were read. */
  async #readUntil(id: string | null, signal?: AbortSignal): Promise<void> {
    if (!this.#knows(id)) await this.#state.complete(signal);
  }

  #row(leafId: string | null): number {
    return leafId === null ? noRow : tableRow(treeRows(this.#tree), leafId);
  }

  /** Throws as soon as a close was requested. */
  #assertOpen(): void {
    if (this.#closing !== undefined) throw this.#state.closedError();
  }
}
