/** The merge of two copies of a session file, as a driver for git. */

import { describe, oneOfOption } from "../core/arguments.js";
import { concatBytes } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import {
  defaultLimits,
  isTerminatedTornLine,
  type LineRange,
  LineSplitter,
  tornLineTerminator,
} from "../log/internal.js";
import type { LinePlace, LogBatch, LogPosition } from "../session/index.js";
import { type EntryErasure, noRow, withLineFeed } from "../session/internal.js";
import type { StateConflict } from "./closing.js";
import { IndexedLog, isEntryLine, type ReadableLog } from "./indexed-log.js";
import type { ErasureOptions } from "./options.js";
import {
  assertSame,
  entriesToErase,
  erasedLines,
  erasurePending,
  missingErasures,
  planSync,
  readHeader,
  type SyncPlan,
} from "./sync-log.js";

/** The bytes of a session file, whole or in chunks. */
export type SessionBytes = Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** The result of {@link mergeSessions}. */
export interface MergedSession {
  /** The file. */
  readonly bytes: Uint8Array;
  /** Entries that were only in `a`, and only in `b`. */
  readonly added: { readonly a: number; readonly b: number };
  /** Entries whose lines differ, such as an edited one. The file has one of them. */
  readonly differing: readonly string[];
  /** States of which the change in one copy counts, and that in the other does not. */
  readonly conflicts: readonly StateConflict[];
}

/**
 * Merges two diverged copies of a session: the union of their entries, each line byte for byte. The
 * result does not depend on the order of `a` and `b`. Lines of one copy come first, unchanged and in its
 * order. The leaf is that of the newer copy.
 *
 * Of an entry that was edited in one copy, the edited line counts; `base` tells which one that is. An entry
 * that one copy no longer has comes back. One that a copy has as a tombstone is erased with
 * `erasures: "apply"`, else the merge is refused; so is one of an edited entry that calls itself erased.
 *
 * @param base the common ancestor, if there is one: for git `%O`. An empty one counts as none
 * @throws SessileError ERASURE_PENDING; SESSION_MISMATCH if the copies are not of one session; DUPLICATE_ID if two different
 *   entries have one id; SESSION_READ_ONLY for other versions of the format; EMPTY, NO_HEADER
 * @example
 * ```ts
 * const [ours, theirs] = [await readFile("ours.jsonl"), await readFile("theirs.jsonl")];
 * const { bytes, added } = await mergeSessions(undefined, ours, theirs);
 * ```
 */
export async function mergeSessions(
  base: SessionBytes | undefined,
  a: SessionBytes,
  b: SessionBytes,
  options: ErasureOptions = {},
): Promise<MergedSession> {
  const erasures = oneOfOption("erasures", options.erasures, ["report", "apply"]);
  let one = await readCopy("a", a);
  let two = await readCopy("b", b);
  const origin = base === undefined ? undefined : await readCopy("base", base);
  assertSame(readHeader(one.index, "a"), readHeader(two.index, "b"));
  let plan = planSync(one.index, two.index);
  const { inFirst, inSecond, claimed } = await missingErasures(one.index, two.index, plan.differing);
  if (inFirst.size + inSecond.size + claimed.length > 0) {
    if (erasures === "report") {
      const lost = [
        await entriesToErase(one.index, inFirst),
        await entriesToErase(two.index, inSecond),
        claimed,
      ];
      throw erasurePending(one.index.header?.id ?? "", lost.flat());
    }
    [one, two] = [await withErased(one, inFirst), await withErased(two, inSecond)];
    plan = planSync(one.index, two.index);
  }
  const [entryId] = plan.collisions;
  if (entryId !== undefined) throw collision(entryId);
  const added = { a: plan.toSecond.length, b: plan.toFirst.length };
  const differing = plan.differing.map(([row]) => one.index.rows.id(row)).sort();
  const isFirst = (await fewerDamaged(one, two, plan)) ?? (await comesFirst(one, two, plan));
  const [first, second] = isFirst ? [one, two] : [two, one];
  const pairs = plan.differing.map(([row, other]) =>
    isFirst ? ([row, other] as const) : ([other, row] as const),
  );
  const { lines: closing, conflicts } = await plan.closing([isFirst ? "first" : "second"]);
  const edited = await editedLines(first, second, pairs, origin);
  const lines = [...copyLines(first, edited)];
  for (const line of await second.index.read(isFirst ? plan.toFirst : plan.toSecond))
    if (line !== undefined && isEntryLine(line)) lines.push(withLineFeed(line));
  return { bytes: concatBytes([...lines, ...closing]), added, differing, conflicts };
}

/** A copy of a session file in memory. */
interface Copy {
  readonly bytes: Uint8Array;
  readonly index: IndexedLog;
}

/** A copy in which entries are erased that the other one has as tombstones. */
async function withErased(copy: Copy, erasures: ReadonlyMap<string, EntryErasure>): Promise<Copy> {
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const { at, length, line } of await erasedLines(copy.index, erasures)) {
    parts.push(copy.bytes.subarray(from, at), line);
    from = at + length + 1;
  }
  parts.push(copy.bytes.subarray(from));
  return readCopy("copy", concatBytes(parts));
}

async function readCopy(name: string, source: SessionBytes): Promise<Copy> {
  const bytes = await bytesByName(name, source);
  const index = new IndexedLog(readLog(bytes));
  await index.refresh();
  return { bytes, index };
}

async function bytesByName(name: string, source: SessionBytes): Promise<Uint8Array> {
  if (isBytes(source)) return source;
  const isChunks = typeof source === "object" && source !== null;
  if (!isChunks || !(Symbol.iterator in source || Symbol.asyncIterator in source))
    throw new TypeError(`${name}: expected bytes or an iterable of them, got ${describe(source)}`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) {
    if (!isBytes(chunk)) throw new TypeError(`${name}: expected chunks of bytes, got ${describe(chunk)}`);
    chunks.push(chunk);
  }
  return concatBytes(chunks);
}

/** By tag instead of class, because bytes may be from another realm. */
function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === "[object Uint8Array]";
}

/** A log in memory; its places are byte offsets. */
function readLog(bytes: Uint8Array): ReadableLog {
  const at = ({ at, length }: LinePlace): Uint8Array => bytes.subarray(at, at + length);
  return {
    async *read() {
      yield readBatch(bytes);
    },
    readAt: (places) => Promise.resolve(places.map(at)),
  };
}

function readBatch(bytes: Uint8Array): LogBatch {
  const bounds: number[] = [];
  const at: number[] = [];
  const tooLong: LinePlace[] = [];
  const sink = {
    line: (_: Uint8Array, __: number, start: number, end: number) => {
      bounds.push(start, end);
      at.push(start);
    },
    tooLong: (start: number, length: number) => tooLong.push({ at: start, length }),
  };
  const splitter = new LineSplitter(sink, defaultLimits.maxLineBytes);
  splitter.push(bytes);
  const tail = splitter.finish();
  const next = String(bytes.length) as LogPosition;
  return { lines: { bytes, bounds }, at, tooLong, next, ...(tail === undefined ? {} : { tail }) };
}

/**
 * Whether the first copy's lines come first. A copy that has all entries of the other does; else the one
 * whose last entry is older, so that the file ends with the newest. Never depends on the order of the copies.
 */
async function comesFirst(one: Copy, two: Copy, plan: SyncPlan): Promise<boolean> {
  if ((plan.toFirst.length === 0) !== (plan.toSecond.length === 0)) return plan.toFirst.length === 0;
  const [last, other] = await Promise.all([one, two].map(({ index }) => index.lastRow(() => true)));
  const order =
    copyTime(one, last) - copyTime(two, other) ||
    one.index.rows.size - two.index.rows.size ||
    one.bytes.length - two.bytes.length ||
    firstDifference(one.bytes, two.bytes);
  return order < 0;
}

/** Whether fewer of the first copy's lines are damaged that the other has intact; undefined if as many. */
async function fewerDamaged(one: Copy, two: Copy, { differing }: SyncPlan): Promise<boolean | undefined> {
  let difference = 0;
  for (const [row, other] of differing) {
    const [isIntact, isOtherIntact] = [await one.index.isIntact(row), await two.index.isIntact(other)];
    difference += Number(isIntact) - Number(isOtherIntact);
  }
  return difference === 0 ? undefined : difference > 0;
}

function copyTime({ index }: Copy, row = noRow): number {
  const time = row === noRow ? -Infinity : index.rows.time(row);
  return Number.isFinite(time) ? time : 0;
}

/** The difference of the first bytes that differ, in two arrays of one length. */
function firstDifference(a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at < 0 ? 0 : (a[at] as number) - (b[at] as number);
}

/** Lines of the second copy that count in place of the first's, by the offset of the first's line. */
async function editedLines(
  first: Copy,
  second: Copy,
  pairs: readonly (readonly [number, number])[],
  base: Copy | undefined,
): Promise<ReadonlyMap<number, Uint8Array>> {
  const edited = new Map<number, Uint8Array>();
  for (const [row, other] of pairs) {
    const [[line], [replacement]] = await Promise.all([first.index.read([row]), second.index.read([other])]);
    const place = first.index.rows.line(row);
    if (line === undefined || replacement === undefined || place === undefined) continue;
    if (!isEntryLine(replacement)) continue;
    const known = base?.index.rows.rowOfKey(first.index.rows.key(row)) ?? noRow;
    const isOld = known !== noRow && base?.index.fingerprint(known) === first.index.fingerprint(row);
    if (!isOld && isEntryLine(line)) continue;
    const part = first.index.rows.part(row);
    if (part === undefined) edited.set(place.at, replacement);
    // Other entries of the line stay; of two edits in one line the first counts.
    else if (!edited.has(place.at)) edited.set(place.at, replacedIn(first, place, part, replacement));
  }
  return edited;
}

function replacedIn(
  { bytes }: Copy,
  { at, length }: LinePlace,
  part: LineRange,
  line: Uint8Array,
): Uint8Array {
  return concatBytes([bytes.subarray(at, at + part.start), line, bytes.subarray(at + part.end, at + length)]);
}

/** The lines of a file, each with its line feed; a torn last line is ended as a writer would. */
function* copyLines({ bytes }: Copy, edited: ReadonlyMap<number, Uint8Array>): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(10, start);
    const end = feed < 0 ? bytes.length : feed;
    const replacement = edited.get(start);
    const line = bytes.subarray(start, end);
    if (replacement !== undefined) yield withLineFeed(replacement);
    else if (feed >= 0) yield bytes.subarray(start, end + 1);
    else if (isEntryLine(line) && !isTerminatedTornLine(line)) yield withLineFeed(line);
    else yield concatBytes([line, tornLineTerminator]);
    start = end + 1;
  }
}

function collision(entryId: string): SessileError {
  const message = `two different entries have the id ${SessileError.printable(entryId)}`;
  return new SessileError("DUPLICATE_ID", message, { details: { entryId } });
}
