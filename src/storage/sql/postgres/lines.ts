/** Lines as the statements have them: one array of bytes, and the lengths as text. */

import { concatBytes } from "../../../core/bytes.js";
import type { LinePlace, LineReplacement, SearchIndexQuery } from "../../../session/index.js";
import {
  checkBatchBytes,
  indexedTerms,
  type LineSummary,
  summarizeLines,
  termKey,
} from "../../../session/internal.js";
import type { Row } from "./database.js";

/** A page has at least one line, else at most this number of bytes and lines. */
export const pageBytes = 1024 * 1024;
const pageLines = 4096;

/** Lines at most of a page of so many bytes: the server reads as many, also if the bytes allow fewer. */
export function linesWithin(bytes: number): number {
  return Math.min(pageLines, Math.max(16, bytes >> 8));
}

/** The lines of one write. */
export interface LineBatch {
  /** Without line feeds. */
  readonly lines: readonly Uint8Array[];
  /** With line feeds. */
  readonly size: number;
  /** The number of lines, their size, their lengths, and the bytes of all, as the SQL has them. */
  readonly values: readonly unknown[];
}

/** Joins lines, each with its line feed. Throws BATCH_TOO_LARGE if they exceed a statement. */
export function batchOf(lines: readonly Uint8Array[]): LineBatch {
  const size = lines.reduce((sum, { length }) => sum + length, 0);
  checkBatchBytes(size);
  const bare = lines.map((line) => line.subarray(0, -1));
  const lengths = `{${bare.map(({ length }) => length).join(",")}}`;
  return { lines: bare, size, values: [bare.length, size, lengths, concatBytes(bare, size - bare.length)] };
}

/** The summary of lines, as the SQL has it: counts, then what a list shows. */
export interface SummaryValues extends LineSummary {
  readonly countValues: readonly unknown[];
  /** Undefined if a list shows none of the lines. */
  readonly shownValues: readonly unknown[];
  readonly isShown: boolean;
}

/** @param from the number of the first line in the log */
export function summaryValues(
  lines: readonly Uint8Array[],
  from: number,
  known: { readonly head: boolean },
): SummaryValues {
  const summary = summarizeLines(lines, known);
  const { header, preview, info, counts } = summary;
  return {
    ...summary,
    countValues: [counts?.entries ?? null, counts?.messages ?? null],
    shownValues: [header?.line ?? null, ...placed(preview), ...placed(info)],
    isShown: header !== undefined || preview !== undefined || info !== undefined,
  };

  function placed(found: LineSummary["info"]): readonly unknown[] {
    return found === undefined ? [null, null] : [from + found.at, found.line];
  }
}

/** Places where the bytes of deleted rows may remain, for people. */
export const remainingInDatabase: readonly string[] = [
  "dead rows, keys of indices and statistics of the database until a `vacuum (full, analyze)`",
  "the write-ahead log, replicas and backups of the database, and the log of the server if it has values",
];

/** The values of an erasure after those of the session and its head. */
export interface ErasureValues {
  readonly lines: readonly Uint8Array[];
  readonly values: readonly unknown[];
  /** The places of the lines after the erasure. */
  readonly places: readonly LinePlace[];
}

/** @param shown the numbers of the lines that a list shows: their cached parts change with them */
export function erasureValues(changes: readonly LineReplacement[], head: number, shown: Row): ErasureValues {
  const { lines, values } = batchOf(changes.map(({ line }) => line));
  const [, , lengths, bytes] = values;
  const summaryAt = (place: string | null) => {
    const line = place === null ? undefined : lines[changes.findIndex(({ at }) => at === Number(place))];
    return line && summarizeLines([line], { head: false });
  };
  const [first, info] = [summaryAt(shown.preview_at), summaryAt(shown.info_at)];
  const preview = [first !== undefined, first?.preview?.line ?? null];
  const latest = [info !== undefined, info?.info?.line ?? null];
  const moved = head - Number(shown.base);
  return {
    lines,
    values: [numbersOf(changes), lengths, bytes, ...preview, ...latest],
    places: changes.map(({ at }, index) => ({ at: at + moved, length: lines[index]?.length ?? 0 })),
  };
}

/** The terms of lines as one value: separated by spaces, a line each. */
export function termsOf(lines: readonly Uint8Array[], partition: string): string {
  return lines.map((line) => indexedTerms(line, partition)).join("\n");
}

/** Alternatives of terms as a tsquery. Terms have neither quotes nor backslashes. */
export function queryOf(anyOf: SearchIndexQuery["anyOf"], partition: string): string {
  const key = termKey(partition);
  return anyOf.map((terms) => `(${terms.map((term) => `'${key}${term}':*`).join(" & ")})`).join(" | ");
}

/** Places in groups, so that no answer has much more than the bytes of a page. */
export function* placesByPage(places: readonly LinePlace[]): Generator<readonly LinePlace[]> {
  let page: LinePlace[] = [];
  let bytes = 0;
  for (const place of places) {
    if (page.length === pageLines || (page.length > 0 && bytes + place.length > pageBytes)) {
      yield page;
      page = [];
      bytes = 0;
    }
    page.push(place);
    bytes += place.length;
  }
  if (page.length > 0) yield page;
}

/** Places as an array of numbers in SQL. */
export function numbersOf(places: readonly LinePlace[]): string {
  return `{${places.map(({ at }) => at).join(",")}}`;
}

/** The lengths of the lines of an answer. */
export function lengthsOf(lengths: unknown): readonly number[] {
  return typeof lengths === "string" ? lengths.split(",").map(Number) : [];
}

/** The lines of an answer: undefined for a negative length. */
export function linesOf(
  row: Readonly<Record<string, unknown>> | undefined,
): readonly (Uint8Array | undefined)[] {
  const bytes = bytesOf(row?.bytes ?? null);
  let offset = 0;
  return lengthsOf(row?.lengths).map((length) => {
    if (length < 0) return undefined;
    offset += length;
    return bytes.subarray(offset - length, offset);
  });
}

/** Bytes of a column; none for null. Some drivers give the text of bytes. */
export function bytesOf(value: unknown): Uint8Array {
  if (value === null) return new Uint8Array();
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string" && value.startsWith("\\x")) {
    const bytes = new Uint8Array(value.length / 2 - 1);
    for (let at = 0; at < bytes.length; at++)
      bytes[at] = Number.parseInt(value.slice(2 * at + 2, 2 * at + 4), 16);
    return bytes;
  }
  throw new TypeError("db: expected a column of type bytea as a Uint8Array");
}

/** Whether an answer has exactly these lines. */
export function isSameLines(
  found: readonly (Uint8Array | undefined)[],
  lines: readonly Uint8Array[],
): boolean {
  return lines.every((line, index) => {
    const other = found[index];
    return other?.length === line.length && line.every((byte, at) => byte === other[at]);
  });
}

/** Times beyond this would not print with four digits of the year. */
const maxTime = Date.UTC(9999, 0);

/** A time in milliseconds since 1970, as text in SQL. */
export function timeOf(time: number): string {
  if (time === Infinity) return "infinity";
  return new Date(Math.max(0, Math.min(time, maxTime))).toISOString();
}
