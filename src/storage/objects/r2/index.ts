/**
 * Blobs in a bucket of R2, through the binding of a Worker or a Durable Object.
 *
 * @module r2
 */
export { type R2BlobsOptions, r2BlobBackend } from "./backend.js";
export type { R2BucketBinding } from "./bucket.js";
