/** A streaming write: few bytes wait in memory, more are uploaded by parts to a key of their own. */

import type { BlobStat, BlobWriter } from "../../../blobs/index.js";
import type { BlobRef } from "../../../content/index.js";
import { concatBytes } from "../../../core/bytes.js";
import { SessileError } from "../../../core/errors/index.js";
import type { Bucket, R2Part, R2Stat } from "./bucket.js";

/** All parts but the last are of this size; R2 takes 5 MiB and more (limits, read 2026-11-23). */
const partBytes: number = 5 * 1024 * 1024;
const maxParts = 10_000;

/** The callback of a writer with its bytes at the end. */
export interface WriterTarget {
  readonly bucket: Bucket;
  /** A key of its own, for parts. */
  readonly key: string;
  write(ref: BlobRef, bytes: Uint8Array): Promise<BlobStat>;
  publish(ref: BlobRef, staged: R2Stat): Promise<BlobStat>;
}

type Upload = Awaited<ReturnType<Bucket["binding"]["createMultipartUpload"]>>;

/** Holds at most one part in memory. */
export class R2Writer implements BlobWriter {
  readonly #target: WriterTarget;
  #chunks: Uint8Array[] = [];
  #buffered = 0;
  #upload: Upload | undefined;
  readonly #parts: R2Part[] = [];
  #isStaged = false;

  constructor(target: WriterTarget) {
    this.#target = target;
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      if (this.#buffered === partBytes) await this.#sendPart();
      const piece = chunk.slice(at, at + partBytes - this.#buffered);
      this.#chunks.push(piece);
      this.#buffered += piece.length;
      at += piece.length;
    }
  }

  async commit(ref: BlobRef): Promise<BlobStat> {
    const { bucket, key } = this.#target;
    if (this.#parts.length === 0) return this.#target.write(ref, concatBytes(this.#chunks, this.#buffered));
    const size = this.#parts.length * partBytes + this.#buffered;
    await this.#sendPart();
    const upload = this.#upload as Upload;
    const staged = await bucket.call("put into", key, async () => {
      try {
        return await upload.complete(this.#parts);
      } catch (error) {
        // An upload whose answer was lost is not known any more.
        const found = await bucket.binding.head(key);
        if (found?.size === size) return found;
        throw error;
      }
    });
    this.#upload = undefined;
    this.#isStaged = true;
    const stat = await this.#target.publish(ref, staged);
    await this.discard();
    return stat;
  }

  /** Never fails: a collection removes the rest later. */
  async discard(): Promise<void> {
    this.#chunks = [];
    const [upload, isStaged] = [this.#upload, this.#isStaged];
    this.#upload = undefined;
    this.#isStaged = false;
    try {
      await upload?.abort();
      if (isStaged) await this.#target.bucket.delete(this.#target.key);
    } catch {}
  }

  async #sendPart(): Promise<void> {
    const { bucket, key } = this.#target;
    if (this.#parts.length === maxParts) {
      const maxBytes = maxParts * partBytes;
      const message = `a stream of more than ${maxBytes} bytes does not fit in ${maxParts} parts`;
      throw new SessileError("BLOB_TOO_LARGE", message, { details: { bytes: maxBytes + 1, maxBytes } });
    }
    this.#upload ??= await bucket.call("put into", key, () => bucket.binding.createMultipartUpload(key));
    const upload = this.#upload;
    const bytes = concatBytes(this.#chunks, this.#buffered);
    const number = this.#parts.length + 1;
    this.#parts.push(await bucket.call("put into", key, () => upload.uploadPart(number, bytes)));
    this.#chunks = [];
    this.#buffered = 0;
  }
}
