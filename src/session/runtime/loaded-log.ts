/** A log that is read from its end or its start, and later from the last position, into a tree. */

import { integerOption } from "../../core/arguments.js";
import { crc32 } from "../../core/bytes.js";
import { uniqueHex8 } from "../../core/ids.js";
import type { OnOperation, StoreOperation } from "../../core/operations.js";
import {
  type Diagnostic,
  DiagnosticList,
  type Diagnostics,
  decodeBody,
  defaultLimits,
  EntryPrefix,
  formatVersion,
  headerVersion,
  isNewer,
  LineDecoder,
  type LineSink,
  nextParentKey,
  type SessionEntry,
  type UnknownEntry,
  type UsualLines,
} from "../../log/internal.js";
import type { KeptBytes, LogBatch, LogPosition, SessionLog } from "../api/backend.js";
import { Events, type SessionEventMap } from "../api/events.js";
import { hasContext } from "../context/build-context.js";
import { entryInfoFields, LogReader } from "../tree/log-reader.js";
import { type CompactionState, type EntryTable, noRow, treeRows } from "../tree/session-tree.js";
import { EntryCache, usualLines } from "./entry-cache.js";
import { eachLine, lineAt, logBatchLines } from "./log-lines.js";
import { checkRecordingOptions, type RecordingOptions } from "./recording.js";

/** Settings of a session from its store. */
export interface SessionSettings {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Returns a new entry id; called again if the id is among those that were read. */
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
  /**
   * Returns a new entry id; called again if the id exists. To know that, an append reads all entries first.
   * @default eight random hexadecimal digits; sixteen, if not all entries were read
   */
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
    newEntryId: options.newEntryId ?? uniqueHex8,
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

/**
 * The last bytes of a log that are read first, and those if its context begins before. A context of a million
 * tokens has about 5 MB of lines. Opening the end of 100,000 entries takes as long as that of 10,000.
 */
const tailBytes = [512 << 10, 4 << 20, 32 << 20];

/** The most bytes of lines that are kept for the first context, of a log without {@link KeptBytes}. */
const maxKeptBytes = 32 << 20;

/** A log that is being read from its start, or its last lines. */
interface Loading {
  readonly reader: LogReader;
  readonly cache: EntryCache;
  readonly diagnostics: DiagnosticList;
  /** The bytes of the read, if one read had all of them, and how to parse their lines. */
  kept: KeptBytes | undefined;
  usual: UsualLines | undefined;
  /** The lines of the read without {@link kept}, if they stay and are not too many, and their bytes. */
  lines: Map<number, Uint8Array> | undefined;
  lineBytes: number;
  isLeafDamaged: boolean;
  /** The place of the first line of the end of a log; -1 if the log is read from its start. */
  endAt: number;
}

/** The log of an open session as far as it was read. Only this class and its subclass assign its fields. */
export class LoadedLog {
  readonly log: SessionLog;
  readonly settings: SessionSettings;
  readonly events = new Events<SessionEventMap>();
  /** The end of the log at the last read or write. */
  position: LogPosition | undefined;
  reader: LogReader;
  cache: EntryCache;
  /** Whether entries before those in the tree were not read. */
  isPartial = false;
  /** Whether the log had no line feed at its end at the last read. */
  endsOpen = false;
  #diagnostics: DiagnosticList;
  /** What the constructor made, for the first read. */
  #loading: Loading | undefined;
  /** Entries read in whole since the last call. */
  #fresh: ReadEntry[] = [];

  constructor(log: SessionLog, settings: SessionSettings) {
    this.log = log;
    this.settings = settings;
    this.#loading = this.#newLoading();
    const { reader, cache, diagnostics } = this.#loading;
    this.reader = reader;
    this.cache = cache;
    this.#diagnostics = diagnostics;
  }

  get diagnostics(): Diagnostics {
    return this.#diagnostics.all;
  }

  /**
   * Reads the log for the first time: its last lines, if they have all that a context needs, else from its start:
   * the prefix of each line, and the body of the leaf.
   */
  protected async readPrefixes(whole: boolean): Promise<void> {
    let loading: Loading | undefined;
    for (let at = whole ? tailBytes.length : 0; loading === undefined; at++)
      loading = await this.#readFirst(tailBytes[at]);
    this.#use(loading);
  }

  /**
   * Reads the lines before those that were read, up to the last one. Returns false, and changes nothing, if that is
   * not where it was: the log was replaced, or a replica lags.
   */
  protected async readRest(signal: AbortSignal | undefined): Promise<boolean> {
    const { lastAt } = this.reader;
    const before = treeRows(this.reader.tree);
    const known = new Set(this.diagnostics.map(diagnosticKey));
    const isNew = (diagnostic: Diagnostic) => !known.has(diagnosticKey(diagnostic));
    const loading = this.#newLoading(new DiagnosticList(), isNew);
    const { reader, diagnostics } = loading;
    const upToLast: LineSink = {
      line: (bytes, at, start, end) => (at <= lastAt ? reader.line(bytes, at, start, end) : undefined),
      tooLong: (at, length) => (at <= lastAt ? reader.tooLong(at, length) : undefined),
    };
    for await (const batch of this.log.read(undefined, signal === undefined ? {} : { signal })) {
      const { tail, ...lines } = batch;
      this.#applyFirst(loading, upToLast, tail !== undefined && tail.at <= lastAt ? batch : lines);
    }
    if (!hasEnds(treeRows(reader.tree), before)) return false;
    await this.#finish(loading);
    const found = new Set(diagnostics.all.map(diagnosticKey));
    for (const each of this.diagnostics) if (!found.has(diagnosticKey(each))) diagnostics.add(each);
    this.#use(loading);
    return true;
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

  /**
   * Reads the last lines of the log; undefined if they lack something that a context at the leaf, or the name of
   * the session, needs, or if the log was replaced meanwhile. A log that is not much longer is read whole, as any
   * without `lastBytes`.
   */
  async #readFirst(lastBytes: number | undefined): Promise<Loading | undefined> {
    const loading = this.#loading ?? this.#newLoading();
    this.#loading = undefined;
    const { reader, cache } = loading;
    loading.lines = new Map();
    const options = lastBytes === undefined ? { kept: true } : { lastBytes, kept: true };
    for await (const batch of this.log.read(undefined, options)) {
      if (batch.restarted === true && reader.firstAt !== undefined) return undefined;
      if (batch.skipped === true) {
        // A context begins at the start of the log, or at a compaction.
        if (!hasCompaction(batch)) return undefined;
        const header = await readHeader(this.log, this.settings.maxDepth);
        if (header === undefined) return undefined;
        reader.startAfter(header.decoded, header.place);
        loading.endAt = firstPlace(batch);
      }
      keepLines(loading, batch);
      this.#applyFirst(loading, reader, batch);
      this.endsOpen = batch.tail !== undefined;
      this.position = batch.next;
      // Of a long log the first context reads the bodies again.
      if (loading.kept === undefined && loading.lines === undefined) cache.clear();
    }
    await this.#finish(loading);
    const table = treeRows(reader.tree);
    if (!table.isPartial) return loading;
    if (loading.isLeafDamaged || !reader.isLeafKnown) return undefined;
    const { leafId } = reader;
    const leaf = leafId === null ? noRow : table.row(leafId);
    const steps = hasContext(table, leaf);
    let step = steps.next();
    while (!step.done) step = steps.next(await cache.load(step.value));
    if (step.value === true && reader.hasInfo) return loading;
    const first = step.value === "state" ? table.path(leaf)[0] : undefined;
    return step.value !== false && (await this.#searchBefore(loading, first)) ? loading : undefined;
  }

  /**
   * Searches the lines before the end for what other writers do not repeat in it: what is in force before a row whose
   * parent was not read, and the last session_info. Follows the parents from back to front by prefixes, without rows:
   * 100,000 lines take a fifth of their whole read. Returns false if the log must be read whole: a line is not as
   * usual, a parent does not stand before its child, or the path has pins or observations.
   */
  async #searchBefore({ reader, endAt }: Loading, row: number | undefined): Promise<boolean> {
    const { log } = this;
    const { maxDepth } = this.settings;
    const table = treeRows(reader.tree);
    const context = { isFirst: false, version: reader.version, ordinal: 0, maxDepth };
    const prefix = new EntryPrefix();
    let info = reader.hasInfo ? reader.info : undefined;
    let wanted = row === undefined ? null : (table.cut?.get(row) ?? null);
    let model: CompactionState["model"] | undefined;
    let thinkingLevel: string | undefined;
    for await (const { lines, at, tail, tooLong } of log.readBackwards?.(endAt) ?? []) {
      if (tail !== undefined || tooLong !== undefined) return false;
      const ranges = "bounds" in lines ? lines : undefined;
      for (let i = at.length - 1; i >= 0 && (wanted !== null || info === undefined); i--) {
        if (at[i] === reader.firstAt) {
          info ??= {};
          break;
        }
        const bytes =
          ranges === undefined ? ((lines as readonly Uint8Array[])[i] as Uint8Array) : ranges.bytes;
        const start = ranges === undefined ? 0 : (ranges.bounds[2 * i] as number);
        const end = ranges === undefined ? bytes.length : (ranges.bounds[2 * i + 1] as number);
        if (start === end) continue;
        if (!prefix.read(bytes, start, end) || nextParentKey(bytes, prefix.end) < end) return false;
        if (table.rowOfKey(prefix.id) !== noRow) return false;
        const { type } = prefix;
        let isNeeded = type === "session_info" && info === undefined;
        if (prefix.id === wanted) {
          wanted = prefix.parentId;
          if (type === "context_pin" || type === "resource_observation") return false;
          if (type === "thinking_level_change") isNeeded = thinkingLevel === undefined;
          if (type === "model_change" || prefix.role === "assistant") isNeeded = model === undefined;
        }
        if (!isNeeded) continue;
        const body = decodeBody(bytes.subarray(start, end), context, { crc32: log.crc32 });
        if (body.kind !== "entry" || body.diagnostics.length > 0) return false;
        const { entry } = body;
        if (entry.type === "session_info") info ??= entryInfoFields(entry);
        else if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
        else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
        else if (entry.type === "message" && entry.message.role === "assistant")
          model = { provider: entry.message.provider, modelId: entry.message.model };
        else return false;
      }
      if (wanted === null && info !== undefined) break;
    }
    if (wanted !== null || info === undefined) return false;
    reader.setInfo(info);
    if (row !== undefined) {
      const state = {
        model: model ?? null,
        thinkingLevel: thinkingLevel ?? "off",
        pins: [],
        isObserved: false,
      };
      table.inForceBefore = { row, state };
    }
    return true;
  }

  #applyFirst(loading: Loading, sink: LineSink, batch: LogBatch): void {
    const { kept } = batch;
    const { reader, cache } = loading;
    loading.kept = kept;
    const { maxDepth, maxLineBytes } = this.settings;
    if (kept === undefined) {
      const isSmall = loading.lines !== undefined && loading.lineBytes <= smallBytes;
      reader.readUsual(isSmall ? usualLines(this.log, maxDepth) : undefined);
      eachLine(batch, sink);
      reader.readUsual(undefined);
    } else {
      const mayBeUnsafe = kept.includes("__proto__") || kept.includes("\\u00");
      const text: UsualLines["text"] = (_, start, end) => kept.text(start, end);
      const usual = { maxDepth, mayBeUnsafe, crc32: this.log.crc32 ?? crc32, text };
      reader.readAll(kept, maxLineBytes, kept.bytes.length <= smallBytes ? usual : undefined);
      loading.usual = usual;
    }
    if (reader.leafRow !== noRow && !cache.has(reader.leafRow)) this.#checkLeaf(loading, batch);
    if (batch.tail !== undefined) reader.tail(batch.tail.bytes, batch.tail.at, true);
  }

  /** Links the entries, and moves the leaf to the last one with a body. */
  async #finish(loading: Loading): Promise<void> {
    const { reader } = loading;
    reader.finish();
    if (loading.isLeafDamaged && !treeRows(reader.tree).isPartial) await stepBackLeaf(loading);
    reader.readInFull();
    loading.cache.keepOpened(loading.kept, loading.usual, loading.lines);
  }

  #use({ reader, cache, diagnostics }: Loading): void {
    this.reader = reader;
    this.cache = cache;
    this.isPartial = treeRows(reader.tree).isPartial;
    this.#diagnostics = diagnostics;
  }

  /** Reads the lines after a position. Returns whether a batch says that the log was replaced. */
  async #read(from: LogPosition | undefined, atRest: boolean): Promise<boolean> {
    let restarted = false;
    for await (const batch of this.log.read(from)) {
      restarted ||= batch.restarted === true;
      this.#apply(batch, atRest);
    }
    return restarted;
  }

  #apply(batch: LogBatch, atRest: boolean): void {
    if (batch.restarted === true) this.#reset();
    const { reader } = this;
    eachLine(batch, reader);
    if (batch.tail !== undefined) reader.tail(batch.tail.bytes, batch.tail.at, atRest);
    this.endsOpen = batch.tail !== undefined;
    this.position = batch.next;
  }

  /** A torn line can have a complete prefix, so the last line of a batch is parsed. */
  #checkLeaf(loading: Loading, batch: LogBatch): void {
    const { reader } = loading;
    const { leafRow, version } = reader;
    const table = treeRows(reader.tree);
    const place = table.line(leafRow);
    const { kept } = batch;
    const from = place === undefined || kept === undefined ? -1 : place.at - kept.at;
    const line =
      from < 0 ? place && lineAt(batch, place.at) : kept?.bytes.subarray(from, from + (place?.length ?? 0));
    if (line === undefined || table.part(leafRow) !== undefined) return;
    const { maxDepth } = this.settings;
    const context = { isFirst: place?.at === reader.firstAt, version, ordinal: 0, maxDepth };
    loading.isLeafDamaged = decodeBody(line, context, { unchecked: true }).kind === "bad";
  }

  #reset(): void {
    this.isPartial = false;
    this.cache.dropOpened();
    const { reader, cache } = this.#newLoading(this.#diagnostics);
    reader.readInFull();
    this.reader = reader;
    this.cache = cache;
    this.#fresh = [];
  }

  #newLoading(diagnostics = new DiagnosticList(), isNew?: (diagnostic: Diagnostic) => boolean): Loading {
    const { log, settings } = this;
    const reader = new LogReader({
      maxDepth: settings.maxDepth,
      full: false,
      onEntry: (row, entry) => {
        if (reader.readsPrefixes) cache.addOpened(row, entry);
        else this.#fresh.push({ row, entry });
      },
      diagnostics,
      onDiagnostic: (diagnostic) => {
        if (this.reader === reader || isNew?.(diagnostic) !== false)
          this.events.emit("diagnostic", diagnostic);
      },
    });
    const cache = new EntryCache(log, reader, settings.maxDepth);
    return {
      reader,
      cache,
      diagnostics,
      kept: undefined,
      usual: undefined,
      lines: undefined,
      lineBytes: 0,
      isLeafDamaged: false,
      endAt: -1,
    };
  }
}

/** Keeps the lines of a batch for the first context, which a log of a database would read again. */
function keepLines(loading: Loading, batch: LogBatch): void {
  const { at, kept, skipped, stays } = batch;
  const { lines } = loading;
  loading.lines = kept === undefined && (stays === true || skipped === true) ? lines : undefined;
  if (lines === undefined || loading.lines === undefined) return;
  for (const [index, line] of logBatchLines(batch).entries()) {
    lines.set(at[index] as number, line);
    loading.lineBytes += line.length;
  }
  if (loading.lineBytes > maxKeptBytes) loading.lines = undefined;
}

/** The place of the first line of a batch. */
function firstPlace({ kept, at, tooLong }: LogBatch): number {
  return (
    kept?.at ?? Math.min(at[0] ?? Number.POSITIVE_INFINITY, tooLong?.[0]?.at ?? Number.POSITIVE_INFINITY)
  );
}

/** Whether a table has the first and the last stored row of another, where they are or before the first. */
function hasEnds(table: EntryTable, last: EntryTable): boolean {
  let [from, to] = [0, last.size - 1];
  while (from <= to && last.lineAt(from) < 0) from++;
  while (to >= from && last.lineAt(to) < 0) to--;
  return [from, to].every((row) => {
    if (from > to) return true;
    const found = table.row(last.id(row));
    // An entry with the id may stand before those that were read.
    return (
      found !== noRow && (table.lineAt(found) === last.lineAt(row) || table.lineAt(found) < last.lineAt(from))
    );
  });
}

function diagnosticKey({ code, offset, entryId }: Diagnostic): string {
  return `${code} ${offset} ${entryId ?? ""}`;
}

/** Moves the leaf to the last entry with a body. */
async function stepBackLeaf({ reader, cache }: Loading): Promise<void> {
  let count = 16;
  for (let last = reader.leafRow; last >= 0; last -= count, count = Math.min(4096, 2 * count)) {
    const rows = Array.from({ length: Math.min(count, last + 1) }, (_, index) => last - index);
    const readBody = await cache.load(rows);
    const row = rows.find((each) => readBody(each) !== undefined);
    if (row === undefined) continue;
    reader.setLeafRow(row, readBody(row));
    return;
  }
  reader.setLeafRow(noRow, undefined);
}

const compactionStart = '{"type":"compaction"';

/** Whether a batch may have a compaction, as a writer of this format writes it. */
function hasCompaction(batch: LogBatch): boolean {
  if (batch.kept !== undefined) return batch.kept.includes(compactionStart);
  return logBatchLines(batch).some((line) => {
    for (let at = 0; at < compactionStart.length; at++)
      if (line[at] !== compactionStart.charCodeAt(at)) return false;
    return true;
  });
}

/** The header of a log whose first line it is, and whose later lines do not depend on their places. */
async function readHeader(log: SessionLog, maxDepth: number) {
  for await (const batch of log.read(undefined, { batchBytes: 4096 })) {
    const [line] = logBatchLines(batch);
    if (line === undefined || batch.at[0] === undefined) return undefined;
    const [part, next] = new LineDecoder(maxDepth).decode(line);
    if (part?.decoded.kind !== "header" || next !== undefined) return undefined;
    if (headerVersion(part.decoded.header) !== formatVersion || isNewer(part.decoded.header))
      return undefined;
    return { decoded: part.decoded, place: { at: batch.at[0], length: line.length } };
  }
  return undefined;
}
