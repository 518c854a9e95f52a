/** The union of two logs of one session: each gets the lines that it lacks. */

import { sleep } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import { formatVersion, headerVersion, isNewer, missingHeaderError } from "../log/internal.js";
import type { LogPosition, SessionHeader, SessionLog } from "../session/index.js";
import { type EntryErasure, withLineFeed } from "../session/internal.js";
import type { BlobCopies } from "./blob-copies.js";
import type { StateConflict } from "./closing.js";
import { type ErasedEntry, entriesToErase, erasedLines, missingErasures } from "./erasures.js";
import { IndexedLog, isEntryLine } from "./indexed-log.js";
import { planSync } from "./plan.js";
import type { Tally } from "./report.js";

/** One of the two stores of a session. */
export interface SyncSide {
  readonly log: SessionLog;
  /** Copies blobs into the store of this side. */
  readonly blobs: BlobCopies | undefined;
}

/** The arguments of a sync. */
export interface SyncContext {
  readonly tally: Tally;
  readonly signal: AbortSignal | undefined;
  readonly erasures: "apply" | "report";
}

/** Conflicts with other writers before a session is given up for this run. */
const maxAttempts = 64;
const maxWaitMs = 100;
const maxBatchBytes = 1 << 20;
const maxBatchLines = 4096;

/** A side with its index. */
interface SideLog extends SyncSide {
  readonly index: IndexedLog;
}

/**
 * Appends to each log the entries that it lacks, until both have all that either had at the start. A conflict
 * with another writer leads to a new plan. An interrupted sync leaves whole trees; the next one completes it.
 * Entries that one log has as tombstones are erased in the other first, if the caller wants that.
 *
 * @returns ids of collisions, of differing and of erased entries, conflicts, and whether lines were written
 * @throws SessileError SESSION_MISMATCH, SESSION_READ_ONLY; CONCURRENT_WRITER if conflicts do not end
 */
export async function syncLogs(
  first: SyncSide,
  second: SyncSide,
  context: SyncContext,
): Promise<{
  readonly collisions: readonly string[];
  readonly differing: readonly string[];
  readonly erased: readonly string[];
  readonly conflicts: readonly StateConflict[];
  /** Entries that each log would lose. If there are any, nothing was written. */
  readonly pending: { readonly inFirst: readonly ErasedEntry[]; readonly inSecond: readonly ErasedEntry[] };
  readonly hasWritten: boolean;
}> {
  const one = { ...first, index: new IndexedLog(first.log) };
  const two = { ...second, index: new IndexedLog(second.log) };
  const { signal, tally, erasures } = context;
  const { bytes } = tally;
  const erased = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    await one.index.refresh(signal);
    await two.index.refresh(signal);
    assertSame(readHeader(one.index, one.log.location), readHeader(two.index, two.log.location));
    const plan = planSync(one.index, two.index);
    const { toSecond, toFirst, collisions } = plan;
    const missing = await missingErasures(one.index, two.index, plan.differing);
    const { inFirst, inSecond, differing } = missing;
    const isPending = erasures === "report" && inFirst.size + inSecond.size > 0;
    if (isPending) {
      const pending = {
        inFirst: await entriesToErase(one.index, inFirst),
        inSecond: await entriesToErase(two.index, inSecond),
      };
      return { collisions: [], differing: [], erased: [], conflicts: [], pending, hasWritten: false };
    }
    try {
      const hasErased = [await eraseIn(one, inFirst), await eraseIn(two, inSecond)].includes(true);
      for (const id of [...inFirst.keys(), ...inSecond.keys()]) if (hasErased) erased.add(id);
      if (hasErased && attempt < maxAttempts) continue;
    } catch (error) {
      if (!isConflict(error) || attempt >= maxAttempts) throw error;
      await pause(attempt, signal);
      continue;
    }
    const { lines: closing, conflicts } = await plan.closing(["first", "second"]);
    try {
      const damaged = await sendRows(toSecond, one.index, two, closing, context);
      tally.damaged += damaged + (await sendRows(toFirst, two.index, one, closing, context));
      tally.damaged += one.index.damaged + two.index.damaged;
      return {
        collisions,
        differing: differing.map(([row]) => one.index.rows.id(row)),
        erased: [...erased],
        conflicts,
        pending: { inFirst: [], inSecond: [] },
        hasWritten: tally.bytes > bytes || erased.size > 0,
      };
    } catch (error) {
      if (!isConflict(error) || attempt >= maxAttempts) throw error;
      await pause(attempt, signal);
    }
  }
}

function pause(attempt: number, signal: AbortSignal | undefined): Promise<void> {
  const longest = Math.min(maxWaitMs, 2 ** attempt);
  return sleep(Math.random() * longest, signal);
}

/** Erases entries in a log. Returns false if there are none, or if its backend cannot erase. */
async function eraseIn(
  { log, index }: SideLog,
  erasures: ReadonlyMap<string, EntryErasure>,
): Promise<boolean> {
  if (erasures.size === 0 || log.erase === undefined) return false;
  await log.erase(await erasedLines(index, erasures), index.position as LogPosition);
  return true;
}

function isConflict(error: unknown): boolean {
  return SessileError.is(error, "CONCURRENT_WRITER") || SessileError.is(error, "LOG_CHANGED");
}

/** Throws unless two headers are of one session. */
export function assertSame(one: SessionHeader, other: SessionHeader): void {
  if (one.id !== other.id) throw mismatch(one.id, other.id);
  if (one.timestamp !== other.timestamp) throw mismatch(one.timestamp, other.timestamp);
}

/** The header of a log that may be appended to. */
export function readHeader(index: IndexedLog, location = ""): SessionHeader {
  const { header } = index;
  if (header === undefined) throw missingHeaderError(location, index.lines);
  if (headerVersion(header) === formatVersion && !isNewer(header)) return header;
  const { id } = header;
  const session = `session ${SessileError.printable(id)}`;
  const message = `${session} has another version of the format: open it for writing once`;
  throw new SessileError("SESSION_READ_ONLY", message, { details: { id, reason: "version" } });
}

function mismatch(expected: string, actual: string): SessileError {
  const [one, other] = [expected, actual].map((text) => SessileError.printable(text));
  const message = `the headers are not of one session: ${one} and ${other}`;
  return new SessileError("SESSION_MISMATCH", message, { details: { expected, actual } });
}

/**
 * Appends rows of one log to another, in atomic batches of bounded size, the closing lines with the last one.
 * A line with a damaged body stays behind: other programs see no entry in it. Returns their number.
 */
async function sendRows(
  rows: readonly number[],
  from: IndexedLog,
  to: SideLog,
  closing: readonly Uint8Array[],
  { tally, signal }: SyncContext,
): Promise<number> {
  let damaged = 0;
  if (rows.length === 0 && closing.length === 0) return damaged;
  // A tail without a line feed gets one, and then the log ends elsewhere.
  if (to.index.endsOpen && to.log.prepare !== undefined) {
    await to.log.prepare(true);
    throw logChanged(to.index);
  }
  let position = to.index.position as LogPosition;
  for (let start = 0, end = 0; ; start = end) {
    signal?.throwIfAborted();
    end = batchEnd(rows, start, from);
    const entries = (await rowLines(rows.slice(start, end), from)).filter(isEntryLine);
    damaged += end - start - entries.length;
    const isLast = end === rows.length;
    const lines = [...entries.map(withLineFeed), ...(isLast ? closing : [])];
    if (lines.length > 0) {
      await to.blobs?.copy(lines);
      ({ position } = await to.log.append(lines, position));
      tally.entries += lines.length;
      for (const { length } of lines) tally.bytes += length;
    }
    if (isLast) return damaged;
  }
}

function batchEnd(rows: readonly number[], start: number, { rows: table }: IndexedLog): number {
  let bytes = 0;
  let end = start;
  while (end < rows.length && end - start < maxBatchLines && bytes < maxBatchBytes)
    bytes += table.lineLength(rows[end++] as number);
  return end;
}

async function rowLines(rows: readonly number[], from: IndexedLog): Promise<readonly Uint8Array[]> {
  const lines = await from.read(rows);
  if (lines.every((line) => line !== undefined)) return lines;
  throw logChanged(from);
}

function logChanged({ header }: IndexedLog): SessileError {
  const { id = "" } = header ?? {};
  const message = `the log of session ${SessileError.printable(id)} changed while it was read: sync it again`;
  return new SessileError("LOG_CHANGED", message, { details: { id } });
}
