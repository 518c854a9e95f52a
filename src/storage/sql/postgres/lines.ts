/** Lines by their numbers, as the statements have them: one array of bytes, and the lengths as text. */

import { concatBytes } from "../../../core/bytes.js";
import type { LinePlace, SearchIndexQuery } from "../../../session/index.js";
import { termKey } from "../../../session/internal.js";
import type { LinePage, LineRows, LineTerms, SessionKey, SqlRow, SqlStatement } from "../dialect.js";
import { firstPageBytes, pageBytes, placesByPage, readBytes } from "../lines.js";

const pageLines = 4096;

/** Lines at most of a page of so many bytes: the server reads as many, also if the bytes allow fewer. */
export function linesWithin(bytes: number): number {
  return Math.min(pageLines, Math.max(16, bytes >> 8));
}

/** The number of lines, their size, their lengths, and the bytes of all, as the SQL has them. */
export function lineValues(lines: readonly Uint8Array[]): readonly [number, number, string, Uint8Array] {
  const bare = lines.map((line) => line.subarray(0, -1));
  const size = lines.reduce((sum, { length }) => sum + length, 0);
  const lengths = `{${bare.map(({ length }) => length).join(",")}}`;
  return [bare.length, size, lengths, concatBytes(bare, size - bare.length)];
}

/** Numbers as an array in SQL. */
export function placeNumbers(places: readonly Pick<LinePlace, "at">[]): string {
  return `{${places.map(({ at }) => at).join(",")}}`;
}

/** Names, numbers or digits as an array in SQL. In quotes, since `null` is a name too. */
export function sqlArray(items: readonly (string | number)[]): string {
  return `{${items.map((item) => `"${item}"`).join(",")}}`;
}

/** The terms of lines as one value: separated by spaces, a line each. */
export function joinedTerms(terms: readonly LineTerms[]): string {
  return terms.map(([, text]) => text).join("\n");
}

/** Alternatives of terms as a tsquery. Terms have neither quotes nor backslashes. */
export function termQuery(anyOf: SearchIndexQuery["anyOf"], partition: string): string {
  const key = termKey(partition);
  return anyOf.map((terms) => `(${terms.map((term) => `'${key}${term}':*`).join(" & ")})`).join(" | ");
}

/** Times beyond this would not print with four digits of the year. */
const maxTime = Date.UTC(9999, 0);

/** A time in milliseconds since 1970, as text in SQL. */
export function readTime(time: number): string {
  if (time === Infinity) return "infinity";
  return new Date(Math.max(0, Math.min(time, maxTime))).toISOString();
}

/** Lines whose row has their number. A page is one row of an answer. */
export function numberedRows(
  readAt: (key: SessionKey, places: readonly LinePlace[]) => SqlStatement,
): LineRows {
  return {
    step: () => 1,
    shownLine: readBytes,
    reader: () => ({ page: sqlRowPage, clear() {} }),
    wholeRows: (rows) => rows,
    async *backwards(before, read) {
      for (let end = before, bytes = firstPageBytes; ; bytes = Math.min(4 * bytes, pageBytes)) {
        const rows = await read(end, bytes);
        const { batch } = sqlRowPage(rows);
        if (batch === undefined) return;
        yield batch;
        end = Number(rows[0]?.at);
        if (end <= Number(rows[0]?.base)) return;
      }
    },
    async readAt(key, places, run) {
      const lines: (Uint8Array | undefined)[] = [];
      for (const page of placesByPage(places, pageLines, Number.MAX_SAFE_INTEGER)) {
        const [row] = await run(readAt(key, page));
        const bytes = readBytes(row?.bytes ?? null);
        let offset = 0;
        for (const length of readLengths(row?.lengths)) {
          lines.push(length < 0 ? undefined : bytes.subarray(offset, offset + length));
          offset += Math.max(0, length);
        }
      }
      return lines;
    },
  };
}

/** The lines of a page, those that are too long apart. */
function sqlRowPage([row]: readonly SqlRow[]): LinePage {
  if (row === undefined || row.lengths === null) return { batch: undefined, next: 0, end: 0 };
  const start = Number(row.at);
  const bounds: number[] = [];
  const at: number[] = [];
  const tooLong: LinePlace[] = [];
  let offset = 0;
  const lengths = readLengths(row.lengths);
  for (const [index, length] of lengths.entries()) {
    if (length < 0) tooLong.push({ at: start + index, length: -length });
    if (length < 0) continue;
    bounds.push(offset, offset + length);
    at.push(start + index);
    offset += length;
  }
  const next = start + lengths.length;
  const lines = { bytes: readBytes(row.bytes), bounds };
  return { batch: { lines, at, ...(tooLong.length > 0 && { tooLong }) }, next, end: next };
}

function readLengths(lengths: unknown): readonly number[] {
  return typeof lengths === "string" ? lengths.split(",").map(Number) : [];
}
