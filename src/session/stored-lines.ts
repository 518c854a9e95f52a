import type { LinePlace, SessionLog } from "./backend.js";

/** A line as it is stored, without its line feed. */
export interface StoredLine {
  readonly bytes: Uint8Array;
  readonly at: number;
  /** No reader takes it. */
  readonly tooLong: boolean;
}

/** The lines of a log for a copy, what follows the last line feed included, and those too long to be read in their places. */
export async function* storedLines(log: SessionLog): AsyncGenerator<StoredLine> {
  for await (const batch of log.read(undefined)) {
    const long = [...(batch.tooLong ?? [])];
    for (const [index, bytes] of batch.lines.entries()) {
      const at = batch.at[index] as number;
      while ((long[0]?.at ?? at) < at) yield* longLines(log, long.splice(0, 1));
      yield { bytes, at, tooLong: false };
    }
    yield* longLines(log, long);
    if (batch.tail !== undefined) yield { ...batch.tail, tooLong: false };
  }
}

async function* longLines(log: SessionLog, places: readonly LinePlace[]): AsyncGenerator<StoredLine> {
  for (const place of places) {
    const [bytes] = await log.readAt([place]);
    if (bytes !== undefined) yield { bytes, at: place.at, tooLong: true };
  }
}
