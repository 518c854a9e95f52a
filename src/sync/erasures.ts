/** Erasures between two logs of one session: a tombstone in one of them erases the entry in the other. */

import { SessileError } from "../core/errors/index.js";
import {
  decodeLine,
  defaultLimits,
  entryErasure,
  erasureOfLine,
  formatVersion,
  parseLine,
} from "../log/internal.js";
import type { Erasure, LineReplacement, SessionLog } from "../session/index.js";
import { type EntryErasure, planErasure } from "../session/internal.js";
import type { IndexedLog } from "./indexed-log.js";

/** The entries that each of two logs has to erase, with the erasures that the other one records. */
export interface MissingErasures {
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
export interface ErasedEntry {
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
