/** Lines as rows: one row a line, several for a long one. Joined in order, the rows are the file. */

import { concatBytes } from "../../../core/bytes.js";
import type { LinePlace } from "../../../session/index.js";
import { checkBatchBytes, summarizeLines } from "../../../session/internal.js";
import type { SqliteValue } from "./driver.js";

/** The bytes of one row at most. A Durable Object takes 2 MB. */
export const maxRowBytes = 1024 * 1024;
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

/** Lines of an append with their rows. Throws BATCH_TOO_LARGE if they exceed a transaction. */
export interface LineBatch {
  readonly rows: readonly LogRow[];
  /** The offset of each line. */
  readonly at: readonly number[];
  /** The offset after the last one. */
  readonly end: number;
  /** Counts, then the offsets of the header, the preview and the info, then the preview. */
  readonly counts: readonly [SqliteValue, SqliteValue];
  readonly shown: readonly [SqliteValue, SqliteValue, SqliteValue, SqliteValue];
  /** The directory of the header among the lines. */
  readonly cwd: string | undefined;
}

/**
 * Cuts lines, each with its line feed, into rows.
 * @param from the offset of the first line
 * @param known.head whether the list has the header and the preview of the session
 */
export function batchOf(
  lines: readonly Uint8Array[],
  from: number,
  known: { readonly head: boolean },
): LineBatch {
  const rows: LogRow[] = [];
  const at: number[] = [];
  let end = from;
  for (const line of lines) {
    at.push(end);
    for (const row of rowsOf(line, end)) rows.push(row);
    end += line.length;
  }
  checkBatchBytes(end - from);
  const bare = lines.map((line) => line.subarray(0, -1));
  const { header, preview, info, counts } = summarizeLines(bare, known);
  const placeOf = (found: { readonly at: number } | undefined) => (found && at[found.at]) ?? null;
  return {
    rows,
    at,
    end,
    counts: [counts?.entries ?? null, counts?.messages ?? null],
    shown: [placeOf(header), placeOf(preview), placeOf(info), preview?.line ?? null],
    cwd: header?.cwd,
  };
}

/** The rows of a line with its line feed. */
export function rowsOf(line: Uint8Array, at: number): readonly LogRow[] {
  const rows: LogRow[] = [];
  for (let start = 0; start < line.length; start += maxRowBytes) {
    rows.push({ at: at + start, bytes: line.subarray(start, start + maxRowBytes) });
  }
  return rows;
}

/** Bytes of a column; none for null. */
export function bytesOf(value: unknown): Uint8Array {
  if (value === null || value === undefined) return new Uint8Array();
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError("driver: expected a column of bytes as a Uint8Array or an ArrayBuffer");
}

const lineFeed = 10;

/** Whether a row is the last one of its line. */
export function endsLine(bytes: Uint8Array): boolean {
  return bytes[bytes.length - 1] === lineFeed;
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

/** Places in groups, so that no answer has much more than the bytes of a page. */
export function* placesByPage(places: readonly LinePlace[]): Generator<readonly LinePlace[]> {
  let page: LinePlace[] = [];
  let bytes = 0;
  for (const place of places) {
    const first = Math.min(place.length, maxRowBytes);
    if (page.length === maxPlaces || (page.length > 0 && bytes + first > pageBytes)) {
      yield page;
      page = [];
      bytes = 0;
    }
    page.push(place);
    bytes += first;
  }
  if (page.length > 0) yield page;
}

/** Whether rows of a log are these. */
export function isSameRow(a: LogRow | undefined, b: LogRow): boolean {
  return (
    a?.at === b.at && a.bytes.length === b.bytes.length && a.bytes.every((byte, at) => byte === b.bytes[at])
  );
}
