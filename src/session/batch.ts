import { SessileError } from "../errors/index.js";
import type { Bodies } from "./bodies.js";
import { encodeCheckedLine } from "./codec/encode.js";
import type { SessionReader } from "./codec/reader.js";
import type { Conflict } from "./conflict.js";
import { entryOf, namesAny } from "./draft.js";
import type { EntryDraft, SessionEntry, SessionInfoFields, SessionInfoPatch } from "./entries.js";
import { isSameEntry } from "./same-entry.js";
import { noRow } from "./tree/rows.js";
import { type SessionTree, treeRows } from "./tree/tree.js";

/** A change of a session's info that depends on what it changes. */
export type Revise = (info: SessionInfoFields) => SessionInfoPatch;

/** The place that appends were made for, before the one in front of them went elsewhere. */
export interface Moved {
  readonly from: string | null;
  /** Ids of the entries that were to stand between `from` and the append. */
  readonly between: readonly string[];
}

/** Gives the parent in whose place an entry goes; see {@link entriesToWrite}. */
export type MoveParent = (parentId: string | null) => string | null;

/** One append that waits for its turn. */
export interface Request {
  /** Without the images that they had inline, once these are stored. */
  drafts: readonly EntryDraft[];
  /** One for each draft; undefined where an entry with the draft's id is there already. */
  readonly entries: (SessionEntry | undefined)[];
  /** The lines of `entries`. */
  readonly lines: (Uint8Array | undefined)[];
  /** Resolves when the images of the drafts are stored; undefined where there are none. */
  preparing: Promise<void> | undefined;
  readonly conflict: Conflict;
  /** Set once what it was to follow was placed behind another writer's entries: where it was to go. */
  moved?: Moved;
  /** Makes a session_info's patch from what is in force when it is written. */
  readonly revise: Revise | undefined;
  /** The session's count of moves when the call was made. */
  readonly moves: number;
  /** What was read of the session then, and how many entries that had. */
  readonly reader: SessionReader;
  readonly size: number;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (entries: readonly SessionEntry[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests that wait together go in batches of at most so many bytes, each of any size: a log takes 2 GiB at a time. */
const groupBytes = 1 << 30;

/**
 * Takes the requests at the front that can go in one batch: those that deal with a conflict in the same way. One that
 * writes an entry again goes alone, since it may turn out to be another entry, and then fails; and so does one whose
 * images may not be stored yet.
 */
export function takeGroup(waiting: Request[]): Request[] {
  const [first] = waiting;
  if (first === undefined || waiting.length === 1) return waiting.splice(0);
  const alone = ({ preparing, entries }: Request) => preparing !== undefined || entries.includes(undefined);
  let bytes = 0;
  const isOver = ({ lines }: Request) => {
    for (const line of lines) bytes += line?.length ?? 0;
    return bytes > groupBytes;
  };
  const end = alone(first)
    ? 1
    : waiting.findIndex(
        (request) =>
          (isOver(request) && request !== first) || request.conflict !== first.conflict || alone(request),
      );
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/** An entry and its line. */
export interface PlacedEntry {
  readonly entry: SessionEntry;
  readonly line: Uint8Array;
}

/**
 * What has to be written for a group of requests: their entries as they were placed at the call, but for a session_info,
 * which is completed by what is in force now, for a rebase, which goes after the log's own tip, and for those whose parent
 * is none of the group's, if `move` gives another. The requests get the entries as they are written.
 */
export function entriesToWrite(
  group: readonly Request[],
  reader: SessionReader,
  rebase: boolean,
  encode: (entry: SessionEntry) => Uint8Array,
  move?: MoveParent,
  staged: readonly PlacedEntry[] = [],
): readonly PlacedEntry[] {
  const unchanged = rebase || move !== undefined ? undefined : placedAtCall(group, reader);
  if (unchanged !== undefined) return [...staged, ...unchanged];
  const own = new Set(group.flatMap(({ entries }) => entries.map((entry) => entry?.id)));
  for (const { entry } of staged) own.add(entry.id);
  const moved = ({ parentId, type }: SessionEntry) =>
    move === undefined || type === "leaf" || (parentId !== null && own.has(parentId))
      ? parentId
      : move(parentId);
  let info: SessionInfoFields = reader.info;
  let tip = reader.leafId;
  const written: PlacedEntry[] = staged.map((placed) => {
    const parentId = moved(placed.entry);
    if (parentId === placed.entry.parentId) return placed;
    const entry = { ...placed.entry, parentId };
    return { entry, line: encode(entry) };
  });
  for (const { drafts, entries, lines, conflict, revise } of group) {
    for (const [at, draft] of drafts.entries()) {
      const entry = entries[at] as SessionEntry;
      if (reader.tree.has(entry.id)) continue;
      let parentId = moved(entry);
      // What it was to follow failed; a rebase does not mind.
      const lost =
        conflict === "rebase" && parentId !== null && !reader.tree.has(parentId) && !own.has(parentId);
      if (rebase || lost) parentId = tip;
      let placed = entry;
      let line = lines[at];
      if (draft.type === "session_info" || parentId !== entry.parentId || line === undefined) {
        const revised = revise === undefined ? draft : ({ ...draft, ...revise(info) } as EntryDraft);
        placed = entryOf(revised, { id: entry.id, parentId, timestamp: entry.timestamp }, info);
        line = encode(placed);
      }
      if (placed.type === "session_info") {
        const { type: _type, id: _id, parentId: _parentId, timestamp: _timestamp, ...fields } = placed;
        info = fields;
      }
      entries[at] = placed;
      lines[at] = line;
      tip = placed.id;
      written.push({ entry: placed, line });
    }
  }
  return written;
}

/** The usual case: entries whose places cannot have changed since the call; undefined where one may have. */
function placedAtCall(group: readonly Request[], reader: SessionReader): readonly PlacedEntry[] | undefined {
  const { size } = reader.tree;
  const placed: PlacedEntry[] = [];
  for (const request of group) {
    if (request.reader !== reader || request.size !== size) return undefined;
    if (request.conflict === "rebase" || request.revise !== undefined || request.moved !== undefined)
      return undefined;
    const { entries, lines } = request;
    for (let at = 0; at < entries.length; at++) {
      const entry = entries[at];
      const line = lines[at];
      if (entry === undefined || line === undefined || entry.type === "session_info") return undefined;
      placed.push({ entry, line });
    }
  }
  return placed;
}

/**
 * Entries that are in the log by now, from an earlier attempt or from another writer, stand for the group's. False where
 * one of them is another entry: what was asked for is not there, and cannot be written.
 */
export async function takeStored(
  group: readonly Request[],
  tree: SessionTree,
  bodies: Bodies,
): Promise<boolean> {
  for (const { drafts, entries } of group) {
    for (const [at, draft] of drafts.entries()) {
      const row = treeRows(tree).row((entries[at] as SessionEntry).id);
      if (row === noRow) continue;
      const stored = await bodies.one(row);
      if (stored === undefined || stored.type === "unknown" || !isSameEntry(draft, stored)) return false;
      entries[at] = stored;
    }
  }
  return true;
}

/** Drafts whose id is taken: the same entry again is no new one, anything else is a mistake. */
export async function resolveExisting(
  group: readonly Request[],
  tree: SessionTree,
  bodies: Bodies,
): Promise<void> {
  for (const { drafts, entries } of group) {
    for (const [at, draft] of drafts.entries()) {
      if (entries[at] !== undefined) continue;
      const entryId = draft.id as string;
      const row = treeRows(tree).row(entryId);
      const entry = row < 0 ? undefined : await bodies.one(row);
      if (entry === undefined || entry.type === "unknown" || !isSameEntry(draft, entry)) {
        throw new SessileError("DUPLICATE_ID", `drafts[${at}].id: another entry has the id ${entryId}`, {
          details: { entryId },
        });
      }
      entries[at] = entry;
    }
  }
}

/** What fails with these requests, them included: what waits and was to follow them, or names their entries. */
export function failing(
  requests: readonly Request[],
  waiting: readonly Request[],
): { readonly failed: readonly Request[]; readonly kept: Request[] } {
  const lost = new Set<string>();
  const lose = ({ entries }: Request) => {
    for (const entry of entries) if (entry !== undefined) lost.add(entry.id);
  };
  requests.forEach(lose);
  const failed = [...requests];
  const kept = waiting.filter((request) => {
    const { entries, conflict, drafts } = request;
    const follows = entries.some((entry) => entry?.parentId != null && lost.has(entry.parentId));
    const fails = (follows && conflict !== "rebase") || drafts.some((draft) => namesAny(draft, lost));
    // A rebase goes to another place now, where nothing that waits was to follow it.
    if (fails || follows) lose(request);
    if (fails) failed.push(request);
    return !fails;
  });
  return { failed, kept };
}

/** Whether all of these are in the log: an earlier attempt was written, and only its answer was lost. */
export function areInLog(placed: readonly PlacedEntry[], tree: SessionTree): boolean {
  const rows = treeRows(tree);
  return placed.every(({ entry: { id } }) => rows.row(id) >= 0 && rows.line(rows.row(id)) !== undefined);
}

/** The line of a checked entry, with its line feed. Throws LINE_TOO_LONG. */
export function encodeLine(
  entry: SessionEntry,
  { checksum, maxLineBytes: maxBytes }: { readonly checksum: boolean; readonly maxLineBytes: number },
  crc32?: (bytes: Uint8Array) => number,
): Uint8Array {
  const line = encodeCheckedLine(entry, checksum, crc32);
  const bytes = line.length - 1;
  if (bytes <= maxBytes) return line;
  throw new SessileError("LINE_TOO_LONG", `the entry takes ${bytes} bytes, at most ${maxBytes}`, {
    details: { bytes, maxBytes },
  });
}
