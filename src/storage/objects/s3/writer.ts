/** Writes a blob to S3, in parts if it is large. */

import type { BlobHints, BlobStat, BlobWriter } from "../../../blobs/index.js";
import type { BlobRef } from "../../../content/index.js";
import { SessileError } from "../../../core/errors/index.js";
import { maxPartBytes, maxParts, type Upload, type UploadedPart } from "./multipart.js";
import type { StoredBlobs } from "./stored-blobs.js";

/** Parts on their way at the same time. Each holds its bytes, and so does the one that is being filled. */
const maxConcurrentParts = 2;
/** The first size of a buffer that grows. */
const startBytes = 512 * 1024;

/**
 * A streaming write. Bytes of up to one part wait in memory and are put at once, under their name. More go to
 * a key of their own by a multipart upload, which is copied to the name when that is known.
 */
export class S3Writer implements BlobWriter {
  readonly #blobs: StoredBlobs;
  readonly #partBytes: number;
  readonly #key: string;
  #buffer: Uint8Array;
  #buffered = 0;
  #size = 0;
  #upload: Upload | undefined;
  /** The parts that were sent, in order. */
  readonly #parts: Promise<UploadedPart>[] = [];
  /** An object or upload that has to be removed. */
  #rest: "none" | "upload" | "object" = "none";

  constructor(blobs: StoredBlobs, { size = 0 }: BlobHints) {
    this.#blobs = blobs;
    this.#partBytes = Math.max(blobs.bucket.partBytes, Math.min(maxPartBytes, Math.ceil(size / maxParts)));
    this.#key = blobs.keys.staging();
    // It grows by bytes that came, not by the declared size.
    this.#buffer = new Uint8Array(Math.min(this.#partBytes, startBytes));
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      if (this.#buffered === this.#partBytes) await this.#sendPart();
      const piece = chunk.subarray(at, at + this.#partBytes - this.#buffered);
      this.#makeRoom(piece.length);
      this.#buffer.set(piece, this.#buffered);
      this.#buffered += piece.length;
      this.#size += piece.length;
      at += piece.length;
    }
  }

  async commit(ref: BlobRef): Promise<BlobStat> {
    if (this.#upload === undefined) return this.#blobs.write(ref, this.#buffer.subarray(0, this.#buffered));
    await this.#sendPart();
    const size = this.#size;
    const { uploads } = this.#blobs.bucket;
    const parts = await Promise.all(this.#parts);
    const etag = await uploads.complete(this.#upload, parts, (found) => found.size === size);
    this.#rest = "object";
    const stat = await this.#blobs.publish(ref, { key: this.#key, size, etag });
    await this.#removeRest();
    return stat;
  }

  async discard(): Promise<void> {
    this.#buffer = new Uint8Array();
    await this.#removeRest();
  }

  /** Grows the buffer by doubling, up to one part. */
  #makeRoom(bytes: number): void {
    const needed = this.#buffered + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.min(this.#partBytes, Math.max(needed, this.#buffer.length * 2)));
    grown.set(this.#buffer.subarray(0, this.#buffered));
    this.#buffer = grown;
  }

  /** Sends the buffered bytes, without waiting for them. */
  async #sendPart(): Promise<void> {
    const { uploads } = this.#blobs.bucket;
    if (this.#parts.length === maxParts) {
      const maxBytes = maxParts * this.#partBytes;
      const message = `a stream of ${this.#size} bytes or more does not fit in ${maxParts} parts`;
      throw new SessileError("BLOB_TOO_LARGE", message, { details: { bytes: this.#size, maxBytes } });
    }
    if (this.#upload === undefined) {
      this.#upload = await uploads.create(this.#key);
      this.#rest = "upload";
    }
    await this.#parts.at(-maxConcurrentParts);
    const part = uploads.put(this.#upload, this.#parts.length + 1, this.#buffer.subarray(0, this.#buffered));
    // A failure is reported by the next call.
    part.catch(() => undefined);
    this.#parts.push(part);
    this.#buffer = new Uint8Array(Math.min(this.#partBytes, startBytes));
    this.#buffered = 0;
  }

  /** Never fails: a collection removes the rest later. */
  async #removeRest(): Promise<void> {
    const { uploads, objects } = this.#blobs.bucket;
    const rest = this.#rest;
    this.#rest = "none";
    // A part that arrives after the abort would stay.
    await Promise.allSettled(this.#parts);
    try {
      if (rest === "upload" && this.#upload !== undefined) await uploads.abort(this.#upload);
      if (rest === "object") await objects.delete(this.#key);
    } catch {}
  }
}
