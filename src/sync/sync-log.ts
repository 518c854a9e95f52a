/**
 * The union of two logs of one session: each gets the lines that it lacks, lines that make both show the
 * same, and the erasures of the other.
 */

import { sleep } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import {
  decodeLine,
  defaultLimits,
  entryErasure,
  erasureOfLine,
  formatVersion,
  headerVersion,
  isNewer,
  missingHeaderError,
  parseLine,
} from "../log/internal.js";
import type { Erasure, LineReplacement, LogPosition, SessionHeader, SessionLog } from "../session/index.js";
import { type EntryErasure, noRow, planErasure, withLineFeed } from "../session/internal.js";
import { type Closing, noClosing, readClosing, type Side, type StateConflict } from "./closing.js";
import type { BlobCopies } from "./copy-log.js";
import { IndexedLog, isEntryLine } from "./indexed-log.js";
import type { Tally } from "./options.js";

/** One of the two stores of a session. */
interface SyncSide {
  readonly log: SessionLog;
  /** Copies blobs into the store of this side. */
  readonly blobs: BlobCopies | undefined;
}

/** The arguments of a sync. */
interface SyncContext {
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

// Compares two logs of one session: the lines that each lacks, and those that make both show the same.

/** The decision about two logs. */
export interface SyncPlan {
  /** Rows of the first log that the second one lacks, parents before their children. */
  readonly toSecond: readonly number[];
  /** Rows of the second log that the first one lacks, parents before their children. */
  readonly toFirst: readonly number[];
  /** What follows in these logs, so that they show the leaf, the labels and the session_info of the union. */
  closing(logs: readonly ("first" | "second")[]): Promise<Closing>;
  /** Ids of two different entries. Neither they nor entries below them are moved. */
  readonly collisions: readonly string[];
  /** Rows of the same entry whose lines differ, such as an edited one: first and second log. */
  readonly differing: readonly (readonly [number, number])[];
}

/** Plans the union of two logs. Linear in their entries. */
export function planSync(first: IndexedLog, second: IndexedLog): SyncPlan {
  const { collisions, differing } = compareRows(first, second);
  const one = readSide(first, second, new Set(collisions.map(([row]) => row)));
  const two = readSide(second, first, new Set(collisions.map(([, row]) => row)));
  return {
    toSecond: one.moved,
    toFirst: two.moved,
    // With collisions the trees differ, and each log keeps its own leaf.
    closing: async (logs) => (collisions.length > 0 ? noClosing : readClosing(one, two, logs)),
    collisions: collisions.map(([row]) => first.rows.id(row)),
    differing,
  };
}

type Pairs = (readonly [number, number])[];

/** Finds rows with the same id and different lines: two entries, or two versions of one. */
function compareRows(
  a: IndexedLog,
  b: IndexedLog,
): { readonly collisions: Pairs; readonly differing: Pairs } {
  const collisions: Pairs = [];
  const differing: Pairs = [];
  for (let row = 0; row < a.rows.size; row++) {
    const other = b.rows.rowOfKey(a.rows.key(row));
    if (other === noRow || a.fingerprint(row) === b.fingerprint(other)) continue;
    (isSameHead(a, row, b, other) ? differing : collisions).push([row, other]);
  }
  return { collisions, differing };
}

/** Random ids may collide, but not with the same type, time and parent. */
function isSameHead(a: IndexedLog, row: number, b: IndexedLog, other: number): boolean {
  if (a.rows.kind(row) !== b.rows.kind(other)) return false;
  if (a.rows.timestamp(row) !== b.rows.timestamp(other)) return false;
  const [parent, otherParent] = [a.rows.ownParent(row), b.rows.ownParent(other)];
  // A parent may be missing in one of the logs.
  if (parent === noRow || otherParent === noRow) return true;
  return a.rows.key(parent) === b.rows.key(otherParent);
}

function readSide(index: IndexedLog, other: IndexedLog, collided: ReadonlySet<number>): Side {
  const { rows } = index;
  const moved: number[] = [];
  const isMoved = new Uint8Array(rows.size);
  const isDone = new Uint8Array(rows.size);
  const lacks = (row: number): boolean => other.rows.rowOfKey(rows.key(row)) === noRow;
  const chain: number[] = [];
  for (let start = 0; start < rows.size; start++) {
    let row = start;
    // A parent may be further down in a log.
    for (; row !== noRow && isDone[row] === 0 && lacks(row); row = rows.ownParent(row)) chain.push(row);
    const isBlocked =
      row !== noRow && (collided.has(row) || (isDone[row] === 1 && lacks(row) && isMoved[row] === 0));
    for (let next = chain.pop(); next !== undefined; next = chain.pop()) {
      isDone[next] = 1;
      if (isBlocked) continue;
      isMoved[next] = 1;
      moved.push(next);
    }
  }
  return { index, moved };
}

// Erasures between two logs of one session: a tombstone in one of them erases the entry in the other.

/** The entries that each of two logs has to erase, with the erasures that the other one records. */
interface MissingErasures {
  readonly inFirst: ReadonlyMap<string, EntryErasure>;
  readonly inSecond: ReadonlyMap<string, EntryErasure>;
  /** The rows that differ for another reason: not tombstones of two erasures. */
  readonly differing: readonly (readonly [number, number])[];
  /** Those of them that say in one log that they were erased, and have another body than a tombstone. */
  readonly claimed: readonly ErasedEntry[];
}

/** Finds tombstones among rows whose lines differ. */
export async function missingErasures(
  first: IndexedLog,
  second: IndexedLog,
  differing: readonly (readonly [number, number])[],
): Promise<MissingErasures> {
  const inFirst = new Map<string, EntryErasure>();
  const inSecond = new Map<string, EntryErasure>();
  const others: (readonly [number, number])[] = [];
  const claimed: ErasedEntry[] = [];
  const lines = await first.read(differing.map(([row]) => row));
  const otherLines = await second.read(differing.map(([, row]) => row));
  for (const [index, pair] of differing.entries()) {
    const [one, two] = [lines[index], otherLines[index]].map((line) => line && erasureOfLine(line));
    const id = first.rows.id(pair[0]);
    // Of two erasures of one entry, the one of the whole body counts.
    if (two !== undefined && (one === undefined || (one.part === "names" && two.part === "body")))
      inFirst.set(id, two);
    else if (one !== undefined && (two === undefined || (two.part === "names" && one.part === "body")))
      inSecond.set(id, one);
    else if (one === undefined) {
      others.push(pair);
      const [record, other] = [lineClaim(lines[index]), lineClaim(otherLines[index])];
      const erased = record ?? other;
      if (erased !== undefined && (record === undefined || other === undefined))
        claimed.push({ entryId: id, erased });
    }
  }
  return { inFirst, inSecond, differing: others, claimed };
}

/** The erasure that a line records, whatever else it has. */
function lineClaim(line: Uint8Array | undefined): Erasure | undefined {
  const parsed = line && parseLine(line, defaultLimits.maxDepth, { unchecked: true });
  return parsed?.ok === true ? entryErasure(parsed.value) : undefined;
}

/** An entry that an erasure would change, and its record. */
interface ErasedEntry {
  readonly entryId: string;
  readonly erased: Erasure;
}

/** The entries of a log that these erasures would change, with those that derive from them. */
export async function entriesToErase(
  index: IndexedLog,
  erasures: ReadonlyMap<string, EntryErasure>,
): Promise<readonly ErasedEntry[]> {
  if (erasures.size === 0) return [];
  const entries = new Map<string, Erasure>();
  for (const { line } of await erasedLines(index, erasures)) {
    const bare = line.subarray(0, -1);
    const decoded = decodeLine(bare, lineContext, { unchecked: true });
    const id = decoded.kind === "entry" ? decoded.entry?.id : undefined;
    const erased = erasureOfLine(bare);
    if (id !== undefined && erased !== undefined) entries.set(id, erased.erasure);
  }
  // Erased words in damaged lines belong to the entries that were asked for.
  for (const [id, { erasure }] of erasures) if (!entries.has(id)) entries.set(id, erasure);
  return [...entries].map(([entryId, erased]) => ({ entryId, erased }));
}

const lineContext = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };

/** The error of a session whose erasures wait for a decision. */
export function erasurePending(id: string, entries: readonly ErasedEntry[]): SessileError<"ERASURE_PENDING"> {
  const entryIds = entries.map(({ entryId }) => entryId);
  const session = `session ${SessileError.printable(id)}`;
  const message = `${session} has ${entryIds.length} entries that the other copy erased: decide with erasures: "apply"`;
  return new SessileError("ERASURE_PENDING", message, { details: { id, entryIds } });
}

/** The lines of a log that change if these entries are erased, with those that repeat them. */
export async function erasedLines(
  { rows, log }: IndexedLog,
  erasures: ReadonlyMap<string, EntryErasure>,
): Promise<readonly LineReplacement[]> {
  return (await planErasure(rows, log as SessionLog, erasures)).changes;
}
