/**
 * A log as rows: ids, parents, times and a fingerprint of each line; bodies stay in the log. Also its lines
 * for a copy, byte for byte.
 */

import { crc32, decodeUtf8, encodeUtf8 } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import { decodeParts, defaultLimits, formatVersion, stripBom } from "../log/internal.js";
import type {
  LinePlace,
  LogBatch,
  LogPosition,
  SessionEntry,
  SessionHeader,
  SessionLog,
} from "../session/index.js";
import { type EntryTable, eachLine, LogReader, noRow, treeRows } from "../session/internal.js";

/** An entry of which the last one in the log counts, wherever it is in the tree. */
export type LastCounts = Extract<SessionEntry, { readonly type: "label" | "session_info" | "leaf" }>;

/** The parts of a log that an index reads. */
export type ReadableLog = Pick<SessionLog, "read" | "readAt" | "crc32">;

/** An index of a log, extended by each {@link IndexedLog.refresh}. About 100 bytes per entry. */
export class IndexedLog {
  readonly log: ReadableLog;
  /** The end of the log at the last refresh. */
  position: LogPosition | undefined;
  /** Whether the log had no line feed at its end at the last refresh. */
  endsOpen = false;
  #reader: LogReader;
  #fingerprints = new NumberColumn();
  #lastCounts = new Map<number, LastCounts>();
  /** The `prior` of rows that have one. */
  #priors = new Map<number, string>();
  /** 1 for a row whose line has no checksum. */
  #foreign = new IntColumn();
  /** Rows whose damaged line was replaced by the one that is being read. */
  #repaired: number[] = [];

  constructor(log: ReadableLog) {
    this.log = log;
    this.#reader = this.#newReader();
  }

  get header(): SessionHeader | undefined {
    return this.#reader.header;
  }

  /** The number of lines. */
  get lines(): number {
    return this.#reader.lines;
  }

  get rows(): EntryTable {
    return treeRows(this.#reader.tree);
  }

  /** Labels, session_info and leaf entries by row. */
  get lastCounts(): ReadonlyMap<number, LastCounts> {
    return this.#lastCounts;
  }

  /** Lines that are no entries: damaged, torn, too long, or without an id. */
  get damaged(): number {
    const { counts } = this.#reader.diagnostics;
    return notEntries.reduce((sum, code) => sum + (counts[code] ?? 0), 0);
  }

  /** Reads the lines after the last position; from the start if the log was replaced. */
  async refresh(signal?: AbortSignal): Promise<void> {
    for await (const batch of readBatches(this.log, this.position, signal)) {
      if (batch.restarted === true) this.#reset();
      eachLine(batch, {
        line: (bytes, at, start, end) => this.#line(bytes, at, start, end),
        tooLong: (at, length) => this.#reader.tooLong(at, length),
      });
      const { tail } = batch;
      if (tail !== undefined && this.#reader.tail(tail.bytes, tail.at, false))
        this.#addFingerprints(tail.bytes);
      this.endsOpen = tail !== undefined;
      this.position = batch.next;
    }
    this.#reader.linkLateParents();
  }

  /** A number that differs if the lines of two rows differ, up to one case in 2^32. */
  fingerprint(row: number): number {
    return this.#fingerprints.at(row);
  }

  /** The id of the entry that ended the log before the row's, if its line names one. */
  prior(row: number): string | undefined {
    return this.#priors.get(row);
  }

  /** Whether another program may have written the line: it has no checksum. Such lines name no `prior`. */
  isForeign(row: number): boolean {
    return this.#foreign.at(row) === 1;
  }

  /** The lines of these rows; undefined for a line that is no longer in the log. */
  async read(rows: readonly number[]): Promise<readonly (Uint8Array | undefined)[]> {
    const lines = await reading(this.rows.read(this.log, rows));
    return rows.map((row, index) => {
      const stored = lines[index];
      const line = stored !== undefined && this.#isFirst(row) ? stripBom(stored) : stored;
      return line !== undefined && this.#lineFingerprint(line) === this.fingerprint(row) ? line : undefined;
    });
  }

  /** Whether the line of a row is an entry with a body: its prefix may be intact all the same. */
  async isIntact(row: number): Promise<boolean> {
    const [line] = await this.read([row]);
    return line !== undefined && isEntryLine(line);
  }

  /** The last row of the log that is intact and meets a condition, or -1. */
  async lastRow(meets: (row: number) => boolean): Promise<number> {
    for (let row = this.#reader.leafRow; row >= 0; row--)
      if (meets(row) && (await this.isIntact(row))) return row;
    return noRow;
  }

  #line(bytes: Uint8Array, at: number, start: number, end: number): void {
    this.#reader.line(bytes, at, start, end);
    if (this.rows.size > this.#fingerprints.length || this.#repaired.length > 0)
      this.#addFingerprints(bytes.subarray(start, end));
  }

  /** Adds the fingerprints of the entries in a line, and what the ends of their lines say. */
  #addFingerprints(line: Uint8Array): void {
    const rowEntry = (row: number) => {
      const { start, end } = this.rows.part(row) ?? { start: 0, end: line.length };
      const entry = line.subarray(start, end);
      return this.#isFirst(row) ? stripBom(entry) : entry;
    };
    for (let row = this.#fingerprints.length; row < this.rows.size; row++) {
      const entry = rowEntry(row);
      this.#fingerprints.push(this.#lineFingerprint(entry));
      this.#foreign.push(0);
      this.#readEnd(row, entry);
    }
    for (const row of this.#repaired) {
      const entry = rowEntry(row);
      this.#fingerprints.set(row, this.#lineFingerprint(entry));
      this.#readEnd(row, entry);
    }
    this.#repaired = [];
  }

  #readEnd(row: number, line: Uint8Array): void {
    const { hasChecksum, prior = this.#lastCounts.get(row)?.prior } = endOfLine(line);
    this.#foreign.set(row, hasChecksum ? 0 : 1);
    if (typeof prior === "string") this.#priors.set(row, prior);
  }

  /** The checksum and the length of a line without white space at its end. */
  #lineFingerprint(line: Uint8Array): number {
    let end = line.length;
    while (end > 0 && isSpace(line[end - 1])) end--;
    const checksum = this.log.crc32 ?? crc32;
    return checksum(line.subarray(0, end)) * 2 ** 21 + (end % 2 ** 21);
  }

  #isFirst(row: number): boolean {
    return this.rows.line(row)?.at === this.#reader.firstAt;
  }

  #reset(): void {
    this.#reader = this.#newReader();
    this.#fingerprints = new NumberColumn();
    this.#lastCounts = new Map();
    this.#priors = new Map();
    this.#foreign = new IntColumn();
  }

  #newReader(): LogReader {
    return new LogReader({
      maxDepth: defaultLimits.maxDepth,
      full: false,
      onRepaired: (row) => void this.#repaired.push(row),
      onEntry: (row, entry) => {
        if (entry.type === "label" || entry.type === "session_info" || entry.type === "leaf")
          this.#lastCounts.set(row, entry);
      },
    });
  }
}

const notEntries = [
  "INVALID_JSON",
  "NOT_AN_OBJECT",
  "INVALID_UTF8",
  "LINE_TOO_LONG",
  "TOO_DEEP",
  "INVALID_ENTRY",
  "TORN_LINE",
] as const;

/** Whether a line is a whole entry, which other programs see too. */
export function isEntryLine(line: Uint8Array): boolean {
  const { maxDepth } = defaultLimits;
  const parts = decodeParts(line, { version: formatVersion, ordinal: 0, maxDepth }, { unchecked: true });
  return parts.at(-1)?.decoded.kind === "entry";
}

const checksumKey = encodeUtf8(',"crc":"');
const priorKey = encodeUtf8(',"prior":"');
const checksumLength = checksumKey.length + 10;
const quote = 0x22;

/** The last members of an entry's line: a text within cannot look like them, since its quotes are escaped. */
function endOfLine(line: Uint8Array): { readonly hasChecksum: boolean; readonly prior?: string } {
  let end = line.length;
  while (end > 0 && isSpace(line[end - 1])) end--;
  const hasChecksum = startsAt(line, end - checksumLength, checksumKey);
  end -= hasChecksum ? checksumLength : 1;
  if (line[end - 1] !== quote) return { hasChecksum };
  const start = line.lastIndexOf(quote, end - 2) + 1;
  if (!startsAt(line, start - priorKey.length, priorKey)) return { hasChecksum };
  const prior = decodeUtf8(line.subarray(start, end - 1));
  return prior === undefined ? { hasChecksum } : { hasChecksum, prior };
}

function startsAt(line: Uint8Array, at: number, wanted: Uint8Array): boolean {
  return at >= 0 && wanted.every((byte, offset) => line[at + offset] === byte);
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0d || byte === 0x09;
}

// Columns of numbers that grow by doubling. One class per type, because shared code is polymorphic and slow.

/** A column of 32-bit integers. */
export class IntColumn {
  #values: Int32Array;
  #length = 0;

  constructor(capacity = 64) {
    this.#values = new Int32Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const grown = new Int32Array(this.#values.length * 2);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#length++] = value;
  }

  /** The value of a row that exists. */
  at(row: number): number {
    return this.#values[row] as number;
  }

  set(row: number, value: number): void {
    this.#values[row] = value;
  }

  fill(value: number): void {
    this.#values.fill(value, 0, this.#length);
  }

  copy(): Int32Array {
    return this.#values.slice(0, this.#length);
  }
}

/** A column of doubles. */
export class NumberColumn {
  #values: Float64Array;
  #length = 0;

  constructor(capacity = 64) {
    this.#values = new Float64Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const grown = new Float64Array(this.#values.length * 2);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#length++] = value;
  }

  /** The value of a row that exists. */
  at(row: number): number {
    return this.#values[row] as number;
  }

  set(row: number, value: number): void {
    this.#values[row] = value;
  }
}

// The lines of a log for a copy, byte for byte, and the failures of their reads.

/** A stored line. */
export interface CopiedLine {
  /** Without the line feed; valid until the next line is requested. */
  readonly bytes: Uint8Array;
  readonly at: number;
  /** Whether these are the bytes after the last line feed of the log. */
  readonly isTail: boolean;
}

/** The batches of a log after a position. Their errors are read failures. */
async function* readBatches(
  log: Pick<SessionLog, "read">,
  from: LogPosition | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<LogBatch> {
  const batches = log.read(from, signal === undefined ? {} : { signal })[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await reading(batches.next());
      if (done === true) return;
      yield value;
    }
  } finally {
    await batches.return?.();
  }
}

/** Reads the lines of a log in order, and remembers its position. */
export class LineReader {
  readonly #log: SessionLog;
  readonly #id: string;
  readonly #signal: AbortSignal | undefined;
  /** The end of the lines that were read. */
  position: LogPosition | undefined;

  constructor(log: SessionLog, id: string, signal: AbortSignal | undefined) {
    this.#log = log;
    this.#id = id;
    this.#signal = signal;
  }

  /**
   * Yields the lines after the last position. Of lines over the maximum without the NULs at their ends.
   *
   * @throws SessileError LOG_CHANGED if the log was replaced
   */
  async *read(): AsyncGenerator<CopiedLine> {
    const signal = this.#signal;
    for await (const batch of readBatches(this.#log, this.position, signal)) {
      signal?.throwIfAborted();
      if (batch.restarted === true) throw replaced(this.#id);
      const found: (CopiedLine | LinePlace)[] = [];
      eachLine(batch, {
        line: (bytes, at, start, end) => found.push({ bytes: bytes.subarray(start, end), at, isTail: false }),
        tooLong: (at, length, bytesBeforeNuls = length) => found.push({ at, length: bytesBeforeNuls }),
      });
      for (const line of found) {
        if ("bytes" in line) yield line;
        else yield { bytes: await this.#longLine(line), at: line.at, isTail: false };
      }
      this.position = batch.next;
      if (batch.tail !== undefined) yield { ...batch.tail, isTail: true };
    }
  }

  async #longLine(place: LinePlace): Promise<Uint8Array> {
    const [bytes] = await reading(this.#log.readAt([place]));
    if (bytes === undefined) throw replaced(this.#id);
    return bytes;
  }
}

function replaced(id: string): SessileError {
  const message = `the log of session ${SessileError.printable(id)} was replaced: copy it again`;
  return new SessileError("LOG_CHANGED", message, { details: { id } });
}

/** Errors of reads: they concern one session, while errors of writes concern the store. */
const failures = new WeakSet<object>();

/** Whether an error is from {@link reading}. */
export function isReadFailure(error: object): boolean {
  return failures.has(error);
}

/** Passes on a promise, and remembers its error as one of a read. */
export async function reading<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (typeof error === "object" && error !== null) failures.add(error);
    throw error;
  }
}
