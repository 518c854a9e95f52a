import type { LinePlace, SessionLog } from "../api/backend.js";
import { eachLine } from "../runtime/log-lines.js";

/** A line as it is stored, without its line feed. */
export interface StoredLine {
  readonly bytes: Uint8Array;
  readonly at: number;
  /** No reader takes it. */
  readonly tooLong: boolean;
}

/**
 * The lines of a log for a copy, what follows the last line feed included, and those too long to be read in
 * their places, without the NULs at their ends.
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
