/** Reads of a log from its end. */

import type { LogBatch } from "../../../session/index.js";
import { endsLine, type FoundLine, LineJoiner, type LogRow } from "./lines.js";

/** Rows before an offset, in order; at least one unless there is none. */
export type ReadBefore = (
  end: number,
) => Promise<{ readonly base: number; readonly rows: readonly LogRow[] }>;

/** Yields the lines before an offset, in pages from the end. */
export async function* linesBackwards(
  end: number,
  readBefore: ReadBefore,
  maxLineBytes: number,
): AsyncGenerator<Omit<LogBatch, "restarted" | "next">, void, undefined> {
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
    const batch = batchOf([...whole, ...open], maxLineBytes);
    open = isStart ? [] : rows.slice(0, ends + 1);
    if (batch !== undefined) yield batch;
    if (isStart) return;
  }
}

function batchOf(
  rows: readonly LogRow[],
  maxLineBytes: number,
): Omit<LogBatch, "restarted" | "next"> | undefined {
  const joiner = new LineJoiner(maxLineBytes);
  const found = rows.map((row) => joiner.push(row)).filter((line) => line !== undefined);
  if (found.length === 0) return undefined;
  const lines: Uint8Array[] = [];
  const at: number[] = [];
  const tooLong: Pick<FoundLine, "at" | "length">[] = [];
  for (const line of found) {
    if (line.bytes === undefined) tooLong.push({ at: line.at, length: line.length });
    else {
      lines.push(line.bytes);
      at.push(line.at);
    }
  }
  return { lines, at, ...(tooLong.length > 0 && { tooLong }) };
}
