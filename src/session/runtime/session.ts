import type { Context, Message } from "../../content/index.js";
import { SessileError } from "../../errors/index.js";
import { integerOption } from "../../internal/arguments.js";
import type { Diagnostics } from "../api/diagnostics.js";
import type {
  EntryDraft,
  EntryMap,
  SessionEntry,
  SessionHeader,
  SessionInfoPatch,
  UnknownEntry,
} from "../api/entries.js";
import type { EphemeralEvent, SessionEventMap, SessionEventName } from "../api/events.js";
import type { AppendOptions, Session, SessionLeaf } from "../api/types.js";
import { extendContext } from "../context/extend-context.js";
import { noRow } from "../tree/entry-table.js";
import { LogReader } from "../tree/log-reader.js";
import { type EntryNode, entryTableOf, rowOf, type SessionTree } from "../tree/session-tree.js";
import { AppendQueue } from "./append-queue.js";
import { branchEnds, lastInConversation } from "./conversation.js";
import { entrySteps } from "./entry-cache.js";
import { eachLine } from "./log-lines.js";
import type { SessionInfo } from "./session-info.js";
import { needsInfoRewrite, type PermissionRule, withApproval } from "./session-info.js";
import type { SessionState } from "./session-state.js";
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

/** The implementation of {@link Session}. */
export class LiveSession implements Session {
  readonly #core: SessionState;
  readonly #writer: AppendQueue;
  readonly #extract: Extract;
  #closing: Promise<void> | undefined;

  constructor(core: SessionState, extract: Extract) {
    this.#core = core;
    this.#writer = new AppendQueue(core);
    this.#extract = extract;
  }

  get id(): string {
    return this.#core.header.id;
  }

  get header(): SessionHeader {
    return this.#core.header;
  }

  get location(): string | undefined {
    return this.#core.log.location;
  }

  get writable(): boolean {
    return this.#core.writable && !this.#core.closed;
  }

  get leafId(): string | null {
    return this.#core.leafId;
  }

  get tree(): SessionTree {
    return this.#core.reader.tree;
  }

  get info(): SessionInfo {
    return this.#core.info;
  }

  get diagnostics(): Diagnostics {
    return this.#core.diagnostics;
  }

  append(drafts: readonly EntryDraft[], options?: AppendOptions): Promise<readonly SessionEntry[]> {
    return this.#closing === undefined
      ? this.#writer.append(drafts, options)
      : Promise.reject(this.#closedError());
  }

  appendMessage(
    message: Message,
    options?: AppendOptions,
  ): Promise<SessionEntry & { readonly type: "message" }> {
    if (this.#closing !== undefined) return Promise.reject(this.#closedError());
    const entry = this.#writer.appendOne({ type: "message", message }, options);
    return entry as Promise<SessionEntry & { readonly type: "message" }>;
  }

  stage(drafts: readonly EntryDraft[]): readonly SessionEntry[] {
    if (this.#closing !== undefined) throw this.#closedError();
    return this.#writer.stage(drafts);
  }

  async flush(): Promise<void> {
    await this.#writer.idle();
    if (this.#writer.staged) await this.append([]);
    await this.#writeLeaf();
  }

  branch(id: string | null): void {
    const core = this.#core;
    if (core.closed || this.#closing !== undefined) throw this.#closedError();
    if (id !== null) rowOf(entryTableOf(core.reader.tree), id);
    core.moves++;
    core.moved = true;
    core.others = undefined;
    this.#writer.follow(id);
    core.setLeaf(id);
  }

  async branchWithSummary(
    id: string | null,
    summary: string,
    options: Omit<EntryMap["branch_summary"], "fromId" | "summary"> & AppendOptions = {},
  ): Promise<SessionEntry & { readonly type: "branch_summary" }> {
    const { conflict = "reject", signal, after, ...fields } = options;
    if (this.#closing !== undefined) throw this.#closedError();
    if (conflict === "follow")
      throw new TypeError('conflict: "follow" cannot go with the place of a summary');
    if (after !== undefined) this.#writer.assertLeaf(after);
    const left = this.#core.leafId;
    this.branch(id);
    const moves = this.#core.moves;
    try {
      const fromId = (after === undefined ? left : after) ?? "root";
      const draft = { type: "branch_summary", fromId, summary, ...fields } as const;
      const [entry] = await this.append([draft], { conflict, ...(signal === undefined ? {} : { signal }) });
      return entry as SessionEntry & { readonly type: "branch_summary" };
    } catch (error) {
      if (moves === this.#core.moves) this.branch(left);
      throw error;
    }
  }

  async extract(
    leafId = this.#core.leafId,
    options: { readonly cwd?: string; readonly id?: string } = {},
  ): Promise<Session> {
    if (leafId === null) throw new TypeError("leafId: expected an entry id, and the session has no leaf");
    rowOf(entryTableOf(this.tree), leafId);
    return this.#extract(this, leafId, options);
  }

  async entry(id: string): Promise<SessionEntry | UnknownEntry | undefined> {
    const row = entryTableOf(this.tree).row(id);
    return row === noRow ? undefined : this.#core.cache.read(row);
  }

  async path(leafId: string | null = this.#core.leafId): Promise<readonly (SessionEntry | UnknownEntry)[]> {
    return this.#core.run(entrySteps(Array.from(entryTableOf(this.tree).path(this.#row(leafId)))));
  }

  leaves(): readonly SessionLeaf[] {
    const { leafId, tree } = this;
    const rows = entryTableOf(tree);
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
    const rows = entryTableOf(this.tree);
    const places = ids.map((id) => (rows.row(id) === noRow ? undefined : rows.line(rows.row(id))));
    const lines = await this.#core.log.readAt(places.filter((place) => place !== undefined));
    let next = 0;
    return places.map((place) => (place === undefined ? undefined : lines[next++]));
  }

  async context(leafId: string | null = this.#core.leafId): Promise<Context> {
    const core = this.#core;
    const steps = extendContext(entryTableOf(this.tree), this.#row(leafId), core.lastContext);
    const built = await core.run(steps, ({ shown }) => shown);
    core.lastContext = built;
    return built.context;
  }

  async turn(leafId: string | null = this.#core.leafId): Promise<TurnContext> {
    return this.#core.run(turnSteps(entryTableOf(this.tree), this.#row(leafId)));
  }

  async toolStates(leafId: string | null = this.#core.leafId): Promise<readonly ToolCallState[]> {
    return this.#core.run(toolStateSteps(entryTableOf(this.tree), this.#row(leafId)));
  }

  async turnState(leafId: string | null = this.#core.leafId): Promise<TurnState> {
    return this.#core.run(turnStateSteps(entryTableOf(this.tree), this.#row(leafId)));
  }

  async updateInfo(patch: SessionInfoPatch): Promise<SessionInfo> {
    await this.append([{ ...patch, type: "session_info" }], { conflict: "rebase" });
    return this.info;
  }

  async approveAlways(approval: Pick<PermissionRule, "permission" | "pattern">): Promise<SessionInfo> {
    if (this.#closing !== undefined) throw this.#closedError();
    // Merged with the rules in force at the write, so that concurrent grants are kept.
    await this.#writer.append([{ type: "session_info" }], { conflict: "rebase" }, (info) => ({
      permission: withApproval(info.permission ?? [], approval),
    }));
    return this.info;
  }

  async refresh(): Promise<readonly EntryNode[]> {
    const core = this.#core;
    if (core.closed) throw this.#closedError();
    return core.mutex.run(async () => {
      if (!core.exists) return [];
      await core.readRemoteChanges();
      const tree = entryTableOf(core.reader.tree);
      return core.takeUnreported().map((row) => this.tree.node(tree.id(row)) as EntryNode);
    });
  }

  async *follow(options: {
    readonly signal: AbortSignal;
    readonly pollMs?: number;
  }): AsyncGenerator<SessionEntry | UnknownEntry, void, undefined> {
    const pollMs = integerOption("pollMs", options.pollMs, 1000, 1);
    const queue: (SessionEntry | UnknownEntry)[] = [];
    const stop = new AbortController();
    let wake = (): void => undefined;
    const undo = [
      this.on("entry", ({ entry }) => {
        queue.push(entry);
        wake();
      }),
      this.on("closed", () => stop.abort()),
    ];
    const onAbort = () => stop.abort();
    options.signal.addEventListener("abort", onAbort, { once: true });
    if (options.signal.aborted || this.#core.closed) stop.abort();
    try {
      for (;;) {
        yield* queue.splice(0);
        if (stop.signal.aborted) return;
        if (queue.length > 0) continue;
        const pause = new AbortController();
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
          stop.signal.addEventListener("abort", () => resolve(), { once: true, signal: pause.signal });
        });
        await Promise.race([woken, this.#mayHaveChanged(pollMs, pause.signal)]);
        pause.abort();
        if (!stop.signal.aborted && !(await this.#readOnUnlessDeleted())) return;
      }
    } finally {
      options.signal.removeEventListener("abort", onAbort);
      for (const off of undo) off();
    }
  }

  async diagnose(): Promise<Diagnostics> {
    const core = this.#core;
    return core.mutex.run(async () => {
      const reader = new LogReader({ maxDepth: core.settings.maxDepth, full: true });
      if (!core.exists) return reader.diagnostics;
      for await (const batch of core.log.read(undefined)) {
        eachLine(batch, reader);
        if (batch.tail !== undefined) reader.tail(batch.tail.bytes, batch.tail.at);
      }
      reader.finish();
      return reader.diagnostics;
    });
  }

  on<E extends SessionEventName>(event: E, listener: (payload: SessionEventMap[E]) => void): () => void {
    return this.#core.events.on(event, listener);
  }

  publish(event: EphemeralEvent): void {
    const core = this.#core;
    if (event.type === "compacting") {
      core.compacting = event.active ? new Date(core.settings.now()).toISOString() : undefined;
    }
    core.events.emit("ephemeral", event);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The source of a copy: the log, and the position read so far. */
  get source(): Pick<SessionState, "log" | "position" | "endsOpen" | "settings" | "reader"> {
    return this.#core;
  }

  async #close(): Promise<void> {
    const core = this.#core;
    await this.#writer.idle();
    try {
      if (this.#writer.wrote && !this.#writer.staged && needsInfoRewrite(core.reader)) {
        await this.#writer.append([{ type: "session_info" }], { conflict: "rebase" });
      }
      await this.#writeLeaf();
    } catch (error) {
      // A convenience: acknowledged entries are in the log even if this fails.
      core.events.emit("error", { error, operation: "close" });
    }
    core.closed = true;
    await core.mutex.run(() => core.log.close());
    core.events.emit("closed", { id: this.id });
    core.events.clear();
  }

  /** Reads new lines without consuming the changes that {@link refresh} returns. */
  async #readOnUnlessDeleted(): Promise<boolean> {
    const core = this.#core;
    try {
      await core.mutex.run(async () => {
        if (core.exists && !core.closed) await core.readRemoteChanges();
      });
      return true;
    } catch (error) {
      if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
      this.#core.events.emit("deleted", { id: this.id });
      return false;
    }
  }

  /** Records a moved leaf if the log would give another one. */
  async #writeLeaf(): Promise<void> {
    const core = this.#core;
    const { leafId, reader } = core;
    if (!core.moved || !core.writable || !core.exists || core.closed || leafId === reader.leafId) return;
    if (
      leafId !== null &&
      entryTableOf(reader.tree).line(entryTableOf(reader.tree).row(leafId)) === undefined
    )
      return;
    await this.#writer.append([{ type: "leaf", targetId: leafId }]);
  }

  async #mayHaveChanged(pollMs: number, signal: AbortSignal): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, pollMs);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    try {
      await Promise.race([
        poll,
        ...(this.#core.log.changed === undefined ? [] : [this.#core.log.changed(signal)]),
      ]);
    } finally {
      clearTimeout(timer);
    }
  }

  #row(leafId: string | null): number {
    return leafId === null ? noRow : rowOf(entryTableOf(this.tree), leafId);
  }

  #closedError(): SessileError {
    return new SessileError("SESSION_CLOSED", `session ${this.id} was closed`, { details: { id: this.id } });
  }
}
