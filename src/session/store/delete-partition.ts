/** The deletion of a tenant: all sessions of a partition, and its blobs. */

import type { BlobBackend, BlobStore, BlobTally } from "../../blobs/index.js";
import { nameArgument } from "../../core/ids.js";
import type { SessionBackend } from "../api/backend.js";
import type { SessionStore } from "../api/store.js";

/** The result of {@link deletePartition}. */
export interface PartitionDeletion {
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
      sessions++;
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
