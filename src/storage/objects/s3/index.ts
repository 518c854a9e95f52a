/**
 * Blobs on S3, and on stores with its interface: a backend over any `fetch` that signs.
 *
 * @module s3
 */
export { type S3BlobsOptions, s3BlobBackend, s3BlobStore } from "./driver.js";
