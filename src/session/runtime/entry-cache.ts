/** Entries' bodies on demand. */

import { crc32, decodeUtf8 } from "../../core/bytes.js";
import {
  type DecodeContext,
  type DecodedBody,
  decodeBody,
  decodeParts,
  idToOrdinal,
  isUsualEntry,
  parseUsualLine,
  type SessionEntry,
  type UnknownEntry,
  type UsualLines,
} from "../../log/internal.js";
import type { KeptBytes, SessionLog } from "../api/backend.js";
import { type EntryRequests, NeedsWholeLog } from "../context/build-context.js";
import type { LogReader } from "../tree/log-reader.js";
import { type EntryTable, noRow, treeRows } from "../tree/session-tree.js";

type Entry = SessionEntry | UnknownEntry;

const sliceBytes = 1 << 20;

/** Rows whose lines are being read. */
interface Slice {
  readonly rows: readonly number[];
  readonly lines: Promise<readonly (Uint8Array | undefined)[]>;
  /** The start of the next slice. */
  readonly end: number;
}

/** Bodies of consecutive entries of a list. */
export interface EntrySlice {
  /** undefined for a damaged body. */
  readonly entries: readonly (Entry | undefined)[];
  /** The start of the next slice. */
  readonly end: number;
}

/** Maximum number of bodies that appends add after a context before all are evicted. */
const maxUnread = 4096;
/** The maximum before the first context, as in a session that is only written. */
const maxUnasked = 256;

/** The cache of the log that was opened last: of others no bytes are kept. */
let lastOpened: EntryCache | undefined;

/**
 * A cache of entries' bodies: read from the log on demand, and kept while the last context has them, because
 * the next context usually has the same.
 */
export class EntryCache {
  readonly #log: SessionLog;
  readonly #reader: LogReader;
  readonly #table: EntryTable;
  readonly #maxDepth: number;
  #kept: (Entry | undefined)[] = [];
  #keptCount = 0;
  /** The number of bodies added since the last request. */
  #unread = maxUnread - maxUnasked;
  readonly #pinned = new Map<number, Entry>();
  #opened: KeptBytes | undefined;
  #usual: UsualLines | undefined;
  readonly #lineUsual: UsualLines;
  /** Lines by their places, if the last ones of a log without {@link KeptBytes} were read. */
  #openedLines: ReadonlyMap<number, Uint8Array> | undefined;
  readonly #reported = new Set<number>();

  constructor(log: SessionLog, reader: LogReader, maxDepth: number) {
    this.#log = log;
    this.#reader = reader;
    this.#table = treeRows(reader.tree);
    this.#maxDepth = maxDepth;
    this.#lineUsual = usualLines(log, maxDepth);
  }

  /** Adds a body that was written or read anyway. */
  add(row: number, entry: Entry): void {
    if (this.#unread >= maxUnread) return;
    if (this.#kept[row] === undefined) this.#keptCount++;
    this.#kept[row] = entry;
    if (++this.#unread === maxUnread) this.clear();
  }

  /** Adds a body of a line that is parsed while its log is opened. */
  addOpened(row: number, entry: Entry): void {
    this.#kept[row] = entry;
    this.#keptCount++;
  }

  /**
   * Keeps what opening read for the first {@link run}, which needs most of it: the bodies, and the bytes of the
   * others. Drops it if another log is opened first, or this one is closed. Without bytes drops it at once.
   */
  keepOpened(
    bytes: KeptBytes | undefined,
    usual: UsualLines | undefined,
    lines: ReadonlyMap<number, Uint8Array> | undefined,
  ): void {
    lastOpened?.dropOpened();
    lastOpened = this;
    this.#opened = bytes;
    this.#usual = usual;
    this.#openedLines = lines;
    if (bytes === undefined && lines === undefined) this.dropOpened();
  }

  dropOpened(): void {
    if (lastOpened !== this) return;
    lastOpened = undefined;
    this.#opened = undefined;
    this.#openedLines = undefined;
    this.clear();
  }

  #checkOpened(): void {
    if (this.#opened !== undefined && !this.#opened.isCurrent()) this.dropOpened();
  }

  has(row: number): boolean {
    return this.#kept[row] !== undefined;
  }

  /** Adds a body without a line. */
  pin(row: number, entry: Entry): void {
    this.#pinned.set(row, entry);
  }

  /** Records the line of a staged row. */
  unpin(row: number): void {
    this.#pinned.delete(row);
  }

  /** Evicts all other rows once the cache has more of them than of these. */
  retain(rows: readonly number[]): void {
    this.#unread = 0;
    if (this.#keptCount <= 2 * rows.length + 256) return;
    const before = this.#kept;
    this.clear();
    for (const row of rows) {
      const entry = before[row];
      if (entry !== undefined) this.#keep(row, entry);
    }
  }

  /**
   * Loads these rows and returns a lookup of their bodies; undefined for a damaged one. The lookup pins its
   * bodies: concurrent evictions do not affect it.
   */
  async load(rows: readonly number[]): Promise<(row: number) => Entry | undefined> {
    this.#checkOpened();
    const kept = this.#kept;
    const pinned = this.#pinned.size === 0 ? this.#pinned : new Map(this.#pinned);
    let missing: number[] = [];
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] as number;
      if (kept[row] === undefined && !pinned.has(row)) missing.push(row);
    }
    if (missing.length === 0 && pinned.size === 0) return (row) => kept[row];
    if (missing.length === 0) return (row) => pinned.get(row) ?? kept[row];
    const lines = this.#openedLines;
    if (this.#opened !== undefined || lines !== undefined) {
      // Lines of later appends are not among those.
      const from = this.#opened?.at ?? 0;
      const stop = from + (this.#opened?.bytes.length ?? 0);
      const isOpened = (row: number) => {
        const at = this.#table.lineAt(row);
        if (lines !== undefined) return lines.has(at);
        return at < 0 || (at >= from && at + this.#table.lineLength(row) <= stop);
      };
      const opened = missing.filter(isOpened);
      this.#parseOpened(opened, kept);
      await this.#readRepeats(opened, kept);
      if (opened.length === missing.length) return (row) => pinned.get(row) ?? kept[row];
      missing = missing.filter((row) => !isOpened(row));
    }
    let next = this.#readSlice(missing, 0);
    while (next !== undefined) {
      const { rows: stored, lines, end } = next;
      const read = await lines;
      // Reads the next slice while this one is parsed.
      next = this.#readSlice(missing, end);
      this.#parse(stored, read, kept);
      await this.#readRepeats(stored, kept);
    }
    return (row) => pinned.get(row) ?? kept[row];
  }

  /**
   * Runs a coroutine over bodies, which are read on demand. Keeps the bodies for the next run, or those of
   * `shown` if that is more.
   */
  async run<T>(steps: EntryRequests<T>, shown: (value: T) => readonly number[] = () => []): Promise<T> {
    let asked: readonly number[] = [];
    let step = steps.next();
    while (!step.done) {
      asked = asked.length === 0 ? step.value : [...asked, ...step.value];
      step = steps.next(await this.load(step.value));
    }
    if (lastOpened === this) lastOpened = undefined;
    this.#opened = undefined;
    this.#openedLines = undefined;
    const rows = shown(step.value);
    this.retain(rows.length > asked.length ? rows : asked);
    return step.value;
  }

  /** Reads one body without keeping it. */
  async read(row: number): Promise<Entry | undefined> {
    this.#checkOpened();
    const known = this.#pinned.get(row) ?? this.#kept[row];
    if (known !== undefined) return known;
    const table = this.#table;
    for (;;) {
      const [bytes] = await table.read(this.#log, [row]);
      const entry = bytes === undefined ? undefined : this.#decode(row, bytes);
      if (entry !== undefined || !this.#reader.useRepeat(row)) return entry;
    }
  }

  /** Reads the bodies of the first rows, at least one and about a MiB of lines, without keeping them. */
  async slice(rows: readonly number[]): Promise<EntrySlice> {
    const read = this.#readSlice(rows, 0);
    if (read === undefined) return { entries: [], end: rows.length };
    const lines = await read.lines;
    const byRow = new Map(read.rows.map((row, index) => [row, lines[index]]));
    const entries: (Entry | undefined)[] = [];
    for (const row of rows.slice(0, read.end)) {
      const bytes = byRow.get(row);
      const entry = this.#pinned.get(row) ?? (bytes === undefined ? undefined : this.#decode(row, bytes));
      entries.push(entry ?? (await this.read(row)));
    }
    return { entries, end: read.end };
  }

  /** Reads damaged rows from later lines with their ids, if there are any. */
  async #readRepeats(rows: readonly number[], into: (Entry | undefined)[]): Promise<void> {
    const damaged = rows.filter((row) => into[row] === undefined && this.#reader.useRepeat(row));
    if (damaged.length === 0) return;
    this.#parse(damaged, await this.#table.read(this.#log, damaged), into);
  }

  /** Evicts all rows. */
  clear(): void {
    this.#kept = [];
    this.#keptCount = 0;
  }

  #keep(row: number, entry: Entry): void {
    if (this.#kept[row] === undefined) this.#keptCount++;
    this.#kept[row] = entry;
  }

  /**
   * Starts to read rows from an index on, up to a number of bytes, so that a long history never has all its
   * lines in memory. Returns undefined at the end.
   */
  #readSlice(rows: readonly number[], from: number): Slice | undefined {
    if (from >= rows.length) return undefined;
    const tree = this.#table;
    const stored: number[] = [];
    let bytes = 0;
    let end = from;
    while (end < rows.length && bytes < sliceBytes) {
      const row = rows[end++] as number;
      if (tree.lineAt(row) < 0) continue;
      bytes += tree.lineLength(row);
      stored.push(row);
    }
    const lines = tree.read(this.#log, stored);
    // Its reader gets the error; if an earlier slice fails, no reader awaits this one.
    lines.catch(() => undefined);
    return { rows: stored, lines, end };
  }

  /** Parses rows from the bytes that opening read. */
  #parseOpened(rows: readonly number[], into: (Entry | undefined)[]): void {
    const table = this.#table;
    const opened = this.#opened;
    const lines = this.#openedLines;
    for (const row of rows) {
      const at = table.lineAt(row);
      const bytes = opened?.bytes ?? lines?.get(at);
      const start = opened === undefined ? 0 : at - opened.at;
      if (at < 0 || start < 0 || bytes === undefined) continue;
      const part = table.part(row);
      const from = start + (part?.start ?? 0);
      const end = from + table.lineLength(row);
      const entry = end > bytes.length ? undefined : this.#decode(row, bytes, from, end, this.#usual);
      if (entry === undefined) continue;
      this.#keep(row, entry);
      // The cache was evicted meanwhile; the caller still holds the old list.
      if (into !== this.#kept) into[row] = entry;
    }
  }

  #parse(
    rows: readonly number[],
    lines: readonly (Uint8Array | undefined)[],
    into: (Entry | undefined)[],
  ): void {
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] as number;
      const bytes = lines[i];
      const entry = bytes === undefined ? this.#lost(row) : this.#decode(row, bytes);
      if (entry === undefined) continue;
      this.#keep(row, entry);
      // The cache was evicted during the read; the caller still holds the old list.
      if (into !== this.#kept) into[row] = entry;
    }
  }

  #decode(
    row: number,
    from: Uint8Array,
    start = 0,
    end = from.length,
    usual = this.#lineUsual,
  ): Entry | undefined {
    const version = this.#reader.versionAt(row);
    const id = this.#table.id(row);
    const isFirst = this.#table.lineAt(row) === this.#reader.firstAt;
    if ((version ?? 0) >= 2 && !isFirst && this.#table.kind(row).startsWith("message/")) {
      const value = parseUsualLine(from, start, end, usual);
      if (value !== undefined && value.id === id && isUsualEntry(value)) return value;
    }
    const bytes = from.subarray(start, end);
    const context =
      (version ?? 3) < 2
        ? this.#firstVersion(row)
        : { isFirst, version, ordinal: 0, maxDepth: this.#maxDepth };
    const { crc32 } = this.#log;
    const whole = decodeBody(bytes, context, { crc32 });
    const decoded = whole.kind === "bad" ? (this.#bodyIn(bytes, context, id) ?? whole) : whole;
    if (decoded.kind === "blank" || decoded.kind === "header") return this.#lost(row);
    // A duplicate key: the structure is from the first, the body from the last.
    const lost = decoded.kind === "entry" && decoded.entry.id !== id;
    if (decoded.diagnostics.length > 0) {
      for (const note of decoded.diagnostics) this.#report(row, note.code, note.message);
      if (!lost) this.#reported.add(row);
    }
    if (lost) return this.#lost(row);
    return decoded.kind === "bad" ? undefined : decoded.entry;
  }

  /** The body of an entry whose line has other bytes after it, which its prefix does not show. */
  #bodyIn(bytes: Uint8Array, context: DecodeContext, id: string): DecodedBody | undefined {
    for (const { decoded } of decodeParts(bytes, context, { crc32: this.#log.crc32 })) {
      if (decoded.kind !== "entry" || decoded.entry?.id !== id) continue;
      return { ...decoded, entry: decoded.entry, type: decoded.head.type, role: decoded.head.role };
    }
    return undefined;
  }

  /** The facts of a version 1 line by its position. */
  #firstVersion(row: number): DecodeContext {
    const tree = this.#table;
    const parent = tree.parent(row);
    const previousId = parent === noRow ? null : tree.id(parent);
    return { version: 1, ordinal: idToOrdinal(tree.id(row)), previousId, maxDepth: this.#maxDepth };
  }

  #lost(row: number): undefined {
    this.#report(row, "LOG_REPLACED", "the line of this entry is not where it was");
    this.#reported.add(row);
  }

  #report(row: number, code: Parameters<LogReader["report"]>[0]["code"], message: string): void {
    if (this.#reported.has(row)) return;
    const tree = this.#table;
    const offset = Math.max(0, tree.lineAt(row));
    this.#reader.report({ code, line: 0, offset, message, entryId: tree.id(row) });
  }
}

/** How to parse lines that were not read as one array: each may have any text. */
export function usualLines(log: SessionLog, maxDepth: number): UsualLines {
  const text = (bytes: Uint8Array, start: number, end: number) => decodeUtf8(bytes.subarray(start, end));
  return { maxDepth, mayBeUnsafe: true, crc32: log.crc32 ?? crc32, text };
}

/** The entries of the path to a row, without those whose bodies are damaged. */
export function* entrySteps(table: EntryTable, leaf: number): EntryRequests<readonly Entry[]> {
  const rows = Array.from(table.path(leaf));
  if (rows[0] !== undefined && table.isCut(rows[0])) throw new NeedsWholeLog();
  const readBody = yield rows;
  return rows.map(readBody).filter((entry) => entry !== undefined);
}
