/**
 * Bytes under their digest, stored once: stores, the port below them, and the collection of what nothing
 * names any more.
 */
export { blobRefsIn } from "../core/ids.js";
export type { StoreOperation } from "../core/operations.js";
export type {
  BlobBackend,
  BlobHints,
  BlobLeftovers,
  BlobReading,
  BlobStat,
  BlobTrash,
  BlobWriter,
  TrashedBlob,
} from "./backend.js";
export { type BlobMark, type BlobTally, type CollectOptions, collectGarbage } from "./collect.js";
export { digest } from "./digest.js";
export { type BlobErasure, eraseBlobs } from "./erase-blobs.js";
export { memoryBlobStore } from "./memory.js";
export type { BlobQuotas, BlobReservation } from "./quotas.js";
export { type DigestAlgorithm, type HashFunction, isBlobRef } from "./ref.js";
export { type BlobStoreOptions, blobStore } from "./store.js";
export type { BlobStore, BlobTransferOptions, PutOptions } from "./types.js";
