/** Queued appends: which of them share a batch, the places of their entries, and retries. */

import { SessileError } from "../../errors/index.js";
import type { EntryDraft, SessionEntry, SessionInfoFields, SessionInfoPatch } from "../api/entries.js";
import { entryTypesWith } from "../format/entry-types.js";
import { noRow } from "../tree/entry-table.js";
import { infoFieldsOf, type LogReader } from "../tree/log-reader.js";
import { entryTableOf, type SessionTree } from "../tree/session-tree.js";
import type { Conflict } from "./conflict.js";
import type { EntryCache } from "./entry-cache.js";
import {
  encodeLine,
  entryOf,
  isSameEntry,
  type MaterializedEntry,
  namesAny,
  priorOf,
  withPrior,
} from "./materialize-drafts.js";
import type { SessionState } from "./session-state.js";
import { turnSettings } from "./turn-settings.js";

/** Completes a session_info's patch from the values in force at the write. */
export type Revise = (info: SessionInfoFields) => SessionInfoPatch;

/** The original place of appends whose predecessor moved to another place. */
export interface Moved {
  readonly from: string | null;
  /** Ids of the entries between `from` and the append. */
  readonly between: readonly string[];
}

/** Returns the new parent of an entry; see {@link placeRequests}. */
export type MoveParent = (parentId: string | null) => string | null;

/** A queued append. */
export interface AppendRequest {
  /** The drafts; without inline images once those are stored. */
  drafts: readonly EntryDraft[];
  /** One per draft; undefined if an entry with the draft's id exists already. */
  readonly entries: (SessionEntry | undefined)[];
  /** The lines of `entries`. */
  readonly lines: (Uint8Array | undefined)[];
  /** Resolves when the images of the drafts are stored; undefined without images. */
  preparing: Promise<void> | undefined;
  readonly conflict: Conflict;
  /** The original place, set if the predecessor was placed after another writer's entries. */
  moved?: Moved;
  /** Completes a session_info's patch from the values in force at the write. */
  readonly revise: Revise | undefined;
  /** The session's move counter at the call. */
  readonly moves: number;
  /** The reader at the call, and its number of entries. */
  readonly reader: LogReader;
  readonly size: number;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (entries: readonly SessionEntry[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Maximum size of a batch of queued requests; a single request may be larger. Half of the least that a log
 * accepts at once, 256 MiB in PostgreSQL, since staged entries come on top.
 */
const groupBytes = 1 << 27;

/** The bytes of the lines of a request. */
export function bytesOf({ lines }: AppendRequest): number {
  return lines.reduce((sum, line) => sum + (line?.length ?? 0), 0);
}

/**
 * Takes the requests at the front that can share a batch: those with the same conflict mode. A retry goes
 * alone, because it can turn out to be another entry and fail; so does a request whose images may not be
 * stored yet.
 */
export function takeGroup(waiting: AppendRequest[]): AppendRequest[] {
  const [first] = waiting;
  if (first === undefined || waiting.length === 1) return waiting.splice(0);
  const alone = ({ preparing, entries }: AppendRequest) =>
    preparing !== undefined || entries.includes(undefined);
  let bytes = 0;
  const isOver = (request: AppendRequest) => {
    bytes += bytesOf(request);
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

/** Where {@link placeRequests} puts a group. */
export interface Placement {
  /** Whether the group follows the log's last entry. @default false */
  readonly rebase?: boolean;
  /** Returns the new parent of entries with a parent outside the group. @default unchanged */
  readonly move?: MoveParent | undefined;
  /** Staged entries to write before the group. @default none */
  readonly staged?: readonly MaterializedEntry[];
}

/**
 * The entries to write for a group of requests: as materialized at the call, except for a session_info, which
 * is completed now, and for entries with a new parent. Updates the requests with the written entries.
 */
export function placeRequests(
  group: readonly AppendRequest[],
  { reader, settings, log, exists }: SessionState,
  { rebase = false, move, staged = [] }: Placement,
): readonly MaterializedEntry[] {
  let last = exists ? lastWritten(reader) : undefined;
  const unchanged =
    rebase || move !== undefined ? undefined : unchangedSinceCall(group, reader, staged, last);
  if (unchanged !== undefined) return unchanged;
  const encode = (entry: SessionEntry) => encodeLine(entry, settings, log.crc32);
  const own = new Set(group.flatMap(({ entries }) => entries.map((entry) => entry?.id)));
  for (const { entry } of staged) own.add(entry.id);
  const moved = ({ parentId, type }: SessionEntry) =>
    move === undefined || type === "leaf" || (parentId !== null && own.has(parentId))
      ? parentId
      : move(parentId);
  let info: SessionInfoFields = reader.info;
  let leaf = reader.leafId;
  const written: MaterializedEntry[] = staged.map((placed) => {
    const parentId = moved(placed.entry);
    const prior = priorOf(last, parentId);
    last = placed.entry.id;
    if (parentId === placed.entry.parentId && prior === placed.entry.prior) return placed;
    const entry = withPrior({ ...placed.entry, parentId }, prior);
    return { entry, line: encode(entry) };
  });
  for (const { drafts, entries, lines, conflict, revise } of group) {
    for (const [at, draft] of drafts.entries()) {
      const entry = entries[at] as SessionEntry;
      if (reader.tree.has(entry.id)) continue;
      let parentId = moved(entry);
      // Its predecessor failed, which does not concern a rebase.
      const lost =
        conflict === "rebase" && parentId !== null && !reader.tree.has(parentId) && !own.has(parentId);
      if (rebase || lost) parentId = leaf;
      let placed = entry;
      let line = lines[at];
      const isMoved = parentId !== entry.parentId || priorOf(last, parentId) !== entry.prior;
      if (draft.type === "session_info" || isMoved || line === undefined) {
        const revised = revise === undefined ? draft : ({ ...draft, ...revise(info) } as EntryDraft);
        placed = entryOf(revised, { id: entry.id, parentId, timestamp: entry.timestamp, last }, info);
        line = encode(placed);
      }
      if (placed.type === "session_info") info = infoFieldsOf(placed);
      entries[at] = placed;
      lines[at] = line;
      leaf = placed.id;
      last = placed.id;
      written.push({ entry: placed, line });
    }
  }
  return written;
}

/** The usual case: entries whose places cannot have changed since the call; undefined if one may have. */
function unchangedSinceCall(
  group: readonly AppendRequest[],
  reader: LogReader,
  staged: readonly MaterializedEntry[],
  lastInLog: string | undefined,
): readonly MaterializedEntry[] | undefined {
  const { size } = reader.tree;
  const placed: MaterializedEntry[] = [...staged];
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
  let last = lastInLog;
  for (const { entry } of placed) {
    if (entry.prior !== priorOf(last, entry.parentId)) return undefined;
    last = entry.id;
  }
  return placed;
}

/** The last entry of the log, without staged ones. */
function lastWritten({ tree }: LogReader): string | undefined {
  const rows = entryTableOf(tree);
  let row = rows.size - 1;
  while (row >= 0 && rows.line(row) === undefined) row--;
  return row < 0 ? undefined : rows.id(row);
}

/**
 * Adopts entries that are already in the log, from an earlier attempt or another writer. Returns false if one
 * of them is another entry: then the group cannot be written.
 */
export async function adoptStored(
  group: readonly AppendRequest[],
  tree: SessionTree,
  cache: EntryCache,
): Promise<boolean> {
  for (const { drafts, entries } of group) {
    for (const [at, draft] of drafts.entries()) {
      const row = entryTableOf(tree).row((entries[at] as SessionEntry).id);
      if (row === noRow) continue;
      const stored = await cache.read(row);
      if (stored === undefined || stored.type === "unknown" || !isSameEntry(draft, stored)) return false;
      entries[at] = stored;
    }
  }
  return true;
}

/** Resolves drafts with an existing id: the same entry is an idempotent retry, another one is an error. */
export async function resolveExisting(
  group: readonly AppendRequest[],
  tree: SessionTree,
  cache: EntryCache,
): Promise<void> {
  for (const { drafts, entries } of group) {
    for (const [at, draft] of drafts.entries()) {
      if (entries[at] !== undefined) continue;
      const entryId = draft.id as string;
      const row = entryTableOf(tree).row(entryId);
      const entry = row < 0 ? undefined : await cache.read(row);
      if (entry === undefined || entry.type === "unknown" || !isSameEntry(draft, entry)) {
        throw new SessileError(
          "DUPLICATE_ID",
          `drafts[${at}].id: the entry ${entryId} exists and differs; ` +
            "a retry needs the same draft, its timestamp too",
          {
            details: { entryId },
          },
        );
      }
      entries[at] = entry;
    }
  }
}

/** The requests that fail with these: those that follow or reference their entries, and themselves. */
export function dependents(
  requests: readonly AppendRequest[],
  waiting: readonly AppendRequest[],
): { readonly failed: readonly AppendRequest[]; readonly kept: AppendRequest[] } {
  const lost = new Set<string>();
  const lose = ({ entries }: AppendRequest) => {
    for (const entry of entries) if (entry !== undefined) lost.add(entry.id);
  };
  requests.forEach(lose);
  const failed = [...requests];
  const kept = waiting.filter((request) => {
    const { entries, conflict, drafts } = request;
    const follows = entries.some((entry) => entry?.parentId != null && lost.has(entry.parentId));
    const fails = (follows && conflict !== "rebase") || drafts.some((draft) => namesAny(draft, lost));
    // A rebase moves to another place, which no queued request was to follow.
    if (fails || follows) lose(request);
    if (fails) failed.push(request);
    return !fails;
  });
  return { failed, kept };
}

/** Types that do not create the file of a session without messages. */
const settings = entryTypesWith("setting");

/** Whether appends consist of settings only. They are staged until the session has a message. */
export function areSettings(group: readonly AppendRequest[]): boolean {
  return group.every(({ drafts }) => drafts.length > 0 && drafts.every(isSetting));
}

export function isSetting(draft: EntryDraft | SessionEntry): boolean {
  return (
    settings.has(draft.type) || (draft.type === "custom" && draft.customType === turnSettings.customType)
  );
}

/** Whether all entries are in the log: an earlier attempt succeeded, and only its result was lost. */
export function areInLog(placed: readonly MaterializedEntry[], tree: SessionTree): boolean {
  const rows = entryTableOf(tree);
  return placed.every(({ entry: { id } }) => rows.row(id) >= 0 && rows.line(rows.row(id)) !== undefined);
}
