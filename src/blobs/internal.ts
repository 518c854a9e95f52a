/** The parts of this module that load neither digests nor stores, for sessions and buckets. */

export { isOfPartition } from "./backend.js";
export { eraseBlobs } from "./erase-blobs.js";
export { type BucketFolder, BucketKeys, prefixArgument } from "./object-keys.js";
