/** A log that is read from its start, and later from the last position, into a tree. */

import { integerOption } from "../../internal/arguments.js";
import { randomHex8 } from "../../internal/ids.js";
import type { OnOperation, StoreOperation } from "../../internal/operations.js";
import type { KeptBytes, LogBatch, LogPosition, SessionLog } from "../api/backend.js";
import { DiagnosticList, type Diagnostics } from "../api/diagnostics.js";
import type { SessionEntry, UnknownEntry } from "../api/entries.js";
import { Events, type SessionEventMap } from "../api/events.js";
import { decodeBody } from "../format/decode.js";
import { defaultLimits } from "../format/line-splitter.js";
import { noRow } from "../tree/entry-table.js";
import { LogReader } from "../tree/log-reader.js";
import { entryTableOf } from "../tree/session-tree.js";
import { EntryCache } from "./entry-cache.js";
import { eachLine, lineAt } from "./log-lines.js";
import { checkRecordingOptions, type RecordingOptions } from "./recording.js";

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
  readonly onOperation?: OnOperation | undefined;
}

/** Options of every store. The recording options can also be set per session. */
export interface SessionStoreOptions extends RecordingOptions {
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** Returns a new session id for a time. @default a UUID of version 7 */
  readonly newSessionId?: (now: number) => string;
  /** Returns a new entry id; called again if the id exists. @default eight random hexadecimal digits */
  readonly newEntryId?: () => string;
  /** Maximum bytes of one line, written or read. Minimum: 1024. @default 64 MiB */
  readonly maxLineBytes?: number;
  /** Maximum nesting of one line. Minimum: 8. @default 256 */
  readonly maxDepth?: number;
  /** Whether each line ends with a checksum. @default true */
  readonly checksum?: boolean;
  /**
   * Called after each `create`, `open`, `list`, `search`, `recent`, `fork`, `adopt`, `delete` and `archive`
   * of the store, and each `append`, `context`, `refresh` and `extract` of its sessions, for metrics. Its
   * errors are ignored.
   */
  readonly onOperation?: (operation: StoreOperation) => void;
}

/** @throws RangeError for an option out of range, TypeError for an invalid one */
export function settingsFrom(options: SessionStoreOptions): SessionSettings {
  return {
    now: options.now ?? Date.now,
    newEntryId: options.newEntryId ?? randomHex8,
    maxDepth: integerOption("maxDepth", options.maxDepth, defaultLimits.maxDepth, 8),
    maxLineBytes: integerOption("maxLineBytes", options.maxLineBytes, defaultLimits.maxLineBytes, 1024),
    checksum: options.checksum ?? true,
    recording: checkRecordingOptions(options),
    onOperation: options.onOperation,
  };
}

/** A row with its entry. */
export interface ReadEntry {
  readonly row: number;
  readonly entry: SessionEntry | UnknownEntry;
}

/** The most bytes of a log whose usual lines are parsed while it is opened. */
const smallBytes = 2 << 20;

/** The log of an open session as far as it was read. Only this class and its subclass assign its fields. */
export class LoadedLog {
  readonly log: SessionLog;
  readonly settings: SessionSettings;
  readonly events = new Events<SessionEventMap>();
  /** The end of the log at the last read or write. */
  position: LogPosition | undefined;
  reader: LogReader;
  cache: EntryCache;
  /** Whether the log had no line feed at its end at the last read. */
  endsOpen = false;
  readonly #diagnostics = new DiagnosticList();
  #readsPrefixes = false;
  #leafIsDamaged = false;
  /** The bytes of the last read, if one read had all of them. */
  #kept: KeptBytes | undefined;
  /** Entries read in whole since the last call. */
  #fresh: ReadEntry[] = [];

  constructor(log: SessionLog, settings: SessionSettings) {
    this.log = log;
    this.settings = settings;
    this.reader = this.#newReader();
    this.cache = new EntryCache(log, this.reader, settings.maxDepth);
  }

  get diagnostics(): Diagnostics {
    return this.#diagnostics.all;
  }

  /** Reads the log from its start: the prefix of each line, and the body of the leaf. */
  protected async readPrefixes(): Promise<void> {
    this.#readsPrefixes = true;
    const reading = this.#read(undefined, true);
    if (typeof reading !== "boolean") await reading;
    this.#readsPrefixes = false;
    this.reader.finish();
    if (this.#leafIsDamaged) await this.#stepBackLeaf();
    this.reader.readInFull();
    this.cache.keepOpened(this.#kept);
    this.#kept = undefined;
  }

  /** Reads the log from its start again. */
  protected async readAgain(): Promise<void> {
    this.#reset();
    await this.#read(undefined, true);
    this.reader.finish();
    this.#fresh = [];
  }

  /** Reads the lines after a position. Starts again if the log was replaced. */
  protected async readAfter(
    from: LogPosition | undefined,
  ): Promise<{ readonly fresh: readonly ReadEntry[]; readonly restarted: boolean }> {
    this.#fresh = [];
    const restarted = await this.#read(from, false);
    this.reader.linkLateParents();
    const fresh = this.#fresh;
    this.#fresh = [];
    return { fresh, restarted };
  }

  /** Reads the lines after a position, without a promise if the log has none. Returns whether it started again. */
  #read(from: LogPosition | undefined, atRest: boolean): Promise<boolean> | boolean {
    const batches = this.log.read(from);
    const now = batches[Symbol.iterator];
    if (now === undefined) return this.#readLater(batches, atRest);
    let restarted = false;
    for (const batch of batches as Iterable<LogBatch>) if (this.#apply(batch, atRest)) restarted = true;
    return restarted;
  }

  async #readLater(batches: AsyncIterable<LogBatch>, atRest: boolean): Promise<boolean> {
    let restarted = false;
    for await (const batch of batches) if (this.#apply(batch, atRest)) restarted = true;
    return restarted;
  }

  #apply(batch: LogBatch, atRest: boolean): boolean {
    const restarted = batch.restarted === true;
    if (restarted) this.#reset();
    const { reader, log } = this;
    const { kept } = batch;
    if (this.#readsPrefixes && kept !== undefined && kept.bytes.length <= smallBytes)
      reader.parseUsualLines({ kept, crc32: log.crc32 });
    eachLine(batch, reader);
    this.#checkLeaf(batch);
    if (batch.tail !== undefined) reader.tail(batch.tail.bytes, batch.tail.at, atRest);
    this.endsOpen = batch.tail !== undefined;
    this.position = batch.next;
    // Of a long log the first context reads the bodies again.
    if (this.#readsPrefixes && kept === undefined) this.cache.clear();
    this.#kept = kept;
    return restarted;
  }

  /** A torn line can have a complete prefix, so the last line of a batch is parsed. */
  #checkLeaf(batch: LogBatch): void {
    const { reader } = this;
    const { leafRow, version } = reader;
    if (!this.#readsPrefixes || leafRow === noRow || this.cache.has(leafRow)) return;
    const table = entryTableOf(reader.tree);
    const place = table.line(leafRow);
    const line = place && lineAt(batch, place.at);
    if (line === undefined || table.part(leafRow) !== undefined) return;
    const { maxDepth } = this.settings;
    const context = { isFirst: place?.at === reader.firstAt, version, ordinal: 0, maxDepth };
    this.#leafIsDamaged = decodeBody(line, context, { unchecked: true }).kind === "bad";
  }

  /** Moves the leaf to the last entry with a body. */
  async #stepBackLeaf(): Promise<void> {
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

  #reset(): void {
    this.cache.dropOpened();
    this.reader = this.#newReader();
    this.reader.readInFull();
    this.cache = new EntryCache(this.log, this.reader, this.settings.maxDepth);
    this.#fresh = [];
  }

  #newReader(): LogReader {
    return new LogReader({
      maxDepth: this.settings.maxDepth,
      full: false,
      onEntry: (row, entry) => {
        if (this.#readsPrefixes) this.cache.addOpened(row, entry);
        else this.#fresh.push({ row, entry });
      },
      diagnostics: this.#diagnostics,
      onDiagnostic: (diagnostic) => this.events.emit("diagnostic", diagnostic),
    });
  }
}
