/** The lines of a log for a copy, byte for byte, and the failures of their reads. */

import { SessileError } from "../core/errors/index.js";
import type { LinePlace, LogBatch, LogPosition, SessionLog } from "../session/index.js";
import { eachLine } from "../session/internal.js";

/** A stored line. */
export interface CopiedLine {
  /** Without the line feed; valid until the next line is requested. */
  readonly bytes: Uint8Array;
  readonly at: number;
  /** Whether these are the bytes after the last line feed of the log. */
  readonly isTail: boolean;
}

/** The batches of a log after a position. Their errors are read failures. */
export async function* readBatches(
  log: Pick<SessionLog, "read">,
  from: LogPosition | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<LogBatch> {
  const batches = log.read(from, signal === undefined ? {} : { signal })[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await reading(batches.next());
      if (done === true) return;
      yield value;
    }
  } finally {
    await batches.return?.();
  }
}

/** Reads the lines of a log in order, and remembers its position. */
export class LineReader {
  readonly #log: SessionLog;
  readonly #id: string;
  readonly #signal: AbortSignal | undefined;
  /** The end of the lines that were read. */
  position: LogPosition | undefined;

  constructor(log: SessionLog, id: string, signal: AbortSignal | undefined) {
    this.#log = log;
    this.#id = id;
    this.#signal = signal;
  }

  /**
   * Yields the lines after the last position. Of lines over the maximum without the NULs at their ends.
   *
   * @throws SessileError LOG_CHANGED if the log was replaced
   */
  async *read(): AsyncGenerator<CopiedLine> {
    const signal = this.#signal;
    for await (const batch of readBatches(this.#log, this.position, signal)) {
      signal?.throwIfAborted();
      if (batch.restarted === true) throw replaced(this.#id);
      const found: (CopiedLine | LinePlace)[] = [];
      eachLine(batch, {
        line: (bytes, at, start, end) => found.push({ bytes: bytes.subarray(start, end), at, isTail: false }),
        tooLong: (at, length, bytesBeforeNuls = length) => found.push({ at, length: bytesBeforeNuls }),
      });
      for (const line of found) {
        if ("bytes" in line) yield line;
        else yield { bytes: await this.#longLine(line), at: line.at, isTail: false };
      }
      this.position = batch.next;
      if (batch.tail !== undefined) yield { ...batch.tail, isTail: true };
    }
  }

  async #longLine(place: LinePlace): Promise<Uint8Array> {
    const [bytes] = await reading(this.#log.readAt([place]));
    if (bytes === undefined) throw replaced(this.#id);
    return bytes;
  }
}

function replaced(id: string): SessileError {
  const message = `the log of session ${SessileError.printable(id)} was replaced: copy it again`;
  return new SessileError("LOG_CHANGED", message, { details: { id } });
}

/** Errors of reads: they concern one session, while errors of writes concern the store. */
const failures = new WeakSet<object>();

/** Whether an error is from {@link reading}. */
export function isReadFailure(error: object): boolean {
  return failures.has(error);
}

/** Passes on a promise, and remembers its error as one of a read. */
export async function reading<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (typeof error === "object" && error !== null) failures.add(error);
    throw error;
  }
}
