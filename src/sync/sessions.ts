/** Copies and syncs of whole stores. */

import { oneOfOption } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import type { SessionLog, SessionStore } from "../session/index.js";
import { BlobCopies, copyLog } from "./copy-log.js";
import { isReadFailure, reading } from "./indexed-log.js";
import {
  type ChosenSession,
  type CopyReport,
  checkOptions,
  chosenSessions,
  type ErasureOptions,
  readLocation,
  type SyncOptions,
  type SyncReport,
  storePartitions,
  Tally,
} from "./options.js";
import { erasurePending, syncLogs } from "./sync-log.js";

/**
 * Copies sessions to another store, byte for byte: headers, unknown and damaged lines, all branches. A second
 * run continues where one was interrupted, and adds what sessions got since. Blobs are in the target before
 * the entries that name them.
 *
 * The target's sessions must be copies of the source's: others are skipped with SESSION_EXISTS. Nothing is
 * deleted in either store. A failing target rejects; a session that cannot be read is skipped.
 *
 * @throws SessileError errors of the target; TypeError for invalid options; the signal's reason
 * @example
 * ```ts
 * const from = memorySessionStore();
 * const to = memorySessionStore();
 * const { changed, skipped } = await copySessions(from, to, { partitions: [""] });
 * ```
 */
export async function copySessions(
  from: SessionStore,
  to: SessionStore,
  options: SyncOptions = {},
): Promise<CopyReport> {
  const { signal, blobs } = checkOptions(options);
  const tally = new Tally();
  for (const partition of await storePartitions([from], options)) {
    const stores = blobs?.(partition);
    const copies = stores && new BlobCopies(stores.from, stores.to, tally, signal);
    const context = { to: to.backend, blobs: copies, tally, signal };
    for (const session of await chosenSessions(from, partition, options, tally)) {
      await attempt(session, tally, () =>
        withLog(from, session, "read", (source) => {
          if (source === undefined) throw notFound(session.id);
          return copyLog(source, session, context);
        }),
      );
    }
  }
  return tally.copyReport();
}

/**
 * Brings the entries that either store lacks to it, for every session of both. Entries are immutable and have
 * ids, so that two copies of a session merge by union: if both were continued, both have both branches.
 * Afterwards the trees, labels, session_info and leaf are the same; lines may be in another order, parents
 * first.
 *
 * Idempotent, and safe while others write to either store. Deletions are not propagated: a deleted session or
 * entry comes back from the other store. An erased entry does not: with `erasures: "apply"` it is erased in
 * the other store too, else its session is skipped and reported.
 *
 * Of a label, a field of session_info and the leaf, the change counts whose log held the others before it.
 * Time decides between changes whose writers did not know each other alone; the report has them.
 *
 * @throws SessileError STORAGE_FAILED; TypeError for invalid options; the signal's reason
 * @example
 * ```ts
 * const laptop = memorySessionStore();
 * const server = memorySessionStore();
 * const { entries, collisions } = await syncSessions(laptop, server);
 * ```
 */
export async function syncSessions(
  a: SessionStore,
  b: SessionStore,
  options: SyncOptions & ErasureOptions = {},
): Promise<SyncReport> {
  const { signal, blobs } = checkOptions(options);
  const erasures = oneOfOption("erasures", options.erasures, ["report", "apply"]);
  const tally = new Tally();
  for (const partition of await storePartitions([a, b], options)) {
    const stores = blobs?.(partition);
    const toB = stores && new BlobCopies(stores.from, stores.to, tally, signal);
    const toA = stores && new BlobCopies(stores.to, stores.from, tally, signal);
    const context = { a, b, toA, toB, tally, signal, erasures };
    const sessions = new Map<string, SyncedSession>();
    for (const [store, side] of [
      [a, "inA"],
      [b, "inB"],
    ] as const)
      for (const session of await chosenSessions(store, partition, options, tally))
        sessions.set(session.id, { ...sessions.get(session.id), ...session, [side]: session.location });
    for (const session of sessions.values()) {
      await attempt(session, tally, async () => {
        try {
          return await syncSession(session, context);
        } catch (error) {
          // Created or migrated meanwhile: now it is in both, and of one version.
          if (SessileError.is(error, "SESSION_READ_ONLY")) await migrate(session, context);
          else if (!SessileError.is(error, "SESSION_EXISTS")) throw error;
          return syncSession(session, context);
        }
      });
    }
  }
  return tally.syncReport();
}

/** A session of two stores, with its location in each: a store may have several files with one id. */
interface SyncedSession extends ChosenSession {
  readonly inA?: string | undefined;
  readonly inB?: string | undefined;
}

/** The arguments of {@link syncSession}. */
interface BothStores {
  readonly a: SessionStore;
  readonly b: SessionStore;
  /** Copies blobs into the store `a`. */
  readonly toA: BlobCopies | undefined;
  readonly toB: BlobCopies | undefined;
  readonly tally: Tally;
  readonly signal: AbortSignal | undefined;
  readonly erasures: "apply" | "report";
}

/** Syncs a session that is in both stores; copies one that is in one of them. */
async function syncSession(session: SyncedSession, context: BothStores): Promise<boolean> {
  const { a, b, toA, toB, tally, signal, erasures } = context;
  return withLog(a, { ...session, location: session.inA }, "write", (one) =>
    withLog(b, { ...session, location: session.inB }, "write", async (two) => {
      if (one === undefined) {
        if (two === undefined) throw notFound(session.id);
        return copyLog(two, session, { to: a.backend, blobs: toA, tally, signal });
      }
      if (two === undefined) return copyLog(one, session, { to: b.backend, blobs: toB, tally, signal });
      const synced = await syncLogs(
        { log: one, blobs: toA },
        { log: two, blobs: toB },
        { tally, signal, erasures },
      );
      const { partition, id } = session;
      const named = (entryId: string) => ({ partition, id, entryId });
      const { inFirst, inSecond } = synced.pending;
      for (const [store, entries] of [
        ["a", inFirst],
        ["b", inSecond],
      ] as const)
        for (const entry of entries) tally.pendingErasures.push({ partition, id, ...entry, store });
      if (inFirst.length + inSecond.length > 0) throw erasurePending(id, [...inFirst, ...inSecond]);
      for (const entryId of synced.collisions) tally.collisions.push(named(entryId));
      for (const entryId of synced.differing) tally.differing.push(named(entryId));
      for (const conflict of synced.conflicts) tally.conflicts.push({ partition, id, ...conflict });
      for (const entryId of synced.erased) tally.erased.push(named(entryId));
      return synced.hasWritten;
    }),
  );
}

/** Opens a session for writing in both stores, which migrates an older version. */
async function migrate({ id, partition }: ChosenSession, { a, b }: BothStores): Promise<void> {
  for (const store of [a, b]) await (await store.open(id, { mode: "write", partition })).close();
}

/** Calls `use` with a log, or undefined if the store does not have the session, and closes it. */
async function withLog<T>(
  { backend }: SessionStore,
  { id, partition, location }: ChosenSession,
  mode: "read" | "write",
  use: (log: SessionLog | undefined) => Promise<T>,
): Promise<T> {
  const log = await reading(backend.open(id, { partition, mode, location }));
  try {
    return await use(log);
  } finally {
    await log?.close();
  }
}

/** Counts a session, or skips it with its error. Errors that the next session would meet too reject. */
async function attempt(session: ChosenSession, tally: Tally, act: () => Promise<boolean>): Promise<void> {
  try {
    const hasChanged = await act();
    tally.sessions++;
    if (hasChanged) tally.changed++;
  } catch (error) {
    const { partition, id, location } = session;
    if (!(error instanceof SessileError) || (isGeneral(error) && !isReadFailure(error))) throw error;
    tally.skipped.push({ partition, id, ...readLocation(location), error });
  }
}

function isGeneral(error: SessileError): boolean {
  return SessileError.is(error, "STORAGE_FAILED") || SessileError.is(error, "QUOTA_EXCEEDED");
}

function notFound(id: string): SessileError {
  const message = `there is no session ${SessileError.printable(id)}`;
  return new SessileError("SESSION_NOT_FOUND", message, { details: { id } });
}
