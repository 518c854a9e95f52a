import { SessileError } from "../errors/index.js";
import type { LogPosition } from "./backend.js";
import {
  areInLog,
  encodeLine,
  entriesToWrite,
  inOneConversation,
  isHarmless,
  metadata,
  type Request,
  type Revise,
  takeStored,
} from "./batch.js";
import { checkEntry } from "./codec/encode.js";
import { headerLine } from "./copy.js";
import type { SessionCore } from "./core.js";
import { checkDraft, entryOf, namesAny } from "./draft.js";
import type { EntryDraft, SessionEntry } from "./entries.js";
import { isSameEntry } from "./same-entry.js";
import { noRow } from "./tree/rows.js";
import { treeRows } from "./tree/tree.js";
import type { AppendOptions } from "./types.js";

const maxAttempts = 16;

/**
 * Writes entries in the order of the calls. Ids and parents are given at the call, so that calls need not wait for each
 * other; what waits at the same time goes to the log in one batch.
 */
export class Writer {
  readonly #core: SessionCore;
  /** What the next entry follows: the tip, or the last entry that waits. */
  #tip: string | null;
  #waiting: Request[] = [];
  readonly #waitingIds = new Set<string>();
  #draining: Promise<void> | undefined;
  #staged: { readonly entry: SessionEntry; readonly line: Uint8Array }[] = [];
  #wrote = false;
  #poison: SessileError | undefined;
  /** A rebase went behind another writer's entries; the next append that is no rebase has to hear of them. */
  #untold: SessileError | undefined;

  constructor(core: SessionCore) {
    this.#core = core;
    this.#tip = core.leafId;
  }

  /** The tip was moved from outside. */
  follow(leafId: string | null): void {
    this.#tip = leafId;
  }

  /** Whether this handle wrote anything. */
  get wrote(): boolean {
    return this.#wrote;
  }

  get staged(): boolean {
    return this.#staged.length > 0;
  }

  append(
    drafts: readonly EntryDraft[],
    options: AppendOptions = {},
    revise?: Revise,
  ): Promise<readonly SessionEntry[]> {
    return new Promise((resolve, reject) => {
      const { conflict = "reject", signal } = options;
      if (conflict !== "reject" && conflict !== "rebase") {
        throw new TypeError(`conflict: expected "reject" or "rebase", got ${String(conflict)}`);
      }
      if (!Array.isArray(drafts)) throw new TypeError("drafts: expected an array of entry drafts");
      signal?.throwIfAborted();
      this.#assertWritable();
      const rebase = conflict === "rebase";
      if (rebase && drafts.some((draft) => !metadata.has(draft.type))) {
        throw new TypeError('conflict: "rebase" is for label, session_info and usage entries');
      }
      const { entries, lines } = this.#place(drafts);
      for (const entry of entries) if (entry !== undefined) this.#waitingIds.add(entry.id);
      this.#waiting.push({
        drafts,
        entries,
        lines,
        rebase,
        revise,
        moves: this.#core.moves,
        signal,
        resolve,
        reject,
      });
      this.#draining ??= this.#drain();
    });
  }

  /** Adds entries to the tree that have no line yet. */
  stage(drafts: readonly EntryDraft[]): readonly SessionEntry[] {
    this.#assertWritable();
    if (this.#waitingIds.size > 0) {
      const { id } = this.#core.header;
      throw new SessileError("SESSION_BUSY", "entries cannot be staged while an append waits", {
        details: { id },
      });
    }
    const core = this.#core;
    const placed = this.#place(drafts);
    const entries: SessionEntry[] = [];
    placed.entries.forEach((entry, at) => {
      const line = placed.lines[at];
      if (entry === undefined || line === undefined) return;
      const row = core.reader.own(entry, undefined);
      core.bodies.hold(row, entry);
      this.#staged.push({ entry, line });
      entries.push(entry);
    });
    core.setLeaf(this.#tip);
    return entries;
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  /**
   * Entries at the places that the drafts take if all goes well, and their lines. Throws on the first draft that cannot be
   * written, here and not when it is written, so that it fails alone.
   */
  #place(drafts: readonly EntryDraft[]): Pick<Request, "entries" | "lines"> {
    const { settings, reader } = this.#core;
    const batch = new Set<string>();
    const known = (id: string) => reader.tree.has(id) || this.#waitingIds.has(id) || batch.has(id);
    const timestamp = new Date(settings.now()).toISOString();
    let tip = this.#tip;
    const entries = drafts.map((draft, at) => {
      checkDraft(draft, at, known);
      if (draft.id !== undefined && known(draft.id)) {
        tip = draft.id;
        return undefined;
      }
      const id = draft.id ?? this.#newId(known);
      const entry = entryOf(draft, { id, parentId: tip, timestamp }, reader.info);
      checkEntry(entry, settings.maxDepth);
      batch.add(id);
      tip = entry.type === "leaf" ? entry.targetId : id;
      return entry;
    });
    const lines = entries.map((entry) => entry && this.#encode(entry));
    this.#tip = tip;
    return { entries, lines };
  }

  #newId(known: (id: string) => boolean): string {
    for (let attempt = 0; attempt < 100; attempt++) {
      const id = this.#core.settings.newEntryId();
      if (!known(id)) return id;
    }
    return crypto.randomUUID();
  }

  async #drain(): Promise<void> {
    // Calls of the same tick go together.
    await undefined;
    while (this.#waiting.length > 0) {
      this.#withdrawAborted();
      const group = this.#takeGroup();
      if (group.length === 0) continue;
      try {
        await this.#core.exclusive(() => this.#write(group));
      } catch (error) {
        this.#fail(group, error);
      }
    }
    this.#draining = undefined;
  }

  /**
   * The requests at the front that can go in one batch: those that deal with a conflict in the same way. One that writes
   * an entry again goes alone, since it may turn out to be another entry, and then fails.
   */
  #takeGroup(): Request[] {
    const [first] = this.#waiting;
    const alone = (request: Request) => request.entries.includes(undefined);
    const end =
      first !== undefined && alone(first)
        ? 1
        : this.#waiting.findIndex((request) => request.rebase !== first?.rebase || alone(request));
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  #withdrawAborted(): void {
    for (;;) {
      const at = this.#waiting.findIndex((request) => request.signal?.aborted === true);
      if (at < 0) return;
      const [request] = this.#waiting.splice(at, 1);
      if (request !== undefined) this.#fail([request], request.signal?.reason);
    }
  }

  /** Fails these, and whatever was to follow or names their entries. The tree has none of them. */
  #fail(requests: readonly Request[], error: unknown): void {
    if (SessileError.is(error, "WRITER_POISONED")) this.#poison = error;
    const lost = new Set<string>();
    const lose = (request: Request) => {
      for (const entry of request.entries) {
        if (entry === undefined) continue;
        lost.add(entry.id);
        this.#waitingIds.delete(entry.id);
      }
      request.reject(error);
    };
    requests.forEach(lose);
    this.#waiting = this.#waiting.filter((request) => {
      const follows = request.entries.some(
        (entry) => entry !== undefined && entry.parentId !== null && lost.has(entry.parentId),
      );
      const fails = (follows && !request.rebase) || request.drafts.some((draft) => namesAny(draft, lost));
      if (fails) lose(request);
      // It goes to another place now, where nothing that waits was to follow it.
      else if (follows) for (const entry of request.entries) if (entry !== undefined) lost.add(entry.id);
      return !fails;
    });
    if (this.#tip !== null && !this.#core.reader.tree.has(this.#tip) && !this.#waitingIds.has(this.#tip)) {
      this.#tip = this.#core.leafId;
    }
  }

  async #write(group: readonly Request[]): Promise<void> {
    const core = this.#core;
    this.#assertWritable();
    await core.migrate?.();
    const rebase = group[0]?.rebase === true && this.#staged.length === 0;
    if (this.#untold !== undefined && group[0]?.rebase !== true) {
      const error = this.#untold;
      this.#untold = undefined;
      throw error;
    }
    await this.#resolveExisting(group);
    for (let attempt = 1; ; attempt++) {
      const encode = (entry: SessionEntry) => this.#encode(entry);
      const placed = entriesToWrite(group, core.reader, attempt > 1 && rebase, encode);
      const written = [...this.#staged.map(({ entry }) => entry), ...placed.map(({ entry }) => entry)];
      if (written.length === 0) break;
      const lines = [...this.#staged.map(({ line }) => line), ...placed.map(({ line }) => line)];
      // Another program may have emptied the log since: without a header it is no session.
      const begins = !core.exists || core.reader.header === undefined;
      const withHeader = begins ? [headerLine(core.header), ...lines] : lines;
      const expected = core.position as LogPosition;
      try {
        const result = await core.log.append(withHeader, expected);
        this.#written(written, lines, result.at.slice(-lines.length), result.position);
        if (result.interleaved === true) await this.#readInterleaved(expected);
        break;
      } catch (error) {
        if (SessileError.is(error, "SESSION_NOT_FOUND")) core.events.emit("deleted", { id: core.header.id });
        if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
        const news = await core.readNew();
        if (!(await takeStored(group, core.reader.tree, core.bodies))) throw error;
        if (!news.restarted && areInLog(written, core.reader.tree)) {
          this.#forgetStaged();
          break;
        }
        const harmless = isHarmless(news, core.reader.tree);
        const retry = harmless || (rebase && !news.restarted);
        if (!retry || attempt >= maxAttempts) throw error;
        if (!harmless) this.#untold = error;
      }
    }
    this.#settle(group);
  }

  /** Drafts whose id is taken: the same entry again is no new one, anything else is a mistake. */
  async #resolveExisting(group: readonly Request[]): Promise<void> {
    const { bodies, reader } = this.#core;
    for (const request of group) {
      for (const [at, draft] of request.drafts.entries()) {
        if (request.entries[at] !== undefined) continue;
        const entryId = draft.id as string;
        const row = treeRows(reader.tree).row(entryId);
        const entry = row < 0 ? undefined : await bodies.one(row);
        if (entry === undefined || entry.type === "unknown" || !isSameEntry(draft, entry)) {
          throw new SessileError("DUPLICATE_ID", `drafts[${at}].id: another entry has the id ${entryId}`, {
            details: { entryId },
          });
        }
        request.entries[at] = entry;
      }
    }
  }

  #encode(entry: SessionEntry): Uint8Array {
    const { checksum, maxLineBytes } = this.#core.settings;
    return encodeLine(entry, checksum, maxLineBytes);
  }

  #written(
    entries: readonly SessionEntry[],
    lines: readonly Uint8Array[],
    at: readonly number[],
    position: LogPosition,
  ): void {
    const core = this.#core;
    const created = !core.exists;
    core.exists = true;
    core.reader.header ??= core.header;
    core.position = position;
    this.#wrote = true;
    if (created) core.events.emit("created", { id: core.header.id });
    const rows = treeRows(core.reader.tree);
    entries.forEach((entry, index) => {
      const place = { at: at[index] as number, length: (lines[index] as Uint8Array).length - 1 };
      // A staged one is there already, unless the log was read anew since.
      let row = rows.row(entry.id);
      if (row === noRow) row = core.reader.own(entry, place);
      else rows.setLine(row, place.at, place.length);
      core.bodies.add(row, entry);
    });
    this.#forgetStaged();
    for (const entry of entries) core.announce(entry, "local");
  }

  /** What was staged is in the log. */
  #forgetStaged(): void {
    const rows = treeRows(this.#core.reader.tree);
    for (const { entry } of this.#staged) this.#core.bodies.release(rows.row(entry.id));
    this.#staged = [];
  }

  /** Another program wrote in the same moment. Both are there; what it wrote is read, and the meeting is reported. */
  async #readInterleaved(from: LogPosition): Promise<void> {
    const core = this.#core;
    await core.readNew(from);
    core.reader.report({
      code: "FOREIGN_WRITE",
      line: 0,
      offset: 0,
      message: "another program wrote at the same moment, ignoring the lock; its lines stand beside these",
    });
  }

  #settle(group: readonly Request[]): void {
    const core = this.#core;
    for (const request of group) {
      const entries = request.entries as readonly SessionEntry[];
      for (const entry of entries) this.#waitingIds.delete(entry.id);
      const last = entries.at(-1);
      const stays = request.rebase && !inOneConversation(last?.id ?? null, core.leafId, core.reader.tree);
      if (last !== undefined && request.moves === core.moves && !stays) {
        core.moved = false;
        core.setLeaf(last.type === "leaf" ? last.targetId : last.id);
      }
      request.resolve(entries);
    }
    if (this.#waiting.length === 0) this.#tip = core.leafId;
  }

  #assertWritable(): void {
    if (this.#poison !== undefined) throw this.#poison;
    this.#core.assertWritable();
  }
}
