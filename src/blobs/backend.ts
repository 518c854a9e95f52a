/**
 * The port between a blob store and its storage. A backend moves bytes under given names; hashing, limits and
 * verification belong to the store. `blobStoreConformance` is its specification.
 */

import type { BlobRef } from "../content/index.js";

/** Facts about a stored blob, without reading it. */
export interface BlobStat {
  readonly ref: BlobRef;
  /** Bytes. */
  readonly size: number;
  /**
   * The time of the last put or touch, in milliseconds since 1970 by the backend's clock. It starts the
   * blob's lease, in which no garbage collection removes it. It may be rounded down to whole seconds; of one
   * touch `put`, `touch`, `stat` and `list` then give the same second. A put or touch never decreases it, and
   * increases it at the latest when the second ends. {@link collectGarbage} counts the lease from the end of
   * the step: a whole second may be any time in it, a whole millisecond too.
   */
  readonly touchedAt: number;
}

/** Facts about a blob beside its bytes. */
export interface BlobHints {
  /** Such as `image/png`; some layouts derive file names from it. Never trusted. */
  readonly mediaType?: string;
  /** Bytes, if known in advance. */
  readonly size?: number;
}

/** A streaming write whose name is known at the end. */
export interface BlobWriter {
  /** Writes the next bytes, which must not change until it resolves. One call at a time. */
  write(chunk: Uint8Array): Promise<void>;
  /**
   * Publishes all written bytes under this name. The conditions of {@link BlobBackend.write} hold: no other
   * bytes have the name afterwards, and the time is later than that of an existing blob.
   */
  commit(ref: BlobRef): Promise<BlobStat>;
  /** Discards the written bytes, also after a failed write or commit. Never fails. */
  discard(): Promise<void>;
}

/** A blob for reading. */
export interface BlobReading {
  /** Bytes, as far as known before reading. */
  readonly size: number;
  /** The bytes, once, in chunks that the caller owns. Opens nothing before the first iteration. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /**
   * Moves the read blob to quarantine, unless another one has replaced it; returns its new location. Absent
   * if the backend cannot.
   */
  quarantine?(): Promise<string | undefined>;
}

/** A blob in the trash. */
export interface TrashedBlob {
  readonly ref: BlobRef;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970 by the backend's clock, rounded down as `touchedAt`. */
  readonly trashedAt: number;
  /**
   * The time of the last put or touch before that, by the same clock. A put may have renewed the lease just
   * before a collection moved the blob and was killed, so the lease holds in the trash too.
   */
  readonly touchedAt: number;
}

/** The trash: collected blobs before their deletion. */
export interface BlobTrash {
  /**
   * Moves a blob to the trash if it was not touched since `seen`: a put that found it there may have been
   * acknowledged in between. Returns false if it stayed. A touch within the step of `seen.touchedAt` need not
   * be noticed: a collection only takes blobs whose step ended before it began.
   */
  take(seen: BlobStat): Promise<boolean>;
  /** Every blob in the trash, in any order. */
  list(options?: { readonly signal?: AbortSignal }): AsyncIterable<TrashedBlob>;
  /** Restores a blob from the trash, and touches it. Returns false if it is not in the trash. */
  restore(ref: BlobRef): Promise<boolean>;
  /**
   * Deletes a blob from the trash; with `seen` only the one that was seen, because another collection may
   * have moved it there again. Returns false if nothing was deleted.
   */
  delete(ref: BlobRef, seen?: TrashedBlob): Promise<boolean>;
}

/** Temporary files of writers that crashed. */
export interface BlobLeftovers {
  readonly count: number;
  readonly bytes: number;
}

/** The storage of blobs. The store checks a ref before it calls. */
export interface BlobBackend {
  /** The location for people, such as an absolute path. */
  readonly location?: string;
  /**
   * Stores bytes under their name; durable when it resolves. Compares an existing blob of that name: touches
   * it and makes it durable if the bytes are equal, and replaces it otherwise. A backend that does not
   * compare always replaces it. Concurrent writes of the same bytes succeed. The backend must neither keep
   * nor change the array.
   * @throws SessileError STORAGE_FAILED; then no partial blob is ever visible
   */
  write(ref: BlobRef, bytes: Uint8Array, hints: BlobHints): Promise<BlobStat>;
  /** Starts a streaming write. */
  create(hints: BlobHints): Promise<BlobWriter>;
  /** Opens a blob, or returns undefined. Does not find blobs in the trash. */
  read(ref: BlobRef): Promise<BlobReading | undefined>;
  /** The facts of a blob, or undefined. */
  stat(ref: BlobRef): Promise<BlobStat | undefined>;
  /**
   * The location of a blob, such as an absolute path, or undefined. Absent if the backend has no locations.
   */
  locate?(ref: BlobRef): Promise<string | undefined>;
  /** Renews the lease of a blob; returns undefined if it does not exist. */
  touch(ref: BlobRef): Promise<BlobStat | undefined>;
  /** Every blob once, in any order. May or may not include blobs that are added or removed meanwhile. */
  list(options?: { readonly signal?: AbortSignal }): AsyncIterable<BlobStat>;
  /** Deletes a blob. Returns whether it existed. */
  delete(ref: BlobRef): Promise<boolean>;
  readonly trash: BlobTrash;
  /** The clock of `touchedAt` and `trashedAt`, in milliseconds since 1970. */
  now(): Promise<number>;
  /** The same storage for another partition, isolated from this one. */
  partition(name: string): BlobBackend;
  /**
   * Deletes everything of this named partition, also files that are no blobs, such as a quarantine. Returns
   * what may still hold content of it, for people. Absent if the other methods delete all.
   */
  clear?(): Promise<readonly string[]>;
  /**
   * Deletes what was moved to quarantine under this name, for an erasure. Returns whether there was anything.
   * Absent if a quarantine keeps no bytes.
   */
  deleteQuarantined?(ref: BlobRef): Promise<boolean>;
  /** Removes temporary files of crashed writers from before this time. Absent if there are none. */
  removeLeftovers?(before: number, options: { readonly dryRun: boolean }): Promise<BlobLeftovers>;
}

/** The backends that hold one named partition. An erasure has to know whose references count. */
const named = new WeakSet<BlobBackend>();

/** Remembers that a backend holds one named partition alone. */
export function rememberPartition(backend: BlobBackend): void {
  named.add(backend);
}

/** Whether the backend is that of a store of one named partition. */
export function isOfPartition(backend: BlobBackend): boolean {
  return named.has(backend);
}
