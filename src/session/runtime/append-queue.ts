/** The append queue of a session: append, stage, flush, idle. */

import { SessileError } from "../../errors/index.js";
import { reported } from "../../internal/operations.js";
import type { EntryDraft, SessionEntry } from "../api/entries.js";
import type { AppendOptions } from "../api/session.js";
import { entryTableOf } from "../tree/session-tree.js";
import {
  type AppendRequest,
  adoptStored,
  areInLog,
  areSettings,
  bytesOf,
  dependents,
  isSetting,
  placeRequests,
  type Revise,
  resolveExisting,
  takeGroup,
} from "./append-requests.js";
import { assertFollows, checkAppendOptions, conflictError } from "./conflict.js";
import { isMetadataOnly, isSameConversation } from "./conversation.js";
import { FollowMode } from "./follow-mode.js";
import { externalizeDrafts, type MaterializedEntry, materializeDrafts } from "./materialize-drafts.js";
import { truncated } from "./recording.js";
import type { RemoteChanges, SessionState } from "./session-state.js";

/** Maximum attempts per conflict mode. With half as many concurrent writers, almost no append gives up. */
const maxAttempts = { reject: 16, rebase: 16, branch: 64, follow: 64 } as const;

/**
 * The append queue. Assigns ids and parents at the call, so that calls need not wait for each other.
 * Concurrent requests go to the log in one batch.
 */
export class AppendQueue {
  readonly #state: SessionState;
  readonly #follow: FollowMode;
  /** The parent of the next entry: the leaf, or the last queued entry. */
  #leaf: string | null;
  #waiting: AppendRequest[] = [];
  readonly #waitingIds = new Set<string>();
  /** The last entry that was queued; it counts as long as it waits. */
  #lastQueued: string | undefined;
  #draining: Promise<void> | undefined;
  /** Entries in the tree without a line. They are written at the head of the next batch. */
  readonly #staged: MaterializedEntry[] = [];
  /** The number of staged entries that were announced to listeners. */
  #announced = 0;
  /** Whether a staged entry creates the file of the session. */
  #stagesMessage = false;
  /** A conflict that a rebase absorbed. The next append with another mode reports it. */
  #unreportedConflict: SessileError | undefined;

  constructor(state: SessionState) {
    this.#state = state;
    this.#follow = new FollowMode(state);
    this.#leaf = state.leafId;
  }

  /** Sets the parent of the next entry, after a move of the leaf by the caller. */
  moveTo(leafId: string | null): void {
    this.#leaf = leafId;
  }

  /** Whether staged entries wait for the next write. */
  get hasStaged(): boolean {
    return this.#staged.length > 0;
  }

  /** Queues drafts. Checks and materializes them at the call, and resolves when they are durable. */
  append(
    drafts: readonly EntryDraft[],
    options: AppendOptions = {},
    revise?: Revise,
  ): Promise<readonly SessionEntry[]> {
    const { onOperation } = this.#state.settings;
    let request: AppendRequest | undefined;
    const start = onOperation === undefined ? 0 : performance.now();
    const appended = new Promise<readonly SessionEntry[]>((resolve, reject) => {
      checkAppendOptions(drafts, options);
      const state = this.#state;
      state.assertWritable();
      const { signal, after, conflict = "reject" } = options;
      const leaf = this.#leafNow();
      const { recording } = state.settings;
      const recorded = recording.truncate === undefined ? drafts : truncated(drafts, recording.truncate);
      const made = materializeDrafts(recorded, leaf, state, this.#waitingIds, this.#lastNow());
      const { entries, lines } = made;
      if (after !== undefined) {
        // A retry, whose first entry is in the log, is compared with the parent of that entry.
        const retried = entries[0] === undefined ? state.reader.tree.node(drafts[0]?.id ?? "") : undefined;
        assertFollows(after, retried === undefined ? leaf : retried.parentId, state.reader.tree);
      }
      this.#leaf = made.leaf;
      for (const entry of entries) {
        if (entry === undefined) continue;
        this.#waitingIds.add(entry.id);
        this.#lastQueued = entry.id;
      }
      const { moves, reader } = state;
      request = {
        drafts: recorded,
        entries,
        lines,
        preparing: undefined,
        conflict,
        revise,
        moves,
        reader,
        size: reader.tree.size,
        signal,
        resolve,
        reject,
      };
      if (made.inline) {
        request.preparing = externalizeDrafts(request, state, signal);
        // The rejection is handled when the request's turn comes.
        request.preparing.catch(() => undefined);
      }
      this.#waiting.push(request);
      this.#draining ??= this.#drain();
    });
    if (onOperation === undefined) return appended;
    return reported(onOperation, "append", start, appended, () => request && bytesOf(request));
  }

  /** Throws if the leaf is not the expected one. */
  assertLeaf(after: string | null): void {
    this.#state.assertWritable();
    assertFollows(after, this.#leafNow(), this.#state.reader.tree);
  }

  /** Adds entries to the tree without writing them. */
  stage(drafts: readonly EntryDraft[]): readonly SessionEntry[] {
    const state = this.#state;
    state.assertWritable();
    if (this.#waitingIds.size > 0) {
      const { id } = state.header;
      const message = "entries cannot be staged while an append waits: await the append first";
      throw new SessileError("SESSION_BUSY", message, { details: { id } });
    }
    const { truncate } = state.settings.recording;
    const recorded = truncate === undefined ? drafts : truncated(drafts, truncate);
    const { entries, lines, leaf } = materializeDrafts(
      recorded,
      this.#leafNow(),
      state,
      this.#waitingIds,
      this.#lastNow(),
      true,
    );
    this.#leaf = leaf;
    const staged = entries.flatMap((entry, at) => {
      const line = lines[at];
      return entry === undefined || line === undefined ? [] : [{ entry, line }];
    });
    this.#addStaged(staged);
    state.setLeaf(leaf);
    return staged.map(({ entry }) => entry);
  }

  /** Writes staged entries. */
  async flush(): Promise<void> {
    await this.idle();
    if (this.hasStaged) await this.append([]);
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  async #drain(): Promise<void> {
    const state = this.#state;
    // Requests of the same tick share a batch.
    await undefined;
    while (this.#waiting.length > 0) {
      if (this.#waiting.some(({ signal }) => signal?.aborted === true)) this.#withdrawAborted();
      const group = takeGroup(this.#waiting);
      if (group.length === 0) continue;
      if (group[0]?.preparing !== undefined && !(await this.#prepared(group[0]))) continue;
      const acquired = state.mutex.acquire();
      if (acquired !== undefined) await acquired;
      try {
        await this.#write(group);
        this.#acknowledge(group);
      } catch (error) {
        if (SessileError.is(error, "SESSION_NOT_FOUND"))
          state.events.emit("deleted", { id: state.header.id });
        this.#fail(group, error);
      } finally {
        state.mutex.release();
      }
    }
    this.#draining = undefined;
  }

  /** Waits until the images of a request are stored; fails the request if they cannot be. */
  async #prepared(request: AppendRequest): Promise<boolean> {
    try {
      await request.preparing;
      request.signal?.throwIfAborted();
      return true;
    } catch (error) {
      this.#fail([request], error);
      return false;
    }
  }

  #withdrawAborted(): void {
    for (let at = 0; at < this.#waiting.length; ) {
      const request = this.#waiting[at] as AppendRequest;
      if (request.signal?.aborted !== true) {
        at++;
        continue;
      }
      this.#waiting.splice(at, 1);
      this.#fail([request], request.signal.reason);
      // Requests that depended on it are gone too, at any index.
      at = 0;
    }
  }

  /**
   * Rejects these requests and every queued request that depends on them. None of their entries is in the
   * tree.
   */
  #fail(requests: readonly AppendRequest[], error: unknown): void {
    if (SessileError.is(error, "WRITER_POISONED")) this.#state.poison(error);
    this.#follow.reset();
    const { failed, kept } = dependents(requests, this.#waiting);
    this.#waiting = kept;
    for (const { entries, reject } of failed) {
      for (const entry of entries) if (entry !== undefined) this.#waitingIds.delete(entry.id);
      reject(error);
    }
    this.#leaf = this.#leafNow();
  }

  /** The parent of the next entry: the session's leaf if the queue's own is gone with a replaced log. */
  #leafNow(): string | null {
    const leaf = this.#leaf;
    const exists = leaf === null || this.#state.reader.tree.has(leaf) || this.#waitingIds.has(leaf);
    return exists ? leaf : this.#state.leafId;
  }

  /** The last entry of the log once all that waits is written. */
  #lastNow(): string | undefined {
    const waits = this.#waitingIds.size > 0 && this.#waitingIds.has(this.#lastQueued ?? "");
    if (waits) return this.#lastQueued;
    const rows = entryTableOf(this.#state.reader.tree);
    return rows.size === 0 ? undefined : rows.id(rows.size - 1);
  }

  /** Writes a group, after staged entries. Repeats after conflicts that its mode allows. */
  async #write(group: AppendRequest[]): Promise<void> {
    const state = this.#state;
    state.assertWritable();
    if (state.migrate !== undefined) await state.migrate();
    const { conflict } = group[0] as AppendRequest;
    if (this.#unreportedConflict !== undefined && conflict !== "rebase") {
      const error = this.#unreportedConflict;
      this.#unreportedConflict = undefined;
      if (conflict === "reject") throw error;
    }
    if (group.some(({ entries }) => entries.includes(undefined)))
      await resolveExisting(group, state.reader.tree, state.cache);
    if (!state.exists && !this.#stagesMessage && areSettings(group)) {
      this.#addStaged(placeRequests(group, state, {}));
      // Announces a parent before its child: settings staged earlier, too.
      const unannounced = this.#staged.slice(this.#announced);
      this.#announced = this.#staged.length;
      state.announceStaged(unannounced);
      return;
    }
    const isRebase = conflict === "rebase" && this.#staged.length === 0;
    let staged: readonly MaterializedEntry[];
    for (let attempt = 1; ; attempt++) {
      const move = await this.#follow.parents(group, this.#staged, (rest) => {
        this.#waiting = [...rest, ...this.#waiting];
      });
      staged = [...this.#staged];
      const written = placeRequests(group, state, { rebase: attempt > 1 && isRebase, move, staged });
      if (written.length === 0) return;
      try {
        await state.append(written);
        break;
      } catch (error) {
        if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
        const changes = await state.readRemoteChanges();
        const conflictFound = conflictError(error, changes, state);
        const decision = await this.#onConflict(group, written, changes, attempt);
        if (decision === "fail") throw conflictFound;
        if (decision === "adopt") {
          state.excludeOwnRows(written, changes);
          break;
        }
        if (isRebase && !isMetadataOnly(changes, state.reader.tree)) this.#unreportedConflict = conflictFound;
      }
    }
    if (staged.length === 0) return;
    state.unpin(staged);
    // Others may have been staged while the log was written, or by a listener.
    this.#staged.splice(0, staged.length);
    this.#announced = Math.max(0, this.#announced - staged.length);
    this.#stagesMessage = !this.#staged.every(({ entry }) => isSetting(entry));
  }

  /**
   * Decides about a group after another writer's append: write it again, adopt its entries, which an earlier
   * attempt wrote and only its result was lost, or fail it.
   */
  async #onConflict(
    group: readonly AppendRequest[],
    written: readonly MaterializedEntry[],
    changes: RemoteChanges,
    attempt: number,
  ): Promise<"retry" | "adopt" | "fail"> {
    const { cache, reader } = this.#state;
    const { conflict } = group[0] as AppendRequest;
    if (!(await adoptStored(group, reader.tree, cache))) return "fail";
    if (changes.restarted) return "fail";
    if (areInLog(written, reader.tree)) return "adopt";
    if (attempt >= maxAttempts[conflict]) return "fail";
    if (isMetadataOnly(changes, reader.tree)) return "retry";
    return conflict === "reject" || (conflict === "rebase" && this.#staged.length > 0) ? "fail" : "retry";
  }

  #addStaged(staged: readonly MaterializedEntry[]): void {
    for (const each of staged) {
      this.#state.stage(each.entry);
      this.#staged.push(each);
      this.#stagesMessage ||= !isSetting(each.entry);
    }
  }

  /** Resolves the requests of a written group, and moves the leaf to their last entries. */
  #acknowledge(group: readonly AppendRequest[]): void {
    const state = this.#state;
    for (const request of group) {
      const entries = request.entries as readonly SessionEntry[];
      for (const entry of entries) this.#waitingIds.delete(entry.id);
      const last = entries.at(-1);
      const isRebase = request.conflict === "rebase";
      const strays = isRebase && !isSameConversation(last?.id ?? null, state.leafId, state.reader.tree);
      if (strays) this.#follow.recordStrayed(entries);
      else if (last !== undefined && request.moves === state.moves) state.advance(last, isRebase);
      request.resolve(entries);
    }
    this.#follow.passOn(group, this.#waiting);
    if (this.#waiting.length === 0) this.#leaf = state.leafId;
  }
}
