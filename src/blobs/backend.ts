import type { BlobRef } from "../content/index.js";

/**
 * The port between a blob store and whatever keeps its bytes. A backend moves bytes under names that it is given; hashing,
 * limits and verification are the store's. It is right when `blobStore` on it passes `blobStoreConformance`.
 */

/** What is known of a stored blob without reading it. */
export interface BlobStat {
  readonly ref: BlobRef;
  /** Bytes. */
  readonly size: number;
  /**
   * When it was last put or touched, in milliseconds since 1970 by the backend's clock: from then on its lease runs, in
   * which no collection takes it. Each put and touch makes it later than it was, in whatever steps the clock has.
   */
  readonly touchedAt: number;
}

/** What is said of a blob besides its bytes. */
export interface BlobHints {
  /** Such as `image/png`; some layouts name files by it. Never believed. */
  readonly mediaType?: string;
  /** Bytes, where they are known before. */
  readonly size?: number;
}

/** Bytes on their way in, whose name is known at their end. */
export interface BlobWriter {
  /** Takes the next bytes, which must not change until it resolves. One at a time. */
  write(chunk: Uint8Array): Promise<void>;
  /**
   * Keeps all that was written under this name. Under the same conditions as {@link BlobBackend.write}: no other bytes have
   * the name afterwards, and the time is later than that of a blob that had it.
   */
  commit(ref: BlobRef): Promise<BlobStat>;
  /** Forgets what was written. Also after a write or a commit that failed. Does not fail. */
  discard(): Promise<void>;
}

/** A blob that is being read. */
export interface BlobReading {
  /** Bytes, as far as is known before reading. */
  readonly size: number;
  /** The bytes, once, in chunks that are the caller's own. Nothing is held open until it is iterated. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /**
   * Puts what was read aside, where it is found no more, unless another has taken its place by now; gives where. Absent
   * where the backend cannot.
   */
  quarantine?(): Promise<string | undefined>;
}

/** A blob that a collection took out. */
export interface TrashedBlob {
  readonly ref: BlobRef;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970 by the backend's clock. */
  readonly trashedAt: number;
  /**
   * When it was last put or touched before that, by the same clock. A put may have renewed it just before a collection
   * moved it and was killed: its lease holds in the trash too.
   */
  readonly touchedAt: number;
}

/** Where collected blobs wait before they are deleted for good. */
export interface BlobTrash {
  /**
   * Takes a blob out of the store into the trash, if it has not been touched since it was seen so: a put that found it
   * there may have been acknowledged in between. False where it was left.
   */
  take(seen: BlobStat): Promise<boolean>;
  /** Every blob in the trash, in no order. */
  list(options?: { readonly signal?: AbortSignal }): AsyncIterable<TrashedBlob>;
  /** Takes a blob back into the store, touched. False where it is not in the trash. */
  restore(ref: BlobRef): Promise<boolean>;
  /**
   * Deletes a blob from the trash; with `seen` only the one that was seen there, since another collection may have brought
   * it back in. False if it was not deleted.
   */
  delete(ref: BlobRef, seen?: TrashedBlob): Promise<boolean>;
}

/** What was left by writers that ended in the middle. */
export interface BlobLeftovers {
  readonly count: number;
  readonly bytes: number;
}

/** Keeps blobs. A ref has been checked before it comes here. */
export interface BlobBackend {
  /** Where people find it, such as an absolute path. */
  readonly location?: string;
  /**
   * Keeps bytes under their name; durable once it resolves. A blob of that name is compared with them: it is touched and
   * made as durable as a new one if it has the same bytes, and replaced if it has others, of any size. A backend that does
   * not compare replaces it in any case. Several writes of the same at once succeed. The bytes are not the backend's to
   * keep or change.
   *
   * @throws SessileError STORAGE_FAILED; then nothing was acknowledged, and nothing half written is ever found
   */
  write(ref: BlobRef, bytes: Uint8Array, hints: BlobHints): Promise<BlobStat>;
  /** Begins to keep bytes whose name comes at their end. */
  create(hints: BlobHints): Promise<BlobWriter>;
  /** A blob, or undefined. What is in the trash is not found. */
  read(ref: BlobRef): Promise<BlobReading | undefined>;
  /** What is known of a blob, or undefined. */
  stat(ref: BlobRef): Promise<BlobStat | undefined>;
  /** Renews the lease of a blob; undefined where it is not there. */
  touch(ref: BlobRef): Promise<BlobStat | undefined>;
  /** Every blob once, in no order. Those that come or go meanwhile may be among them or not. */
  list(options?: { readonly signal?: AbortSignal }): AsyncIterable<BlobStat>;
  /** Whether it was there. */
  delete(ref: BlobRef): Promise<boolean>;
  readonly trash: BlobTrash;
  /** The clock that `touchedAt` and `trashedAt` are by, in milliseconds since 1970. */
  now(): Promise<number>;
  /** The same storage for another tenant, which sees nothing of this one. */
  partition(name: string): BlobBackend;
  /** Removes what writers left that ended before this time. Absent where they leave nothing. */
  removeLeftovers?(before: number, options: { readonly dryRun: boolean }): Promise<BlobLeftovers>;
}
