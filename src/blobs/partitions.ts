/** Which backends hold one named partition, for an erasure: it has to know whose references count. */

import type { BlobBackend } from "./backend.js";

const named = new WeakSet<BlobBackend>();

/** Remembers that a backend holds one named partition alone. */
export function rememberPartition(backend: BlobBackend): void {
  named.add(backend);
}

/** Whether the backend is that of a store of one named partition. */
export function isOfPartition(backend: BlobBackend): boolean {
  return named.has(backend);
}
