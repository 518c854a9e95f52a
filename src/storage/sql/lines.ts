/** Lines as rows: one row a line, several for a long one. Joined in order, the rows are the file. */

import { concatBytes } from "../../core/bytes.js";
import type { LinePlace, LogBatch } from "../../session/index.js";
import { checkBatchBytes, indexedTerms, summarizeLines } from "../../session/internal.js";
import type { LineBatch, LinePage, LineRows, ShownLine, SqlRow, SqlStatement, SqlValue } from "./dialect.js";

/** The bytes of one row at most. A Durable Object takes 2 MB. */
const maxRowBytes = 1024 * 1024;
/** A page of a read begins within this number of bytes. */
export const pageBytes = 1024 * 1024;
/** The first page of a log that is read from its end, which is often the only one. */
export const firstPageBytes = 64 * 1024;
/** Lines that one statement reads by their places. */
const maxPlaces = 1000;

/** One row of a log. */
export interface LogRow {
  /** Offset in the log. */
  readonly at: number;
  readonly bytes: Uint8Array;
}

/**
 * The lines of a write, each with its line feed. Throws BATCH_TOO_LARGE if they exceed a transaction.
 * @param from the place of the first line
 * @param step how far a line moves the head
 * @param known.head whether the list has the header and the preview of the session
 * @param known.termsOf the partition, if lines are indexed
 */
export function lineBatch(
  lines: readonly Uint8Array[],
  from: number,
  step: LineRows["step"],
  known: { readonly head: boolean; readonly indexedPartition?: string | undefined },
): LineBatch {
  const at: number[] = [];
  let [end, size] = [from, 0];
  for (const line of lines) {
    at.push(end);
    end += step(line.length);
    size += line.length;
  }
  checkBatchBytes(size);
  const bare = lines.map((line) => line.subarray(0, -1));
  const { header, preview, info, counts } = summarizeLines(bare, known);
  const placed = (found: ShownLine | undefined): ShownLine | undefined =>
    found && { at: at[found.at] as number, line: found.line };
  const { indexedPartition } = known;
  return {
    from,
    end,
    lines,
    at,
    size,
    cwd: header?.cwd,
    counts: [counts?.entries ?? null, counts?.messages ?? null],
    header: placed(header),
    preview: placed(preview),
    info: placed(info),
    terms:
      indexedPartition === undefined
        ? []
        : bare.map((line, index) => [at[index] as number, indexedTerms(line, indexedPartition)] as const),
  };
}

/** The rows of a line with its line feed. */
export function lineRows(line: Uint8Array, at: number): readonly LogRow[] {
  const rows: LogRow[] = [];
  for (let start = 0; start < line.length; start += maxRowBytes) {
    rows.push({ at: at + start, bytes: line.subarray(start, start + maxRowBytes) });
  }
  return rows;
}

/** Bytes of a column; none for null. Some drivers of PostgreSQL give the text of bytes. */
export function readBytes(value: unknown): Uint8Array {
  if (value === null || value === undefined) return new Uint8Array();
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (typeof value === "string" && value.startsWith("\\x")) {
    const bytes = new Uint8Array(value.length / 2 - 1);
    for (let at = 0; at < bytes.length; at++)
      bytes[at] = Number.parseInt(value.slice(2 * at + 2, 2 * at + 4), 16);
    return bytes;
  }
  throw new TypeError("driver: expected a column of bytes as a Uint8Array or an ArrayBuffer");
}

const lineFeed = 10;

/** Whether a row is the last one of its line. */
function endsLine(bytes: Uint8Array): boolean {
  return bytes[bytes.length - 1] === lineFeed;
}

/** Whether two arrays have the same bytes. */
export function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && a.length === b?.length && a.every((byte, at) => byte === b[at]);
}

/** A line of a log, or the place of one that exceeds a maximum. */
export type FoundLine = LinePlace & { readonly bytes: Uint8Array | undefined };

/** Joins rows to lines. A line may have its rows in several pages. */
export class LineJoiner {
  readonly #maxLineBytes: number;
  /** The rows of an open line, without those of a line that is too long. */
  #parts: Uint8Array[] = [];
  #length = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** The line that a row ends, if it does. */
  push({ at, bytes }: LogRow): FoundLine | undefined {
    const start = at - this.#length;
    this.#length += bytes.length;
    const isEnd = endsLine(bytes);
    const length = this.#length - (isEnd ? 1 : 0);
    if (length > this.#maxLineBytes) this.#parts = [];
    else this.#parts.push(bytes);
    if (!isEnd) return undefined;
    const parts = this.#parts;
    this.clear();
    if (length > this.#maxLineBytes) return { at: start, length, bytes: undefined };
    const whole = parts.length === 1 ? (parts[0] as Uint8Array) : concatBytes(parts);
    return { at: start, length, bytes: whole.subarray(0, length) };
  }

  /** Drops an open line. */
  clear(): void {
    this.#parts = [];
    this.#length = 0;
  }
}

/**
 * Places in groups, so that no answer has much more than the bytes of a page.
 * @param longest the bytes of a place at most that one statement reads
 */
export function* placesByPage(
  places: readonly LinePlace[],
  most: number = maxPlaces,
  longest: number = maxRowBytes,
): Generator<readonly LinePlace[]> {
  let page: LinePlace[] = [];
  let bytes = 0;
  for (const place of places) {
    const first = Math.min(place.length, longest);
    if (page.length === most || (page.length > 0 && bytes + first > pageBytes)) {
      yield page;
      page = [];
      bytes = 0;
    }
    page.push(place);
    bytes += first;
  }
  if (page.length > 0) yield page;
}

/** Rows before an offset, in order; at least one unless there is none. */
export type ReadBefore = (
  end: number,
) => Promise<{ readonly base: number; readonly rows: readonly LogRow[] }>;

/** Yields the lines before an offset, in pages from the end. */
export async function* linesBackwards(
  end: number,
  readBefore: ReadBefore,
  maxLineBytes: number,
): AsyncGenerator<Pick<LogBatch, "lines" | "at" | "tooLong">, void, undefined> {
  /** Rows whose line may begin in the page before. */
  let open: LogRow[] = [];
  for (let stop = end; ; ) {
    const { base, rows } = await readBefore(stop);
    const [first] = rows;
    if (first === undefined) return;
    stop = first.at;
    // The first line of a page may have more rows before it, unless it is that of the log.
    const isStart = stop === base;
    const ends = rows.findIndex(({ bytes }) => endsLine(bytes));
    if (!isStart && ends < 0) {
      open = [...rows, ...open];
      continue;
    }
    const whole = isStart ? rows : rows.slice(ends + 1);
    const { batch } = rowPage([...whole, ...open], new LineJoiner(maxLineBytes));
    open = isStart ? [] : rows.slice(0, ends + 1);
    if (batch !== undefined) yield batch;
    if (isStart) return;
  }
}

/** The lines that end in some rows, those that are too long apart. */
function rowPage(rows: readonly LogRow[], joiner: LineJoiner): LinePage {
  const lines: Uint8Array[] = [];
  const at: number[] = [];
  const tooLong: LinePlace[] = [];
  let [next, end] = [0, 0];
  for (const row of rows) {
    end = row.at + row.bytes.length;
    const line = joiner.push(row);
    if (line === undefined) continue;
    next = line.at + line.length + 1;
    if (line.bytes === undefined) {
      tooLong.push({ at: line.at, length: line.length });
      continue;
    }
    lines.push(line.bytes);
    at.push(line.at);
  }
  const batch = next === 0 ? undefined : { lines, at, ...(tooLong.length > 0 && { tooLong }) };
  return { batch, first: rows[0]?.at ?? 0, next, end };
}

const readRow = (row: SqlRow): LogRow => ({ at: Number(row.at), bytes: readBytes(row.line) });
const found = (rows: readonly SqlRow[]): readonly LogRow[] => (rows[0]?.at === null ? [] : rows.map(readRow));

/** Lines in rows by their offset. */
export function offsetRows(sql: {
  readAt(key: readonly SqlValue[], offsets: readonly number[]): SqlStatement;
  readRange(key: readonly SqlValue[], from: number, to: number): SqlStatement;
}): LineRows {
  return {
    step: (length) => length,
    shownLine(value) {
      const bytes = readBytes(value);
      return endsLine(bytes) ? bytes.subarray(0, -1) : undefined;
    },
    reader(maxLineBytes) {
      const joiner = new LineJoiner(maxLineBytes);
      return { page: (rows) => rowPage(found(rows), joiner), clear: () => joiner.clear() };
    },
    // The first rows may be the rest of a line.
    wholeRows: (rows) =>
      rows.slice(rows.findIndex(({ line }) => endsLine(readBytes(line))) + 1 || rows.length),
    backwards(before, read, maxLineBytes) {
      let bytes = firstPageBytes;
      const readBefore: ReadBefore = async (end) => {
        for (;;) {
          const page = bytes;
          bytes = Math.min(4 * bytes, pageBytes);
          const rows = await read(end, page);
          // No row begins in a page that is smaller than a row.
          if (rows[0]?.at === null && page < maxRowBytes) continue;
          return { base: Number(rows[0]?.base), rows: found(rows) };
        }
      };
      return linesBackwards(before ?? Number.MAX_SAFE_INTEGER, readBefore, maxLineBytes);
    },
    async readAt(key, places, run) {
      const lines: (Uint8Array | undefined)[] = [];
      for (const page of placesByPage(places)) {
        const rows = await run(
          sql.readAt(
            key,
            page.map(({ at }) => at),
          ),
        );
        const rowAt = new Map(rows.map((row) => [Number(row.at), readBytes(row.line)]));
        for (const { at, length } of page) {
          const bytes = rowAt.get(at);
          const isWhole = bytes === undefined || endsLine(bytes);
          lines.push(isWhole ? bytes?.subarray(0, -1) : await readLong(at, length));
        }
      }
      return lines;

      /** A line of several rows. */
      async function readLong(at: number, length: number): Promise<Uint8Array | undefined> {
        const joiner = new LineJoiner(Number.MAX_SAFE_INTEGER);
        for (let start = at; start <= at + length; start += maxRowBytes) {
          const end = Math.min(start + maxRowBytes, at + length + 1);
          for (const row of await run(sql.readRange(key, start, end))) {
            const line = joiner.push(readRow(row));
            if (line !== undefined) return line.bytes;
          }
        }
        return undefined;
      }
    },
  };
}
