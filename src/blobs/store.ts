/** A blob store on a backend. */

import type { BlobRef } from "../content/index.js";
import { assertHas, integerOption } from "../core/arguments.js";
import { concatBytes } from "../core/bytes.js";
import { abortable } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import { nameArgument } from "../core/ids.js";
import { type OnOperation, observed, observedItems, type StoreOperation } from "../core/operations.js";
import { type BlobBackend, type BlobReading, type BlobStat, rememberPartition } from "./backend.js";
import { type PutTarget, putBlob } from "./put.js";
import { Quota, type QuotaTarget } from "./quota.js";
import type { BlobQuotas } from "./quotas.js";
import { verified } from "./reading.js";
import {
  type DigestAlgorithm,
  digestArgument,
  type HashFunction,
  hashFor,
  hashTable,
  partsByRef,
  refArgument,
} from "./ref.js";
import type { BlobStore, BlobTransferOptions, BlobVerification, PutOptions } from "./types.js";

/** Options of every blob store. */
export interface BlobStoreOptions {
  /** The digest algorithm for new blobs. Blobs of the other algorithm stay readable. @default "sha256" */
  readonly digest?: DigestAlgorithm;
  /** Faster hash functions than the built-in ones. */
  readonly hashes?: readonly HashFunction[];
  /** Maximum bytes of one blob. Minimum: 0. @default no limit */
  readonly maxBytes?: number;
  /**
   * Maximum bytes of a partition, without the trash. Without `quotas`, stores of one process on one storage
   * share the count, and several processes can exceed it by their puts of about a minute. Minimum: 0.
   * @default no limit
   */
  readonly quota?: number;
  /**
   * Counts the bytes of all processes, so that they keep the quota together. Pass it to every store of the
   * storage, also to those that only delete or collect. @default a count of this process
   */
  readonly quotas?: BlobQuotas;
  /** A partition, isolated from all others. @default an unnamed one */
  readonly partition?: string;
  /** Called after each method of the store, for metrics. Its errors are ignored. */
  readonly onOperation?: (operation: StoreOperation) => void;
}

/**
 * Creates a blob store on a backend. The store hashes and limits incoming bytes, and verifies outgoing ones.
 * @param backend stores the bytes; see {@link BlobBackend}
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * const blobs = blobStore(blobBackend, { maxBytes: 20_000_000, quota: 10_000_000_000 });
 * const { ref } = await blobs.put(bytes);
 * ```
 */
export function blobStore(backend: BlobBackend, options: BlobStoreOptions = {}): BlobStore {
  assertHas("backend", backend, ["partition"], "a backend of blobs");
  return partitionStore(backend, options);
}

function partitionStore(whole: BlobBackend, options: BlobStoreOptions): BlobStore {
  const { partition, onOperation } = options;
  const backend = partition === undefined ? whole : whole.partition(nameArgument("partition", partition));
  const store = new BackedBlobStore(backend, whole, options);
  return onOperation === undefined ? store : observedBlobStore(store, onOperation);
}

/** The quota of a store; undefined if nothing is to be counted. */
function quotaAmount(
  target: Omit<QuotaTarget, "quotas">,
  { quota, quotas }: BlobStoreOptions,
): Quota | undefined {
  if (quota === undefined && quotas === undefined) return undefined;
  return new Quota({ ...target, quotas }, integerOption("quota", quota, Number.MAX_SAFE_INTEGER, 0));
}

class BackedBlobStore implements BlobStore {
  readonly backend: BlobBackend;
  /** The backend of all partitions. */
  readonly #whole: BlobBackend;
  readonly #options: BlobStoreOptions;
  readonly #target: PutTarget;

  constructor(backend: BlobBackend, whole: BlobBackend, options: BlobStoreOptions) {
    const { partition = "", digest = "sha256", maxBytes, quotas } = options;
    this.backend = quotas === undefined ? backend : accounted(whole, quotas, partition);
    if (partition !== "") rememberPartition(this.backend);
    this.#whole = whole;
    this.#options = options;
    this.#target = {
      backend,
      hashes: hashTable(options.hashes),
      algorithm: digestArgument("digest", digest),
      maxBytes: integerOption("maxBytes", maxBytes, Number.MAX_SAFE_INTEGER, 0),
      quota: quotaAmount({ backend, whole, partition }, options),
    };
  }

  async put(source: Uint8Array | AsyncIterable<Uint8Array>, options: PutOptions = {}): Promise<BlobStat> {
    return putBlob(this.#target, source, options);
  }

  async get(ref: BlobRef, options: BlobTransferOptions = {}): Promise<Uint8Array | undefined> {
    const chunks = await this.stream(ref, options);
    if (chunks === undefined) return undefined;
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    return parts.length === 1 ? parts[0] : concatBytes(parts);
  }

  async stream(
    ref: BlobRef,
    options: BlobTransferOptions = {},
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    refArgument("ref", ref);
    options.signal?.throwIfAborted();
    const reading = await this.#found(ref, () => this.backend.read(ref));
    return (
      reading && verified(ref, reading, hashFor(this.#target.hashes, partsByRef(ref).algorithm), options)
    );
  }

  async stat(ref: BlobRef): Promise<BlobStat | undefined> {
    refArgument("ref", ref);
    return this.#found(ref, () => this.backend.stat(ref));
  }

  async locate(ref: BlobRef): Promise<string | undefined> {
    refArgument("ref", ref);
    const { backend } = this;
    return backend.locate && this.#found(ref, async () => backend.locate?.(ref));
  }

  async touch(ref: BlobRef): Promise<BlobStat | undefined> {
    refArgument("ref", ref);
    return this.#found(ref, () => this.backend.touch(ref));
  }

  async *list(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<BlobStat, void, undefined> {
    yield* abortable(this.backend.list(options), options.signal);
  }

  async delete(ref: BlobRef): Promise<boolean> {
    refArgument("ref", ref);
    const wasStored = await this.backend.delete(ref);
    const wasTrashed = await this.backend.trash.delete(ref);
    return wasStored || wasTrashed;
  }

  async verify(
    options: BlobTransferOptions & { readonly refs?: Iterable<BlobRef> | AsyncIterable<BlobRef> } = {},
  ): Promise<BlobVerification> {
    const { signal, onProgress, refs } = options;
    const each = signal === undefined ? {} : { signal };
    const checked = { count: 0, bytes: 0 };
    const corrupt: BlobVerification["corrupt"][number][] = [];
    const missing: BlobRef[] = [];
    for await (const ref of refs ?? blobRefs(this.list(each))) {
      try {
        const chunks = await this.stream(ref, each);
        if (chunks === undefined) {
          // A blob deleted after it was listed is not an error.
          if (refs !== undefined) missing.push(ref);
          continue;
        }
        checked.count++;
        for await (const { length } of chunks) {
          checked.bytes += length;
          onProgress?.({ bytes: checked.bytes });
        }
      } catch (error) {
        if (!SessileError.is(error, "BLOB_CORRUPT")) throw error;
        const { actual, quarantined } = error.details;
        corrupt.push({ ref, actual, ...(quarantined === undefined ? {} : { quarantined }) });
      }
    }
    return { checked, corrupt, missing };
  }

  partition(name: string): BlobStore {
    return partitionStore(this.#whole, { ...this.#options, partition: name });
  }

  /**
   * Looks a blob up, and restores it from the trash if necessary. Looks twice, because a collection may also
   * move a blob to the trash for a moment and back.
   */
  async #found<T>(ref: BlobRef, look: () => Promise<T | undefined>): Promise<T | undefined> {
    const found = await look();
    if (found !== undefined) return found;
    await this.backend.trash.restore(ref);
    return look();
  }
}

async function* blobRefs(blobs: AsyncIterable<BlobStat>): AsyncGenerator<BlobRef, void, undefined> {
  for await (const { ref } of blobs) yield ref;
}

/** A blob store that reports each of its methods, once. */
function observedBlobStore(store: BlobStore, hook: OnOperation): BlobStore {
  return {
    put: (source, options) =>
      observed(
        hook,
        "put",
        () => store.put(source, options),
        ({ size }) => size,
      ),
    get: (ref, options) =>
      observed(
        hook,
        "get",
        () => store.get(ref, options),
        (bytes) => bytes?.length,
      ),
    async stream(ref, options) {
      let chunks: AsyncIterable<Uint8Array> | undefined;
      // A stream that began is reported at its end.
      const unlessBegun: OnOperation = (operation) => chunks ?? hook(operation);
      await observed(unlessBegun, "stream", async () => {
        chunks = await store.stream(ref, options);
      });
      return chunks && observedItems(hook, "stream", chunks, ({ length }) => length);
    },
    stat: (ref) => observed(hook, "stat", () => store.stat(ref)),
    locate: (ref) => observed(hook, "locate", () => store.locate(ref)),
    touch: (ref) => observed(hook, "touch", () => store.touch(ref)),
    list: (options) => observedItems(hook, "list", store.list(options)),
    delete: (ref) => observed(hook, "delete", () => store.delete(ref)),
    verify: (options) =>
      observed(
        hook,
        "verify",
        () => store.verify(options),
        ({ checked }) => checked.bytes,
      ),
    // The inner store has the hook in its options, so that this one reports too.
    partition: (name) => store.partition(name),
    backend: store.backend,
  };
}

// Returns bytes to the quotas of a backend's partitions when blobs are deleted, collected or quarantined.

/**
 * A backend that gives bytes back to the quotas of its partition: after a deletion, a collection, a
 * quarantine. Bytes that come back from the trash are added. A listing that ends is a recount. Puts count for
 * themselves; see `Quota`.
 */
function accounted(whole: BlobBackend, quotas: BlobQuotas, partition: string): BlobBackend {
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
