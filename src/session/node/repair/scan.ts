/** Scans every line of a session file, with the problems of each. */

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
import { type ReadLineOptions, readLines } from "../read-lines.js";
import { type ConcatenatedLine, splitConcatenatedLines } from "./split-concatenated-lines.js";

/** A diagnostic of a line, or of the whole file, and whether an entry is lost. */
export interface ScanProblem extends Diagnostic {
  /** The length of the line; absent for the whole file. */
  readonly bytes?: number;
  /** Whether the line gives no entry a body because of it. */
  readonly lost: boolean;
  /** Whether the line has the same bytes as the line that counts for its id. */
  readonly repeated: boolean;
  /** The bytes of the line that are whole lines within it, which were read on their own. */
  readonly concatenated: number;
}

/** The callbacks of a {@link SessionScan}. */
export interface ScanListener {
  readonly problem?: ((problem: ScanProblem) => void) | undefined;
  /** Called for each line whose entry is readable. */
  readonly entry?:
    | ((entryId: string, line: Uint8Array, place: { readonly line: number; readonly at: number }) => void)
    | undefined;
  /** Called after each batch of lines. */
  readonly pause?: (() => Promise<void>) | undefined;
}

/**
 * A full scan of a session file: decodes every line, and records the tree and the damage (rows without a
 * body, with a missing parent, or in a cycle). Memory is linear in the tree.
 */
export class SessionScan implements LineSink {
  /** Whole lines found within unreadable ones, if the scan looks for them. */
  readonly concatenated: ConcatenatedLine[] = [];
  /** Concatenated lines to read too, by the offset of the line that they are in. */
  readonly concatenatedIn: ReadonlyMap<number, readonly ConcatenatedLine[]>;
  readonly reader: LogReader;
  readonly rows: EntryTable;
  /** Rows with a place in the tree, but without a body. */
  readonly damaged = new Set<number>();
  /** The readable duplicates of damaged rows. */
  readonly copies = new Map<number, LinePlace>();
  /** Rows whose parent is missing, and the id of the parent. */
  readonly orphans = new Map<number, string>();
  /** Rows that would close a cycle. */
  readonly cycles = new Set<number>();
  /** The range of the header. */
  header: LinePlace | undefined;
  readonly #listener: ScanListener;
  readonly #file: OpenFile;
  readonly #findsConcatenated: boolean;
  #unresolvedParents = new Map<number, string>();
  /** The entry that the current line gave a body. */
  #readId: string | undefined;
  /** The diagnostics of the current line; undefined between lines. */
  #problems: Diagnostic[] | undefined;

  private constructor(
    file: OpenFile,
    listener: ScanListener,
    concatenatedIn: ReadonlyMap<number, readonly ConcatenatedLine[]> | undefined,
  ) {
    this.#file = file;
    this.concatenatedIn = concatenatedIn ?? new Map();
    this.#findsConcatenated = concatenatedIn !== undefined;
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
   * Scans a file up to its size in `stat`.
   *
   * @param concatenatedIn whole lines within others to read too, by the offset of the line that they are in.
   *   If absent, the scan does not look for such lines.
   */
  static async of(
    file: OpenFile,
    stat: FileStat,
    options: ReadLineOptions,
    listener: ScanListener = {},
    concatenatedIn?: ReadonlyMap<number, readonly ConcatenatedLine[]>,
  ): Promise<SessionScan> {
    const scan = new SessionScan(file, listener, concatenatedIn);
    for await (const batch of readLines(file, stat, undefined, options)) {
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
    this.#addConcatenated(line, at);
  }

  /** Reads the whole lines within an unreadable one as if they followed it, under its line number. */
  #addConcatenated(line: Uint8Array, at: number): void {
    for (const place of this.concatenatedIn.get(at) ?? []) {
      const { size } = this.rows;
      const hadHeader = this.reader.header !== undefined;
      const whole = line.subarray(place.at - at, place.at - at + place.length);
      // The reader knows the entry already, from the start of the unreadable line.
      if (place.entryId !== undefined && this.#isCopyOf(place.entryId, whole, place.at)) continue;
      this.#begin();
      this.reader.uncountLine();
      this.reader.line(whole, place.at);
      this.#end(whole, place.at, size, hadHeader);
    }
  }

  tooLong(at: number, length: number): void {
    this.#begin();
    this.reader.tooLong(at, length);
    this.#report(length, true, false);
  }

  #tail(bytes: Uint8Array, at: number): void {
    const { size } = this.rows;
    const hadHeader = this.reader.header !== undefined;
    this.#begin();
    this.reader.tail(bytes, at);
    this.#end(bytes, at, size, hadHeader);
    this.#addConcatenated(bytes, at);
  }

  #begin(): void {
    this.#readId = undefined;
    this.#problems = [];
  }

  #end(line: Uint8Array, at: number, sizeBefore: number, hadHeader: boolean): void {
    const { rows, reader } = this;
    if (this.#readId !== undefined) {
      this.#report(line.length, false, false);
      this.#listener.entry?.(this.#readId, line, { line: reader.lines, at });
    } else if (rows.size > sizeBefore) {
      const row = rows.size - 1;
      this.damaged.add(row);
      const parent = parseEntryPrefix(line)?.parentId ?? null;
      if (parent !== null && rows.parent(row) === noRow) this.#unresolvedParents.set(row, entryIdOf(parent));
      this.#collectConcatenated(line, at);
      this.#report(line.length, true, false, at);
    } else if (!hadHeader && reader.header !== undefined) {
      this.header = { at, length: line.length };
      this.#report(line.length, false, false);
    } else {
      const isCopy = this.#isCopy(line, at);
      if (this.#problems?.some(({ code }) => unread.has(code))) this.#collectConcatenated(line, at);
      this.#report(line.length, !isCopy, !isCopy && this.#isRepeated(line), at);
    }
  }

  #collectConcatenated(line: Uint8Array, at: number): void {
    if (!this.#findsConcatenated || this.concatenatedIn.size > 0) return;
    // Not by a spread: one line may have hundreds of thousands.
    for (const joined of splitConcatenatedLines(line, at)) this.concatenated.push(joined);
  }

  #isCopy(line: Uint8Array, at: number): boolean {
    const { code, entryId } = this.#problems?.at(-1) ?? {};
    return code === "DUPLICATE_ID" && entryId !== undefined && this.#isCopyOf(entryId, line, at);
  }

  /** Whether a line is a readable duplicate of a damaged row, with the same parent. */
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
    const parentId = parent === noRow ? (this.#unresolvedParents.get(row) ?? null) : rows.id(parent);
    if (decoded.entry.parentId !== parentId) return false;
    this.copies.set(row, { at, length: line.length });
    return true;
  }

  /** Reports the diagnostics of a line. If the line is lost, the last one is the cause. */
  #report(bytes: number, lost: boolean, repeated: boolean, at = -1): void {
    const problems = this.#problems ?? [];
    this.#problems = undefined;
    if (problems.length === 0) return;
    const concatenated = (this.concatenatedIn.get(at) ?? []).reduce((sum, { length }) => sum + length, 0);
    for (let index = 0; index < problems.length; index++) {
      const { code, line, offset, message, entryId } = problems[index] as Diagnostic;
      const isCause = lost && index === problems.length - 1;
      const how = isCause && repeated;
      // Member by member: with millions of problems a spread takes most of the time.
      this.#listener.problem?.(
        entryId === undefined
          ? { code, line, offset, message, bytes, lost: isCause, repeated: how, concatenated }
          : { code, line, offset, message, entryId, bytes, lost: isCause, repeated: how, concatenated },
      );
    }
  }

  /** Whether a line has the same bytes as the line that counts for its id. */
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
    if (parentId !== null && this.rows.parent(row) === noRow) this.#unresolvedParents.set(row, parentId);
  }

  #onDiagnostic(diagnostic: Diagnostic): void {
    const { code, entryId } = diagnostic;
    if (this.#problems !== undefined) {
      this.#problems.push(diagnostic);
      return;
    }
    const row = entryId === undefined ? noRow : this.rows.row(entryId);
    if (code === "CYCLE") this.cycles.add(row);
    if (code === "ORPHAN") this.orphans.set(row, this.#unresolvedParents.get(row) as string);
    const bytes = row === noRow ? {} : { bytes: this.rows.lineLength(row) };
    this.#listener.problem?.({ ...diagnostic, ...bytes, lost: false, repeated: false, concatenated: 0 });
  }

  #finish(): void {
    this.reader.finish();
    this.#unresolvedParents.clear();
  }
}

const unread: ReadonlySet<DiagnosticCode> = new Set([
  "INVALID_JSON",
  "INVALID_UTF8",
  "TORN_TAIL",
  "TORN_LINE",
]);

/**
 * Scans a file, and scans it again if unreadable lines contain whole ones. An entry with a readable line of
 * its own is not read from another line.
 */
export async function scanWithConcatenated(
  file: OpenFile,
  stat: FileStat,
  options: ReadLineOptions,
  listenerOf: () => ScanListener,
): Promise<SessionScan> {
  const scan = await SessionScan.of(file, stat, options, listenerOf(), new Map());
  const { rows, damaged, copies } = scan;
  const concatenatedIn = new Map<number, ConcatenatedLine[]>();
  for (const line of scan.concatenated) {
    const row = line.entryId === undefined ? noRow : rows.row(line.entryId);
    const isRead = row !== noRow && (!damaged.has(row) || copies.has(row));
    if (isRead || (line.entryId === undefined && scan.header !== undefined)) continue;
    const lines = concatenatedIn.get(line.within);
    if (lines === undefined) concatenatedIn.set(line.within, [line]);
    else lines.push(line);
  }
  return concatenatedIn.size === 0 ? scan : SessionScan.of(file, stat, options, listenerOf(), concatenatedIn);
}
