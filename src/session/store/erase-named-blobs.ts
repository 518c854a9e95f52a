/** The blobs of an erasure: those that erased lines named and no session names any more are deleted. */

import type { BlobErasure, BlobMark, BlobStore } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { SessileError } from "../../errors/index.js";
import type { SessionStore } from "../api/store.js";
import { partitionBlobRoots } from "./blob-roots.js";

/** The blobs that the erased lines of a session named. */
export interface NamedRefs {
  readonly partition: string;
  readonly refs: ReadonlySet<BlobRef>;
}

/** Where the blobs are, and the references that keep them. */
interface BlobErasing {
  readonly blobs?: Pick<BlobStore, "backend">;
  readonly marks?: AsyncIterable<BlobMark> | Iterable<BlobMark>;
  readonly signal?: AbortSignal;
}

/**
 * Deletes the blobs of a partition that erased lines named. In a store of no partition others may name them
 * too: the sessions of every partition count then.
 */
export async function eraseNamed(
  store: SessionStore,
  found: readonly NamedRefs[],
  partition: string,
  { blobs, marks, signal }: BlobErasing,
): Promise<{ readonly blobs?: BlobErasure; readonly note?: string }> {
  const all = new Set(found.flatMap(({ refs }) => [...refs]));
  if (blobs === undefined)
    return all.size === 0 ? {} : { note: `${all.size} blobs (see \`blobs\`), until a collection` };
  const versions = "versions, replicas and backups of deleted blobs, if the storage keeps them";
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
    const given = marks ?? rootsOf(store, isOwn ? [partition] : partitionsOf(store, partition));
    const options = signal === undefined ? { marks: given } : { marks: given, signal };
    const erased = await eraseBlobs(blobs, refs, options);
    return { blobs: erased, note: versions };
  } catch (error) {
    if (!SessileError.is(error, "COLLECTION_REFUSED")) throw error;
    return { blobs: { deleted: [], kept: [...refs] }, note: `blobs: ${error.message}` };
  }
}

/** The partitions that a backend lists, and one more. */
async function* partitionsOf(store: SessionStore, partition: string): AsyncGenerator<string> {
  yield partition;
  for await (const each of store.backend.partitions?.() ?? []) if (each !== partition) yield each;
}

/** The blob references of all sessions of partitions. */
async function* rootsOf(
  store: SessionStore,
  partitions: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<BlobMark> {
  for await (const partition of partitions) yield* partitionBlobRoots(store, partition);
}
