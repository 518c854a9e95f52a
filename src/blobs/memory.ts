/** The memory backend of blobs. */

import type { BlobRef } from "../content/index.js";
import { concatBytes } from "../core/bytes.js";
import type { BlobBackend, BlobStat, BlobTrash, BlobWriter, TrashedBlob } from "./backend.js";
import { type BlobStoreOptions, blobStore } from "./store.js";
import type { BlobStore } from "./types.js";

/**
 * Blobs in memory: for tests, for browsers, and for agents that keep none.
 *
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * const blobs = memoryBlobStore();
 * const { ref } = await blobs.put(bytes);
 * const copy = await blobs.get(ref);
 * ```
 */
export function memoryBlobStore(
  options: BlobStoreOptions & {
    /** Milliseconds since 1970. Default `Date.now`. */
    readonly now?: () => number;
  } = {},
): BlobStore {
  return blobStore(memoryBlobBackend(options.now), options);
}

interface Kept {
  readonly bytes: Uint8Array;
  readonly at: number;
}

/** The backend of {@link memoryBlobStore}. */
export function memoryBlobBackend(now: () => number = Date.now): BlobBackend {
  const partitions = new Map<string, BlobBackend>();
  const whole = onePartition(now, (name) => {
    const known = partitions.get(name) ?? onePartition(now, (other) => whole.partition(other));
    partitions.set(name, known);
    return known;
  });
  return whole;
}

function onePartition(now: () => number, partition: (name: string) => BlobBackend): BlobBackend {
  const stored = new Map<BlobRef, Kept>();
  const trashed = new Map<BlobRef, Kept & { readonly touchedAt: number }>();

  const statByRef = (ref: BlobRef): BlobStat | undefined => {
    const kept = stored.get(ref);
    return kept && { ref, size: kept.bytes.length, touchedAt: kept.at };
  };
  const keep = (ref: BlobRef, bytes: Uint8Array): BlobStat => {
    // A touch shows, also within one tick of the clock.
    const before = stored.get(ref)?.at ?? Number.NEGATIVE_INFINITY;
    stored.set(ref, { bytes, at: Math.max(now(), before + 0.001) });
    return statByRef(ref) as BlobStat;
  };
  const trash: BlobTrash = {
    async take({ ref, touchedAt }) {
      const kept = stored.get(ref);
      if (kept?.at !== touchedAt) return false;
      trashed.set(ref, { bytes: kept.bytes, at: now(), touchedAt });
      return stored.delete(ref);
    },
    async *list() {
      for (const [ref, { bytes, at, touchedAt }] of [...trashed]) {
        yield { ref, size: bytes.length, trashedAt: at, touchedAt } satisfies TrashedBlob;
      }
    },
    async restore(ref) {
      const kept = trashed.get(ref);
      // A blob that was put again since is at least as good.
      if (kept !== undefined && !stored.has(ref)) stored.set(ref, { bytes: kept.bytes, at: now() });
      return trashed.delete(ref);
    },
    async delete(ref, seen) {
      const kept = trashed.get(ref);
      const isSeen = kept?.at === seen?.trashedAt && kept?.touchedAt === seen?.touchedAt;
      return (seen === undefined || isSeen) && trashed.delete(ref);
    },
  };

  return {
    async write(ref, bytes) {
      return keep(ref, new Uint8Array(bytes));
    },
    async create() {
      let chunks: Uint8Array[] = [];
      return {
        async write(chunk) {
          chunks.push(new Uint8Array(chunk));
        },
        async commit(ref) {
          return keep(ref, concatBytes(chunks));
        },
        async discard() {
          chunks = [];
        },
      } satisfies BlobWriter;
    },
    async read(ref) {
      const kept = stored.get(ref);
      if (kept === undefined) return undefined;
      return {
        size: kept.bytes.length,
        bytes: (async function* () {
          yield new Uint8Array(kept.bytes);
        })(),
        async quarantine() {
          if (stored.get(ref)?.bytes === kept.bytes) stored.delete(ref);
          return undefined;
        },
      };
    },
    async stat(ref) {
      return statByRef(ref);
    },
    async touch(ref) {
      const kept = stored.get(ref);
      return kept && keep(ref, kept.bytes);
    },
    async *list() {
      for (const ref of [...stored.keys()]) {
        const stat = statByRef(ref);
        if (stat !== undefined) yield stat;
      }
    },
    async delete(ref) {
      return stored.delete(ref);
    },
    trash,
    async now() {
      return now();
    },
    partition,
  };
}
