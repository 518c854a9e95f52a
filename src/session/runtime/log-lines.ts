import type { LineRanges, LogBatch } from "../api/backend.js";
import type { LineSink } from "../format/line-splitter.js";

/** Hands the lines of a batch over, and tells of those that were too long, in order of place. */
export function eachLine(batch: LogBatch, sink: LineSink): void {
  const { lines, at, tooLong = [] } = batch;
  let next = 0;
  for (let i = 0; i < at.length; i++) {
    const place = at[i] as number;
    for (; next < tooLong.length && (tooLong[next]?.at as number) < place; next++) tell(next);
    if (isRanges(lines)) {
      sink.line(lines.bytes, place, lines.bounds[2 * i] as number, lines.bounds[2 * i + 1] as number);
    } else {
      const line = lines[i] as Uint8Array;
      sink.line(line, place, 0, line.length);
    }
  }
  for (; next < tooLong.length; next++) tell(next);

  function tell(index: number): void {
    const place = tooLong[index];
    if (place !== undefined) sink.tooLong(place.at, place.length, place.bytesBeforeNuls);
  }
}

/** The lines of a batch, each by itself. */
export function linesOf({ lines, at }: Pick<LogBatch, "lines" | "at">): readonly Uint8Array[] {
  if (!isRanges(lines)) return lines;
  const { bytes, bounds } = lines;
  return at.map((_, i) => bytes.subarray(bounds[2 * i], bounds[2 * i + 1]));
}

/** The line of a batch that lies at a place; undefined where it is not among them. Looked for from the end. */
export function lineAt({ lines, at }: Pick<LogBatch, "lines" | "at">, place: number): Uint8Array | undefined {
  const index = at.lastIndexOf(place);
  if (index < 0) return undefined;
  if (!isRanges(lines)) return lines[index];
  return lines.bytes.subarray(lines.bounds[2 * index], lines.bounds[2 * index + 1]);
}

function isRanges(lines: LogBatch["lines"]): lines is LineRanges {
  return "bounds" in lines;
}
