/** Reads of blobs: the first bytes with the look-up, the rest streamed, resumed where a connection broke. */

import { blake3 } from "@noble/hashes/blake3.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { BlobReading } from "../../../blobs/index.js";
import type { BlobRef } from "../../../content/index.js";
import { toHex } from "../../../core/bytes.js";
import { encodeKey } from "./address.js";
import { BrokenReply, responseChunks, S3Failure } from "./client.js";
import type { S3Objects } from "./objects.js";
import type { StoredBlobs } from "./stored-blobs.js";

/** A blob of at most so many bytes takes one request. */
const firstBytes = 512 * 1024;
/** A broken body is resumed once, and once more for each of these many bytes that arrived. */
const bytesPerResume = 16 * 2 ** 20;

/** Restores the blob from the trash; whether it was there. */
type Restore = () => Promise<boolean>;

/** The first bytes of an object, and facts about all of it. */
interface Beginning {
  readonly bytes: Uint8Array;
  readonly size: number;
  readonly etag: string;
}

/** Opens a blob for reading; undefined if it does not exist. */
export async function openBlob(
  blobs: StoredBlobs,
  ref: BlobRef,
  restore: Restore,
): Promise<BlobReading | undefined> {
  const key = blobs.keys.blob(ref);
  const { objects } = blobs.bucket;
  const start = await readBeginning(objects, key);
  if (start === undefined) return undefined;
  return {
    size: start.size,
    bytes: new Bytes(blobs, ref, start.etag, restore).after(start),
    quarantine: () => quarantine(blobs, ref, start.etag),
  };
}

async function readBeginning(objects: S3Objects, key: string): Promise<Beginning | undefined> {
  const request = {
    operation: "read from",
    method: "GET",
    target: `/${encodeKey(key)}`,
    headers: { range: `bytes=0-${firstBytes - 1}` },
  } as const;
  return objects.client.send(request, [404, 416], async (response) => {
    const { status, headers } = response;
    if (status === 404) return undefined;
    const etag = headers.get("etag") ?? "";
    // Of an empty object no range can be had.
    if (status === 416) return { bytes: new Uint8Array(), size: 0, etag };
    const size = responseSize(response);
    const bytes = new Uint8Array(Math.min(size, firstBytes));
    let at = 0;
    for await (const chunk of responseChunks(response)) {
      const room = chunk.subarray(0, bytes.length - at);
      bytes.set(room, at);
      at += room.length;
      if (at === bytes.length) break; // a server without ranges sends all
    }
    if (at < bytes.length) throw new BrokenReply(`the body broke off after ${at} bytes of ${bytes.length}`);
    return { bytes, size, etag };
  });
}

/** The size of the whole object; a reply without it is broken. */
function responseSize({ status, headers }: Response): number {
  const size =
    status === 206
      ? /^bytes \d{1,15}-\d{1,15}\/(\d{1,15})$/.exec(headers.get("content-range") ?? "")?.[1]
      : headers.get("content-length");
  if (size === null || size === undefined || !/^\d{1,15}$/.test(size)) {
    throw new BrokenReply("the reply lacks a size");
  }
  return Number(size);
}

/** Reads of one blob. */
class Bytes {
  readonly #blobs: StoredBlobs;
  readonly #ref: BlobRef;
  readonly #restore: Restore;
  #etag: string;

  constructor(blobs: StoredBlobs, ref: BlobRef, etag: string, restore: Restore) {
    this.#blobs = blobs;
    this.#ref = ref;
    this.#etag = etag;
    this.#restore = restore;
  }

  /** The bytes after those that are there. */
  async *after({ bytes, size }: Beginning): AsyncGenerator<Uint8Array, void, undefined> {
    // A copy: the caller owns the chunk, and the reading may be iterated again.
    if (bytes.length > 0) yield bytes.slice();
    let at = bytes.length;
    let resumes = 0;
    while (at < size) {
      let cause: unknown;
      try {
        for await (const chunk of responseChunks(await this.#open(at, size))) {
          const part = chunk.subarray(0, size - at);
          at += part.length;
          if (part.length > 0) yield part;
          if (at === size) return;
        }
      } catch (error) {
        if (error instanceof S3Failure) throw error;
        cause = error;
      }
      if (resumes++ > (at - bytes.length) / bytesPerResume) {
        const message = `read from: the body broke off after ${at} bytes of ${size}`;
        throw new S3Failure(0, "BROKEN_REPLY", message, { cause });
      }
    }
  }

  /** The object from this byte on. */
  async #open(at: number, size: number): Promise<Response> {
    const { objects } = this.#blobs.bucket;
    const key = this.#blobs.keys.blob(this.#ref);
    for (let round = 0; ; round++) {
      const headers = { range: `bytes=${at}-`, "if-match": this.#etag };
      const target = `/${encodeKey(key)}`;
      const request = { operation: "read from", method: "GET", target, headers } as const;
      const opened = await objects.client.send(request, [404, 412], (response, failure) => {
        if (failure !== undefined || startsAt(response, at)) return failure ?? response;
        response.body?.cancel().catch(() => undefined);
        throw new BrokenReply("another range was sent");
      });
      if (!(opened instanceof S3Failure)) return opened;
      // Collected meanwhile, or replaced: bytes under the same name are the same, and are verified.
      if (round > 1 || (opened.status === 404 && !(await this.#restore()))) throw opened;
      const head = await objects.head(key);
      if (head === undefined || head.size !== size) throw opened;
      this.#etag = head.etag;
    }
  }
}

function startsAt({ status, headers }: Response, at: number): boolean {
  return status === 206 && (headers.get("content-range") ?? "").startsWith(`bytes ${at}-`);
}

/**
 * Moves a corrupt blob to quarantine, unless the server has other bytes than the read brought: those may have
 * been changed on the way. Returns the new key.
 */
async function quarantine(blobs: StoredBlobs, ref: BlobRef, etag: string): Promise<string | undefined> {
  const { objects } = blobs.bucket;
  const key = blobs.keys.blob(ref);
  const head = await objects.head(key, { withChecksum: true });
  if (head === undefined || head.etag !== etag) return undefined;
  const request = { operation: "read from", method: "GET", target: `/${encodeKey(key)}` } as const;
  const stored = await objects.client.send(request, [], async (response) => {
    // A new one for each attempt: a body that broke off must not count.
    const hasher = ref.startsWith("sha256:") ? sha256.create() : blake3.create();
    let bytes = 0;
    for await (const chunk of responseChunks(response)) {
      hasher.update(chunk);
      bytes += chunk.length;
    }
    return { size: bytes, digest: toHex(hasher.digest()) };
  });
  if (stored.size !== head.size || stored.digest === ref.slice(7)) return undefined;
  const to = blobs.keys.quarantined(ref);
  return (await blobs.move(ref, head, to, objects.client.clock.stamp())) ? to : undefined;
}
