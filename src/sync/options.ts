/** The options of a copy and of a sync, and the sessions that they choose. */

import type { BlobStore } from "../blobs/index.js";
import { describe, stringArgument } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import { nameArgument } from "../core/ids.js";
import type { SessionStore, SessionSummary } from "../session/index.js";
import { readLocation, type Tally } from "./report.js";

/** The blobs of the sessions in the two stores. */
export interface BlobStores {
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
