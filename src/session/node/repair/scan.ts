import type { FileStat, OpenFile } from "../../../internal/node/file-system.js";
import type { LinePlace } from "../../api/backend.js";
import type { Diagnostic, DiagnosticCode } from "../../api/diagnostics.js";
import type { SessionEntry, UnknownEntry } from "../../api/entries.js";
import { decodeLine } from "../../format/decode.js";
import { entryIdOf, parseEntryPrefix } from "../../format/entry-prefix.js";
import type { LineSink } from "../../format/line-splitter.js";
import { defaultLimits } from "../../format/line-splitter.js";
import { eachLine } from "../../runtime/log-lines.js";
import { type EntryTable, noRow } from "../../tree/entry-table.js";
import { LogReader } from "../../tree/log-reader.js";
import { entryTableOf } from "../../tree/session-tree.js";
import { readLines } from "../read-lines.js";
import { type ConcatenatedLine, splitConcatenatedLines } from "./split-concatenated-lines.js";

/** A problem of a line, or of the whole file. */
export interface ScanProblem extends Diagnostic {
  /** Of the line; absent where it is of the whole file. */
  readonly bytes?: number;
  /** It is why the line gives no body to any entry. */
  readonly lost: boolean;
  /** The line has the very bytes of the one that counts in its place. */
  readonly repeated: boolean;
  /** How many bytes of the line are whole lines within it, which were read for themselves. */
  readonly joined: number;
}

/** What a {@link SessionScan} tells as it goes. */
export interface ScanListener {
  problem?(problem: ScanProblem): void;
  /** A line whose entry was read. */
  entry?(entryId: string, line: Uint8Array, place: { readonly line: number; readonly at: number }): void;
  /** After each batch of lines. */
  pause?(): Promise<void>;
}

/**
 * Reads every line of a session file once, in whole, and keeps what a reader makes of it: the tree, and which rows have no
 * body, which name a parent that is missing, and which close a circle. Memory is that of the tree.
 */
export class SessionScan implements LineSink {
  /** Whole lines that were looked for and found in those that are lost. */
  readonly joined: ConcatenatedLine[] = [];
  /** Those that were read besides, by the place of the line that they are in. */
  readonly joinedIn: ReadonlyMap<number, readonly ConcatenatedLine[]>;
  readonly reader: LogReader;
  readonly rows: EntryTable;
  /** Rows that have a place and no body. */
  readonly damaged = new Set<number>();
  /** Where a later line has the whole of what a damaged row is. */
  readonly copies = new Map<number, LinePlace>();
  /** Rows whose parent is in no line, and that parent's id. */
  readonly orphans = new Map<number, string>();
  /** Rows that would close a circle. */
  readonly cycles = new Set<number>();
  /** The line that is the header. */
  header: LinePlace | undefined;
  readonly #listener: ScanListener;
  readonly #file: OpenFile;
  readonly #looksForJoined: boolean;
  #unplaced = new Map<number, string>();
  /** The entry that the present line gave a body. */
  #readId: string | undefined;
  /** Of the present line; undefined between lines. */
  #problems: Diagnostic[] | undefined;

  private constructor(
    file: OpenFile,
    listener: ScanListener,
    joinedIn: ReadonlyMap<number, readonly ConcatenatedLine[]> | undefined,
  ) {
    this.#file = file;
    this.joinedIn = joinedIn ?? new Map();
    this.#looksForJoined = joinedIn !== undefined;
    this.#listener = listener;
    this.reader = new LogReader({
      maxDepth: defaultLimits.maxDepth,
      full: true,
      onEntry: (row, entry) => this.#onEntry(row, entry),
      onDiagnostic: (diagnostic) => this.#onDiagnostic(diagnostic),
    });
    this.rows = entryTableOf(this.reader.tree);
  }

  /**
   * Reads a file up to the size that it has in `stat`.
   *
   * @param joinedIn whole lines to read besides, by the place of the line that they are in; where it is absent, none is
   *   looked for either
   */
  static async of(
    file: OpenFile,
    stat: FileStat,
    options: { readonly maxLineBytes: number; readonly signal?: AbortSignal | undefined },
    listener: ScanListener = {},
    joinedIn?: ReadonlyMap<number, readonly ConcatenatedLine[]>,
  ): Promise<SessionScan> {
    const scan = new SessionScan(file, listener, joinedIn);
    const { maxLineBytes, signal } = options;
    const reading = { maxLineBytes, ...(signal === undefined ? {} : { signal }) };
    for await (const batch of readLines(file, stat, undefined, reading)) {
      eachLine(batch, scan);
      if (batch.tail !== undefined) scan.#tail(batch.tail.bytes, batch.tail.at);
      await listener.pause?.();
    }
    scan.#finish();
    return scan;
  }

  line(bytes: Uint8Array, at: number, start: number, end: number): void {
    const { size } = this.rows;
    const hadHeader = this.reader.header !== undefined;
    this.#begin();
    this.reader.line(bytes, at, start, end);
    const line = bytes.subarray(start, end);
    this.#end(line, at, size, hadHeader);
    this.#addJoined(line, at);
  }

  /** Reads the whole lines in one that is lost, as if they stood behind it, under its number. */
  #addJoined(line: Uint8Array, at: number): void {
    for (const place of this.joinedIn.get(at) ?? []) {
      const { size } = this.rows;
      const hadHeader = this.reader.header !== undefined;
      const whole = line.subarray(place.at - at, place.at - at + place.length);
      // Of the line that it begins the reader knows it already.
      if (place.entryId !== undefined && this.#isCopyOf(place.entryId, whole, place.at)) continue;
      this.#begin();
      this.reader.lines--;
      this.reader.line(whole, place.at);
      this.#end(whole, place.at, size, hadHeader);
    }
  }

  tooLong(at: number, length: number): void {
    this.#begin();
    this.reader.tooLong(at, length);
    this.#tell(length, true, false);
  }

  #tail(bytes: Uint8Array, at: number): void {
    const { size } = this.rows;
    const hadHeader = this.reader.header !== undefined;
    this.#begin();
    this.reader.tail(bytes, at);
    this.#end(bytes, at, size, hadHeader);
    this.#addJoined(bytes, at);
  }

  #begin(): void {
    this.#readId = undefined;
    this.#problems = [];
  }

  #end(line: Uint8Array, at: number, sizeBefore: number, hadHeader: boolean): void {
    const { rows, reader } = this;
    if (this.#readId !== undefined) {
      this.#tell(line.length, false, false);
      this.#listener.entry?.(this.#readId, line, { line: reader.lines, at });
    } else if (rows.size > sizeBefore) {
      const row = rows.size - 1;
      this.damaged.add(row);
      const parent = parseEntryPrefix(line)?.parentId ?? null;
      if (parent !== null && rows.parent(row) === noRow) this.#unplaced.set(row, entryIdOf(parent));
      this.#look(line, at);
      this.#tell(line.length, true, false, at);
    } else if (!hadHeader && reader.header !== undefined) {
      this.header = { at, length: line.length };
      this.#tell(line.length, false, false);
    } else {
      const isCopy = this.#isCopy(line, at);
      if (this.#problems?.some(({ code }) => unread.has(code))) this.#look(line, at);
      this.#tell(line.length, !isCopy, !isCopy && this.#isRepeated(line), at);
    }
  }

  #look(line: Uint8Array, at: number): void {
    if (!this.#looksForJoined || this.joinedIn.size > 0) return;
    // Not spread: one line may have hundreds of thousands.
    for (const joined of splitConcatenatedLines(line, at)) this.joined.push(joined);
  }

  #isCopy(line: Uint8Array, at: number): boolean {
    const { code, entryId } = this.#problems?.at(-1) ?? {};
    return code === "DUPLICATE_ID" && entryId !== undefined && this.#isCopyOf(entryId, line, at);
  }

  /** Whether a line is the whole one of a damaged row, with the same parent. */
  #isCopyOf(entryId: string, line: Uint8Array, at: number): boolean {
    const { rows, reader } = this;
    const row = rows.row(entryId);
    if (row === noRow || !this.damaged.has(row) || this.copies.has(row)) return false;
    const decoded = decodeLine(line, {
      isFirst: at === reader.firstAt,
      version: reader.version,
      ordinal: 0,
      maxDepth: defaultLimits.maxDepth,
    });
    if (decoded.kind !== "entry" || decoded.entry === undefined) return false;
    const parent = rows.parent(row);
    const parentId = parent === noRow ? (this.#unplaced.get(row) ?? null) : rows.id(parent);
    if (decoded.entry.parentId !== parentId) return false;
    this.copies.set(row, { at, length: line.length });
    return true;
  }

  /** Tells of the problems of a line; the last of them is why it is lost, if it is. */
  #tell(bytes: number, lost: boolean, repeated: boolean, at = -1): void {
    const problems = this.#problems ?? [];
    this.#problems = undefined;
    if (problems.length === 0) return;
    const joined = (this.joinedIn.get(at) ?? []).reduce((sum, { length }) => sum + length, 0);
    for (let index = 0; index < problems.length; index++) {
      const { code, line, offset, message, entryId } = problems[index] as Diagnostic;
      const isCause = lost && index === problems.length - 1;
      const how = isCause && repeated;
      // By name: of millions of problems a spread is most of the time.
      this.#listener.problem?.(
        entryId === undefined
          ? { code, line, offset, message, bytes, lost: isCause, repeated: how, joined }
          : { code, line, offset, message, entryId, bytes, lost: isCause, repeated: how, joined },
      );
    }
  }

  /** Whether a line has the bytes of the one that counts for its id. */
  #isRepeated(line: Uint8Array): boolean {
    const { code, entryId = "" } = this.#problems?.at(-1) ?? {};
    if (code !== "DUPLICATE_ID") return false;
    const place = this.rows.line(this.rows.row(entryId));
    if (place?.length !== line.length) return false;
    const first = new Uint8Array(place.length);
    return this.#file.readSync(first, place.at) === first.length && Buffer.compare(first, line) === 0;
  }

  #onEntry(row: number, { id, parentId }: SessionEntry | UnknownEntry): void {
    this.#readId = id;
    if (parentId !== null && this.rows.parent(row) === noRow) this.#unplaced.set(row, parentId);
  }

  #onDiagnostic(diagnostic: Diagnostic): void {
    const { code, entryId } = diagnostic;
    if (this.#problems !== undefined) {
      this.#problems.push(diagnostic);
      return;
    }
    const row = entryId === undefined ? noRow : this.rows.row(entryId);
    if (code === "CYCLE") this.cycles.add(row);
    if (code === "ORPHAN") this.orphans.set(row, this.#unplaced.get(row) as string);
    const bytes = row === noRow ? {} : { bytes: this.rows.lineLength(row) };
    this.#listener.problem?.({ ...diagnostic, ...bytes, lost: false, repeated: false, joined: 0 });
  }

  #finish(): void {
    this.reader.finish();
    this.#unplaced.clear();
  }
}

const unread: ReadonlySet<DiagnosticCode> = new Set([
  "INVALID_JSON",
  "INVALID_UTF8",
  "TORN_TAIL",
  "TORN_LINE",
]);

/**
 * Reads a file as {@link SessionScan.of} does, and once more where there are whole lines in those that are lost. An entry
 * that has a line of its own is not taken from another.
 */
export async function scanWithConcatenated(
  file: OpenFile,
  stat: FileStat,
  options: { readonly maxLineBytes: number; readonly signal?: AbortSignal | undefined },
  listenerOf: () => ScanListener,
): Promise<SessionScan> {
  const scan = await SessionScan.of(file, stat, options, listenerOf(), new Map());
  const { rows, damaged, copies } = scan;
  const joinedIn = new Map<number, ConcatenatedLine[]>();
  for (const line of scan.joined) {
    const row = line.entryId === undefined ? noRow : rows.row(line.entryId);
    const isTaken = row !== noRow && (!damaged.has(row) || copies.has(row));
    if (isTaken || (line.entryId === undefined && scan.header !== undefined)) continue;
    const lines = joinedIn.get(line.within);
    if (lines === undefined) joinedIn.set(line.within, [line]);
    else lines.push(line);
  }
  return joinedIn.size === 0 ? scan : SessionScan.of(file, stat, options, listenerOf(), joinedIn);
}
