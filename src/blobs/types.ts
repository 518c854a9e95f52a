/** The public types of blob stores. */

import type { BlobRef } from "../content/index.js";
import type { BlobBackend, BlobStat } from "./backend.js";

/** The progress of a long operation. */
export interface BlobProgress {
  /** Bytes so far. */
  readonly bytes: number;
  /** Total bytes, if known. */
  readonly total?: number;
}

/** Options of operations that move bytes. */
export interface BlobTransferOptions {
  /** Aborts the operation with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called after each chunk. */
  readonly onProgress?: (progress: BlobProgress) => void;
}

/** Options of {@link BlobStore.put}. */
export interface PutOptions extends BlobTransferOptions {
  /** The expected ref, of either algorithm. Other bytes are refused. */
  readonly ref?: BlobRef;
  /** The expected number of bytes. More or fewer are refused. */
  readonly size?: number;
  /** Maximum number of bytes. Minimum: 0. @default the store's maximum */
  readonly maxBytes?: number;
  /** Such as `image/png`; some layouts derive file names from it. */
  readonly mediaType?: string;
}

/** The result of {@link BlobStore.verify}. */
export interface BlobVerification {
  /** The blobs that were read, and their bytes. */
  readonly checked: { readonly count: number; readonly bytes: number };
  /** Blobs whose bytes do not match their digest. They are quarantined if the backend can. */
  readonly corrupt: readonly {
    readonly ref: BlobRef;
    /** The actual ref, or the kind of a non-file in its place. */
    readonly actual: string;
    readonly quarantined?: string;
  }[];
  /** Requested blobs that do not exist. */
  readonly missing: readonly BlobRef[];
}

/**
 * A content-addressed store: keeps bytes once, under their digest. `blobStoreConformance` is its
 * specification.
 */
export interface BlobStore {
  /**
   * Stores bytes and returns their ref. Durable when it resolves, as far as the backend promises. Existing
   * bytes are touched instead, which renews their lease against garbage collection. A failure leaves nothing
   * visible. A stream is never held whole. Idempotent.
   * @param source must not change until the put resolves
   * @throws SessileError BLOB_TOO_LARGE, BLOB_MISMATCH (of declared size or digest), QUOTA_EXCEEDED,
   *   STORAGE_FAILED
   * @throws TypeError for a source without bytes; errors of the source; the signal's reason
   */
  put(source: Uint8Array | AsyncIterable<Uint8Array>, options?: PutOptions): Promise<BlobStat>;
  /**
   * Returns the bytes of a blob, verified, as a copy that the caller owns; undefined if it does not exist.
   * Restores a blob from the trash.
   * @throws SessileError BLOB_CORRUPT with expected and actual; quarantines the blob if the backend can
   */
  get(ref: BlobRef, options?: BlobTransferOptions): Promise<Uint8Array | undefined>;
  /**
   * Streams the bytes of a blob; undefined if it does not exist. The last chunk comes only after
   * verification: a loop over a corrupt blob throws BLOB_CORRUPT and never ends normally.
   */
  stream(ref: BlobRef, options?: BlobTransferOptions): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** The facts of a blob, without reading it; undefined if it does not exist. */
  stat(ref: BlobRef): Promise<BlobStat | undefined>;
  /**
   * The location of a blob, such as the absolute path of its file, for a program that reads it by its path.
   * Undefined if the blob does not exist, or the backend has no locations. Restores a blob from the trash. A
   * later collection can move it. Files are read-only: do not write to them.
   */
  locate(ref: BlobRef): Promise<string | undefined>;
  /** Renews the lease of a blob, as a put of the same bytes does; undefined if it does not exist. */
  touch(ref: BlobRef): Promise<BlobStat | undefined>;
  /** Every blob once, in any order. */
  list(options?: { readonly signal?: AbortSignal }): AsyncIterable<BlobStat>;
  /** Deletes a blob, also from the trash. Returns whether it existed. */
  delete(ref: BlobRef): Promise<boolean>;
  /** Reads all blobs, or the named ones, and reports corrupt ones. */
  verify(
    options?: BlobTransferOptions & { readonly refs?: Iterable<BlobRef> | AsyncIterable<BlobRef> },
  ): Promise<BlobVerification>;
  /**
   * The same storage for another partition: neither sees the other's blobs, even by ref.
   * @param name letters, digits, dots, underscores and hyphens, at most 128
   */
  partition(name: string): BlobStore;
  /** The backend, for {@link collectGarbage}. */
  readonly backend: BlobBackend;
}
