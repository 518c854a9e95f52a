/**
 * An append, from the call to the acknowledgement. The call checks the drafts and encodes their fields. The
 * drain takes all that waits with one conflict mode, places it after the leaf that it follows, and writes it.
 * After a conflict it reads the other writer's lines and places the same drafts again.
 */

import { SessileError } from "../../core/errors/index.js";
import { uniqueHex8 } from "../../core/ids.js";
import { copyJsonObject } from "../../core/json.js";
import { reported } from "../../core/operations.js";
import { isRecord } from "../../core/shape.js";
import {
  type EntryDraft,
  encodePlaced,
  isEntryType,
  printPlaced,
  references,
  type SessionEntry,
  type SessionInfoFields,
  type SessionInfoPatch,
  unsafeKeyMessage,
} from "../../log/internal.js";
import type { LogPosition } from "../api/backend.js";
import type { AppendOptions } from "../api/session.js";
import { compactionState, NeedsWholeLog } from "../context/build-context.js";
import { entryInfoFields } from "../tree/log-reader.js";
import {
  type CompactionState,
  isMetadataOnly,
  isOnPath,
  isSameConversation,
  noRow,
  treeRows,
} from "../tree/session-tree.js";
import {
  assertFollows,
  type Conflict,
  checkAppendOptions,
  conflictError,
  followError,
  followProblem,
  type Made,
} from "./conflict.js";
import {
  type CheckedDraft,
  checkedDraft,
  draftEntry,
  entryBody,
  isSameEntry,
  isSetting,
  leafAfter,
  namesAny,
  unplaced,
  usualMessage,
  withPrior,
} from "./drafts.js";
import { headerLine } from "./log-lines.js";
import { truncated } from "./recording.js";
import { isInfoFar } from "./session-info.js";
import type { Chain, LastWritten, PlacedEntries, SessionState, StagedEntry } from "./session-state.js";

/** Completes a session_info's patch from the values in force at the write. */
export type Revise = (info: SessionInfoFields) => SessionInfoPatch;

/** A queued append. */
interface AppendRequest {
  readonly drafts: CheckedDraft[];
  /** The appends that it belongs to: each follows the one before, and fails with it. */
  readonly chain: Chain;
  readonly conflict: Conflict;
  readonly revise: Revise | undefined;
  readonly signal: AbortSignal | undefined;
  /** Whether an entry with the id of a draft exists. */
  readonly isRetry: boolean;
  /** Whether it shares no batch: a retry may fail, images may not be stored yet, a compaction records its path. */
  readonly isAlone: boolean;
  /** Whether it resolves to its only entry. */
  readonly isSingle: boolean;
  /** Resolves when the images of the drafts are stored; undefined without images. */
  preparing: Promise<void> | undefined;
  /** The place that it was made for, if the append before it was placed after another writer's entries. */
  made: Made | undefined;
  /** The bytes of its lines. */
  bytes: number;
  readonly resolve: (entries: readonly SessionEntry[] | SessionEntry) => void;
  readonly reject: (error: unknown) => void;
}

/** The entries of a batch, with their lines. */
interface Placed extends PlacedEntries {
  /** The leaf after them. */
  readonly leaf: string | null;
  /** The number of staged entries at its start. */
  readonly staged: number;
}

/** Entries that follow `from` are placed after `to`. */
interface Move {
  readonly from: string | null;
  readonly to: string | null;
}

/** Maximum attempts per conflict mode. With half as many concurrent writers, almost no append gives up. */
const maxAttempts = { reject: 16, rebase: 16, branch: 64, follow: 64 } as const;

/**
 * Maximum characters of a batch of queued requests; a single request may be larger. As UTF-8 at most 192 MiB:
 * PostgreSQL accepts 256 MiB at once, and staged entries come on top.
 */
const maxBatchLength = 1 << 26;

/** Characters of lines that are encoded at once: a string has at most 512 MiB. */
const maxTextLength = 1 << 24;

/** The append queue of a session: append, stage, flush, idle. */
export class AppendQueue {
  readonly #state: SessionState;
  #waiting: AppendRequest[] = [];
  /** The batch that is being written. */
  #writing: readonly AppendRequest[] = [];
  /** The drafts that are not written yet. */
  #pending = 0;
  /** The ids that callers gave to drafts that are not written yet. */
  readonly #pendingIds = new Set<string>();
  #draining: Promise<void> | undefined;
  /** The last entry that was written, and the number of entries then. */
  #last: LastWritten | undefined;
  /** The number of staged entries that were announced to listeners. */
  #announced = 0;
  /** Whether a staged entry creates the file of the session. */
  #stagesMessage = false;
  /** A conflict that a rebase absorbed. The next append with another mode reports it. */
  #unreportedConflict: SessileError | undefined;

  constructor(state: SessionState) {
    this.#state = state;
  }

  /** Queues drafts. Checks them at the call, and resolves when they are durable: to the only entry if `isSingle`. */
  append<T = readonly SessionEntry[]>(
    drafts: readonly EntryDraft[],
    options?: AppendOptions,
    revise?: Revise,
    isSingle = false,
  ): Promise<T> {
    const { onOperation } = this.#state.settings;
    let request: AppendRequest | undefined;
    const start = onOperation === undefined ? 0 : performance.now();
    const appended = new Promise<T>((resolve, reject) => {
      const { signal, after, conflict = "reject" } = options ?? {};
      if (options !== undefined || !Array.isArray(drafts)) checkAppendOptions(drafts, options ?? {});
      const state = this.#state;
      state.assertWritable();
      const usual = drafts.length === 1 ? usualMessage(drafts[0] as EntryDraft, state.settings) : undefined;
      const checked = usual === undefined ? this.#check(drafts, false) : [usual];
      if (after !== undefined) {
        // A retry, whose first entry is in the log, is compared with the parent of that entry.
        const [first] = checked;
        const retried =
          first?.entry === undefined ? state.reader.tree.node(first?.draft.id ?? "") : undefined;
        assertFollows(after, retried === undefined ? this.#leafNow() : retried.parentId, state.reader.tree);
      }
      let isRetry = false;
      let isAlone = false;
      let isStoring = false;
      for (const { draft, entry, hasMedia } of checked) {
        if (draft.id !== undefined) this.#pendingIds.add(draft.id);
        isRetry ||= entry === undefined;
        isStoring ||= hasMedia && state.settings.recording.blobs !== undefined;
        isAlone ||= isRetry || isStoring || draft.type === "compaction";
      }
      this.#pending += checked.length;
      request = {
        drafts: checked,
        chain: state.chain,
        conflict,
        revise,
        signal,
        isRetry,
        isAlone,
        isSingle,
        preparing: undefined,
        made: undefined,
        bytes: 0,
        resolve: resolve as AppendRequest["resolve"],
        reject,
      };
      if (isStoring) {
        request.preparing = this.#storeInline(checked, signal);
        // The rejection is handled when the request's turn comes.
        request.preparing.catch(() => undefined);
      }
      this.#waiting.push(request);
      this.#draining ??= this.#drain();
    });
    if (onOperation === undefined) return appended;
    return reported(onOperation, "append", start, appended, () => request?.bytes);
  }

  /** Whether an append names an entry, or has an id, that is not among the entries that were read. */
  namesUnread(drafts: readonly EntryDraft[], after?: string | null): boolean {
    const { tree } = this.#state.reader;
    const isUnread = (id: unknown) => typeof id === "string" && !tree.has(id) && !this.#pendingIds.has(id);
    // What is no draft is refused later.
    const isDraft = (draft: unknown) => isRecord(draft) && isEntryType(draft.type as string);
    const names = (draft: EntryDraft) =>
      isUnread(draft.id) || references(draft).some(([, id]) => isUnread(id));
    return (
      isUnread(after) || (Array.isArray(drafts) && drafts.some((draft) => isDraft(draft) && names(draft)))
    );
  }

  /** Throws if the leaf is not the expected one. */
  assertLeaf(after: string | null): void {
    this.#state.assertWritable();
    assertFollows(after, this.#leafNow(), this.#state.reader.tree);
  }

  /** Adds entries to the tree without writing them. @param isWaiting whether an append is not queued yet */
  stage(drafts: readonly EntryDraft[], isWaiting: boolean): readonly SessionEntry[] {
    const state = this.#state;
    state.assertWritable();
    if (this.#pending > 0 || isWaiting) {
      const { id } = state.header;
      const message = "entries cannot be staged while an append waits: await the append first";
      throw new SessileError("SESSION_BUSY", message, { details: { id } });
    }
    if (state.isPartial && this.namesUnread(drafts)) {
      const { id } = state.header;
      const message =
        "entries cannot be staged that name, or have the id of, one that was not read: await session.tree() first";
      throw new SessileError("SESSION_BUSY", message, { details: { id } });
    }
    const checked = this.#check(drafts, true);
    const request = { drafts: checked, chain: state.chain, revise: undefined, bytes: 0 };
    const { entries, leaf } = this.#place([request], state.timestamp(), undefined, undefined);
    this.#addStaged(checked);
    state.setLeaf(leaf);
    return entries;
  }

  /** Writes staged entries. */
  async flush(): Promise<void> {
    await this.idle();
    if (this.#state.staged.length > 0) await this.append([]);
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  /** Checks the drafts of a call. @param staging refuses images, because staging cannot wait for a blob store */
  #check(drafts: readonly EntryDraft[], staging: boolean): CheckedDraft[] {
    const { settings, reader } = this.#state;
    const { recording } = settings;
    const recorded = recording.truncate === undefined ? drafts : truncated(drafts, recording.truncate);
    const own = new Set<string>();
    const isKnown = (id: string) => own.has(id) || reader.tree.has(id) || this.#pendingIds.has(id);
    return Array.from(recorded, (draft, at) => {
      const each =
        usualMessage(draft, settings) ?? checkedDraft(draft, at, isKnown, settings, reader, staging);
      if (each.draft.id !== undefined) own.add(each.draft.id);
      if (!each.isCleaned) return each;
      const entry = each.entry as Mutable<SessionEntry>;
      entry.id = each.draft.id ?? this.#newId(this.#pendingIds);
      reader.report({ code: "UNSAFE_KEY", line: 0, offset: 0, message: unsafeKeyMessage, entryId: entry.id });
      return each;
    });
  }

  /** Stores the images of drafts in the blob store, and completes the drafts. */
  async #storeInline(checked: readonly CheckedDraft[], signal: AbortSignal | undefined): Promise<void> {
    const { settings, reader } = this.#state;
    // The caller's own objects may change during the puts. The ids of resources follow from those of entries.
    for (const each of checked) {
      if (!each.hasMedia) continue;
      const id = each.draft.id ?? this.#newId(this.#pendingIds);
      each.draft = { ...(copyJsonObject(each.draft) as unknown as EntryDraft), id };
      this.#pendingIds.add(id);
    }
    const { withoutInline } = await import("./inline-images.js");
    for (const [at, each] of checked.entries()) {
      if (!each.hasMedia) continue;
      const { id } = each.draft;
      each.draft = await withoutInline(each.draft, { id: id as string, at }, settings.recording, signal);
      if (each.entry === undefined) continue;
      each.entry = draftEntry(each.draft, unplaced, reader.info);
      each.body = entryBody(each.entry);
    }
  }

  /** The leaf once all that waits is written; undefined if it is an entry that has no id yet. */
  #leafNow(): string | null | undefined {
    const { chain } = this.#state;
    const isLast = (request: AppendRequest) => request.chain === chain && request.drafts.length > 0;
    const last = this.#waiting.findLast(isLast) ?? this.#writing.findLast(isLast);
    const { draft, entry } = last?.drafts.at(-1) ?? {};
    if (draft === undefined) return chain.leafId;
    return draft.type === "leaf" ? draft.targetId : (draft.id ?? (entry?.id || undefined));
  }

  async #drain(): Promise<void> {
    const state = this.#state;
    // Requests of the same tick share a batch.
    await undefined;
    while (this.#waiting.length > 0) {
      for (let at = this.#waiting.length - 1; at >= 0; at--) {
        const request = this.#waiting[at];
        if (request?.signal?.aborted === true)
          this.#fail(this.#waiting.splice(at, 1), request.signal.reason, at);
      }
      const batch = this.#waiting.length === 1 ? this.#waiting : takeBatch(this.#waiting);
      if (batch === this.#waiting) this.#waiting = [];
      const [first] = batch;
      if (first === undefined) continue;
      this.#writing = batch;
      try {
        if (first.preparing !== undefined) {
          await first.preparing;
          first.signal?.throwIfAborted();
        }
        const acquired = state.mutex.acquire();
        if (acquired !== undefined) await acquired;
        try {
          state.assertWritable();
          const timestamp = state.timestamp();
          for (let attempt = 1; ; attempt++) {
            const placed =
              attempt === 1 && this.#isUsual(first)
                ? this.#place(batch, timestamp, undefined, [])
                : await this.#prepare(batch, first, attempt, timestamp);
            if (placed === undefined || placed.entries.length === 0) break;
            const expected = state.position as LogPosition;
            try {
              const appended = await state.log.append(placed.lines, expected);
              this.#last = state.apply(placed, appended, timestamp);
              if (appended.interleaved === true) await state.readForeignWrite(expected);
            } catch (error) {
              if (!(await this.#isStored(error, placed, batch, first, attempt))) continue;
            }
            if (placed.staged > 0) this.#unstage(placed.staged);
            break;
          }
          this.#acknowledge(batch);
        } finally {
          state.mutex.release();
        }
      } catch (error) {
        if (SessileError.is(error, "SESSION_NOT_FOUND"))
          state.events.emit("deleted", { id: state.header.id });
        this.#fail(batch, error);
      }
      this.#writing = [];
    }
    this.#draining = undefined;
  }

  /**
   * Rejects these requests, and all from `at` in the queue that follow from them: those of the same chain, but
   * for rebases, and those that refer to their entries. None of their entries is in the tree.
   */
  #fail(requests: readonly AppendRequest[], error: unknown, at = 0): void {
    if (SessileError.is(error, "WRITER_POISONED")) this.#state.poison(error);
    const chains = new Set<Chain>();
    const lost = new Set<string>();
    const earlier = this.#waiting.slice(0, at).flatMap(({ drafts }) => drafts.map(({ draft }) => draft.id));
    const fail = (request: AppendRequest) => {
      chains.add(request.chain);
      for (const { draft } of request.drafts) {
        // An entry that an earlier append has is not lost with its retry.
        if (draft.id === undefined || earlier.includes(draft.id)) continue;
        lost.add(draft.id);
        this.#pendingIds.delete(draft.id);
      }
      this.#pending -= request.drafts.length;
      request.reject(error);
    };
    requests.forEach(fail);
    this.#waiting = this.#waiting.filter((request, index) => {
      const follows = index >= at && request.conflict !== "rebase" && chains.has(request.chain);
      if (!follows && (lost.size === 0 || !request.drafts.some(({ draft }) => namesAny(draft, lost))))
        return true;
      fail(request);
      return false;
    });
  }

  /** Whether the batch needs its place alone, as nearly all do: saves 6 of 62 ms of 1,000 appends (Node 24, fresh process). */
  #isUsual({ isAlone, made, conflict }: AppendRequest): boolean {
    const { exists, reader, staged, migrate, isPartial, settings } = this.#state;
    if (!exists || reader.header === undefined || staged.length > 0 || migrate !== undefined) return false;
    if (this.#state.isUntold) return false;
    // Only random digits are new among entries that were not read.
    if (isPartial && settings.newEntryId !== uniqueHex8) return false;
    if (isAlone || made !== undefined || conflict === "follow") return false;
    return this.#pendingIds.size === 0 && this.#unreportedConflict === undefined;
  }

  /** Places any batch, after staged entries, for an attempt to write it; undefined if it is staged. */
  async #prepare(
    batch: AppendRequest[],
    first: AppendRequest,
    attempt: number,
    timestamp: string,
  ): Promise<Placed | undefined> {
    const state = this.#state;
    const { conflict } = first;
    if (attempt === 1) {
      if (state.migrate !== undefined) await state.migrate();
      if (state.isPartial && state.settings.newEntryId !== uniqueHex8) await state.completeNow();
      if (this.#unreportedConflict !== undefined && conflict !== "rebase") {
        const error = this.#unreportedConflict;
        this.#unreportedConflict = undefined;
        if (conflict === "reject") throw error;
      }
      if (conflict === "reject") this.#assertTold(first);
      const mayBeStored = first.isRetry || this.#pendingIds.size > 0;
      const duplicate = mayBeStored ? await this.#adoptStored(batch) : undefined;
      if (duplicate !== undefined) throw duplicate;
      if (!state.exists && !this.#stagesMessage && batch.every(isOfSettings)) {
        this.#place(batch, timestamp, undefined, undefined);
        for (const { drafts } of batch) this.#addStaged(drafts);
        // Announces a parent before its child: settings staged earlier, too.
        const unannounced = state.staged.slice(this.#announced);
        this.#announced = state.staged.length;
        state.announceStaged(unannounced.map(({ entry }) => entry));
        return undefined;
      }
      if (conflict === "follow" && state.others !== undefined) await state.completeNow();
    }
    const isRebase = conflict === "rebase" && state.staged.length === 0;
    for (;;) {
      const move = conflict === "follow" || (isRebase && attempt > 1) ? this.#placeMove(first) : undefined;
      const moves = move !== undefined || first.made !== undefined;
      // An append that cannot move fails alone.
      if (moves && !isRebase && batch.length > 1) this.#waiting = [...batch.splice(1), ...this.#waiting];
      const isCompacted = first.isAlone && first.drafts.some(isNewCompaction);
      if (isCompacted) await this.#recordState(first, move);
      const info = isCompacted && isInfoFar(state.reader) ? [this.#infoRequest(first.chain)] : [];
      const placed = this.#place([...info, ...batch], timestamp, move, [...state.staged]);
      if (moves && !isRebase && !(await this.#mayMove(first, placed.entries, move))) continue;
      // Another program may have emptied the log: without a header it is not a session.
      if (placed.entries.length > 0 && (!state.exists || state.reader.header === undefined))
        placed.lines.unshift(headerLine(state.header, state));
      return placed;
    }
  }

  /**
   * Reads the log after an attempt that failed. Returns whether the batch is in it all the same.
   *
   * @throws what the attempt threw, or the conflict, unless the mode allows another attempt
   */
  async #isStored(
    error: unknown,
    { entries, staged }: Placed,
    batch: readonly AppendRequest[],
    { conflict }: AppendRequest,
    attempt: number,
  ): Promise<boolean> {
    if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
    const state = this.#state;
    let changes = await state.readRemoteChanges();
    if (state.isPartial) {
      // The decision may need entries that were not read.
      const ids = changes.rows.map((row) => treeRows(state.reader.tree).id(row));
      await state.completeNow();
      const rows = treeRows(state.reader.tree);
      changes = { ...changes, rows: ids.map((id) => rows.row(id)) };
    }
    const found = conflictError(error, changes, state);
    const duplicate = await this.#adoptStored(batch);
    const isSame = duplicate === undefined && !changes.restarted;
    if (isSame && state.isStored(entries)) {
      // An earlier attempt succeeded, and only its result was lost.
      state.excludeOwnRows(entries, changes);
      return true;
    }
    // What was read may have ended this handle's turn.
    state.assertWritable();
    if (!isSame) throw found;
    const isRebase = conflict === "rebase" && staged === 0;
    if (attempt >= maxAttempts[conflict]) throw found;
    if (!isMetadataOnly(changes, state.reader.tree)) {
      if (conflict === "reject" || (conflict === "rebase" && !isRebase)) throw found;
      if (isRebase) this.#unreportedConflict = found;
    }
    return false;
  }

  /** The first staged entries were written. Others may have been staged meanwhile, or by a listener. */
  #unstage(count: number): void {
    const state = this.#state;
    state.unstage(count);
    this.#announced = Math.max(0, this.#announced - count);
    this.#stagesMessage = !state.staged.every(({ entry }) => isSetting(entry));
  }

  /**
   * Where the entries of a batch go instead of the leaf that they were made for: after the other writer's newest
   * entry with "follow", after the last one of the log with "rebase"; undefined if they stay.
   */
  #placeMove({ conflict, chain }: AppendRequest): Move | undefined {
    const { reader, others } = this.#state;
    const from = this.#writtenLeaf(chain);
    if (conflict === "rebase") return { from, to: reader.leafId };
    if (others === undefined || isOnPath(others.leafId, from, reader.tree)) return undefined;
    return { from, to: others.leafId };
  }

  /** @throws SessileError CONCURRENT_WRITER if entries that the caller was not told of follow the leaf */
  #assertTold({ chain }: AppendRequest): void {
    const state = this.#state;
    const { others, isUntold, reader } = state;
    if (!isUntold || others === undefined) return;
    const from = this.#writtenLeaf(chain);
    if (others.leafId === from || !isOnPath(from, others.leafId, reader.tree)) return;
    state.tell();
    const rows = treeRows(reader.tree);
    const added: number[] = [];
    const first = from === null ? noRow : rows.row(from);
    for (let row = others.row; row !== noRow && row !== first; row = rows.parent(row)) added.unshift(row);
    const details = { expected: from ?? "none", actual: others.leafId ?? "none" };
    const cause = new SessileError("CONCURRENT_WRITER", "other entries follow the leaf", { details });
    throw conflictError(cause, { rows: added, restarted: false }, state);
  }

  /** The last entry of a chain that has a line. */
  #writtenLeaf(chain: Chain): string | null {
    const { staged } = this.#state;
    let leaf = this.#chainLeaf(chain);
    for (let at = staged.length - 1; at >= 0; at--) {
      const { entry } = staged[at] as StagedEntry;
      if (entry.id === leaf) leaf = entry.parentId;
    }
    return leaf;
  }

  /** The leaf of a chain; the session's if that is gone with a replaced log. */
  #chainLeaf(chain: Chain): string | null {
    const { reader, leafId } = this.#state;
    return chain.leafId === null || reader.tree.has(chain.leafId) ? chain.leafId : leafId;
  }

  /**
   * Gives the entries of a batch ids, parents and a time, and encodes their lines.
   *
   * @param staged entries to write first; undefined for a batch that is staged itself
   */
  #place(
    batch: readonly Pick<AppendRequest, "drafts" | "chain" | "revise" | "bytes">[],
    timestamp: string,
    move: Move | undefined,
    staged: readonly StagedEntry[] | undefined,
  ): Placed {
    const { settings, reader, log } = this.#state;
    const rows = treeRows(reader.tree);
    const isNext = this.#last?.size === rows.size && this.#last.reader === reader && staged?.length === 0;
    const entries: SessionEntry[] = [];
    const lines: Uint8Array[] = [];
    let text = "";
    let last = isNext ? this.#last?.id : this.#lastId(staged === undefined);
    const print = (entry: SessionEntry, body: string) => {
      entries.push(entry);
      text += printPlaced(entry, body, settings.checksum);
      last = entry.id;
      if (text.length <= maxTextLength) return;
      encodePlaced(text, settings, log.crc32, lines);
      text = "";
    };
    for (const { entry, body } of staged ?? []) {
      const isMoved = move !== undefined && entry.parentId === move.from && entry.type !== "leaf";
      const parentId = isMoved ? move.to : entry.parentId;
      const prior = last === parentId ? undefined : last;
      const isSame = parentId === entry.parentId && prior === entry.prior;
      print(isSame ? entry : withPrior({ ...entry, parentId }, prior), body);
    }
    // The ids of a batch of one need not be compared with each other.
    const own = batch.length === 1 && batch[0]?.drafts.length === 1 ? undefined : new Set<string>();
    let info: SessionInfoFields | undefined;
    let chain: Chain | undefined;
    let leaf: string | null = null;
    for (const request of batch) {
      if (request.chain !== chain) {
        chain = request.chain;
        leaf = chain === this.#state.chain ? chain.leafId : this.#chainLeaf(chain);
        if (move !== undefined && leaf === move.from) leaf = move.to;
      }
      for (const checked of request.drafts) {
        const { draft } = checked;
        if (checked.entry === undefined || checked.isStored) {
          leaf = checked.entry === undefined ? (draft.id as string) : leafAfter(checked.entry);
          continue;
        }
        // A second attempt keeps the ids of the first one.
        const id = checked.entry.id || draft.id || this.#newId(own);
        own?.add(id);
        if (draft.type === "session_info") {
          info ??= reader.info;
          const patch = request.revise === undefined ? draft : { ...draft, ...request.revise(info) };
          const completed = draftEntry(patch as typeof draft, unplaced, info);
          checked.body = entryBody(completed);
          checked.entry = completed;
          info = entryInfoFields(completed as SessionEntry & { readonly type: "session_info" });
        }
        const entry: Mutable<SessionEntry> = checked.entry;
        entry.id = id;
        entry.parentId = entry.type === "leaf" ? entry.targetId : leaf;
        entry.timestamp = timestamp;
        if (last !== undefined && last !== entry.parentId) entry.prior = last;
        else if (entry.prior !== undefined) delete entry.prior;
        print(entry, checked.body);
        leaf = entry.type === "leaf" ? entry.targetId : id;
      }
    }
    encodePlaced(text, settings, log.crc32, lines);
    if (settings.onOperation !== undefined) countBytes(batch, entries, lines);
    return { entries, lines, leaf, staged: staged?.length ?? 0 };
  }

  /** An id that no entry has, and none of these. */
  #newId(others: ReadonlySet<string> | undefined): string {
    const { reader, settings, isPartial } = this.#state;
    const rows = treeRows(reader.tree);
    const isRandom = settings.newEntryId === uniqueHex8;
    // A staged entry has its id at once, and the caller's ids may be those of entries that were not read.
    if (isPartial && !isRandom) return crypto.randomUUID();
    for (let attempt = 0; attempt < 100; attempt++) {
      // Eight digits may be those of an entry that was not read.
      const id = isPartial ? uniqueHex8() + uniqueHex8() : settings.newEntryId();
      if (rows.row(id) === noRow && !others?.has(id) && !this.#pendingIds.has(id)) return id;
    }
    return crypto.randomUUID();
  }

  /** The last entry of the log; with `isStaging`, of the tree. */
  #lastId(isStaging: boolean): string | undefined {
    const { reader, exists } = this.#state;
    const rows = treeRows(reader.tree);
    let row = exists || isStaging ? rows.size - 1 : noRow;
    while (!isStaging && row !== noRow && rows.line(row) === undefined) row--;
    return row === noRow ? undefined : rows.id(row);
  }

  /**
   * Takes entries that are in the log already, from an earlier attempt or another writer. Returns the error for
   * one that differs from its draft: then the batch cannot be written.
   */
  async #adoptStored(batch: readonly AppendRequest[]): Promise<SessileError | undefined> {
    const { reader, cache } = this.#state;
    for (const { drafts } of batch) {
      for (const [at, checked] of drafts.entries()) {
        const id = checked.entry?.id || checked.draft.id;
        if (id === undefined) continue;
        const row = treeRows(reader.tree).row(id);
        if (row === noRow && checked.entry !== undefined) continue;
        const stored = row === noRow ? undefined : await cache.read(row);
        if (stored === undefined || stored.type === "unknown" || !isSameEntry(checked.draft, stored))
          return duplicateId(at, id);
        checked.entry = stored;
        checked.isStored = true;
      }
    }
    return undefined;
  }

  /**
   * Checks entries that go to another place than they were made for. Returns false after the log turned out to
   * have more lines.
   *
   * @throws SessileError CONCURRENT_WRITER with a `reason` if they cannot go there
   */
  async #mayMove(
    request: AppendRequest,
    entries: readonly SessionEntry[],
    move: Move | undefined,
  ): Promise<boolean> {
    const state = this.#state;
    const rows = treeRows(state.reader.tree);
    request.made ??= { from: move?.from ?? null, between: [] };
    const { from } = request.made;
    const between = request.made.between.map((id) => rows.row(id)).filter((row) => row !== noRow);
    const to = move === undefined ? this.#writtenLeaf(request.chain) : move.to;
    const problem = await state.cache.run(followProblem(rows, { from, between, to }, entries));
    if (problem === undefined) return true;
    // The state may be stale: the awaited result may be there by now.
    const changes = move && (await state.readRemoteChanges());
    if (changes !== undefined && !changes.restarted && changes.rows.length > 0) return false;
    throw followError(problem, from, to);
  }

  /**
   * Records in the compaction of a request what its path has in force, so that opening need not read that path.
   * Not for one that moves, or that follows a change of it in the same append.
   */
  async #recordState({ drafts, chain }: AppendRequest, move: Move | undefined): Promise<void> {
    const state = this.#state;
    const checked = drafts.find(isNewCompaction);
    if (checked === undefined) return;
    // What an earlier attempt recorded may be of another path.
    if (checked.entry?.type === "compaction" && checked.entry.inForce !== undefined)
      setState(checked, undefined);
    const at = drafts.findIndex(({ draft }) => changesState(draft));
    if (move !== undefined || (at >= 0 && at < drafts.indexOf(checked))) return;
    const steps = () => {
      const leafId = this.#chainLeaf(chain);
      const rows = treeRows(state.reader.tree);
      return state.cache.run(compactionState(rows, leafId === null ? noRow : rows.row(leafId)));
    };
    const inForce = await steps().catch(async (error: unknown) => {
      if (!(error instanceof NeedsWholeLog)) throw error;
      await state.completeNow();
      return steps();
    });
    setState(checked, inForce);
  }

  /**
   * The session_info again, before a compaction: a reader of the last lines finds it, and need not search the
   * log for it.
   */
  #infoRequest(chain: Chain): Pick<AppendRequest, "drafts" | "chain" | "revise" | "bytes"> {
    return { drafts: this.#check([{ type: "session_info" }], false), chain, revise: undefined, bytes: 0 };
  }

  /** Adds entries to the tree that are written with the next batch. */
  #addStaged(drafts: readonly CheckedDraft[]): void {
    for (const { entry, body, isStored } of drafts) {
      if (entry === undefined || isStored) continue;
      this.#state.stage(entry, body);
      this.#stagesMessage ||= !isSetting(entry);
    }
  }

  /** Resolves the requests of a written batch, and moves the leaf to their last entries. */
  #acknowledge(batch: readonly AppendRequest[]): void {
    const state = this.#state;
    for (const request of batch) {
      const { drafts, chain, conflict, made } = request;
      for (const { draft } of drafts) if (draft.id !== undefined) this.#pendingIds.delete(draft.id);
      this.#pending -= drafts.length;
      const last = drafts[drafts.length - 1]?.entry;
      const isRebase = conflict === "rebase";
      // The leaf does not go with a rebase to another writer's branch.
      if (last !== undefined && (!isRebase || isSameConversation(last.id, chain.leafId, state.reader.tree))) {
        if (chain === state.chain) state.advance(last, isRebase);
        else state.advanceLeft(chain, leafAfter(last));
      }
      const entries = request.isSingle ? [] : drafts.map(({ entry }) => entry as SessionEntry);
      if (made !== undefined) {
        const between = [...made.between, ...drafts.map(({ entry }) => (entry as SessionEntry).id)];
        for (const waiting of this.#waiting) if (waiting.chain === chain) waiting.made = { ...made, between };
      }
      request.resolve(request.isSingle ? (last as SessionEntry) : entries);
    }
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Takes the requests at the front that can share a batch: those with the same conflict mode.
 */
function takeBatch(waiting: AppendRequest[]): AppendRequest[] {
  let length = 0;
  let end = 0;
  for (const request of waiting) {
    const { isAlone } = request;
    for (const { body } of request.drafts) length += body.length;
    if (end > 0 && (isAlone || request.conflict !== waiting[0]?.conflict || length > maxBatchLength)) break;
    end++;
    if (isAlone) break;
  }
  return waiting.splice(0, end);
}

/** Counts the bytes of the lines of each request. */
function countBytes(
  batch: readonly Pick<AppendRequest, "drafts" | "bytes">[],
  entries: readonly SessionEntry[],
  lines: readonly Uint8Array[],
): void {
  const readBytes = new Map(entries.map((entry, at) => [entry, lines[at]?.length ?? 0]));
  for (const request of batch) {
    request.bytes = 0;
    for (const { entry } of request.drafts)
      if (entry !== undefined) request.bytes += readBytes.get(entry) ?? 0;
  }
}

function isNewCompaction({ entry, isStored }: CheckedDraft): boolean {
  return entry?.type === "compaction" && !isStored;
}

/** Sets what a compaction records. Its id stays that of an earlier attempt, which may be in the log. */
function setState(checked: CheckedDraft, inForce: CompactionState | undefined): void {
  const { inForce: _before, ...entry } = withPrior(
    checked.entry as SessionEntry & { readonly type: "compaction" },
    undefined,
  );
  const { id } = entry;
  const revised = { ...entry, ...unplaced, ...(inForce === undefined ? {} : { inForce }) };
  // The text of the fields is that of an entry without a place.
  checked.body = entryBody(revised);
  checked.entry = { ...revised, id };
}

/** Whether a draft changes what a compaction records. */
function changesState(draft: EntryDraft): boolean {
  const { type } = draft;
  if (type === "message") return draft.message.role === "assistant";
  return (
    type === "model_change" ||
    type === "thinking_level_change" ||
    type === "context_pin" ||
    type === "resource_observation" ||
    type === "leaf"
  );
}

/** Whether a request has settings alone. They are staged until the session has a message. */
function isOfSettings({ drafts }: AppendRequest): boolean {
  return drafts.length > 0 && drafts.every(({ draft }) => isSetting(draft));
}

function duplicateId(at: number, entryId: string): SessileError {
  const message = `drafts[${at}].id: the entry ${entryId} exists and differs; a retry needs the same draft, its timestamp too`;
  return new SessileError("DUPLICATE_ID", message, { details: { entryId } });
}
