import { SessileError } from "../../errors/index.js";
import { Mutex } from "../../internal/concurrency.js";
import type { LogBatch, LogPosition, SessionLog } from "../api/backend.js";
import { DiagnosticList, type Diagnostics } from "../api/diagnostics.js";
import { formatVersion, type SessionEntry, type SessionHeader, type UnknownEntry } from "../api/entries.js";
import { Events, type SessionEventMap } from "../api/events.js";
import type { BuiltContext, EntryRequests } from "../context/build-context.js";
import { decodeBody, isNewer } from "../format/decode.js";
import { headerVersion } from "../format/migrate.js";
import { noRow } from "../tree/entry-table.js";
import { LogReader } from "../tree/log-reader.js";
import { entryTableOf } from "../tree/session-tree.js";
import { leafOf, type OthersLeaf } from "./conversation.js";
import { EntryCache } from "./entry-cache.js";
import { eachLine, lineAt } from "./log-lines.js";
import type { RecordingOptions } from "./recording.js";
import { infoOf, type SessionInfo } from "./session-info.js";

/** Settings of a session from its store. */
export interface SessionSettings {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Returns a new entry id; called again if the id exists. */
  readonly newEntryId: () => string;
  readonly maxDepth: number;
  readonly maxLineBytes: number;
  readonly checksum: boolean;
  readonly recording: RecordingOptions;
}

/** Changes since the last read. */
export interface RemoteChanges {
  /** Rows of new entries with a body, without torn or damaged lines. */
  readonly rows: readonly number[];
  /** Whether the log was replaced and read again from its start. */
  readonly restarted: boolean;
}

/** The shared state of an open session: the log, the position, the tree, the leaf, the listeners. */
export class SessionState {
  readonly log: SessionLog;
  readonly settings: SessionSettings;
  readonly events = new Events<SessionEventMap>();
  readonly mode: "read" | "write";
  header: SessionHeader;
  /** The end of the log at the last read or write. */
  position: LogPosition | undefined;
  /** Whether the store has the session: a created one exists from its first append on. */
  exists: boolean;
  leafId: string | null = null;
  /** Counts moves of the leaf, so that a pending append does not move it back. */
  moves = 0;
  /** The leaf of other writers since this handle's last append or move; undefined if they added none. */
  others: OthersLeaf | undefined;
  /** Whether the leaf moved and nothing was written since. */
  moved = false;
  closed = false;
  reader: LogReader;
  cache: EntryCache;
  compacting: string | undefined;
  /** The last context, which the next one usually extends. */
  lastContext: BuiltContext | undefined;
  /** Whether the log had no line feed at its end at the last read. */
  endsOpen = false;
  /** Migrates the log to the current version; set while a migration must precede other writes. */
  migrate: (() => Promise<void>) | undefined;
  readonly #diagnostics = new DiagnosticList();
  #readsHeads = false;
  #tipIsDamaged = false;
  #fresh: { row: number; entry: SessionEntry | UnknownEntry }[] = [];
  /** Rows that were read and not yet reported. */
  #unseen: number[] = [];
  /** Excludes reads of new lines and appends from each other. */
  readonly mutex = new Mutex();

  constructor(log: SessionLog, settings: SessionSettings, mode: "read" | "write", created?: SessionHeader) {
    this.log = log;
    this.settings = settings;
    this.mode = mode;
    this.exists = created === undefined;
    this.header = created ?? { type: "session", id: "", timestamp: "", cwd: "" };
    this.reader = this.#newReader();
    if (created !== undefined) {
      this.reader.header = created;
      this.reader.readInFull();
    }
    this.cache = new EntryCache(log, this.reader, settings.maxDepth);
  }

  get diagnostics(): Diagnostics {
    return this.#diagnostics.all;
  }

  get writable(): boolean {
    return this.mode === "write" && !isNewer(this.header) && !this.#isStuck;
  }

  /** An older version in a log without migration: a new line would not belong to that version. */
  get #isStuck(): boolean {
    return this.log.replace === undefined && headerVersion(this.header) < formatVersion;
  }

  get info(): SessionInfo {
    const rows = entryTableOf(this.reader.tree);
    const updated = rows.size === 0 ? this.header.timestamp : rows.timestamp(rows.size - 1);
    return infoOf(this.header, this.reader.info, updated, this.compacting);
  }

  /** Reads the log from its start. */
  async load(signal?: AbortSignal): Promise<void> {
    this.#readsHeads = true;
    await this.#read(undefined, true, signal);
    this.#readsHeads = false;
    this.reader.finish();
    if (this.#tipIsDamaged) await this.#stepBack();
    this.reader.readInFull();
    if (this.reader.header !== undefined) this.header = this.reader.header;
    this.leafId = this.reader.leafId;
    this.#fresh = [];
  }

  /** Reads the log from its start again, and keeps the leaf. */
  async reload(): Promise<void> {
    const { leafId } = this;
    const { tree } = this.reader;
    const unseen = this.#unseen.map((row) => entryTableOf(tree).id(row));
    this.#startOver();
    await this.#read(undefined, true);
    this.reader.finish();
    const rows = entryTableOf(this.reader.tree);
    this.#unseen = unseen.map((id) => rows.row(id)).filter((row) => row !== noRow);
    if (this.reader.header !== undefined) this.header = this.reader.header;
    this.#fresh = [];
    if (leafId === null || this.reader.tree.has(leafId)) this.leafId = leafId;
    else this.setLeaf(this.reader.leafId);
  }

  /** Reads the lines behind the last position. Requires the mutex. */
  async readRemoteChanges(from = this.position): Promise<RemoteChanges> {
    this.#fresh = [];
    const before = entryTableOf(this.reader.tree);
    const restarted = await this.#read(from, false);
    this.reader.linkLateParents();
    const rows = entryTableOf(this.reader.tree);
    if (this.reader.header !== undefined) {
      this.header = this.reader.header;
      this.exists = true;
    }
    if (restarted) {
      this.reader.report({
        code: "LOG_REPLACED",
        line: 0,
        offset: 0,
        message: "the log was cut or replaced: read again",
      });
    }
    if (!this.writable || (this.leafId !== null && rows.row(this.leafId) < 0))
      this.setLeaf(this.reader.leafId);
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const { row, entry } of fresh) {
      this.cache.add(row, entry);
      // In a replaced log: the entries that the old log did not have.
      if (!restarted || before.row(entry.id) === noRow) this.announce(entry, "remote");
    }
    const news = fresh.map(({ row }) => row);
    for (const row of news) this.#unseen.push(row);
    const leaf = restarted ? undefined : leafOf(news, rows);
    if (restarted || leaf !== undefined) this.others = leaf;
    return { rows: news, restarted };
  }

  /** Returns the rows that other writers added since the last call, and resets them. */
  takeUnreported(): readonly number[] {
    const rows = this.#unseen;
    this.#unseen = [];
    return rows;
  }

  /** Removes this handle's own entries from the changes: an earlier attempt succeeded. */
  excludeOwnRows(written: readonly { readonly entry: SessionEntry }[], news: RemoteChanges): void {
    const rows = entryTableOf(this.reader.tree);
    const own = new Set(written.map(({ entry }) => rows.row(entry.id)));
    const isOthers = (row: number) => !own.has(row);
    this.#unseen = this.#unseen.filter(isOthers);
    this.others = leafOf(news.rows.filter(isOthers), rows);
  }

  /**
   * Handles a foreign write at the same moment: both writes stand. Reads the foreign lines and adds a
   * diagnostic.
   */
  async readForeignWrite(from: LogPosition | undefined): Promise<void> {
    await this.readRemoteChanges(from);
    this.reader.report({
      code: "FOREIGN_WRITE",
      line: 0,
      offset: 0,
      message: "another program wrote at the same moment, ignoring the lock; its lines stand beside these",
    });
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

  /** Moves the leaf in memory. */
  setLeaf(leafId: string | null): void {
    if (leafId === this.leafId) return;
    const previousLeafId = this.leafId;
    this.leafId = leafId;
    this.events.emit("leaf", { leafId, previousLeafId });
  }

  /**
   * Runs a coroutine over bodies, which are read on demand. Keeps the bodies for the next run, or those of
   * `shown` if that is more.
   */
  async run<T>(steps: EntryRequests<T>, shown: (value: T) => readonly number[] = () => []): Promise<T> {
    const { cache } = this;
    const asked: number[] = [];
    let step = steps.next();
    while (!step.done) {
      for (const row of step.value) asked.push(row);
      step = steps.next(await cache.load(step.value));
    }
    const rows = shown(step.value);
    cache.retain(rows.length > asked.length ? rows : asked);
    return step.value;
  }

  /** Throws if this handle may not write. */
  assertWritable(): void {
    const { id } = this.header;
    if (this.closed)
      throw new SessileError("SESSION_CLOSED", `session ${id} was closed`, { details: { id } });
    if (this.writable) return;
    const reason = this.mode === "read" ? "mode" : "version";
    const other = this.#isStuck
      ? "an older version wrote it, and its store cannot migrate"
      : "a newer version wrote it";
    const why = reason === "mode" ? 'it was opened without mode "write"' : other;
    throw new SessileError("SESSION_READ_ONLY", `session ${id} cannot be written: ${why}`, {
      details: { id, reason },
    });
  }

  async #read(from: LogPosition | undefined, atRest: boolean, signal?: AbortSignal): Promise<boolean> {
    let restarted = false;
    for await (const batch of this.log.read(from, signal === undefined ? {} : { signal })) {
      if (batch.restarted === true) {
        restarted = true;
        this.#startOver();
      }
      const { reader } = this;
      eachLine(batch, reader);
      this.#looksAtTip(batch);
      if (batch.tail !== undefined) reader.tail(batch.tail.bytes, batch.tail.at, atRest);
      this.endsOpen = batch.tail !== undefined;
      this.position = batch.next;
    }
    return restarted;
  }

  /** A torn line can have a complete prefix, so the last line of a batch is parsed. */
  #looksAtTip(batch: LogBatch): void {
    const { reader } = this;
    const { leafRow, version } = reader;
    if (!this.#readsHeads || leafRow === noRow) return;
    const place = entryTableOf(reader.tree).line(leafRow);
    const line = place && lineAt(batch, place.at);
    if (line === undefined) return;
    const { maxDepth } = this.settings;
    const context = { isFirst: place?.at === reader.firstAt, version, ordinal: 0, maxDepth };
    this.#tipIsDamaged = decodeBody(line, context, { unchecked: true }).kind === "bad";
  }

  /** Moves the leaf to the last entry with a body. */
  async #stepBack(): Promise<void> {
    const { reader, cache } = this;
    let count = 16;
    for (let last = reader.leafRow; last >= 0; last -= count, count = Math.min(4096, 2 * count)) {
      const rows = Array.from({ length: Math.min(count, last + 1) }, (_, index) => last - index);
      const bodyOf = await cache.load(rows);
      const row = rows.find((each) => bodyOf(each) !== undefined);
      if (row === undefined) continue;
      reader.setLeafRow(row, bodyOf(row));
      return;
    }
    reader.setLeafRow(noRow, undefined);
  }

  #startOver(): void {
    this.reader = this.#newReader();
    this.reader.readInFull();
    this.cache = new EntryCache(this.log, this.reader, this.settings.maxDepth);
    this.#fresh = [];
    this.#unseen = [];
  }

  #newReader(): LogReader {
    return new LogReader({
      maxDepth: this.settings.maxDepth,
      full: false,
      onEntry: (row, entry) => {
        this.#fresh.push({ row, entry });
      },
      diagnostics: this.#diagnostics,
      onDiagnostic: (diagnostic) => this.events.emit("diagnostic", diagnostic),
    });
  }
}
