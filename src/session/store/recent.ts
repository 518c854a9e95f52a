/** The newest part of a path, read from the end of a log: its time and memory do not grow with the log. */

import type { LogBatch, SessionLog } from "../api/backend.js";
import { isTerminatedTornLine } from "../api/diagnostics.js";
import type { SessionEntry, UnknownEntry } from "../api/entries.js";
import type { RecentOptions, RecentPage, Session } from "../api/session.js";
import { NeedsWholeLog } from "../context/build-context.js";
import { decodeHeads, decodeParts, type LinePart } from "../format/decode.js";
import { type EntryKey, entryIdOf, entryKeyOf } from "../format/entry-prefix.js";
import { headerVersion } from "../format/migrate.js";
import { linesOf } from "../runtime/log-lines.js";
import {
  type FarParent,
  type PathStep,
  parseRecentCursor,
  type RecentCursor,
  recentBounds,
  takeRecent,
} from "../runtime/recent.js";

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

type Entry = SessionEntry | UnknownEntry;

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
  const version = await versionOf(log, maxDepth);
  const context = { version, ordinal: 0, maxDepth };
  /** Undefined until the leaf is known. */
  let wanted: EntryKey | undefined = from && entryKeyOf(from.id);
  let passed = 0;
  for await (const batch of log.readBackwards(from?.before, reading)) {
    for (const { line, at, part } of newestFirst(batch)) {
      passed += part.end - part.start;
      const found = wanted === undefined ? lastEntry(part) : entryOf(line, part, wanted);
      if (found === undefined) {
        if (passed < farBytes || wanted === undefined) continue;
        passed = 0;
        yield { farAt: at };
        continue;
      }
      if (wanted === undefined && found.entry?.type === "leaf") {
        if (found.entry.targetId === null) return;
        wanted = entryKeyOf(found.entry.targetId);
        if (wanted !== found.id) continue;
      }
      const parentId = found.parentId === null ? null : entryIdOf(found.parentId);
      yield { id: entryIdOf(found.id), parentId, entry: found.entry, at, length: line.length };
      if (found.parentId === null) return;
      wanted = found.parentId;
      passed = 0;
    }
  }
  // Nothing but a header, or a parent that is not where it should be.
  if (wanted !== undefined) throw new NeedsWholeLog();

  /** An entry with a readable body. */
  function lastEntry({ decoded }: LinePart): FoundEntry | undefined {
    return decoded.kind === "entry" ? { ...decoded.head, entry: decoded.entry } : undefined;
  }

  /** The entry with an id. */
  function entryOf(line: Uint8Array, part: LinePart, id: EntryKey): FoundEntry | undefined {
    const { decoded, head } = part;
    const found = decoded.kind === "entry" ? decoded.head : head;
    if (found?.id !== id) return undefined;
    const parts = decoded.kind === "entry" && decoded.entry === undefined ? wholeParts(line) : [part];
    const read = parts.find(
      (each) => each.decoded.kind === "entry" && entryKeyOf(each.decoded.entry?.id ?? "") === id,
    )?.decoded;
    // Another line may have the body.
    if (read?.kind !== "entry") throw new NeedsWholeLog();
    return { ...read.head, entry: read.entry };
  }

  /** The parts of a batch's lines, the last one first. */
  function* newestFirst(batch: Pick<LogBatch, "lines" | "at" | "tail">) {
    const { tail } = batch;
    if (tail !== undefined) yield* partsOf(tail.bytes, tail.at, true);
    const lines = linesOf(batch);
    for (let index = lines.length - 1; index >= 0; index--)
      yield* partsOf(lines[index] as Uint8Array, batch.at[index] as number, false);
  }

  function partsOf(line: Uint8Array, at: number, isTail: boolean) {
    // A torn line may have a whole prefix.
    const isWhole = isTail || isTerminatedTornLine(line) || wanted === undefined;
    const parts = isWhole ? wholeParts(line) : decodeHeads(line, context);
    const isTorn = ({ end, decoded }: LinePart) => isTail && end === line.length && decoded.kind === "bad";
    const read = parts.filter((part) => !isTorn(part));
    return read.toReversed().map((part) => ({ line, at, part }));
  }

  function wholeParts(line: Uint8Array): readonly LinePart[] {
    return decodeParts(line, context, { crc32: log.crc32 });
  }
}

interface FoundEntry {
  readonly id: EntryKey;
  readonly parentId: EntryKey | null;
  readonly entry: Entry | undefined;
}

/** The version in the header, if that is the first line. */
async function versionOf(log: SessionLog, maxDepth: number): Promise<number> {
  for await (const batch of log.read(undefined, { batchBytes: 4096 })) {
    const [first = batch.tail?.bytes] = linesOf(batch);
    if (first === undefined) break;
    const parts = decodeHeads(first, { isFirst: true, version: undefined, ordinal: 0, maxDepth });
    for (const { decoded } of parts)
      if (decoded.kind === "header" && headerVersion(decoded.header) >= 2)
        return headerVersion(decoded.header);
    break;
  }
  throw new NeedsWholeLog();
}
