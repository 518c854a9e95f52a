/** The state of an open session: the entries read, the leaf, and the entries that this handle appended. */

import type { Context } from "../../content/index.js";
import { type AskedRequests, noteContext } from "../../content/internal.js";
import { Mutex, sleep } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import {
  formatVersion,
  headerVersion,
  isNewer,
  type SessionEntry,
  type SessionHeader,
  type UnknownEntry,
} from "../../log/internal.js";
import type { LinePlace, LogAppend, LogPosition, SessionLog } from "../api/backend.js";
import { type BuiltContext, extendContext } from "../context/build-context.js";
import type { LogReader } from "../tree/log-reader.js";
import { addedLeaf, noRow, type RemoteChanges, type RemoteLeaf, treeRows } from "../tree/session-tree.js";
import { LoadedLog, type ReadEntry, type SessionSettings } from "./loaded-log.js";
import { headerInfo, type SessionInfo } from "./session-info.js";

/** Appends that follow each other: those since the last move of the leaf by the caller. */
export interface Chain {
  /** The entry that the next one follows. */
  leafId: string | null;
}

/** Entries to be written, and the lines of the append, which end with theirs. */
export interface PlacedEntries {
  readonly entries: readonly SessionEntry[];
  readonly lines: Uint8Array[];
}

/** The last entry that was written, and the number of entries then. */
export interface LastWritten {
  readonly reader: LogReader;
  readonly size: number;
  readonly id: string;
}

/** An entry in the tree without a line, and the text of its fields. */
export interface StagedEntry {
  readonly entry: SessionEntry;
  readonly body: string;
}

/** The state of an open session. Only its own methods assign its fields. */
export type SessionState = Readonly<State>;

/** Makes the state of a session on a log. A created session has a header, and no line in the log yet. */
export function sessionState(
  log: SessionLog,
  settings: SessionSettings,
  mode: "read" | "write",
  created?: { readonly header: SessionHeader; readonly position: LogPosition },
): SessionState {
  return new State(log, settings, mode, created);
}

/** How often a log that lacks the entries of its end is read again before its end counts as lost, and the first pause. */
const maxRestReads = 5;
const lagMs = 20;

class State extends LoadedLog {
  readonly mode: "read" | "write";
  /** Excludes reads of new lines and appends from each other. */
  readonly mutex = new Mutex();
  header: SessionHeader = { type: "session", id: "", timestamp: "", cwd: "" };
  /** Whether the store has the session: a created one exists from its first append on. */
  exists: boolean;
  /** The current chain, whose leaf is that of the session: a pending append of another does not move it back. */
  chain: Chain = { leafId: null };
  /** Whether the leaf moved to another place than the log gives, and nothing was written since. */
  moved = false;
  /** The leaf of other writers since this handle's last append or move; undefined if they added none. */
  others: RemoteLeaf | undefined;
  /** Whether the leaf of other writers was read by a call that does not tell of it: an append has yet to compare. */
  isUntold = false;
  closed = false;
  /** Whether this handle appended an entry. */
  wrote = false;
  compacting: string | undefined;
  /** Migrates the log to the current version; set while a migration must precede other writes. */
  migrate: (() => Promise<void>) | undefined;
  /** The reason why this handle may not write. */
  #readOnly: "mode" | "newer" | "stuck" | undefined;
  #poison: SessileError | undefined;
  /** Why this handle may not write until it gives its turn up: another process has it. */
  #lostTurn: SessileError | undefined;
  /** What was asked with the contexts of this handle. */
  readonly asked: AskedRequests = { requests: [], isAnswered: false };
  /** The last context, which the next one usually extends. */
  #lastContext: BuiltContext | undefined;
  readonly #staged: StagedEntry[] = [];
  /** Entries in the tree without a line. They are written at the head of the next batch. */
  readonly staged: readonly StagedEntry[] = this.#staged;
  /** Ids of staged entries that were announced to listeners. */
  readonly #announced = new Set<string>();
  /** The last time that was printed. */
  #clock = { ms: Number.NaN, text: "" };
  /** Rows that were read and not yet reported. */
  #unreported: number[] = [];

  constructor(
    log: SessionLog,
    settings: SessionSettings,
    mode: "read" | "write",
    created: { readonly header: SessionHeader; readonly position: LogPosition } | undefined,
  ) {
    super(log, settings);
    this.mode = mode;
    this.exists = created === undefined;
    this.position = created?.position;
    this.#setHeader(created?.header ?? this.header);
    if (created !== undefined) {
      this.reader.header = created.header;
      this.reader.readInFull();
    }
  }

  /** The leaf. */
  get leafId(): string | null {
    return this.chain.leafId;
  }

  get writable(): boolean {
    return this.#readOnly === undefined;
  }

  get info(): SessionInfo {
    const rows = treeRows(this.reader.tree);
    const updated = rows.size === 0 ? this.header.timestamp : rows.timestamp(rows.size - 1);
    return headerInfo(this.header, this.reader.info, updated, this.compacting);
  }

  /** Reads the log: its last lines, if those are enough for a context, or `whole`. */
  async load(whole = true): Promise<void> {
    await this.readPrefixes(whole);
    if (this.reader.header !== undefined) this.#setHeader(this.reader.header);
    this.chain.leafId = this.reader.leafId;
  }

  /** Reads the log from its start again, and keeps the leaf. */
  async reload(): Promise<void> {
    const { leafId } = this;
    const before = treeRows(this.reader.tree);
    const unreported = this.#unreported.map((row) => before.id(row));
    await this.readAgain();
    this.#restage();
    const rows = treeRows(this.reader.tree);
    this.#unreported = unreported.map((id) => rows.row(id)).filter((row) => row !== noRow);
    if (this.reader.header !== undefined) this.#setHeader(this.reader.header);
    if (leafId !== null && !this.reader.tree.has(leafId)) this.setLeaf(this.reader.leafId);
  }

  /** Reads the entries before those in the tree, if opening did not read them. */
  async complete(signal?: AbortSignal): Promise<void> {
    if (this.isPartial) await this.mutex.run(() => this.completeNow(signal));
  }

  /** {@link complete} for a caller that has the mutex. */
  async completeNow(signal?: AbortSignal): Promise<void> {
    if (!this.isPartial) return;
    if (this.closed) throw this.closedError();
    const before = treeRows(this.reader.tree);
    for (let attempt = 0; !(await this.readRest(signal)); attempt++) {
      await this.readRemoteChanges(this.position, false);
      if (!this.isPartial) return;
      if (attempt === maxRestReads) return this.reload();
      await sleep(lagMs << attempt, signal);
    }
    this.#restage();
    const rows = treeRows(this.reader.tree);
    const rowNow = (row: number) => rows.row(before.id(row));
    this.#unreported = this.#unreported.map(rowNow).filter((row) => row !== noRow);
    if (this.others !== undefined) this.others = { ...this.others, row: rowNow(this.others.row) };
  }

  /**
   * Reads the lines after the last position. Requires the mutex.
   * @param completes whether to read all entries if new ones follow those that were not read
   */
  async readRemoteChanges(from = this.position, completes = true): Promise<RemoteChanges> {
    const before = treeRows(this.reader.tree);
    const read = await this.readAfter(from);
    const { restarted } = read;
    let { fresh } = read;
    const isCut = ({ row }: ReadEntry) => treeRows(this.reader.tree).isCut(row);
    if (completes && this.isPartial && (fresh.some(isCut) || !this.reader.isLeafKnown)) {
      await this.completeNow();
      const rows = treeRows(this.reader.tree);
      fresh = fresh.map(({ entry }) => ({ entry, row: rows.row(entry.id) }));
    }
    const { reader } = this;
    if (reader.header !== undefined) {
      this.#setHeader(reader.header);
      this.exists = true;
    }
    if (restarted) {
      this.#restage();
      this.#unreported = [];
      const message = "the log was cut or replaced: read again";
      reader.report({ code: "LOG_REPLACED", line: 0, offset: 0, message });
    }
    const rows = treeRows(reader.tree);
    if (!this.writable || (this.leafId !== null && rows.row(this.leafId) === noRow))
      this.setLeaf(reader.leafId);
    for (const { row, entry } of fresh) {
      this.cache.add(row, entry);
      // In a replaced log: the entries that the old log did not have.
      if (!restarted || before.row(entry.id) === noRow) this.announce(entry, "remote");
    }
    const added = fresh.map(({ row }) => row);
    for (const row of added) this.#unreported.push(row);
    const leaf = restarted ? undefined : addedLeaf(added, rows);
    if (restarted || leaf !== undefined) this.others = leaf;
    return { rows: added, restarted };
  }

  /** Reads what other writers added, for a call that does not tell of it. */
  async readUntold(): Promise<void> {
    const { rows } = await this.readRemoteChanges();
    if (addedLeaf(rows, treeRows(this.reader.tree)) !== undefined) this.isUntold = true;
  }

  /** The caller is told of what other writers added. */
  tell(): void {
    this.isUntold = false;
  }

  /** Returns the rows that other writers added since the last call, and resets them. */
  takeUnreported(): readonly number[] {
    this.tell();
    const rows = this.#unreported;
    this.#unreported = [];
    return rows;
  }

  /** Removes this handle's own entries from the changes: an earlier attempt succeeded. */
  excludeOwnRows(written: readonly SessionEntry[], changes: RemoteChanges): void {
    const rows = treeRows(this.reader.tree);
    const own = new Set(written.map(({ id }) => rows.row(id)));
    const isOthers = (row: number) => !own.has(row);
    this.#unreported = this.#unreported.filter(isOthers);
    this.others = addedLeaf(changes.rows.filter(isOthers), rows);
  }

  /** Whether all these entries are in the log. */
  isStored(entries: readonly SessionEntry[]): boolean {
    const rows = treeRows(this.reader.tree);
    return entries.every(({ id }) => rows.row(id) >= 0 && rows.line(rows.row(id)) !== undefined);
  }

  /** The time of a batch, as text. */
  timestamp(): string {
    const ms = this.settings.now();
    if (ms !== this.#clock.ms) this.#clock = { ms, text: new Date(ms).toISOString() };
    return this.#clock.text;
  }

  /** Adds entries that were written to the tree. */
  apply({ entries, lines }: PlacedEntries, { at, position }: LogAppend, timestamp: string): LastWritten {
    const created = !this.exists;
    this.exists = true;
    const first = lines.length - entries.length;
    if (first > 0 && this.reader.header === undefined) this.reader.header = this.header;
    this.position = position;
    this.wrote = true;
    if (created) this.events.emit("created", { id: this.header.id });
    const ms = this.#clock.text === timestamp ? this.#clock.ms : undefined;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as SessionEntry;
      const place = { at: at[first + i] as number, length: (lines[first + i] as Uint8Array).length - 1 };
      const row = this.reader.applyLocalEntry(entry, place, entry.timestamp === timestamp ? ms : undefined);
      this.cache.add(row === noRow ? this.#applyStaged(entry, place) : row, entry);
    }
    const isHeard = this.events.has("entry");
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as SessionEntry;
      const isAnnounced = this.#announced.size > 0 && this.#announced.delete(entry.id);
      const changesInfo = entry.type === "session_info" || entry.type === "revert";
      if (!isAnnounced && (isHeard || changesInfo)) this.announce(entry, "local");
    }
    const { reader } = this;
    return { reader, size: treeRows(reader.tree).size, id: (entries.at(-1) as SessionEntry).id };
  }

  /** Adds an entry without a line to the tree. */
  stage(entry: SessionEntry, body: string): void {
    this.#staged.push({ entry, body });
    this.cache.pin(this.reader.applyLocalEntry(entry, undefined), entry);
  }

  /** The first staged entries are in the log: their bodies can be read from there. */
  unstage(count: number): void {
    const rows = treeRows(this.reader.tree);
    for (const { entry } of this.#staged.splice(0, count)) this.cache.unpin(rows.row(entry.id));
  }

  /** Stages the entries again in the tree of a log that was read anew. */
  #restage(): void {
    for (const { entry, body } of this.#staged.splice(0)) {
      const { parentId } = entry;
      const isPlaced = parentId === null || this.reader.tree.has(parentId);
      this.stage(isPlaced ? entry : { ...entry, parentId: this.reader.leafId }, body);
    }
  }

  /** Announces staged entries now instead of when they are written. */
  announceStaged(staged: readonly SessionEntry[]): void {
    for (const entry of staged) {
      if (this.#announced.has(entry.id)) continue;
      this.#announced.add(entry.id);
      this.announce(entry, "local");
    }
  }

  /** Notifies the listeners of an entry in the log. */
  announce(entry: SessionEntry | UnknownEntry, origin: "local" | "remote"): void {
    this.events.emit("entry", { entry, origin });
    if (entry.type === "session_info") {
      this.events.emit("updated", { info: this.info });
      const { stats } = entry;
      if (stats !== undefined) {
        this.events.emit("diff", {
          entryId: entry.id,
          stats,
          ...(stats.diffs === undefined ? {} : { files: stats.diffs }),
        });
      }
    } else if (entry.type === "revert" && entry.diff !== undefined) {
      this.events.emit("diff", { entryId: entry.id, diff: entry.diff });
    }
  }

  /** The context at a row. */
  async context(row: number): Promise<Context> {
    const steps = extendContext(treeRows(this.reader.tree), row, this.#lastContext);
    const built = await this.cache.run(steps, ({ shown }) => shown);
    this.#lastContext = built;
    noteContext(built.context, this.asked);
    return built.context;
  }

  /** Records whether a compaction is at work in this process. */
  setCompacting(active: boolean): void {
    this.compacting = active ? new Date(this.settings.now()).toISOString() : undefined;
  }

  /** Moves the leaf by a decision of the caller, for the next append. */
  branch(leafId: string | null): void {
    // A handle that follows another writer to the end of the log decides nothing that its close would record.
    this.moved = leafId !== this.reader.leafId;
    this.others = undefined;
    this.tell();
    this.chain = { leafId: this.leafId };
    this.setLeaf(leafId);
  }

  /** Moves the leaf to an appended entry. */
  advance(entry: SessionEntry, isRebase: boolean): void {
    this.moved = false;
    this.setLeaf(entry.type === "leaf" ? entry.targetId : entry.id);
    if (isRebase || this.others === undefined) return;
    if (this.others.row < treeRows(this.reader.tree).row(entry.id)) this.others = undefined;
  }

  /** Moves the leaf of a chain that this handle left while an append was being written: its own leaf is a decision. */
  advanceLeft(chain: Chain, leafId: string | null): void {
    chain.leafId = leafId;
    this.moved = true;
  }

  /** Moves the leaf in memory. */
  setLeaf(leafId: string | null): void {
    const previousLeafId = this.chain.leafId;
    if (leafId === previousLeafId) return;
    this.chain.leafId = leafId;
    this.events.emit("leaf", { leafId, previousLeafId });
  }

  /** Throws if this handle may not write. */
  assertWritable(): void {
    if (this.#poison !== undefined) throw this.#poison;
    if (this.closed) throw this.closedError();
    if (this.#lostTurn !== undefined) throw this.#lostTurn;
    if (this.#readOnly === undefined) return;
    const { id } = this.header;
    const why = readOnlyReasons[this.#readOnly];
    throw new SessileError("SESSION_READ_ONLY", `session ${id} cannot be written: ${why}`, {
      details: { id, reason: this.#readOnly === "mode" ? "mode" : "version" },
    });
  }

  /** The end of the log is unknown: all later writes fail with this error. */
  poison(error: SessileError): void {
    this.#poison = error;
  }

  /** The turn of this handle is lost: appends fail with this error until it is released. */
  refuseAppends(error: SessileError): void {
    this.#lostTurn = error;
  }

  allowAppends(): void {
    this.#lostTurn = undefined;
  }

  closedError(): SessileError {
    const { id } = this.header;
    return new SessileError("SESSION_CLOSED", `session ${id} was closed`, { details: { id } });
  }

  /** Sets the migration that must precede the next write. */
  requireMigration(migrate: () => Promise<void>): void {
    this.migrate = async () => {
      await migrate();
      this.migrate = undefined;
    };
  }

  /** Releases the log and the listeners. */
  async close(): Promise<void> {
    this.closed = true;
    this.cache.dropOpened();
    await this.mutex.run(() => this.log.close());
    this.events.emit("closed", { id: this.header.id });
    this.events.clear();
  }

  #setHeader(header: SessionHeader): void {
    this.header = header;
    const isStuck = this.log.replace === undefined && headerVersion(header) < formatVersion;
    const version = isNewer(header) ? "newer" : isStuck ? "stuck" : undefined;
    this.#readOnly = this.mode === "read" ? "mode" : version;
  }

  /** Gives a staged entry that was written its line. Its session-wide effect is the newest now. */
  #applyStaged(entry: SessionEntry, place: LinePlace): number {
    const rows = treeRows(this.reader.tree);
    const row = rows.row(entry.id);
    const parent = entry.parentId === null ? noRow : rows.row(entry.parentId);
    if (parent !== rows.parent(row)) this.#lastContext = undefined;
    rows.move(row, parent);
    rows.setLine(row, place);
    this.reader.applySessionWideState(row, entry);
    return row;
  }

  /**
   * Handles another program's write at the moment of ours: both are kept. Reads the foreign lines and adds a
   * diagnostic. If they cannot be read, the next read starts before them: the append succeeded all the same.
   */
  async readForeignWrite(from: LogPosition): Promise<void> {
    try {
      await this.readRemoteChanges(from);
    } catch {
      this.position = from;
    }
    const message = "another program wrote at the same moment, ignoring the lock; both writes are in the log";
    this.reader.report({ code: "FOREIGN_WRITE", line: 0, offset: 0, message });
  }
}

const readOnlyReasons = {
  mode: 'it was opened without mode "write"',
  newer: "a newer version wrote it",
  stuck: "an older version wrote it, and its store cannot migrate",
} as const;
