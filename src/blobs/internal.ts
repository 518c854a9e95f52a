/** The parts of this module that load neither digests nor stores, for sessions. */

export { eraseBlobs } from "./erase-blobs.js";
export { isOfPartition } from "./partitions.js";
