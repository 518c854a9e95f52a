/**
 * Blobs in a bucket of R2, through the binding of a Worker or a Durable Object.
 *
 * @module r2
 */
export { type R2BlobsOptions, type R2BucketBinding, r2BlobBackend } from "./driver.js";
