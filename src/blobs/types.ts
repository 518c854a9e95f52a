import type { BlobRef } from "../content/index.js";
import type { BlobBackend, BlobStat } from "./backend.js";

/** How far a long operation has come. */
export interface BlobProgress {
  /** Bytes so far. */
  readonly bytes: number;
  /** Bytes in all, where that is known. */
  readonly total?: number;
}

/** Options of what moves bytes. */
export interface BlobTransferOptions {
  /** Ends the operation with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called after each chunk. */
  readonly onProgress?: (progress: BlobProgress) => void;
}

/** Options of {@link BlobStore.put}. */
export interface PutOptions extends BlobTransferOptions {
  /** The name that the bytes are said to have; others are refused. Of either algorithm. */
  readonly ref?: BlobRef;
  /** How many bytes there are said to be; more or fewer are refused. */
  readonly size?: number;
  /** The most bytes to take. Minimum 0, default the store's. */
  readonly maxBytes?: number;
  /** Such as `image/png`: some layouts name files by it. */
  readonly mediaType?: string;
}

/** What {@link BlobStore.verify} found. */
export interface BlobVerification {
  /** Blobs that were read, and their bytes. */
  readonly checked: { readonly count: number; readonly bytes: number };
  /** Those whose bytes are not what their name says. They were put aside where the backend can. */
  readonly corrupt: readonly {
    readonly ref: BlobRef;
    /** What was found in its place: a ref, or the kind of thing that is no file. */
    readonly actual: string;
    readonly quarantined?: string;
  }[];
  /** Those that were asked for and are not there. */
  readonly missing: readonly BlobRef[];
}

/** Keeps bytes under their digest, once. Right when it passes `blobStoreConformance`. */
export interface BlobStore {
  /**
   * Stores bytes, and gives their name. Durable once it resolves, as far as the backend promises. Bytes that are there
   * already are touched instead, so that no collection takes them for the length of its grace. What fails leaves nothing
   * that a reader could find. A stream is never held whole.
   *
   * @param source must not change until the put is done
   * @throws SessileError BLOB_TOO_LARGE, BLOB_MISMATCH (of declared size or digest), QUOTA_EXCEEDED, STORAGE_FAILED
   * @throws TypeError for a source that gives no bytes; whatever the source throws; the signal's reason
   */
  put(source: Uint8Array | AsyncIterable<Uint8Array>, options?: PutOptions): Promise<BlobStat>;
  /**
   * The bytes of a blob, verified, as a copy of the caller's own; undefined where it is not there. One that a collection
   * has in its trash is restored.
   *
   * @throws SessileError BLOB_CORRUPT with expected and actual; what was there is put aside where the backend can
   */
  get(ref: BlobRef, options?: BlobTransferOptions): Promise<Uint8Array | undefined>;
  /**
   * The bytes of a blob in chunks, never held whole; undefined where it is not there. The last chunk comes only when all
   * are verified: a loop over a corrupt blob ends with BLOB_CORRUPT, and never as if it were whole.
   */
  stream(ref: BlobRef, options?: BlobTransferOptions): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** What is known of a blob without reading it; undefined where it is not there. */
  stat(ref: BlobRef): Promise<BlobStat | undefined>;
  /** Renews the lease of a blob, as a put of the same bytes does; undefined where it is not there. */
  touch(ref: BlobRef): Promise<BlobStat | undefined>;
  /** Every blob once, in no order. */
  list(options?: { readonly signal?: AbortSignal }): AsyncIterable<BlobStat>;
  /** Deletes a blob for good, also from the trash; whether it was there. */
  delete(ref: BlobRef): Promise<boolean>;
  /** Reads all blobs, or those named, and says which are not what they should be. */
  verify(
    options?: BlobTransferOptions & { readonly refs?: Iterable<BlobRef> | AsyncIterable<BlobRef> },
  ): Promise<BlobVerification>;
  /**
   * The same storage for another tenant: neither sees the other's blobs, even by their names.
   *
   * @param name letters, digits, dots, underscores and hyphens, at most 128
   */
  partition(name: string): BlobStore;
  /** What keeps the bytes: for {@link collectGarbage}. */
  readonly backend: BlobBackend;
}
