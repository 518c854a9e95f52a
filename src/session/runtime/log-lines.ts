/** The lines of a log as a reader gets them and a writer makes them. */

import { encodeUtf8 } from "../../core/bytes.js";
import { encodeHeader, type LineSink, type SessionHeader } from "../../log/internal.js";
import type { LinePlace, LineRanges, LogBatch, LongLine, SessionLog } from "../api/backend.js";
import type { SessionState } from "./session-state.js";

/** Passes the lines of a batch to a sink, including those that are too long, in the order of the log. */
export function eachLine(batch: LogBatch, sink: LineSink): void {
  const { lines, at, tooLong = [] } = batch;
  let next = 0;
  for (let i = 0; i <= at.length; i++) {
    const place = i < at.length ? (at[i] as number) : Number.POSITIVE_INFINITY;
    for (; next < tooLong.length && (tooLong[next] as LongLine).at < place; next++) {
      const long = tooLong[next] as LongLine;
      sink.tooLong(long.at, long.length, long.bytesBeforeNuls);
    }
    if (i === at.length) return;
    if ("bounds" in lines) {
      sink.line(lines.bytes, place, lines.bounds[2 * i] as number, lines.bounds[2 * i + 1] as number);
    } else {
      const line = lines[i] as Uint8Array;
      sink.line(line, place, 0, line.length);
    }
  }
}

/** The lines of a batch as separate arrays. */
export function logBatchLines({ lines, at }: Pick<LogBatch, "lines" | "at">): readonly Uint8Array[] {
  if (!isRanges(lines)) return lines;
  const { bytes, bounds } = lines;
  return at.map((_, i) => bytes.subarray(bounds[2 * i], bounds[2 * i + 1]));
}

/** The line of a batch at a place, searched from the end; undefined if the batch does not have it. */
export function lineAt({ lines, at }: Pick<LogBatch, "lines" | "at">, place: number): Uint8Array | undefined {
  const index = at.lastIndexOf(place);
  if (index < 0) return undefined;
  if (!isRanges(lines)) return lines[index];
  return lines.bytes.subarray(lines.bounds[2 * index], lines.bounds[2 * index + 1]);
}

function isRanges(lines: LogBatch["lines"]): lines is LineRanges {
  return "bounds" in lines;
}

/** A stored line without its line feed. */
export interface StoredLine {
  readonly bytes: Uint8Array;
  readonly at: number;
  /** Whether it exceeds the maximum of every reader. */
  readonly tooLong: boolean;
}

/**
 * Yields the lines of a log for a copy, in order: also the bytes after the last line feed, and lines that are
 * too long, without the NULs at their ends.
 */
export async function* storedLines(log: SessionLog): AsyncGenerator<StoredLine> {
  for await (const batch of log.read(undefined)) {
    const found: (StoredLine | LinePlace)[] = [];
    eachLine(batch, {
      line: (bytes, at, start, end) => found.push({ bytes: bytes.subarray(start, end), at, tooLong: false }),
      tooLong: (at, length, bytesBeforeNuls = length) => found.push({ at, length: bytesBeforeNuls }),
    });
    for (const line of found) {
      if ("bytes" in line) yield line;
      else if (line.length > 0) yield* longLine(log, line);
    }
    if (batch.tail !== undefined) yield { ...batch.tail, tooLong: false };
  }
}

async function* longLine(log: SessionLog, place: LinePlace): AsyncGenerator<StoredLine> {
  const [bytes] = await log.readAt([place]);
  if (bytes !== undefined) yield { bytes, at: place.at, tooLong: true };
}

/** The line of a header with its line feed, padded if its log can be copied by bytes. */
export function headerLine(
  header: SessionHeader,
  state?: Pick<SessionState, "log" | "settings">,
): Uint8Array {
  const line = encodeHeader(header);
  return state === undefined ? encodeUtf8(`${line}\n`) : lineWithRoom(header, line, state);
}

export function lineWithRoom(
  header: SessionHeader,
  line: string,
  state: Pick<SessionState, "log" | "settings">,
): Uint8Array {
  return encodeUtf8(`${line}${" ".repeat(paddingAfter(header, line, state))}\n`);
}

const spareBytes = 64;

/**
 * Spaces after a header, so that the header of a copy fits in its place and the bytes after it can be cloned.
 * A copy adds `parentSession`, and its directory or id may be longer. Bounded by the maximum length of a
 * line.
 */
function paddingAfter(
  header: SessionHeader,
  line: string,
  { log, settings }: Pick<SessionState, "log" | "settings">,
): number {
  if (log.copy === undefined) return 0;
  const parent = header.parentSession === undefined ? `,"parentSession":${JSON.stringify(log.location)}` : "";
  const room = encodeUtf8(parent).length + spareBytes;
  return Math.max(0, Math.min(room, settings.maxLineBytes - encodeUtf8(line).length));
}

/** A line with its line feed. */
export function withLineFeed(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(bytes.length + 1);
  out.set(bytes);
  out[bytes.length] = 10;
  return out;
}
