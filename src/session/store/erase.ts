/** Erases entries: their bodies leave the log, its copies, its forks, and blobs without other references. */

import type { BlobErasure, BlobMark, BlobStore } from "../../blobs/index.js";
import { SessileError } from "../../errors/index.js";
import { describe, stringArgument } from "../../internal/arguments.js";
import type { LogPosition, SessionBackend } from "../api/backend.js";
import type { DerivedEntry, Erasure, SessionHeader } from "../api/entries.js";
import type { SessionRef, SessionStore } from "../api/store.js";
import type { LiveSession } from "../runtime/session.js";
import { type EntryTable, noRow } from "../tree/entry-table.js";
import { entryTableOf } from "../tree/session-tree.js";
import { notFoundError, partitionOf, refArgument } from "./arguments.js";
import { eraseNamed, type NamedRefs } from "./erase-named-blobs.js";
import { originalsOf } from "./erase-originals.js";
import { type ErasurePlan, planErasure } from "./erase-plan.js";
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
export interface ErasedSession {
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
export interface ErasureReport {
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
  const partition = partitionOf(options.partition);
  const ids = idsArgument(entryIds);
  const erasure = { at: new Date().toISOString(), reason };
  const requested = new Map(ids.map((id) => [id, erasure]));
  const notes = new Set<string>();
  const done: ErasedSession[] = [];
  const refs: NamedRefs[] = [];
  const times = new Map<string, string>();
  const eraseIn = async (
    target: Target,
    choose: (rows: EntryTable) => ReadonlyMap<string, Erasure>,
  ): Promise<SessionHeader> => {
    signal?.throwIfAborted();
    const { session, plan, removed, remaining } = await eraseInSession(store.backend, target, choose);
    refs.push({ partition: target.partition, refs: plan.refs });
    for (const note of remaining) notes.add(note);
    if (plan.unread > 0)
      notes.add(`${plan.unread} damaged lines of session ${session.id}, which salvage leaves out`);
    if (plan.derived.length > 0) notes.add("the entries in `derived`");
    for (const id of plan.sessions) notes.add(`session ${id}, which an erased call started`);
    if (plan.isShared) notes.add("the sources of memory blocks that sessions share");
    if (plan.isRepeated && options.blobs !== undefined)
      notes.add(
        "blobs of entries that were erased before, until two collections, and damaged ones in quarantine",
      );
    const { location } = session;
    done.push({
      partition: target.partition,
      id: session.id,
      ...(location === undefined ? {} : { location }),
      erased: plan.erased,
      derived: plan.derived,
      removed,
    });
    return session.header;
  };
  /** Of the files of a whole import only the entry that names them can be erased. */
  const eraseOriginals = async (partition: string, child: SessionHeader): Promise<void> => {
    const missing = () => notes.add("original files of an import, if the parent session keeps them");
    const found = await originalsOf(current.backend, partition, child, missing);
    if (found === undefined) return;
    const { id, entryIds } = found;
    await eraseIn({ partition, id }, () => new Map(entryIds.map((entryId) => [entryId, erasure])));
    notes.add("results of subagents in their parent sessions");
  };
  const header = await eraseIn({ ...ref, partition }, (rows) => {
    for (const id of ids) times.set(id, timestampOf(rows, id));
    return requested;
  });
  if (options.forks === true) {
    const [{ id, location }] = done as [ErasedSession];
    const source = { partition, id, location, parentSession: header.parentSession };
    const { forks, orphans } = await forksOf(current, source, notes);
    const choose = (rows: EntryTable) => withTimes(rows, requested, times);
    for (const fork of forks) await eraseIn(fork, choose);
    for (const fork of orphans)
      if (await hasAny(current.backend, fork, notes, choose)) await eraseIn(fork, choose);
  } else {
    notes.add("forks of the session (see `forks`)");
    if (header.parentSession !== undefined)
      notes.add(
        `session ${header.parentSession}, if this one is its fork, and its other forks (see \`forks\`)`,
      );
  }
  await eraseOriginals(partition, header);
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

function idsArgument(entryIds: Iterable<string>): readonly string[] {
  const isList = typeof entryIds === "object" && entryIds !== null && Symbol.iterator in entryIds;
  if (!isList) throw new TypeError(`entryIds: expected a list of ids, got ${describe(entryIds)}`);
  return Array.from(new Set(entryIds), (id) => stringArgument("entryIds", id));
}

const maxAttempts = 16;

/** Erases entries in one session, again after other writers' appends. */
async function eraseInSession(
  backend: SessionBackend,
  { id, partition, location }: Target,
  choose: (rows: EntryTable) => ReadonlyMap<string, Erasure>,
): Promise<{
  readonly session: Pick<LiveSession, "id" | "location" | "header">;
  readonly plan: ErasurePlan;
  readonly removed: readonly string[];
  readonly remaining: readonly string[];
}> {
  for (let attempt = 1; ; attempt++) {
    const log = await backend.open(id, { partition, mode: "write", location });
    if (log === undefined) throw notFoundError(id, location);
    const session = await openLog(backend, log, { mode: "write" });
    try {
      session.source.assertWritable();
      if (log.erase === undefined) throw new TypeError("erase: this backend cannot erase entries");
      await session.source.migrate?.();
      const rows = entryTableOf(await session.tree());
      const requested = new Map(
        Array.from(choose(rows), ([entryId, erasure]) => [entryId, { erasure, part: "body" }] as const),
      );
      const plan = await planErasure(rows, log, requested);
      const { removed, remaining } = await log.erase(plan.changes, session.source.position as LogPosition);
      const { header } = session;
      return { session: { id: session.id, location: session.location, header }, plan, removed, remaining };
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER") || attempt === maxAttempts) throw error;
    } finally {
      await session.close();
    }
  }
}

function timestampOf(rows: EntryTable, id: string): string {
  const row = rows.row(id);
  if (row !== noRow) return rows.timestamp(row);
  throw new SessileError("ENTRY_NOT_FOUND", `no entry has the id ${SessileError.printable(id)}`, {
    details: { entryId: id },
  });
}

/** The requested entries that a fork has. An entry of its own may have the id of a later one by chance. */
function withTimes(
  rows: EntryTable,
  requested: ReadonlyMap<string, Erasure>,
  times: ReadonlyMap<string, string>,
): ReadonlyMap<string, Erasure> {
  return new Map(
    [...requested].filter(([id]) => {
      const row = rows.row(id);
      return row !== noRow && rows.timestamp(row) === times.get(id);
    }),
  );
}

/** Whether a session has requested entries. Reads it, and takes no lock. */
async function hasAny(
  backend: SessionBackend,
  { id, partition, location }: Target,
  notes: Set<string>,
  choose: (rows: EntryTable) => ReadonlyMap<string, Erasure>,
): Promise<boolean> {
  try {
    const log = await backend.open(id, { partition, mode: "read", location });
    if (log === undefined) return false;
    const session = await openLog(backend, log, { mode: "read" });
    try {
      return choose(entryTableOf(await session.tree())).size > 0;
    } finally {
      await session.close();
    }
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    notes.add(`${location ?? id}, which cannot be read`);
    return false;
  }
}

type Fork = Target & { readonly parentSession: string };

/**
 * The forks of a session, and their forks, each once; apart from them the sessions that it may be a fork of and
 * their other forks, the forks of sessions that the store does not have, such as deleted ones, which may have
 * been forks too, and copies of the session's file under its id.
 */
async function forksOf(
  store: SessionStore,
  source: Target & { readonly parentSession: string | undefined },
  notes: Set<string>,
): Promise<{ readonly forks: readonly Target[]; readonly orphans: readonly Target[] }> {
  const stop = store.on("skipped", ({ location }) => notes.add(`${location}, which cannot be listed`));
  const all: Fork[] = [];
  const roots: Target[] = [];
  const copies: Target[] = [];
  const names = new Set([source.id]);
  if (store.backend.partitions === undefined)
    notes.add("forks in other partitions, which this backend does not list");
  try {
    const partitions = store.backend.partitions?.() ?? [source.partition];
    for await (const partition of partitions)
      for await (const { id, location, parentSession } of everySession(store, partition)) {
        names.add(id);
        if (id === source.id && partition === source.partition && location !== source.location)
          copies.push({ partition, id, location });
        else if (parentSession !== undefined) all.push({ partition, id, location, parentSession });
        else roots.push({ partition, id, location });
      }
  } finally {
    stop();
  }
  /** By each name that a header may mean: the time stays linear in the sessions. */
  const byParent = new Map<string, Fork[]>();
  for (const fork of all)
    for (const name of new Set(namesIn(fork.parentSession))) {
      const named = byParent.get(name);
      if (named === undefined) byParent.set(name, [fork]);
      else named.push(fork);
    }
  const childrenOf = (parent: Target): readonly Fork[] =>
    [parent.id, parent.location ?? parent.id]
      .flatMap((name) => byParent.get(name) ?? [])
      .filter((fork) => isParent(parent, fork.parentSession));
  const found = new Set<Target>();
  const follow = (parents: Iterable<Target>): readonly Target[] => {
    const added: Target[] = [];
    const add = (fork: Fork) => {
      if (found.has(fork)) return;
      found.add(fork);
      added.push(fork);
    };
    for (const parent of parents) for (const fork of childrenOf(parent)) add(fork);
    for (let at = 0; at < added.length; at++) for (const fork of childrenOf(added[at] as Target)) add(fork);
    return added;
  };
  const forks = follow([source]);
  const ancestors: Target[] = [];
  for (let name = source.parentSession; name !== undefined; ) {
    const known: string = name;
    const parents: readonly (Target | Fork)[] = [...all, ...roots].filter((each) => isParent(each, known));
    const found = parents.filter((each) => !ancestors.includes(each));
    if (parents.length === 0)
      notes.add(`session ${known}, of which it is a fork and which this store does not list`);
    for (const each of found) ancestors.push(each);
    name = found.flatMap((each) => ("parentSession" in each ? each.parentSession : []))[0];
  }
  const relatives = follow(ancestors);
  const lost = all.filter(
    (fork) => !found.has(fork) && !namesIn(fork.parentSession).some((id) => names.has(id)),
  );
  for (const fork of lost) found.add(fork);
  const isSource = ({ id, partition, location }: Target) =>
    id === source.id && partition === source.partition && location === source.location;
  const others = [...ancestors, ...relatives, ...copies, ...lost, ...follow(lost)];
  const seen = new Set<Target>(forks);
  const orphans = others.filter((each) => !isSource(each) && !seen.has(each) && seen.add(each));
  return { forks, orphans };
}

/** The ids that a header may mean by its parent, as {@link isParent} compares them. */
function namesIn(parentSession: string): readonly string[] {
  const name = (parentSession.split(/[\\/]/).at(-1) ?? "").replace(/\.jsonl$/, "");
  const endings = Array.from(name.matchAll(/_/g), ({ index }) => name.slice(index + 1));
  return [parentSession, name, ...endings];
}

/** Whether a header names a session as its parent: by its id, its location, or a path that has moved. */
function isParent({ id, location }: Target, parentSession: string): boolean {
  if (parentSession === id || parentSession === location) return true;
  const name = parentSession.split(/[\\/]/).at(-1) ?? "";
  return name === `${id}.jsonl` || name.endsWith(`_${id}.jsonl`);
}
