/** Reads of blobs: the first bytes with the look-up, the rest streamed, resumed where a body broke off. */

import { blake3 } from "@noble/hashes/blake3.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { BlobReading } from "../../../blobs/index.js";
import type { BucketKeys } from "../../../blobs/internal.js";
import type { BlobRef } from "../../../content/index.js";
import { toHex } from "../../../core/bytes.js";
import { SessileError } from "../../../core/errors/index.js";
import { type Bucket, bodyChunks, type R2Stat } from "./bucket.js";

/** A blob of at most so many bytes takes one call. */
const firstBytes = 512 * 1024;
const maxResumes = 4;

/** The blobs that a reading belongs to. */
export interface ReadingSource {
  readonly bucket: Bucket;
  readonly keys: BucketKeys;
  /** Restores the blob from the trash; whether it was there. */
  restore(ref: BlobRef): Promise<boolean>;
  /** Moves a blob as it was seen to another key; false if it was written since. */
  move(seen: R2Stat, to: string): Promise<boolean>;
}

/** The first bytes of an object, and facts about all of it. */
interface Beginning {
  readonly bytes: Uint8Array;
  readonly size: number;
  readonly etag: string;
}

/** Opens a blob for reading; undefined if it does not exist. */
export async function openBlob(source: ReadingSource, ref: BlobRef): Promise<BlobReading | undefined> {
  const start = await readBeginning(source.bucket, source.keys.blob(ref));
  if (start === undefined) return undefined;
  return {
    size: start.size,
    bytes: bytesAfter(source, ref, start),
    quarantine: () => quarantine(source, ref),
  };
}

function readBeginning(bucket: Bucket, key: string): Promise<Beginning | undefined> {
  return bucket.call("read from", key, async () => {
    const range = { offset: 0, length: firstBytes };
    const found = await bucket.binding.get(key, { range }).catch(async (error: unknown) => {
      // Of an empty object no range can be had: R2 and its simulator report that in different ways.
      const head = await bucket.binding.head(key);
      if (head === null || head.size > 0) throw error;
      return head;
    });
    if (found === null) return undefined;
    const bytes = new Uint8Array(Math.min(found.size, firstBytes));
    let at = 0;
    if ("body" in found && found.body !== undefined) {
      for await (const chunk of bodyChunks(found.body)) {
        bytes.set(chunk.subarray(0, bytes.length - at), at);
        at += chunk.length;
      }
    }
    if (at < bytes.length) throw new Error(`the body broke off after ${at} bytes of ${bytes.length}`);
    return { bytes, size: found.size, etag: found.etag };
  });
}

/** The first bytes, and those after them. */
async function* bytesAfter(
  { bucket, keys, restore }: ReadingSource,
  ref: BlobRef,
  { bytes, size, etag }: Beginning,
): AsyncGenerator<Uint8Array, void, undefined> {
  const key = keys.blob(ref);
  // A copy: the caller owns the chunk.
  if (bytes.length > 0) yield bytes.slice();
  for (let at = bytes.length, resumes = 0, seen = etag; at < size; resumes++) {
    const options = { range: { offset: at }, onlyIf: { etagMatches: seen } };
    const found = await bucket.call("read from", key, () => bucket.binding.get(key, options));
    let cause: unknown;
    try {
      if (found?.body !== undefined) {
        for await (const chunk of bodyChunks(found.body)) {
          const part = chunk.subarray(0, size - at);
          at += part.length;
          if (part.length > 0) yield part;
        }
      }
    } catch (error) {
      cause = error;
    }
    if (at === size) return;
    if (found?.body === undefined) {
      // Collected meanwhile, or replaced: bytes under the same name are the same, and are verified.
      if (found === null) await restore(ref);
      const head = await bucket.head(key);
      if (head?.size === size) seen = head.etag;
    }
    if (resumes === maxResumes) {
      const message = `read from ${key}: the body broke off after ${at} bytes of ${size}`;
      const details = { operation: "read from", path: key, errno: "NO_ANSWER" };
      throw new SessileError("STORAGE_FAILED", message, { cause, details });
    }
  }
}

/**
 * Moves a corrupt blob to quarantine, unless the bucket has other bytes than the read brought: those may have
 * been changed on the way. Returns the new key.
 */
async function quarantine({ bucket, keys, move }: ReadingSource, ref: BlobRef): Promise<string | undefined> {
  const key = keys.blob(ref);
  const head = await bucket.head(key);
  if (head === undefined) return undefined;
  const isCorrupt = await bucket.call("read from", key, async () => {
    const found = await bucket.binding.get(key, { onlyIf: { etagMatches: head.etag } });
    if (found?.body === undefined) return false;
    const hasher = ref.startsWith("sha256:") ? sha256.create() : blake3.create();
    let bytes = 0;
    for await (const chunk of bodyChunks(found.body)) {
      hasher.update(chunk);
      bytes += chunk.length;
    }
    return bytes === head.size && toHex(hasher.digest()) !== ref.slice(7);
  });
  if (!isCorrupt) return undefined;
  const to = keys.quarantined(ref);
  return (await move(head, to)) ? to : undefined;
}
