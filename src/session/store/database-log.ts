/**
 * The parts that logs in databases have in common: a session is a row, its lines are rows beside it, and an
 * append is a compare-and-swap of the row's head.
 */

import { crc32, encodeUtf8 } from "../../core/bytes.js";
import { SessileError } from "../../core/errors/index.js";
import { canonicalPath } from "../../core/ids.js";
import { searchTermsOfLine } from "../../log/internal.js";
import type { LogPosition } from "../api/backend.js";

/** The session of a log. */
export interface DatabaseSession {
  readonly partition: string;
  readonly id: string;
  /** Identifies the session among those that had the id. */
  readonly epoch: string;
  /** The directory, for the session's first append. */
  readonly cwd: string;
  /** Whether a list has the header and the preview. */
  readonly previewed: boolean;
  /** Bytes of its lines when it was found, and their number, if the database counts them. @default 0 */
  readonly size?: number;
  readonly lines?: number;
}

/** The names, positions and errors of one session. */
export class DatabaseLog {
  readonly session: DatabaseSession;

  constructor(session: DatabaseSession) {
    this.session = session;
  }

  /** The first values of the statements. */
  get key(): readonly [partition: string, id: string, epoch: string] {
    const { partition, id, epoch } = this.session;
    return [partition, id, epoch];
  }

  /** An operation, for errors. */
  operation(name: string): { readonly name: string; readonly path: string } {
    const { partition, id } = this.session;
    return { name, path: partition === "" ? id : `${partition}/${id}` };
  }

  position(head: number): LogPosition {
    return `${this.session.epoch}:${head}` as LogPosition;
  }

  /** The head at a position. Throws SESSION_NOT_FOUND for one of another session that had the id. */
  positionHead(position: LogPosition): number {
    const [epoch, head] = position.split(":");
    if (epoch !== this.session.epoch) throw this.gone();
    return Number(head);
  }

  gone(): SessileError<"SESSION_NOT_FOUND"> {
    const { id } = this.session;
    return new SessileError("SESSION_NOT_FOUND", `session ${id} was deleted`, { details: { id } });
  }

  /**
   * The reason why a write found another state than the expected one.
   * @param expected the head before the write
   * @param row the row that has the session's id now
   */
  refusal(
    expected: number,
    row: { readonly epoch?: unknown; readonly head?: unknown } | undefined,
  ): SessileError {
    const { id, epoch } = this.session;
    if (expected === 0 && row !== undefined) return existsError(id);
    if (row?.epoch !== epoch) return this.gone();
    return new SessileError("CONCURRENT_WRITER", "another writer came first", {
      details: { expected: this.position(expected), actual: this.position(Number(row.head)) },
    });
  }

  /**
   * Runs a write until its outcome is known: done, refused, or neither within the time for attempts.
   * @returns whether it was done; `refused` decides for one that was not
   * @throws SessileError as `SessionLog.append`
   */
  async write({ retrying, run, isWritten, refused }: DatabaseWrite): Promise<boolean> {
    let isWriting = false;
    let isLost = false;
    const attempt = async (): Promise<boolean> => {
      // A lost write that is still running is seen below: the next one waits for it.
      if (isLost && (await isWritten())) return true;
      isWriting = true;
      const isDone = await run();
      isWriting = false;
      if (isDone || (isLost && (await isWritten()))) return true;
      return refused();
    };
    try {
      return await retrying(attempt, () => {
        isLost ||= isWriting;
      });
    } catch (error) {
      if (!isLost || !SessileError.is(error, "STORAGE_FAILED")) throw error;
      const { id } = this.session;
      const reason = `the answer to a write was lost (${error.message})`;
      throw new SessileError("WRITER_POISONED", `the end of session ${id} is unknown: ${reason}`, {
        cause: error,
        details: { id, reason },
      });
    }
  }
}

/** A write of {@link DatabaseLog.write}. */
export interface DatabaseWrite {
  /** Makes attempts; calls `onLost` for each that may have been done although it failed. */
  readonly retrying: (attempt: () => Promise<boolean>, onLost: () => void) => Promise<boolean>;
  /** Makes one attempt; whether it was done. */
  readonly run: () => Promise<boolean>;
  /** Whether the log has the lines. Lines have ids, and a write is done whole or not. */
  readonly isWritten: () => Promise<boolean>;
  /** Called for a write that was not done: throws the reason, or decides. */
  readonly refused: () => Promise<boolean>;
}

export function existsError(id: string): SessileError<"SESSION_EXISTS"> {
  return new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
}

/** The bytes of one append. PostgreSQL's bound of a value is 1 GB, also for text of twice the length. */
export const maxBatchBytes: number = 256 * 1024 * 1024;

/** Throws BATCH_TOO_LARGE for lines that exceed a write. */
export function checkBatchBytes(bytes: number): void {
  if (bytes <= maxBatchBytes) return;
  const message = `an append of ${bytes} bytes, at most ${maxBatchBytes}: append fewer entries`;
  throw new SessileError("BATCH_TOO_LARGE", message, { details: { bytes, maxBytes: maxBatchBytes } });
}

const maxCwdLength = 500;

/**
 * The part of a directory that a list selects by: the beginning of its path in one spelling, since an index
 * has no room for a long text, and without NULs, which no database keeps.
 */
export function cwdKey(cwd: string): string {
  return canonicalPath(cwd).slice(0, maxCwdLength).replaceAll("\0", "\ufffd");
}

/**
 * Precedes the terms of a named partition, so that a query reads none of other tenants' postings. Two
 * partitions with one key are distinguished by their column.
 */
export function termKey(partition: string): string {
  return partition === "" ? "" : crc32(encodeUtf8(partition)).toString(16).padStart(8, "0");
}

/** The terms of a line in the index of a partition, separated by spaces. */
export function indexedTerms(line: Uint8Array, partition: string): string {
  const key = termKey(partition);
  const terms = searchTermsOfLine(line);
  return (key === "" ? terms : terms.map((term) => key + term)).join(" ");
}

/** A line that is too long to be read is a candidate of every query, as a damaged one is. */
export const unreadLine: Uint8Array = Uint8Array.of(0x7b);
