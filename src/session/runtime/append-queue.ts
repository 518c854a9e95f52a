import { SessileError } from "../../errors/index.js";
import type { LogPosition } from "../api/backend.js";
import type { EntryDraft, SessionEntry } from "../api/entries.js";
import type { AppendOptions } from "../api/types.js";
import { noRow } from "../tree/entry-table.js";
import { entryTableOf } from "../tree/session-tree.js";
import {
  areInLog,
  entriesToWrite,
  failing,
  type MoveParent,
  type PlacedEntry,
  type Request,
  type Revise,
  resolveExisting,
  takeGroup,
  takeStored,
} from "./batch.js";
import { assertFollows, checkAppend, conflictError } from "./conflict.js";
import { isMetadataOnly, isSameConversation } from "./conversation.js";
import { Following } from "./following.js";
import { headerLine } from "./log-lines.js";
import { Placing } from "./materialize-drafts.js";
import { truncated } from "./recording.js";
import type { SessionState } from "./session-state.js";
import { areSettings, Staged } from "./staged.js";

/** Maximum attempts per conflict mode. With half as many concurrent writers, almost no append gives up. */
const maxAttempts = { reject: 16, rebase: 16, branch: 64, follow: 64 } as const;

/**
 * The append queue. Assigns ids and parents at the call, so that calls need not wait for each other.
 * Concurrent requests go to the log in one batch.
 */
export class AppendQueue {
  readonly #core: SessionState;
  readonly #placing: Placing;
  readonly #following: Following;
  /** The parent of the next entry: the leaf, or the last queued entry. */
  #leaf: string | null;
  #waiting: Request[] = [];
  readonly #waitingIds = new Set<string>();
  #draining: Promise<void> | undefined;
  readonly #staged: Staged;
  #wrote = false;
  #poison: SessileError | undefined;
  /** A conflict that a rebase absorbed. The next append with another mode reports it. */
  #untold: SessileError | undefined;

  constructor(core: SessionState) {
    this.#core = core;
    this.#placing = new Placing(core, this.#waitingIds);
    this.#following = new Following(core);
    this.#staged = new Staged(core);
    this.#leaf = core.leafId;
  }

  /** The leaf was moved from outside. */
  follow(leafId: string | null): void {
    this.#leaf = leafId;
  }

  /** Whether this handle wrote anything. */
  get wrote(): boolean {
    return this.#wrote;
  }

  /** Whether staged entries wait for the next write. */
  get staged(): boolean {
    return this.#staged.entries.length > 0;
  }

  append(
    drafts: readonly EntryDraft[],
    options?: AppendOptions,
    revise?: Revise,
  ): Promise<readonly SessionEntry[]> {
    return new Promise((resolve, reject) => this.#append(drafts, options, revise, resolve, reject));
  }

  /** {@link append} for one draft; returns its entry. */
  appendOne(draft: EntryDraft, options?: AppendOptions): Promise<SessionEntry> {
    return new Promise((resolve, reject) => {
      const first = ([entry]: readonly SessionEntry[]) => resolve(entry as SessionEntry);
      this.#append([draft], options, undefined, first, reject);
    });
  }

  #append(
    drafts: readonly EntryDraft[],
    options: AppendOptions = {},
    revise: Revise | undefined,
    resolve: Request["resolve"],
    reject: Request["reject"],
  ): void {
    checkAppend(drafts, options);
    this.#assertWritable();
    const { signal, after, conflict = "reject" } = options;
    const recorded = truncated(drafts, this.#core.settings.recording);
    const placed = this.#placing.place(recorded, this.#leafNow());
    const { entries, lines, leaf } = placed;
    const again = entries[0] === undefined ? this.#core.reader.tree.node(drafts[0]?.id ?? "") : undefined;
    if (after !== undefined) assertFollows(after, again === undefined ? this.#leafNow() : again.parentId);
    this.#leaf = leaf;
    for (const entry of entries) if (entry !== undefined) this.#waitingIds.add(entry.id);
    const { moves, reader } = this.#core;
    const { size } = reader.tree;
    const request: Request = {
      drafts: recorded,
      entries,
      lines,
      preparing: undefined,
      conflict,
      revise,
      moves,
      reader,
      size,
      signal,
      resolve,
      reject,
    };
    if (placed.inline) {
      request.preparing = this.#placing.externalize(request, signal);
      // The rejection is handled when the request's turn comes.
      request.preparing.catch(() => undefined);
    }
    this.#waiting.push(request);
    this.#draining ??= this.#drain();
  }

  /** Throws if the leaf is not the expected one. */
  assertLeaf(after: string | null): void {
    this.#assertWritable();
    assertFollows(after, this.#leafNow());
  }

  /** Adds entries to the tree without writing them. */
  stage(drafts: readonly EntryDraft[]): readonly SessionEntry[] {
    this.#assertWritable();
    if (this.#waitingIds.size > 0) {
      const { id } = this.#core.header;
      throw new SessileError("SESSION_BUSY", "entries cannot be staged while an append waits", {
        details: { id },
      });
    }
    const core = this.#core;
    const recorded = truncated(drafts, core.settings.recording);
    const placed = this.#placing.place(recorded, this.#leafNow(), true);
    this.#leaf = placed.leaf;
    const entries: SessionEntry[] = [];
    placed.entries.forEach((entry, at) => {
      const line = placed.lines[at];
      if (entry === undefined || line === undefined) return;
      this.#staged.add({ entry, line });
      entries.push(entry);
    });
    core.setLeaf(this.#leaf);
    return entries;
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  async #drain(): Promise<void> {
    // Requests of the same tick share a batch.
    await undefined;
    while (this.#waiting.length > 0) {
      this.#withdrawAborted();
      const group = takeGroup(this.#waiting);
      if (group.length === 0) continue;
      if (group[0]?.preparing !== undefined && !(await this.#prepared(group[0]))) continue;
      const acquired = this.#core.mutex.acquire();
      if (acquired !== undefined) await acquired;
      try {
        await this.#write(group);
        this.#settle(group);
      } catch (error) {
        const { events, header } = this.#core;
        if (SessileError.is(error, "SESSION_NOT_FOUND")) events.emit("deleted", { id: header.id });
        this.#fail(group, error);
      } finally {
        this.#core.mutex.release();
      }
    }
    this.#draining = undefined;
  }

  /** Waits until the images of a request are stored; fails the request if they cannot be. */
  async #prepared(request: Request): Promise<boolean> {
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
      const request = this.#waiting[at] as Request;
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
  #fail(requests: readonly Request[], error: unknown): void {
    if (SessileError.is(error, "WRITER_POISONED")) this.#poison = error;
    this.#following.reset();
    const { failed, kept } = failing(requests, this.#waiting);
    this.#waiting = kept;
    for (const { entries, reject } of failed) {
      for (const entry of entries) if (entry !== undefined) this.#waitingIds.delete(entry.id);
      reject(error);
    }
    this.#leaf = this.#leafNow();
  }

  /** The parent of the next entry: the session's leaf if the writer's own is gone with a replaced log. */
  #leafNow(): string | null {
    const leaf = this.#leaf;
    const isThere = leaf === null || this.#core.reader.tree.has(leaf) || this.#waitingIds.has(leaf);
    return isThere ? leaf : this.#core.leafId;
  }

  async #write(group: Request[]): Promise<void> {
    const core = this.#core;
    this.#assertWritable();
    if (core.migrate !== undefined) await core.migrate();
    const { conflict } = group[0] as Request;
    const rebase = conflict === "rebase" && !this.staged;
    if (this.#untold !== undefined && conflict !== "rebase") {
      const error = this.#untold;
      this.#untold = undefined;
      if (conflict === "reject") throw error;
    }
    if (group.some(({ entries }) => entries.includes(undefined)))
      await resolveExisting(group, core.reader.tree, core.cache);
    if (!core.exists && !this.#staged.hasMessage && areSettings(group)) {
      this.#staged.defer(this.#toWrite(group, false));
      return;
    }
    for (let attempt = 1; ; attempt++) {
      const move = await this.#following.parents(group, this.#staged.entries, (rest) => {
        this.#waiting = [...rest, ...this.#waiting];
      });
      const placed = this.#toWrite(group, attempt > 1 && rebase, move, this.#staged.entries);
      if (placed.length === 0) break;
      const lines = placed.map(({ line }) => line);
      // Another program may have emptied the log: without a header it is not a session.
      const begins = !core.exists || core.reader.header === undefined;
      const withHeader = begins ? [headerLine(core.header, core), ...lines] : lines;
      const expected = core.position as LogPosition;
      try {
        const result = await core.log.append(withHeader, expected);
        this.#written(placed, begins ? result.at.slice(1) : result.at, result.position);
        if (result.interleaved === true) await core.readForeignWrite(expected);
        break;
      } catch (error) {
        if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
        const news = await core.readRemoteChanges();
        const told = conflictError(error, news, core);
        if (!(await takeStored(group, core.reader.tree, core.cache))) throw told;
        if (!news.restarted && areInLog(placed, core.reader.tree)) {
          core.excludeOwnRows(placed, news);
          this.#staged.clear();
          break;
        }
        const harmless = isMetadataOnly(news, core.reader.tree);
        const goesOn = rebase || conflict === "branch" || conflict === "follow";
        const retry = harmless || (goesOn && !news.restarted);
        if (!retry || attempt >= maxAttempts[conflict]) throw told;
        if (!harmless && rebase) this.#untold = told;
      }
    }
  }

  /** The entries of the group at their current places, behind staged ones. */
  #toWrite(
    group: readonly Request[],
    rebase: boolean,
    move?: MoveParent,
    staged?: readonly PlacedEntry[],
  ): readonly PlacedEntry[] {
    const encode = (entry: SessionEntry) => this.#placing.encode(entry);
    return entriesToWrite(group, this.#core.reader, rebase, encode, move, staged);
  }

  #written(placed: readonly PlacedEntry[], at: readonly number[], position: LogPosition): void {
    const core = this.#core;
    const created = !core.exists;
    core.exists = true;
    core.reader.header ??= core.header;
    core.position = position;
    this.#wrote = true;
    if (created) core.events.emit("created", { id: core.header.id });
    for (let i = 0; i < placed.length; i++) {
      const { entry, line } = placed[i] as PlacedEntry;
      const place = { at: at[i] as number, length: line.length - 1 };
      const row = core.reader.applyLocalEntry(entry, place);
      core.cache.add(row === noRow ? this.#staged.written(entry, place) : row, entry);
    }
    if (this.staged) this.#staged.clear();
    for (const { entry } of placed) if (this.#staged.isNews(entry)) core.announce(entry, "local");
  }

  #settle(group: readonly Request[]): void {
    const core = this.#core;
    const { tree } = core.reader;
    for (const request of group) {
      const entries = request.entries as readonly SessionEntry[];
      for (const entry of entries) this.#waitingIds.delete(entry.id);
      const last = entries.at(-1);
      const isRebase = request.conflict === "rebase";
      const stays = isRebase && !isSameConversation(last?.id ?? null, core.leafId, tree);
      if (stays) this.#following.stray(entries);
      if (last !== undefined && request.moves === core.moves && !stays) {
        core.moved = false;
        core.setLeaf(last.type === "leaf" ? last.targetId : last.id);
        if (core.others !== undefined && !isRebase && core.others.row < entryTableOf(tree).row(last.id))
          core.others = undefined;
      }
      request.resolve(entries);
    }
    this.#following.tell(group, this.#waiting);
    if (this.#waiting.length === 0) this.#leaf = core.leafId;
  }

  #assertWritable(): void {
    if (this.#poison !== undefined) throw this.#poison;
    this.#core.assertWritable();
  }
}
