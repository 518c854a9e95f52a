/** Scans every line of a session file, with the problems of each. */

import type { FileStat, OpenFile } from "../../../core/node/file-system.js";
import { defaultLimits, type LineSink, toEntryId } from "../../../log/internal.js";
import type { Diagnostic, SessionEntry, UnknownEntry } from "../../../session/index.js";
import {
  type DamagedBytes,
  type EntryPlace,
  type EntryTable,
  eachLine,
  LogReader,
  noRow,
  treeRows,
} from "../../../session/internal.js";
import { type ReadLineOptions, readLines } from "../read-lines.js";

/** A diagnostic of a line, or of the whole file, and whether an entry is lost. */
export interface ScanProblem extends Diagnostic {
  /** The length of the line, or of the damaged part of it; absent for the whole file. */
  readonly bytes?: number;
  /** Whether these bytes give no entry a body because of it. */
  readonly lost: boolean;
  /** Whether the line has the same bytes as the line that counts for its id. */
  readonly repeated: boolean;
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
  readonly reader: LogReader;
  readonly rows: EntryTable;
  /** Rows whose parent is missing, and the id of the parent. */
  readonly orphans = new Map<number, string>();
  /** Rows that would close a cycle. */
  readonly cycles = new Set<number>();
  readonly #listener: ScanListener;
  readonly #file: OpenFile;
  #unresolvedParents = new Map<number, string>();
  /** The line that is being read. */
  #line: { readonly bytes: Uint8Array; readonly at: number } | undefined;

  private constructor(file: OpenFile, listener: ScanListener) {
    this.#file = file;
    this.#listener = listener;
    this.reader = new LogReader({
      maxDepth: defaultLimits.maxDepth,
      full: true,
      onEntry: (row, entry) => this.#onEntry(row, entry),
      onDiagnostic: (diagnostic, damaged) => this.#onDiagnostic(diagnostic, damaged),
    });
    this.rows = treeRows(this.reader.tree);
  }

  /** Scans a file up to its size in `stat`. */
  static async of(
    file: OpenFile,
    stat: FileStat,
    options: ReadLineOptions,
    listener: ScanListener = {},
  ): Promise<SessionScan> {
    const scan = new SessionScan(file, listener);
    for await (const batch of readLines(file, stat, undefined, options)) {
      eachLine(batch, scan);
      if (batch.tail !== undefined) scan.#tail(batch.tail.bytes, batch.tail.at);
      await listener.pause?.();
    }
    scan.#finish();
    return scan;
  }

  /** Rows with a place in the tree, but without a body. */
  get damaged(): ReadonlyMap<number, unknown> {
    return this.reader.damagedRows;
  }

  /** The place of the header. */
  get header(): EntryPlace | undefined {
    return this.reader.headerPlace;
  }

  line(bytes: Uint8Array, at: number, start: number, end: number): void {
    this.#line = { bytes: bytes.subarray(start, end), at };
    const { size } = this.rows;
    this.reader.line(bytes, at, start, end);
    this.#findParents(size);
  }

  tooLong(at: number, length: number): void {
    this.reader.tooLong(at, length);
  }

  #tail(bytes: Uint8Array, at: number): void {
    this.#line = { bytes, at };
    const { size } = this.rows;
    this.reader.tail(bytes, at);
    this.#findParents(size);
  }

  /** Remembers the parents of damaged entries that were added. */
  #findParents(size: number): void {
    for (let row = size; row < this.rows.size; row++) {
      const parentId = this.reader.damagedRows.get(row);
      if (parentId != null && this.rows.parent(row) === noRow)
        this.#unresolvedParents.set(row, toEntryId(parentId));
    }
  }

  #onEntry(row: number, { id, parentId }: SessionEntry | UnknownEntry): void {
    const { rows, reader } = this;
    if (parentId !== null && rows.parent(row) === noRow) this.#unresolvedParents.set(row, parentId);
    const { entry } = this.#listener;
    if (entry === undefined || this.#line === undefined) return;
    const { bytes, at } = this.#line;
    const { start, end } = rows.part(row) ?? { start: 0, end: bytes.length };
    entry(id, bytes.subarray(start, end), { line: reader.lines, at });
  }

  #onDiagnostic(diagnostic: Diagnostic, damaged: DamagedBytes | undefined): void {
    const { code, entryId } = diagnostic;
    const row = entryId === undefined ? noRow : this.rows.row(entryId);
    if (code === "CYCLE") this.cycles.add(row);
    if (code === "ORPHAN") this.orphans.set(row, this.#unresolvedParents.get(row) as string);
    const bytes = damaged?.length ?? (row === noRow ? undefined : this.rows.lineLength(row));
    const lost = damaged?.isLost === true;
    const repeated = lost && code === "DUPLICATE_ID" && this.#isRepeated(row, damaged.bytes);
    this.#listener.problem?.({
      ...diagnostic,
      ...(bytes === undefined ? {} : { bytes }),
      lost,
      repeated,
    });
  }

  /** Whether bytes are those that count for a row. */
  #isRepeated(row: number, bytes: Uint8Array | undefined): boolean {
    const place = this.rows.line(row);
    const { start, end } = this.rows.part(row) ?? { start: 0, end: place?.length ?? 0 };
    if (place === undefined || bytes?.length !== end - start) return false;
    const first = new Uint8Array(bytes.length);
    return (
      this.#file.readSync(first, place.at + start) === first.length && Buffer.compare(first, bytes) === 0
    );
  }

  #finish(): void {
    this.#line = undefined;
    this.reader.finish();
    this.#unresolvedParents.clear();
  }
}
