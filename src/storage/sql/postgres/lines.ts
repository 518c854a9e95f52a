/** Lines by their numbers, as the statements have them: one array of bytes, and the lengths as text. */

import { concatBytes } from "../../../core/bytes.js";
import type { LinePlace, SearchIndexQuery } from "../../../session/index.js";
import { termKey } from "../../../session/internal.js";
import type {
  LinePage,
  LineRows,
  LineTerms,
  PageQuery,
  SessionKey,
  SqlRow,
  SqlStatement,
} from "../dialect.js";
import { firstPageBytes, pageBytes, placesByPage, readBytes } from "../lines.js";

const pageLines = 4096;

/** Lines at most of a page: the server reads as many, also if the bytes allow fewer. */
export function linesWithin({ bytes, lines = bytes >> 8 }: PageQuery): number {
  return Math.min(pageLines, 16 + Math.ceil(lines * 1.25));
}

/** The number of lines, their size, their lengths, and the bytes of all, as the SQL has them. */
export function lineValues(lines: readonly Uint8Array[]): readonly [number, number, string, Uint8Array] {
  const bare = lines.map((line) => line.subarray(0, -1));
  const size = lines.reduce((sum, { length }) => sum + length, 0);
  const lengths = `{${bare.map(({ length }) => length).join(",")}}`;
  return [bare.length, size, lengths, concatBytes(bare, size - bare.length)];
}

/** Names, numbers or digits as an array in SQL. In quotes, since `null` is a name too. */
export function sqlArray(items: readonly (string | number)[]): string {
  return `{${items.map((item) => `"${item}"`).join(",")}}`;
}

/**
 * Lines of a row of words, and the length of their text: PostgreSQL has 1 MB for all terms of a row in its index, and
 * a letter three bytes. One line alone may have more, but few enough terms.
 */
const [maxWordLines, maxWordsLength] = [64, 200_000];

/** Precedes the terms of a partition in the index. A few partitions may share one. */
export function wordsKey(partition: string): string {
  return termKey(partition).slice(0, 4);
}

/**
 * Rows of words for the terms of lines that follow each other, as three values: the key, the offset of each row
 * from the first line as an array, and their texts, separated by form feeds. A row has each term once, in the first
 * of its lines that has it, begins with a line that has terms, and ends with one.
 */
export function wordRows(terms: readonly LineTerms[], partition: string): readonly [string, string, string] {
  const offsets: number[] = [];
  const texts: string[] = [];
  let [text, end] = ["", 0];
  let known = new Set<string>();
  for (const [index, [, words]] of terms.entries()) {
    if (words === "") continue;
    const first = offsets.at(-1);
    const isOpen =
      first !== undefined && index - first < maxWordLines && text.length + words.length < maxWordsLength;
    if (!isOpen) {
      if (first !== undefined) texts.push(text);
      offsets.push(index);
      text = "";
      end = index;
      known = new Set();
    }
    text += "\n".repeat(index - end);
    end = index;
    for (const word of words.split(" ")) {
      if (known.has(word)) continue;
      known.add(word);
      text += ` ${word}`;
    }
  }
  if (offsets.length > 0) texts.push(text);
  return [wordsKey(partition), `{${offsets.join(",")}}`, texts.join("\f")];
}

/**
 * Patterns of LIKE for the lines that have the longest term of an alternative. Terms have no quotes, backslashes
 * or punctuation.
 */
export function termPatterns(anyOf: SearchIndexQuery["anyOf"]): readonly string[] {
  return anyOf.map((terms) => `% ${terms.reduce((a, b) => (b.length > a.length ? b : a), "")}%`);
}

/** Alternatives of terms as a tsquery. Terms have neither quotes nor backslashes. */
export function termQuery(anyOf: SearchIndexQuery["anyOf"], partition: string): string {
  const key = wordsKey(partition);
  return anyOf.map((terms) => `(${terms.map((term) => `'${key}${term}':*`).join(" & ")})`).join(" | ");
}

/** Times beyond this would not print with four digits of the year. */
const maxTime = Date.UTC(9999, 0);

/** A time in milliseconds since 1970, as text in SQL. */
export function readTime(time: number): string {
  if (time === Infinity) return "infinity";
  return new Date(Math.max(0, Math.min(time, maxTime))).toISOString();
}

/** Lines whose row has their number. */
export function numberedRows(
  readAt: (key: SessionKey, ranges: readonly LineRange[]) => SqlStatement,
): LineRows {
  return {
    step: () => 1,
    shownLine: readBytes,
    reader: () => ({ page: numberedPage, clear() {} }),
    wholeRows: (rows) => rows,
    async *backwards(before, read) {
      for (let end = before, bytes = firstPageBytes; ; bytes = Math.min(4 * bytes, pageBytes)) {
        const rows = await read(end, bytes);
        const { batch, first } = numberedPage(rows);
        if (batch === undefined) return;
        yield batch;
        end = first;
        if (end <= Number(rows[0]?.base)) return;
      }
    },
    async readAt(key, places, run) {
      const lines: (Uint8Array | undefined)[] = [];
      for (const page of placesByPage(places, pageLines, Number.MAX_SAFE_INTEGER)) {
        const rows = await run(readAt(key, rangesOf(page)));
        const found = new Map(rows.map(({ at, line }) => [Number(at), readBytes(line)]));
        for (const { at } of page) lines.push(found.get(at));
      }
      return lines;
    },
  };
}

/** The numbers of lines that follow each other. */
export type LineRange = readonly [first: number, last: number];

/** Places as ranges of numbers: a context has its lines in a row, and a range is one way down the index. */
function rangesOf(places: readonly LinePlace[]): readonly LineRange[] {
  const ranges: [number, number][] = [];
  for (const at of new Set(places.map((place) => place.at).sort((a, b) => a - b))) {
    const last = ranges.at(-1);
    if (last?.[1] === at - 1) last[1] = at;
    else ranges.push([at, at]);
  }
  return ranges;
}

/** The lines of a page, in whatever order its rows are; those that are too long apart. */
function numberedPage(rows: readonly SqlRow[]): LinePage {
  const lines: Uint8Array[] = [];
  const at: number[] = [];
  const tooLong: LinePlace[] = [];
  const numbers = rows.map((row) => Number(row.at));
  if (rows.length === 0 || rows[0]?.at === null) return { batch: undefined, first: 0, next: 0, end: 0 };
  const isOrdered = numbers.every((number, index) => index === 0 || number > (numbers[index - 1] as number));
  const ordered = isOrdered ? rows : rows.toSorted((a, b) => Number(a.at) - Number(b.at));
  if (!isOrdered) numbers.sort((a, b) => a - b);
  for (let index = 0; index < ordered.length; index++) {
    const { line, too_long: length } = ordered[index] as SqlRow;
    const number = numbers[index] as number;
    if (line === null) {
      tooLong.push({ at: number, length: Number(length) });
    } else {
      lines.push(readBytes(line));
      at.push(number);
    }
  }
  const next = (numbers.at(-1) as number) + 1;
  const batch = { lines, at, ...(tooLong.length > 0 && { tooLong }) };
  return { batch, first: numbers[0] as number, next, end: next };
}
