/** The parts of this module that load neither digests nor stores, for sessions and buckets. */

export { isOfPartition } from "./backend.js";
export { eraseBlobs } from "./erase-blobs.js";
export { shareQuotas } from "./quota.js";
export { ProcessQuotas } from "./quotas.js";
export { corruptError } from "./reading.js";
export { digestArgument, hashFor, hashTable, partsByRef, refFrom, toRef } from "./ref.js";
