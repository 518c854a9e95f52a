/** Verified reads: a corrupt blob is quarantined and never returned. */

import type { BlobRef } from "../content/index.js";
import { abortable } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import type { BlobReading } from "./backend.js";
import { type HashFunction, refFrom } from "./ref.js";
import type { BlobTransferOptions } from "./types.js";

/**
 * Streams the bytes of a blob, verified: holds the last chunk back until the digest matches. Quarantines a
 * corrupt blob before it throws BLOB_CORRUPT, so that a put of the right bytes is not a duplicate.
 */
export async function* verified(
  ref: BlobRef,
  reading: BlobReading,
  found: HashFunction | Promise<HashFunction>,
  { signal, onProgress }: BlobTransferOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = await found;
  const hasher = hash.create();
  let held: Uint8Array | undefined;
  let bytes = 0;
  for await (const chunk of abortable(reading.bytes, signal)) {
    if (chunk.length === 0) continue;
    hasher.update(chunk);
    bytes += chunk.length;
    onProgress?.({ bytes, total: reading.size });
    if (held !== undefined) yield held;
    held = chunk;
  }
  const actual = refFrom(hash, hasher);
  if (actual !== ref) throw await corrupt(ref, actual, bytes, reading);
  if (held !== undefined) yield held;
}

async function corrupt(
  expected: BlobRef,
  actual: BlobRef,
  size: number,
  reading: BlobReading,
): Promise<SessileError> {
  // If quarantine fails, as on a read-only file system, the error is still BLOB_CORRUPT.
  const quarantined = await reading.quarantine?.().catch(() => undefined);
  return corruptError({ expected, actual, size, ...(quarantined === undefined ? {} : { quarantined }) });
}

/** The file at a blob's path has other bytes, or is no file. */
export function corruptError(details: {
  readonly expected: BlobRef;
  readonly actual: string;
  readonly size: number;
  readonly quarantined?: string;
}): SessileError<"BLOB_CORRUPT"> {
  const where = details.quarantined === undefined ? "" : `; it was moved to ${details.quarantined}`;
  const message = `the blob ${details.expected} is ${details.actual} (${details.size} bytes)${where}`;
  return new SessileError("BLOB_CORRUPT", message, { details });
}
