/** The newest entries of a log without a whole read, and those that come: `recent` and `follow`. */

import { type ContextMessage, toolCalls } from "../../content/index.js";
import { describe, integerOption } from "../../core/arguments.js";
import { sleep } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import {
  decodeHeads,
  decodeParts,
  type EntryKey,
  headerVersion,
  isTerminatedTornLine,
  type LinePart,
  type SessionEntry,
  toEntryId,
  toEntryKey,
  type UnknownEntry,
} from "../../log/internal.js";
import type { LogBatch, SessionLog } from "../api/backend.js";
import type { RecentOptions, RecentPage, Session } from "../api/session.js";
import { NeedsWholeLog } from "../context/build-context.js";
import { entryItem } from "../context/context-items.js";
import { type EntryTable, noRow } from "../tree/session-tree.js";
import type { EntryCache } from "./entry-cache.js";
import { logBatchLines } from "./log-lines.js";
import type { SessionState } from "./session-state.js";

/** An entry of a path. */
export interface PathStep {
  readonly id: string;
  readonly parentId: string | null;
  /** Undefined for a damaged body. */
  readonly entry: SessionEntry | UnknownEntry | undefined;
  /** The place of its line; undefined until it is written. */
  readonly at: number | undefined;
  /** Bytes of its line. */
  readonly length: number;
}

/** The parent was not in a long part of the log: the page may end here. */
interface FarParent {
  /** The part before this line was not searched yet. */
  readonly farAt: number;
}

/** The bounds of a page. */
interface RecentBounds {
  readonly bytes: number;
  readonly messages: number;
  readonly tokens: number;
}

const defaultBytes = 4 * 1024 * 1024;

/** @throws RangeError for a bound out of range */
export function recentBounds({ bytes, messages, tokens }: RecentOptions): RecentBounds {
  return {
    bytes: integerOption("bytes", bytes, defaultBytes, 1),
    messages: integerOption("messages", messages, Number.MAX_SAFE_INTEGER, 1),
    tokens: integerOption("tokens", tokens, Number.MAX_SAFE_INTEGER, 1),
  };
}

/** The place at which a page begins: an entry, at the named line or before it. */
interface RecentCursor {
  /** Undefined for an entry at any place. */
  readonly before: number | undefined;
  readonly id: string;
}

/** Prints {@link RecentPage.before}. */
function printCursor({ before, id }: RecentCursor): string {
  return `${before ?? ""}:${id}`;
}

/** The inverse of {@link printCursor}. Throws a TypeError for anything else. */
export function parseRecentCursor(cursor: string): RecentCursor {
  const [, before, id] = /^(\d{0,16}):(.{1,1000})$/s.exec(cursor) ?? [];
  if (before === undefined || id === undefined)
    throw new TypeError(`before: expected a cursor of a page, got ${describe(cursor)}`);
  return { before: before === "" ? undefined : Number(before), id };
}

/** How many entries after its bounds a page may have, to begin before a call whose result it has. */
const maxOverrun = 1000;

/**
 * Takes a page from the entries of a path, the last one first. A page begins with a turn; if the newest turn
 * exceeds the bounds, with the earliest entry of it that parts no result from its call; and if none is within
 * the bounds, with the next one before. Requests no more entries than that needs, and the one before a page,
 * since a damaged log may lack it.
 */
export async function takeRecent(
  steps: AsyncIterable<PathStep | FarParent>,
  bounds: RecentBounds,
): Promise<RecentPage> {
  const taken: PathStep[] = [];
  const sums = { bytes: 0, messages: 0, tokens: 0 };
  const open = new Set<string>();
  let [turn, pair] = [0, 0];
  let isFull = false;
  const isEstimated = bounds.tokens < Number.MAX_SAFE_INTEGER;
  const estimate = isEstimated ? await import("../../content/estimate/index.js") : undefined;
  for await (const step of steps) {
    if (isFull) return recentPage(taken, taken.length, "farAt" in step ? step.farAt : undefined);
    if ("farAt" in step) {
      if (pair === 0) continue;
      return recentPage(taken, turn || pair, step.farAt);
    }
    taken.push(step);
    const message = step.entry && entryItem(step.entry, noIds)?.message;
    sums.bytes += step.length;
    if (message !== undefined) {
      sums.messages++;
      sums.tokens += estimate?.estimateMessageTokens(message) ?? 0;
      trackPairs(open, message);
    }
    const isWithin =
      sums.bytes <= bounds.bytes && sums.messages <= bounds.messages && sums.tokens <= bounds.tokens;
    if (isWithin && open.size === 0) {
      pair = taken.length;
      if (message?.role === "user") turn = pair;
    }
    if (isWithin) continue;
    const end = turn || pair || (open.size === 0 || taken.length > maxOverrun ? taken.length : 0);
    if (end > 0 && end < taken.length) return recentPage(taken, end);
    isFull = end > 0;
  }
  return recentPage(taken, taken.length);
}

const noIds: ReadonlySet<string> = new Set();

function trackPairs(open: Set<string>, message: ContextMessage): void {
  if (message.role === "toolResult") open.add(message.toolCallId);
  if (message.role === "assistant") for (const { id } of toolCalls(message)) open.delete(id);
}

function recentPage(taken: readonly PathStep[], count: number, farAt?: number): RecentPage {
  const page = taken.slice(0, count);
  const first = page.at(-1);
  const entries = page.flatMap(({ entry }) => entry ?? []).reverse();
  if (first === undefined || first.parentId === null) return { entries, truncated: false };
  const before = count === taken.length && farAt !== undefined ? farAt : first.at;
  return { entries, truncated: true, before: printCursor({ before, id: first.parentId }) };
}

/** The bodies that are read at once. */
const sliceBytes = 256 * 1024;
const sliceRows = 64;

/** The entries of the path to a row, the last one first. */
export async function* stepsOfRows(
  rows: EntryTable,
  cache: EntryCache,
  leaf: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<PathStep, void> {
  for (let row = leaf; row !== noRow; ) {
    signal?.throwIfAborted();
    const slice: number[] = [];
    for (let bytes = 0; row !== noRow && bytes < sliceBytes && slice.length < sliceRows; ) {
      slice.push(row);
      bytes += rows.lineLength(row);
      row = rows.parent(row);
    }
    const readBody = await cache.load(slice);
    for (const each of slice) {
      if (rows.isCut(each)) throw new NeedsWholeLog();
      const parent = rows.parent(each);
      const parentId = parent === noRow ? null : rows.id(parent);
      const { at, length } = rows.line(each) ?? { at: undefined, length: 0 };
      yield { id: rows.id(each), parentId, entry: readBody(each), at, length };
    }
  }
}

/**
 * The newest page of a log's path, or the one at a cursor. Closes the log.
 * @param open opens the session on the log
 */
export async function recentOfLog(
  log: SessionLog,
  options: RecentOptions,
  maxDepth: number,
  open: () => Promise<Session>,
): Promise<RecentPage> {
  try {
    const bounds = recentBounds(options);
    const from = options.before === undefined ? undefined : parseRecentCursor(options.before);
    return await takeRecent(stepsBackwards(log, from, { maxDepth, signal: options.signal }), bounds);
  } catch (error) {
    if (!(error instanceof NeedsWholeLog)) throw error;
    const session = await open();
    try {
      return await session.recent(options);
    } finally {
      await session.close();
    }
  } finally {
    await log.close();
  }
}

/** Bytes without an entry of the path, after which a page may end. */
const farBytes = 16 * 1024 * 1024;

/**
 * The entries of the path to the leaf, or to the entry of a cursor, the last one first, as the tree of the
 * whole log has them. Of lines with the same id it reads the last one, and the tree has the first.
 * @throws NeedsWholeLog for a log of version 1, whose ids are numbers of lines, and if a parent does not
 *   stand before its child
 */
async function* stepsBackwards(
  log: SessionLog,
  from: RecentCursor | undefined,
  { maxDepth, signal }: { readonly maxDepth: number; readonly signal: AbortSignal | undefined },
): AsyncGenerator<PathStep | FarParent, void, undefined> {
  if (log.readBackwards === undefined) throw new NeedsWholeLog();
  const reading = signal === undefined ? {} : { signal };
  const version = await logVersion(log, maxDepth);
  const context = { version, ordinal: 0, maxDepth };
  /** Undefined until the leaf is known. */
  let wanted: EntryKey | undefined = from && toEntryKey(from.id);
  let passed = 0;
  for await (const batch of log.readBackwards(from?.before, reading)) {
    for (const { line, at, part } of newestFirst(batch)) {
      passed += part.end - part.start;
      const found = lineEntry(line, part);
      if (found === undefined) {
        if (passed < farBytes || wanted === undefined) continue;
        passed = 0;
        yield { farAt: at };
        continue;
      }
      if (wanted === undefined && found.entry?.type === "leaf") {
        if (found.entry.targetId === null) return;
        wanted = toEntryKey(found.entry.targetId);
        if (wanted !== found.id) continue;
      }
      const parentId = found.parentId === null ? null : toEntryId(found.parentId);
      yield { id: toEntryId(found.id), parentId, entry: found.entry, at, length: line.length };
      if (found.parentId === null) return;
      wanted = found.parentId;
      passed = 0;
    }
  }
  // Nothing but a header, or a parent that is not where it should be.
  if (wanted !== undefined) throw new NeedsWholeLog();

  /** The entry of a part that has the wanted id; without one, that has a readable body. */
  function lineEntry(line: Uint8Array, part: LinePart): FoundEntry | undefined {
    const { decoded, head } = part;
    const found = decoded.kind === "entry" ? decoded.head : head;
    if (wanted === undefined)
      return decoded.kind === "entry" ? { ...decoded.head, entry: decoded.entry } : undefined;
    if (found?.id !== wanted) return undefined;
    const parts = decoded.kind === "entry" && decoded.entry === undefined ? wholeParts(line) : [part];
    const read = parts.find(
      (each) => each.decoded.kind === "entry" && toEntryKey(each.decoded.entry?.id ?? "") === wanted,
    )?.decoded;
    // Another line may have the body.
    if (read?.kind !== "entry") throw new NeedsWholeLog();
    return { ...read.head, entry: read.entry };
  }

  /** The parts of a batch's lines, the last one first. */
  function* newestFirst(batch: Pick<LogBatch, "lines" | "at" | "tail">) {
    const lines = logBatchLines(batch).map((line, index) => ({
      line,
      at: batch.at[index] as number,
      isTail: false,
    }));
    const { tail } = batch;
    if (tail !== undefined) lines.push({ line: tail.bytes, at: tail.at, isTail: true });
    for (const { line, at, isTail } of lines.reverse()) {
      // A torn line may have a whole prefix.
      const isWhole = isTail || isTerminatedTornLine(line) || wanted === undefined;
      const parts = isWhole ? wholeParts(line) : decodeHeads(line, context);
      for (const part of parts.toReversed()) {
        const isTorn = isTail && part.end === line.length && part.decoded.kind === "bad";
        if (!isTorn) yield { line, at, part };
      }
    }
  }

  function wholeParts(line: Uint8Array): readonly LinePart[] {
    return decodeParts(line, context, { crc32: log.crc32 });
  }
}

interface FoundEntry {
  readonly id: EntryKey;
  readonly parentId: EntryKey | null;
  readonly entry: SessionEntry | UnknownEntry | undefined;
}

/** The version in the header, if that is the first line. */
async function logVersion(log: SessionLog, maxDepth: number): Promise<number> {
  for await (const batch of log.read(undefined, { batchBytes: 4096 })) {
    const [first = batch.tail?.bytes] = logBatchLines(batch);
    if (first === undefined) break;
    const parts = decodeHeads(first, { isFirst: true, version: undefined, ordinal: 0, maxDepth });
    for (const { decoded } of parts)
      if (decoded.kind === "header" && headerVersion(decoded.header) >= 2)
        return headerVersion(decoded.header);
    break;
  }
  throw new NeedsWholeLog();
}

// `session.follow`: every entry from now on.

/** Yields every entry from now on, until the signal aborts or the session closes. */
export async function* followEntries(
  state: SessionState,
  options: {
    readonly signal: AbortSignal;
    readonly pollMs?: number;
  },
): AsyncGenerator<SessionEntry | UnknownEntry, void, undefined> {
  const pollMs = integerOption("pollMs", options.pollMs, 1000, 1);
  const queue: (SessionEntry | UnknownEntry)[] = [];
  const stop = new AbortController();
  let wake = (): void => undefined;
  const undo = [
    state.events.on("entry", ({ entry }) => {
      queue.push(entry);
      wake();
    }),
    state.events.on("closed", () => stop.abort()),
  ];
  const onAbort = () => stop.abort();
  options.signal.addEventListener("abort", onAbort, { once: true });
  if (options.signal.aborted || state.closed) stop.abort();
  try {
    for (;;) {
      yield* queue.splice(0);
      if (stop.signal.aborted) return;
      if (queue.length > 0) continue;
      const pause = new AbortController();
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
        stop.signal.addEventListener("abort", () => resolve(), { once: true, signal: pause.signal });
      });
      try {
        await Promise.race([woken, mayHaveChanged(state, pollMs, pause.signal)]);
      } finally {
        pause.abort();
      }
      if (!stop.signal.aborted && !(await readUnlessDeleted(state))) return;
    }
  } finally {
    options.signal.removeEventListener("abort", onAbort);
    for (const off of undo) off();
  }
}

/** Reads new lines without consuming the changes that {@link refresh} returns. */
async function readUnlessDeleted(state: SessionState): Promise<boolean> {
  try {
    await state.mutex.run(async () => {
      if (state.exists && !state.closed) await state.readRemoteChanges();
    });
    return true;
  } catch (error) {
    if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
    state.events.emit("deleted", { id: state.header.id });
    return false;
  }
}

/** Resolves when the log reports a change, after a poll interval without reports, or when the signal aborts. */
async function mayHaveChanged(state: SessionState, pollMs: number, signal: AbortSignal): Promise<void> {
  const { log, position } = state;
  if (log.changed !== undefined) await log.changed(signal, { position, pollMs });
  else await sleep(pollMs, signal).catch(() => undefined);
}
