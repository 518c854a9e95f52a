/** Returns bytes to the quotas of a backend's partitions when blobs are deleted, collected or quarantined. */

import type { BlobRef } from "../content/index.js";
import type { BlobBackend, BlobReading } from "./backend.js";
import type { BlobQuotas } from "./quotas.js";

/**
 * A backend that gives bytes back to the quotas of its partition: after a deletion, a collection, a
 * quarantine. Bytes that come back from the trash are added. A listing that ends is a recount. Puts count for
 * themselves; see `Quota`.
 */
export function accounted(whole: BlobBackend, quotas: BlobQuotas, partition: string): BlobBackend {
  const backend = partition === "" ? whole : whole.partition(partition);
  const { trash } = backend;
  /** Listings under way, each with its last blob and whether that was removed since. */
  const listings = new Set<{ ref?: BlobRef; removed: boolean }>();
  const remove = async (ref: BlobRef, size: number): Promise<void> => {
    for (const listing of listings) if (listing.ref === ref) listing.removed = true;
    await quotas.remove(partition, ref, size);
  };
  return {
    ...(backend.location === undefined ? {} : { location: backend.location }),
    write: (ref, bytes, hints) => backend.write(ref, bytes, hints),
    create: (hints) => backend.create(hints),
    async read(ref) {
      const reading = await backend.read(ref);
      const quarantine = reading?.quarantine?.bind(reading);
      if (reading === undefined || quarantine === undefined) return reading;
      return {
        size: reading.size,
        bytes: reading.bytes,
        async quarantine() {
          const size = (await backend.stat(ref))?.size ?? 0;
          const location = await quarantine();
          if ((await backend.stat(ref)) === undefined) await remove(ref, size);
          return location;
        },
      } satisfies BlobReading;
    },
    stat: (ref) => backend.stat(ref),
    ...(backend.locate === undefined ? {} : { locate: async (ref) => backend.locate?.(ref) }),
    touch: (ref) => backend.touch(ref),
    async *list(options) {
      const { added } = await quotas.usage(partition);
      const listing: { ref?: BlobRef; removed: boolean } = { removed: false };
      listings.add(listing);
      let bytes = 0;
      try {
        for await (const stat of backend.list(options)) {
          listing.ref = stat.ref;
          listing.removed = false;
          yield stat;
          if (!listing.removed) bytes += stat.size;
        }
      } finally {
        listings.delete(listing);
      }
      await quotas.recount(partition, bytes, added);
    },
    async delete(ref) {
      const size = (await backend.stat(ref))?.size ?? 0;
      const deleted = await backend.delete(ref);
      if (deleted) await remove(ref, size);
      return deleted;
    },
    trash: {
      async take(seen) {
        const taken = await trash.take(seen);
        if (taken) await remove(seen.ref, seen.size);
        return taken;
      },
      list: (options) => trash.list(options),
      async restore(ref) {
        const before = await backend.stat(ref);
        const restored = await trash.restore(ref);
        if (!restored || before !== undefined) return restored;
        await quotas.add(partition, (await backend.stat(ref))?.size ?? 0);
        return restored;
      },
      delete: (ref, seen) => trash.delete(ref, seen),
    },
    now: () => backend.now(),
    partition: (name) => accounted(whole, quotas, name),
    ...(backend.clear === undefined ? {} : { clear: async () => (await backend.clear?.()) ?? [] }),
    ...(backend.deleteQuarantined === undefined
      ? {}
      : { deleteQuarantined: async (ref) => (await backend.deleteQuarantined?.(ref)) ?? false }),
    ...(backend.removeLeftovers === undefined
      ? {}
      : {
          removeLeftovers: async (before, options) =>
            (await backend.removeLeftovers?.(before, options)) ?? { count: 0, bytes: 0 },
        }),
  };
}
