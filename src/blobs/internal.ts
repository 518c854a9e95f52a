/** The parts of this module that load neither digests nor stores, for sessions and buckets. */

export { isOfPartition } from "./backend.js";
export { eraseBlobs } from "./erase-blobs.js";
export { digestArgument, hashTable, refFrom } from "./hash.js";
export { shareQuotas } from "./quota.js";
export { ProcessQuotas } from "./quotas.js";
export { corruptError } from "./reading.js";
export { partsByRef, toRef } from "./ref.js";
