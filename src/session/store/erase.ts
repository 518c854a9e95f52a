/** Erasure of entries from a store with all that refers to them, and deletion of a partition. */

import type { BlobBackend, BlobErasure, BlobMark, BlobStore, BlobTally } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { describe, stringArgument } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { isName, isSideLogId, nameArgument } from "../../core/ids.js";
import { isRecord } from "../../core/shape.js";
import { type DerivedEntry, type Erasure, entryErasure } from "../../log/internal.js";
import type { LogErasure, LogPosition, SessionBackend } from "../api/backend.js";
import type { SessionRef, SessionStore } from "../api/store.js";
import type { LiveSession } from "../runtime/session.js";
import { type EntryTable, noRow, treeRows } from "../tree/session-tree.js";
import { notFoundError, readPartition, refArgument } from "./arguments.js";
import { partitionBlobRoots } from "./blob-roots.js";
import { append, type ErasurePlan, planErasure } from "./erase-plan.js";
import { everySession } from "./list.js";
import { openLog, sessionStore } from "./store.js";

/** Options of {@link eraseEntries}. */
export interface EraseOptions {
  /** Recorded in the tombstones. Must not repeat erased content. */
  readonly reason: string;
  /** @default the unnamed partition */
  readonly partition?: string;
  /**
   * Whether to erase the entries in forks too: sessions that name this one as their parent, and theirs, in
   * every partition that the backend lists. The sessions that this one was forked from and their other forks,
   * sessions whose parent was deleted, and copies of the file under its id are read, and count if they have
   * the entries. @default false
   */
  readonly forks?: boolean;
  /**
   * The blobs of the partition, or those that all partitions share: those that only erased entries name are
   * deleted at once.
   */
  readonly blobs?: Pick<BlobStore, "backend">;
  /**
   * The references of every root of `blobs`, as for `collectGarbage`. An async generator is read after the
   * erasure. @default those of all sessions of the partition, or of every partition if `blobs` is not the
   * store of one, read in whole; no blob is deleted then if the backend does not list its partitions
   */
  readonly marks?: AsyncIterable<BlobMark> | Iterable<BlobMark>;
  /** Rejects with the signal's reason; sessions that were done stay so. */
  readonly signal?: AbortSignal;
}

/** The erasure in one session. */
interface ErasedSession {
  readonly partition: string;
  readonly id: string;
  readonly location?: string;
  /**
   * The entries whose bodies are gone, in the order of the log: the requested ones, edits and labels of them,
   * and with the user's first message each session_info with a name, title or slug.
   */
  readonly erased: readonly string[];
  /** Entries that may have content of them, to be erased too if need be. */
  readonly derived: readonly DerivedEntry[];
  /** Copies of the log that were removed, such as the file before a migration. */
  readonly removed: readonly string[];
}

/** The result of {@link eraseEntries}. */
interface ErasureReport {
  /** The session, its forks, and the session that keeps the original files of its import. */
  readonly sessions: readonly ErasedSession[];
  /** With `blobs`. */
  readonly blobs?: BlobErasure;
  /** What may still hold the erased content, for people. */
  readonly remaining: readonly string[];
}

/**
 * Erases the bodies of entries: writes the log anew with tombstones, which keep type, id, parent, time and
 * tool call ids, so that the tree and every context stay valid. Each session whole or not at all, under its
 * lock. Idempotent: after a failure, run it again.
 *
 * Other handles get CONCURRENT_WRITER at their next append, and read again. Until then they show what they
 * have read.
 *
 * @throws SessileError SESSION_NOT_FOUND, ENTRY_NOT_FOUND; SESSION_READ_ONLY for a newer version;
 *   SESSION_LOCKED, CONCURRENT_WRITER, STORAGE_FAILED: this session is unchanged
 * @throws TypeError for invalid arguments, and if the backend cannot erase
 * @example
 * ```ts
 * const sessions = memorySessionStore();
 * const session = await sessions.create({ cwd: "/work" });
 * const { id } = await session.appendMessage(userMessage("My number is 555-0100."));
 * const { remaining } = await eraseEntries(sessions, session, [id], { reason: "a request of the user" });
 * ```
 */
export async function eraseEntries(
  store: SessionStore,
  session: SessionRef,
  entryIds: Iterable<string>,
  options: EraseOptions,
): Promise<ErasureReport> {
  const current = store.backend.primary === undefined ? store : sessionStore(store.backend.primary);
  const ref = refArgument(session);
  const reason = stringArgument("reason", options?.reason).trim();
  if (reason === "") throw new TypeError("reason: expected a non-blank string, got an empty or blank one");
  const { signal } = options;
  const partition = readPartition(options.partition);
  const ids = idsArgument(entryIds);
  const erasure = { at: new Date().toISOString(), reason };
  const requested = new Map(ids.map((id) => [id, erasure]));
  const notes = new Set<string>();
  const done: ErasedSession[] = [];
  const refs: ErasedRefs[] = [];
  const times = new Map<string, string>();
  const eraseIn = async (target: Target, choose: ChooseEntries): Promise<Listed> => {
    signal?.throwIfAborted();
    const { plan, removed, remaining, ...erased } = await eraseInSession(store.backend, target, choose);
    refs.push({ partition: target.partition, refs: plan.refs });
    for (const note of remaining) notes.add(note);
    if (plan.unread > 0)
      notes.add(`${plan.unread} damaged lines of session ${erased.id}, which salvage leaves out`);
    if (plan.derived.length > 0) notes.add("the entries in `derived`");
    for (const id of plan.sessions) notes.add(`session ${id}, which an erased call started`);
    if (plan.isShared) notes.add("the sources of memory blocks that sessions share");
    if (plan.isRepeated && options.blobs !== undefined)
      notes.add(
        "blobs of entries that were erased before, until two collections, and damaged ones in quarantine",
      );
    const { id, location } = erased;
    done.push({
      partition: target.partition,
      id,
      ...(location === undefined ? {} : { location }),
      erased: plan.erased,
      derived: plan.derived,
      removed,
    });
    return erased;
  };
  const source = await eraseIn({ ...ref, partition }, (rows) => {
    for (const id of ids) times.set(id, rowTimestamp(rows, id));
    return requested;
  });
  const { parentSession } = source;
  if (options.forks === true) {
    const { forks, orphans } = await storeForks(current, source, notes);
    // An entry of a fork's own may have the id of a later one by chance.
    const choose = (rows: EntryTable) =>
      new Map(ids.flatMap((id) => (rowTime(rows, id) === times.get(id) ? [[id, erasure]] : [])));
    for (const fork of forks) await eraseIn(fork, choose);
    for (const fork of orphans) {
      const hasAny = await readSession(
        current.backend,
        fork,
        async (read) => choose(treeRows(await read.tree())).size > 0,
        () => notes.add(`${fork.location ?? fork.id}, which cannot be read`),
      );
      if (hasAny === true) await eraseIn(fork, choose);
    }
  } else {
    notes.add("forks of the session (see `forks`)");
    if (parentSession !== undefined)
      notes.add(`session ${parentSession}, if this one is its fork, and its other forks (see \`forks\`)`);
  }
  const originals = await backendOriginals(current.backend, source, () =>
    notes.add("original files of an import, if the parent session keeps them"),
  );
  if (originals !== undefined) {
    // Of the files of a whole import only the entry that names them can be erased.
    await eraseIn(originals, () => new Map(originals.entryIds.map((id) => [id, erasure])));
    notes.add("results of subagents in their parent sessions");
  }
  const { blobs, note } = await eraseNamed(current, refs, partition, options);
  if (note !== undefined) notes.add(note);
  notes.add("copies of the session in other stores and files, and replies and names that repeat the content");
  notes.add("open handles, until they read again");
  notes.add("the logs of providers that the content was sent to");
  return { sessions: done, ...(blobs === undefined ? {} : { blobs }), remaining: [...notes] };
}

/** A session of a store. */
interface Target {
  readonly partition: string;
  readonly id: string;
  readonly location?: string | undefined;
}

/** A session with the one that its header names. */
interface Listed extends Target {
  readonly parentSession?: string | undefined;
}

/** Chooses the entries that are erased in a session, each with its erasure. */
type ChooseEntries = (rows: EntryTable) => ReadonlyMap<string, Erasure>;

function idsArgument(entryIds: Iterable<string>): readonly string[] {
  const isList = typeof entryIds === "object" && entryIds !== null && Symbol.iterator in entryIds;
  if (!isList) throw new TypeError(`entryIds: expected a list of ids, got ${describe(entryIds)}`);
  return Array.from(new Set(entryIds), (id) => stringArgument("entryIds", id));
}

function rowTime(rows: EntryTable, id: string): string | undefined {
  const row = rows.row(id);
  return row === noRow ? undefined : rows.timestamp(row);
}

function rowTimestamp(rows: EntryTable, id: string): string {
  const time = rowTime(rows, id);
  if (time !== undefined) return time;
  throw new SessileError("ENTRY_NOT_FOUND", `no entry has the id ${SessileError.printable(id)}`, {
    details: { entryId: id },
  });
}

const maxAttempts = 16;

/** Erases entries in one session, again after other writers' appends. */
async function eraseInSession(
  backend: SessionBackend,
  { id, partition, location }: Target,
  choose: ChooseEntries,
): Promise<Listed & Omit<LogErasure, "position"> & { readonly plan: ErasurePlan }> {
  for (let attempt = 1; ; attempt++) {
    const log = await backend.open(id, { partition, mode: "write", location });
    if (log === undefined) throw notFoundError(id, location);
    const session = await openLog(backend, log, { mode: "write" });
    try {
      const { source, header } = session;
      source.assertWritable();
      if (log.erase === undefined) throw new TypeError("erase: this backend cannot erase entries");
      await source.migrate?.();
      const rows = treeRows(await session.tree());
      const requested = Array.from(
        choose(rows),
        ([entryId, erasure]) => [entryId, { erasure, part: "body" }] as const,
      );
      const plan = await planErasure(rows, log, new Map(requested));
      const { removed, remaining } = await log.erase(plan.changes, source.position as LogPosition);
      return {
        partition,
        id: session.id,
        location: session.location,
        parentSession: header.parentSession,
        plan,
        removed,
        remaining,
      };
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER") || attempt === maxAttempts) throw error;
    } finally {
      await session.close();
    }
  }
}

/** Reads a session without a lock; undefined if there is none or, after a call of `failed`, it cannot be read. */
async function readSession<T>(
  backend: SessionBackend,
  { id, partition, location }: Target,
  read: (session: LiveSession) => Promise<T>,
  failed?: () => void,
): Promise<T | undefined> {
  try {
    const log = await backend.open(id, { partition, mode: "read", location });
    if (log === undefined) return undefined;
    const session = await openLog(backend, log, { mode: "read" });
    return await read(session).finally(() => session.close());
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    return void failed?.();
  }
}

/**
 * The forks of a session, and their forks, each once; apart from them the sessions that it may be a fork of and
 * their other forks, the forks of sessions that the store does not have, such as deleted ones, which may have
 * been forks too, and copies of the session's file under its id.
 */
async function storeForks(
  store: SessionStore,
  source: Listed,
  notes: Set<string>,
): Promise<{ readonly forks: readonly Target[]; readonly orphans: readonly Target[] }> {
  const stop = store.on("skipped", ({ location }) => notes.add(`${location}, which cannot be listed`));
  const all: Listed[] = [];
  const copies: Listed[] = [];
  if (store.backend.partitions === undefined)
    notes.add("forks in other partitions, which this backend does not list");
  const isSource = ({ id, partition }: Target) => id === source.id && partition === source.partition;
  try {
    for await (const partition of store.backend.partitions?.() ?? [source.partition])
      for await (const { id, location, parentSession } of everySession(store, partition)) {
        const listed = { partition, id, location, parentSession };
        (isSource(listed) && location !== source.location ? copies : all).push(listed);
      }
  } finally {
    stop();
  }
  /** By each name that a header may mean: the time stays linear in the sessions. */
  const byParent = new Map<string, Listed[]>();
  for (const each of all) for (const name of namesOfParent(each)) append(byParent, name, each);
  const found = new Set<Listed>();
  const follow = (parents: readonly Listed[]): readonly Listed[] => {
    const added: Listed[] = [];
    const addForks = (parent: Listed) => {
      for (const name of [parent.id, parent.location ?? parent.id])
        for (const fork of byParent.get(name) ?? [])
          if (isParent(parent, fork.parentSession) && !found.has(fork) && found.add(fork)) added.push(fork);
    };
    parents.forEach(addForks);
    // The list grows while it is read.
    for (const fork of added) addForks(fork);
    return added;
  };
  const forks = follow([source]);
  const ancestors: Listed[] = [];
  for (let name = source.parentSession; name !== undefined; ) {
    const known: string = name;
    const parents = all.filter((each) => isParent(each, known));
    if (parents.length === 0)
      notes.add(`session ${known}, of which it is a fork and which this store does not list`);
    const added = parents.filter((each) => !ancestors.includes(each));
    for (const each of added) ancestors.push(each);
    name = added.find(({ parentSession }) => parentSession !== undefined)?.parentSession;
  }
  const relatives = follow(ancestors);
  const ids = new Set([source, ...copies, ...all].map(({ id }) => id));
  const isLost = (each: Listed) =>
    each.parentSession !== undefined && !found.has(each) && !namesOfParent(each).some((id) => ids.has(id));
  const lost = all.filter(isLost);
  for (const fork of lost) found.add(fork);
  const others = new Set([...ancestors, ...relatives, ...copies, ...lost, ...follow(lost)]);
  const known = new Set(forks);
  const orphans = [...others].filter(
    (each) => !known.has(each) && !(isSource(each) && each.location === source.location),
  );
  return { forks, orphans };
}

/** The ids that a header may mean by its parent, as {@link isParent} compares them. */
function namesOfParent({ parentSession }: Listed): readonly string[] {
  if (parentSession === undefined) return [];
  const name = (parentSession.split(/[\\/]/).at(-1) ?? "").replace(/\.jsonl$/, "");
  const endings = Array.from(name.matchAll(/_/g), ({ index }) => name.slice(index + 1));
  return [...new Set([parentSession, name, ...endings])];
}

/** Whether a header names a session as its parent: by its id, its location, or a path that has moved. */
function isParent({ id, location }: Target, parentSession: string | undefined): boolean {
  if (parentSession === undefined) return false;
  if (parentSession === id || parentSession === location) return true;
  const name = parentSession.split(/[\\/]/).at(-1) ?? "";
  return name === `${id}.jsonl` || name.endsWith(`_${id}.jsonl`);
}

/**
 * The entries that name the original files of a subagent's session, in a session above it: these files have the
 * texts of subagents, whose sessions name their parents.
 *
 * @param missing called if a session above is not there or cannot be read
 */
async function backendOriginals(
  backend: SessionBackend,
  { id: child, partition, parentSession }: Listed,
  missing: () => void,
): Promise<(Target & { readonly entryIds: readonly string[] }) | undefined> {
  const seen = new Set([child]);
  // A fork may name its parent by a path. An import never does.
  for (let id = parentSession; isName(id) && !seen.has(id); ) {
    seen.add(id);
    const found = await readSession(backend, { partition, id }, async (session) => {
      const entryIds: string[] = [];
      let isErased = false;
      for (const node of (await session.tree()).children(null)) {
        const entry = node.type === "custom" ? await session.entry(node.id) : undefined;
        if (entry?.type !== "custom" || entry.customType !== "sessile.foreign") continue;
        if (entryErasure(entry) !== undefined) isErased = true;
        const children = isRecord(entry.data) ? entry.data.children : undefined;
        if (Array.isArray(children) && children.includes(child)) entryIds.push(node.id);
      }
      return { entryIds, isErased, above: session.header.parentSession };
    });
    if (found === undefined) return void missing();
    if (found.entryIds.length > 0) return { partition, id, entryIds: found.entryIds };
    if (found.isErased) return undefined;
    id = found.above;
  }
  return undefined;
}

/** The blobs that the erased lines of a session named. */
interface ErasedRefs {
  readonly partition: string;
  readonly refs: ReadonlySet<BlobRef>;
}

/**
 * Deletes the blobs of a partition that erased lines named and no session names any more. In a store of no
 * partition others may name them too: the sessions of every partition count then.
 */
async function eraseNamed(
  store: SessionStore,
  found: readonly ErasedRefs[],
  partition: string,
  { blobs, marks, signal }: EraseOptions,
): Promise<{ readonly blobs?: BlobErasure; readonly note?: string }> {
  const all = new Set(found.flatMap(({ refs }) => [...refs]));
  if (blobs === undefined)
    return all.size === 0 ? {} : { note: `${all.size} blobs (see \`blobs\`), until a collection` };
  if (all.size === 0) return { blobs: { deleted: [], kept: [] } };
  // Loaded now: sessions need no code of blobs.
  const { eraseBlobs, isOfPartition } = await import("../../blobs/internal.js");
  const isOwn = isOfPartition(blobs.backend);
  const own = found.filter((each) => each.partition === partition);
  const refs = isOwn ? new Set(own.flatMap((each) => [...each.refs])) : all;
  if (marks === undefined && !isOwn && store.backend.partitions === undefined) {
    const note = "blobs: this backend does not list its partitions, any of which may name them: pass `marks`";
    return { blobs: { deleted: [], kept: [...refs] }, note };
  }
  try {
    const given = marks ?? storeRoots(store, partition, isOwn);
    const erased = await eraseBlobs(blobs, refs, { marks: given, ...(signal && { signal }) });
    return {
      blobs: erased,
      note: "versions, replicas and backups of deleted blobs, if the storage keeps them",
    };
  } catch (error) {
    if (!SessileError.is(error, "COLLECTION_REFUSED")) throw error;
    return { blobs: { deleted: [], kept: [...refs] }, note: `blobs: ${error.message}` };
  }
}

/** The blob references of all sessions of a partition, or of every partition. */
async function* storeRoots(store: SessionStore, partition: string, isOwn: boolean): AsyncGenerator<BlobMark> {
  yield* partitionBlobRoots(store, partition);
  if (isOwn) return;
  for await (const each of store.backend.partitions?.() ?? [])
    if (each !== partition) yield* partitionBlobRoots(store, each);
}

// The deletion of a tenant: all sessions of a partition, and its blobs.

/** The result of {@link deletePartition}. */
interface PartitionDeletion {
  readonly partition: string;
  /** The number of sessions that were deleted. */
  readonly sessions: number;
  /** With `blobs`: those that were deleted, without the trash. */
  readonly blobs?: BlobTally;
  /** What may still hold content of the partition, for people. */
  readonly remaining: readonly string[];
}

/**
 * Deletes a named partition: its sessions, also unreadable ones, the files beside them, and its blobs, also
 * those in the trash. Open handles get SESSION_NOT_FOUND. A session that is created meanwhile may stay.
 * Idempotent: after a failure, run it again.
 *
 * @param options.blobs the store whose partition of this name is deleted too
 * @throws SessileError STORAGE_FAILED, SESSION_LOCKED; a part may be deleted
 * @throws TypeError for an invalid name, and for the unnamed partition, which is never deleted
 * @example
 * ```ts
 * const sessions = memorySessionStore();
 * const { remaining } = await deletePartition(sessions, "acme", { blobs: memoryBlobStore() });
 * ```
 */
export async function deletePartition(
  store: Pick<SessionStore, "backend">,
  name: string,
  options: { readonly blobs?: Pick<BlobStore, "backend">; readonly signal?: AbortSignal } = {},
): Promise<PartitionDeletion> {
  const partition = nameArgument("name", name);
  const { backend } = store;
  const { signal } = options;
  const { sessions, ...deleted } =
    (await backend.deletePartition?.(partition)) ?? (await deleteSessions(backend, partition, signal));
  const remaining = [...deleted.remaining];
  if (options.blobs === undefined) {
    remaining.push("blobs of the partition (see `blobs`)");
    return { partition, sessions, remaining };
  }
  const blobs = options.blobs.backend.partition(partition);
  const tally = await deleteBlobs(blobs, signal);
  for (const note of (await blobs.clear?.()) ?? []) remaining.push(note);
  remaining.push("blobs that the sessions put into another partition or store, until a collection");
  remaining.push("versions, replicas and backups of deleted blobs, if the storage keeps them");
  return { partition, sessions, blobs: tally, remaining };
}

async function deleteSessions(
  backend: SessionBackend,
  partition: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly sessions: number; readonly remaining: readonly string[] }> {
  let sessions = 0;
  const unread = new Set<string>();
  const skipped = (location: string) => void unread.add(`${location}, which cannot be read`);
  // A session that changes meanwhile moves to the start of the list.
  for (let isDone = false; !isDone; ) {
    isDone = true;
    for await (const { id, location } of backend.list({ partition, skipped })) {
      signal?.throwIfAborted();
      if (!(await backend.delete(id, { partition, location }))) continue;
      isDone = false;
      if (!isSideLogId(id)) sessions++;
    }
  }
  return { sessions, remaining: [...unread] };
}

async function deleteBlobs(backend: BlobBackend, signal: AbortSignal | undefined): Promise<BlobTally> {
  const each = signal === undefined ? {} : { signal };
  let count = 0;
  let bytes = 0;
  for await (const { ref, size } of backend.list(each)) {
    signal?.throwIfAborted();
    if (!(await backend.delete(ref))) continue;
    count++;
    bytes += size;
  }
  for await (const { ref } of backend.trash.list(each)) await backend.trash.delete(ref);
  await backend.removeLeftovers?.(Number.MAX_SAFE_INTEGER, { dryRun: false });
  // A listing that ends is a recount of a quota.
  for await (const _ of backend.list(each));
  return { count, bytes };
}
