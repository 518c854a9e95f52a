/** The deletion of named blobs at once, without the lease and the time in the trash of a collection. */

import type { BlobRef } from "../content/index.js";
import type { BlobStat } from "./backend.js";
import { type CollectOptions, readMarks } from "./collect.js";
import { refArgument } from "./ref.js";
import type { BlobStore } from "./types.js";

/** The result of {@link eraseBlobs}. */
export interface BlobErasure {
  /** Blobs that were deleted, from the trash and the quarantine too. */
  readonly deleted: readonly BlobRef[];
  /** Blobs that a mark names, or that were put or touched meanwhile: they stay. */
  readonly kept: readonly BlobRef[];
}

/**
 * Deletes those of the given blobs that no mark names, for an erasure: the lease is waived for them, the
 * trash and the quarantine. A writer whose entry is not appended yet must put such a blob again; a put
 * meanwhile keeps it.
 *
 * @param options `marks` are read after the blobs were looked at: an async generator sees the latest
 *   references
 * @throws SessileError COLLECTION_REFUSED if a mark is incomplete, or there is no mark; nothing was deleted
 * @example
 * ```ts
 * const blobs = memoryBlobStore();
 * const { ref } = await blobs.put(new Uint8Array([1, 2, 3]));
 * const marks = [await sessionBlobRoots("a.jsonl", await readFile("a.jsonl"))];
 * const { deleted, kept } = await eraseBlobs(blobs, [ref], { marks });
 * ```
 */
export async function eraseBlobs(
  store: Pick<BlobStore, "backend">,
  refs: Iterable<BlobRef>,
  options: Pick<CollectOptions, "marks" | "signal">,
): Promise<BlobErasure> {
  const { backend } = store;
  const wanted = new Set<BlobRef>();
  for (const ref of refs) wanted.add(refArgument("refs", ref));
  // Looked at before the references are read: a later put then shows.
  const seen = new Map<BlobRef, BlobStat | undefined>();
  for (const ref of wanted) seen.set(ref, await backend.stat(ref));
  const { marked } = await readMarks(options);
  const deleted: BlobRef[] = [];
  const kept: BlobRef[] = [];
  for (const [ref, stat] of seen) {
    options.signal?.throwIfAborted();
    if (marked.find(ref)) {
      kept.push(ref);
      continue;
    }
    const isTaken = stat !== undefined && (await backend.trash.take(stat));
    const isDeleted = await backend.trash.delete(ref);
    // A damaged blob has most of its bytes.
    const wasDamaged = await backend.deleteQuarantined?.(ref);
    if ((await backend.stat(ref)) !== undefined) kept.push(ref);
    else if (isTaken || isDeleted || wasDamaged === true) deleted.push(ref);
  }
  return { deleted, kept };
}
