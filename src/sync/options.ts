/** The options of a copy and of a sync, the sessions that they choose, and their reports. */

import type { BlobStore } from "../blobs/index.js";
import type { BlobRef } from "../content/index.js";
import { describe, stringArgument } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import { nameArgument } from "../core/ids.js";
import type { Erasure, SessionStore, SessionSummary } from "../session/index.js";
import type { StateConflict } from "./closing.js";

/** The blobs of the sessions in the two stores. */
interface BlobStores {
  /** Of the first store. */
  readonly from: BlobStore;
  /** Of the second store. */
  readonly to: BlobStore;
}

/** Options of {@link copySessions} and {@link syncSessions}. */
export interface SyncOptions {
  /** The partitions, an empty string for the unnamed one. @default all that the stores list */
  readonly partitions?: readonly string[];
  /** Only these sessions, which are opened without a list. @default all */
  readonly ids?: readonly string[];
  /** Chooses from the list. @default all */
  readonly filter?: (session: SessionSummary, partition: string) => boolean;
  /** The blob stores of a partition. Without it no blob is copied. */
  readonly blobs?: (partition: string) => BlobStores;
  readonly signal?: AbortSignal;
}

/** What a sync or a merge does with tombstones of entries whose texts the other copy has. */
export interface ErasureOptions {
  /**
   * - `report`: the session stays as it is in both stores, with the error ERASURE_PENDING. Nothing is lost by
   *   a tombstone that was forged or made by mistake, and no erased text comes back.
   * - `apply`: the entries, and what derives from them, are erased in the other copy. Cannot be undone.
   *
   * @default "report"
   */
  readonly erasures?: "apply" | "report";
}

/** A session to be copied or synced. */
export interface ChosenSession {
  readonly partition: string;
  readonly id: string;
  readonly location: string | undefined;
}

/** Checks options. Throws a TypeError that names the argument. */
export function checkOptions<T extends SyncOptions>(options: T): T {
  const { partitions, ids, filter, blobs } = options;
  for (const partition of partitions ?? []) if (partition !== "") nameArgument("partitions", partition);
  for (const id of ids ?? []) stringArgument("ids", id);
  for (const [name, value] of Object.entries({ filter, blobs })) {
    if (value !== undefined && typeof value !== "function")
      throw new TypeError(`${name}: expected a function, got ${describe(value)}`);
  }
  if (ids !== undefined && filter !== undefined) throw new TypeError("filter: cannot go with ids");
  return options;
}

/** The partitions of the options, or all that the stores list. */
export async function storePartitions(
  stores: readonly SessionStore[],
  { partitions, signal }: SyncOptions,
): Promise<readonly string[]> {
  if (partitions !== undefined) return [...new Set(partitions)];
  const found = new Set([""]);
  for (const { backend } of stores) {
    for await (const partition of backend.partitions?.() ?? []) {
      signal?.throwIfAborted();
      found.add(partition);
    }
  }
  return [...found].sort();
}

/**
 * The chosen sessions of a partition, oldest first, so that copies have the order of their sources. Of
 * several with one id, such as copied files, the newest. Sessions that cannot be listed are skipped.
 */
export async function chosenSessions(
  store: SessionStore,
  partition: string,
  options: SyncOptions,
  tally: Tally,
): Promise<readonly ChosenSession[]> {
  const { ids, filter, signal } = options;
  if (ids !== undefined) return ids.map((id) => ({ partition, id, location: undefined }));
  const chosen = new Map<string, ChosenSession>();
  const stop = store.on("skipped", ({ location, error }) => {
    tally.skipped.push({ partition, location, error });
  });
  try {
    for await (const session of store.list({ partition, ...(signal === undefined ? {} : { signal }) })) {
      const { id, location } = session;
      if (filter !== undefined && !filter(session, partition)) continue;
      if (!chosen.has(id)) chosen.set(id, { partition, id, location });
      else tally.skipped.push({ partition, id, ...readLocation(location), error: secondError(id) });
    }
  } finally {
    stop();
  }
  return [...chosen.values()].reverse();
}

function secondError(id: string): SessileError {
  const message = `a newer session of the same store has the id ${SessileError.printable(id)}`;
  return new SessileError("SESSION_EXISTS", message, { details: { id } });
}

// The reports of a copy and of a sync.

/** A session that was left as it is, and why. */
interface SkippedSession {
  readonly partition: string;
  /** Absent if the session could not be listed. */
  readonly id?: string;
  readonly location?: string;
  readonly error: SessileError;
}

/** The result of {@link copySessions}. */
export interface CopyReport {
  /** Sessions that were examined, without the skipped ones. */
  readonly sessions: number;
  /** Those of them that got lines. */
  readonly changed: number;
  /** Entries that were written. */
  readonly entries: number;
  /** Bytes of the lines that were written. */
  readonly bytes: number;
  readonly blobs: {
    /** Blobs that were written. */
    readonly count: number;
    readonly bytes: number;
    /** Blobs that entries name and the source does not have intact. */
    readonly lost: readonly BlobRef[];
  };
  /** Bytes after the last line feed of a source, in which no entry is whole; not copied. */
  readonly tornBytes: number;
  readonly skipped: readonly SkippedSession[];
}

/** An entry of a session. */
interface DifferingEntry {
  readonly partition: string;
  /** The session. */
  readonly id: string;
  readonly entryId: string;
}

/** An entry whose text one store has, and that the other one erased; see {@link ErasureOptions.erasures}. */
interface PendingErasure extends DifferingEntry {
  /** The store that has the text: `a` is the first one. */
  readonly store: "a" | "b";
  /** The record of the erasure. */
  readonly erased: Erasure;
}

/** A state that was changed in both stores by writers who did not know of each other. */
interface SyncConflict extends StateConflict {
  readonly partition: string;
  /** The session. */
  readonly id: string;
}

/** The result of {@link syncSessions}. */
export interface SyncReport extends CopyReport {
  /** Entries whose lines differ, such as an edited one. Each store keeps its own. */
  readonly differing: readonly DifferingEntry[];
  /** Entries that were erased in one store, since the other has tombstones in their place. */
  readonly erased: readonly DifferingEntry[];
  /** Entries that `erasures: "apply"` would erase, with those that derive from them. Their sessions were skipped. */
  readonly pendingErasures: readonly PendingErasure[];
  /** States of which one change counts, and another one of equal right does not. All entries are kept. */
  readonly conflicts: readonly SyncConflict[];
  /** Ids of two different entries. Neither they nor entries below them were moved. */
  readonly collisions: readonly DifferingEntry[];
  /** Damaged lines of sessions that are in both stores; not moved. */
  readonly damaged: number;
}

/** The member of a skipped session with a location. */
export function readLocation(location: string | undefined): { readonly location?: string } {
  return location === undefined ? {} : { location };
}

/** A report under construction. */
export class Tally {
  sessions = 0;
  changed = 0;
  entries = 0;
  bytes = 0;
  blobCount = 0;
  blobBytes = 0;
  tornBytes = 0;
  damaged = 0;
  readonly lost = new Set<BlobRef>();
  readonly skipped: SkippedSession[] = [];
  readonly differing: DifferingEntry[] = [];
  readonly erased: DifferingEntry[] = [];
  readonly collisions: DifferingEntry[] = [];
  readonly conflicts: SyncConflict[] = [];
  readonly pendingErasures: PendingErasure[] = [];

  copyReport(): CopyReport {
    const { sessions, changed, entries, bytes, tornBytes, skipped } = this;
    const blobs = { count: this.blobCount, bytes: this.blobBytes, lost: [...this.lost] };
    return { sessions, changed, entries, bytes, blobs, tornBytes, skipped };
  }

  syncReport(): SyncReport {
    const { differing, erased, pendingErasures, conflicts, collisions, damaged } = this;
    return { ...this.copyReport(), differing, erased, pendingErasures, conflicts, collisions, damaged };
  }
}
