/** Reads the lines of a file backwards. */

import type { OpenFile } from "../../core/node/file-system.js";
import type { LinePlace, LogBatch } from "../../session/index.js";
import { type ReadLineOptions, readRanges } from "./read-lines.js";

const stepBytes = 64 * 1024;

/** A line, with its bytes unless it exceeds the maximum. */
export interface BackwardLine extends LinePlace {
  readonly bytes?: Uint8Array;
}

/**
 * The lines of a range of a file, the last one first. The range begins at a line; its last line may lack a
 * line feed. Ends early if the file is shorter than `end`. Memory is bounded by the longest line allowed.
 */
export async function* linesBackwards(
  file: OpenFile,
  { start, end }: { readonly start: number; readonly end: number },
  { maxLineBytes, signal }: ReadLineOptions,
): AsyncGenerator<BackwardLine, void, undefined> {
  /** The pieces of the line that is being read, the last one first. */
  let pieces: Uint8Array[] = [];
  let length = 0;
  const add = (piece: Uint8Array) => {
    length += piece.length;
    if (length > maxLineBytes) pieces = [];
    else pieces.push(piece);
  };
  const assembled = (at: number): BackwardLine => {
    const place = { at, length };
    const line = length > maxLineBytes ? place : { ...place, bytes: Buffer.concat(pieces.reverse()) };
    pieces = [];
    length = 0;
    return line;
  };
  for (let stop = end; stop > start; ) {
    signal?.throwIfAborted();
    const at = Math.max(start, stop - stepBytes);
    const [bytes] = await readRanges(file, [{ at, length: stop - at }]);
    if (bytes === undefined) return;
    let rest = stop === end && bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes;
    for (let feed = rest.lastIndexOf(10); feed >= 0; feed = rest.lastIndexOf(10)) {
      add(rest.subarray(feed + 1));
      yield assembled(at + feed + 1);
      rest = rest.subarray(0, feed);
    }
    add(rest);
    stop = at;
  }
  if (end > start) yield assembled(start);
}

/** A batch has at least one line, else about this number of bytes and lines. */
const batchBytes = 64 * 1024;
const batchLines = 256;

/**
 * The lines before `end` in batches: each has the lines before those of the last one.
 * @param hasTail whether the last line may lack its line feed
 */
export async function* batchesBackwards(
  file: OpenFile,
  end: number,
  hasTail: boolean,
  options: ReadLineOptions,
): AsyncGenerator<Omit<LogBatch, "next">, void, undefined> {
  const [last] = hasTail && end > 0 ? await readRanges(file, [{ at: end - 1, length: 1 }]) : [];
  let isTail = last !== undefined && last[0] !== 10;
  let lines: BackwardLine[] = [];
  let bytes = 0;
  for await (const line of linesBackwards(file, { start: 0, end }, options)) {
    if (isTail && line.bytes !== undefined) {
      isTail = false;
      yield { lines: [], at: [], tail: { bytes: line.bytes, at: line.at } };
      continue;
    }
    isTail = false;
    lines.push(line);
    bytes += line.length;
    if (bytes < batchBytes && lines.length < batchLines) continue;
    yield batchOf(lines);
    lines = [];
    bytes = 0;
  }
  if (lines.length > 0) yield batchOf(lines);
}

function batchOf(newestFirst: readonly BackwardLine[]): Omit<LogBatch, "next"> {
  const lines: Uint8Array[] = [];
  const at: number[] = [];
  const tooLong: LinePlace[] = [];
  for (const line of newestFirst.toReversed()) {
    if (line.bytes === undefined) tooLong.push({ at: line.at, length: line.length });
    else {
      lines.push(line.bytes);
      at.push(line.at);
    }
  }
  return tooLong.length === 0 ? { lines, at } : { lines, at, tooLong };
}
