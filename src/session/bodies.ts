import type { LinePlace, SessionLog } from "./backend.js";
import { type DecodeContext, decodeBody } from "./codec/decode.js";
import { ordinalOfId } from "./codec/migrate.js";
import type { SessionReader } from "./codec/reader.js";
import type { SessionEntry, UnknownEntry } from "./entries.js";
import { noRow } from "./tree/rows.js";
import { treeRows } from "./tree/tree.js";

type Entry = SessionEntry | UnknownEntry;

const sliceBytes = 1 << 20;

/** Rows whose lines are being read. */
interface Slice {
  readonly rows: readonly number[];
  readonly lines: Promise<readonly (Uint8Array | undefined)[]>;
  /** Where the next slice begins. */
  readonly end: number;
}

/** How many bodies may gather from appends alone after the last context that was asked for, before all are let go. */
const maxUnread = 4096;
/** The same before anybody asked for one, as where a log is only written. */
const maxUnasked = 256;

/**
 * Bodies of entries: read from the log when they are wanted, and kept in memory while the last context that was built
 * has them, since the next one mostly has the same.
 */
export class Bodies {
  readonly #log: SessionLog;
  readonly #reader: SessionReader;
  readonly #maxDepth: number;
  #kept: (Entry | undefined)[] = [];
  #keptRows: number[] = [];
  /** Bodies that were added since somebody asked for any. */
  #unread = maxUnread - maxUnasked;
  readonly #pinned = new Map<number, Entry>();
  readonly #reported = new Set<number>();

  constructor(log: SessionLog, reader: SessionReader, maxDepth: number) {
    this.#log = log;
    this.#reader = reader;
    this.#maxDepth = maxDepth;
  }

  /** Keeps a body that was written or read anyway. */
  add(row: number, entry: Entry): void {
    if (this.#unread >= maxUnread) return;
    if (++this.#unread === maxUnread) this.#clear();
    else this.#keep(row, entry);
  }

  /** Keeps a body that has no line yet. */
  hold(row: number, entry: Entry): void {
    this.#pinned.set(row, entry);
  }

  /** The row has a line now. */
  release(row: number): void {
    this.#pinned.delete(row);
  }

  /** These rows are what is wanted now: lets go of others, once they are more than these. */
  retain(rows: readonly number[]): void {
    this.#unread = 0;
    if (this.#keptRows.length <= 2 * rows.length + 256) return;
    const before = this.#kept;
    this.#clear();
    for (const row of rows) {
      const entry = before[row];
      if (entry !== undefined) this.#keep(row, entry);
    }
  }

  /**
   * A look-up of these rows' bodies, after they were read; undefined for a body that is damaged. What it looks up stays,
   * whatever others load or let go in the meantime.
   */
  async load(rows: readonly number[]): Promise<(row: number) => Entry | undefined> {
    const kept = this.#kept;
    const pinned = new Map(this.#pinned);
    const missing = rows.filter((row) => kept[row] === undefined && !pinned.has(row));
    let next = this.#readSlice(missing, 0);
    while (next !== undefined) {
      const { rows: stored, lines, end } = next;
      const read = await lines;
      // The next slice is read while this one is parsed.
      next = this.#readSlice(missing, end);
      this.#parse(stored, read, kept);
    }
    return (row) => pinned.get(row) ?? kept[row];
  }

  /** One body, without keeping it. */
  async one(row: number): Promise<Entry | undefined> {
    const known = this.#pinned.get(row) ?? this.#kept[row];
    if (known !== undefined) return known;
    const place = treeRows(this.#reader.tree).line(row);
    if (place === undefined) return undefined;
    const [bytes] = await this.#log.readAt([place]);
    return bytes === undefined ? undefined : this.#decode(row, bytes);
  }

  #clear(): void {
    this.#kept = [];
    this.#keptRows = [];
  }

  #keep(row: number, entry: Entry): void {
    if (this.#kept[row] === undefined) this.#keptRows.push(row);
    this.#kept[row] = entry;
  }

  /**
   * Begins to read the rows from an index on, up to some bytes, so that those of a long history are never in memory beside
   * its objects. undefined where there are no more.
   */
  #readSlice(rows: readonly number[], from: number): Slice | undefined {
    if (from >= rows.length) return undefined;
    const tree = treeRows(this.#reader.tree);
    const stored: number[] = [];
    const places: LinePlace[] = [];
    let bytes = 0;
    let end = from;
    while (end < rows.length && bytes < sliceBytes) {
      const row = rows[end++] as number;
      const place = tree.line(row);
      if (place === undefined) continue;
      bytes += place.length;
      stored.push(row);
      places.push(place);
    }
    const lines = this.#log.readAt(places);
    // Whoever waits for it is told; while an earlier slice fails, nobody does.
    lines.catch(() => undefined);
    return { rows: stored, lines, end };
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
      // All were let go while this was read; who asked for it still holds the list of before.
      if (into !== this.#kept) into[row] = entry;
    }
  }

  #decode(row: number, bytes: Uint8Array): Entry | undefined {
    const version = this.#reader.versionAt(row);
    const id = treeRows(this.#reader.tree).id(row);
    const isFirst = treeRows(this.#reader.tree).line(row)?.at === this.#reader.firstAt;
    const context =
      (version ?? 3) < 2
        ? this.#firstVersion(row)
        : { isFirst, version, ordinal: 0, maxDepth: this.#maxDepth };
    const { crc32 } = this.#log;
    const decoded = decodeBody(bytes, context, { crc32 });
    if (decoded.kind === "blank" || decoded.kind === "header") return this.#lost(row);
    // A key that stands twice: the structure was read from the first, the body from the last.
    const lost = decoded.kind === "entry" && decoded.entry.id !== id;
    if (decoded.notes.length > 0) {
      for (const note of decoded.notes) this.#report(row, note.code, note.message);
      if (!lost) this.#reported.add(row);
    }
    if (lost) return this.#lost(row);
    return decoded.kind === "bad" ? undefined : decoded.entry;
  }

  /** What a line of version 1 says by its place. */
  #firstVersion(row: number): DecodeContext {
    const tree = treeRows(this.#reader.tree);
    const parent = tree.parent(row);
    const previousId = parent === noRow ? null : tree.id(parent);
    return { version: 1, ordinal: ordinalOfId(tree.id(row)), previousId, maxDepth: this.#maxDepth };
  }

  #lost(row: number): undefined {
    this.#report(row, "LOG_REPLACED", "the line of this entry is not where it was");
    this.#reported.add(row);
  }

  #report(row: number, code: Parameters<SessionReader["report"]>[0]["code"], message: string): void {
    if (this.#reported.has(row)) return;
    const tree = treeRows(this.#reader.tree);
    const offset = tree.line(row)?.at ?? 0;
    this.#reader.report({ code, line: 0, offset, message, entryId: tree.id(row) });
  }
}
