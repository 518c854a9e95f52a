/** Blobs as objects: their leases, puts, touches and moves. */

import type { BlobStat } from "../../../blobs/index.js";
import type { BucketKeys } from "../../../blobs/internal.js";
import type { BlobRef } from "../../../content/index.js";
import { readSha256, S3Failure, type Sha256 } from "./client.js";
import type { S3Uploads } from "./multipart.js";
import type { HeadStat, ObjectStat, S3Objects } from "./objects.js";

/** The parts that the partitions of a store share. */
export interface S3Bucket {
  readonly objects: S3Objects;
  readonly uploads: S3Uploads;
  /** Bytes of one part. Fewer bytes are put at once. */
  readonly partBytes: number;
  /** Whether `If-None-Match` is honoured; undefined before the probe. */
  conditional: boolean | undefined;
}

/**
 * The start of a blob's lease: the time of the last write of its object, by the server's clock. HEAD replies
 * have whole seconds, so lists are rounded down too.
 */
export function objectStatTouchedAt({ modifiedAt }: Pick<ObjectStat, "modifiedAt">): number {
  return Math.floor(modifiedAt / 1000) * 1000;
}

/** How often an object is looked at again that others change at the same moment. */
export const maxRounds = 4;
/** Bodies of this size are sent without a look at the object first, if the server refuses an existing one. */
const maxUnseenBytes = 256 * 1024;

/** The blobs of one partition. */
export class StoredBlobs {
  readonly bucket: S3Bucket;
  readonly keys: BucketKeys;

  constructor(bucket: S3Bucket, keys: BucketKeys) {
    this.bucket = bucket;
    this.keys = keys;
  }

  /** The object of a blob, or undefined. */
  head(ref: BlobRef): Promise<HeadStat | undefined> {
    return this.bucket.objects.head(this.keys.blob(ref));
  }

  /** The facts of a blob, or undefined. */
  async stat(ref: BlobRef): Promise<BlobStat | undefined> {
    const head = await this.head(ref);
    return head && { ref, size: head.size, touchedAt: objectStatTouchedAt(head) };
  }

  /**
   * Renews a lease: the object is copied onto itself, with another `x-amz-meta-touched`. Undefined if it does
   * not exist.
   */
  async touch(ref: BlobRef): Promise<BlobStat | undefined> {
    for (let round = 0; round < maxRounds; round++) {
      const head = await this.head(ref);
      if (head === undefined) return undefined;
      const touched = (await this.#touch(head)) ? await this.stat(ref) : undefined;
      if (touched !== undefined) return touched;
    }
    throw changing("touch in");
  }

  /** Stores bytes. See `BlobBackend.write`. It ends with a look at the object, which has the time. */
  async write(ref: BlobRef, bytes: Uint8Array): Promise<BlobStat> {
    const { bucket } = this;
    const sha256 = await readSha256(bytes);
    let isSeen = !(bucket.conditional && bytes.length <= maxUnseenBytes);
    for (let round = 0; round < maxRounds; round++) {
      const head = isSeen
        ? await bucket.objects.head(this.keys.blob(ref), { withChecksum: true, isFollowed: true })
        : undefined;
      isSeen = true;
      let isWritten = true;
      if (head === undefined) isWritten = await this.#putAbsent(ref, bytes, sha256, round < maxRounds - 1);
      else if (head.size === bytes.length && head.sha256 === sha256.base64)
        isWritten = await this.#touch(head);
      // Damaged, or the server keeps no checksum: bytes that were not compared are replaced.
      else await this.#put(ref, bytes, sha256, false);
      if (!isWritten) continue;
      const stat = await this.stat(ref);
      // A writer whose bytes were damaged may have been first.
      if (stat?.size === bytes.length) return stat;
    }
    throw changing("put into");
  }

  /** Publishes a staged object as a blob. An existing one is replaced: that costs no more than a touch. */
  async publish(ref: BlobRef, staged: Pick<ObjectStat, "key" | "size" | "etag">): Promise<BlobStat> {
    const { objects, uploads } = this.bucket;
    for (let round = 0; round < maxRounds; round++) {
      const isCopied = await uploads.copy(staged, this.keys.blob(ref), objects.client.clock.stamp());
      const stat = isCopied ? await this.stat(ref) : undefined;
      if (stat?.size === staged.size) return stat;
    }
    throw changing("put into");
  }

  /**
   * Moves a blob as it was seen to another key: copies it, looks again, deletes it. The ETag alone would not
   * show a touch, because a copy of the same bytes keeps it.
   *
   * @returns false if it stayed, because it was touched or replaced since, or if it is gone
   */
  async move(ref: BlobRef, seen: HeadStat, to: string, at: number): Promise<boolean> {
    const { objects, uploads } = this.bucket;
    if (!(await uploads.copy(seen, to, at))) return false;
    const now = await this.head(ref);
    // Gone: by another collection, or by a deletion, which then finds the copy in the trash.
    if (now === undefined) return true;
    const isSame =
      now.etag === seen.etag && now.modifiedAt === seen.modifiedAt && now.touched === seen.touched;
    if (isSame && (await objects.delete(seen.key, seen.etag))) return true;
    // A refused deletion may be the second attempt of one whose answer was lost.
    if (isSame && (await this.head(ref)) === undefined) return true;
    await objects.delete(to);
    return false;
  }

  /** Whether the object was touched as it was seen. */
  #touch(head: HeadStat): Promise<boolean> {
    const { objects, uploads } = this.bucket;
    return uploads.copy(head, head.key, objects.client.clock.stamp());
  }

  /** Puts a blob that was absent; false if another writer was first, with `ifAbsent`. */
  async #putAbsent(ref: BlobRef, body: Uint8Array, sha256: Sha256, ifAbsent: boolean): Promise<boolean> {
    const { bucket } = this;
    if (!ifAbsent || bucket.conditional === false) {
      return (await this.#put(ref, body, sha256, false)) === true;
    }
    const done = await this.#put(ref, body, sha256, true);
    if (done === "unsupported") {
      bucket.conditional = false;
      return this.#putAbsent(ref, body, sha256, false);
    }
    // The probe: a server that honours the condition refuses the same request; others store the same again.
    if (done && bucket.conditional === undefined && body.length <= maxUnseenBytes) {
      bucket.conditional = (await this.#put(ref, body, sha256, true)) === false;
    }
    return done;
  }

  #put(ref: BlobRef, body: Uint8Array, sha256: Sha256, ifAbsent: boolean): Promise<boolean | "unsupported"> {
    const { objects } = this.bucket;
    const touched = objects.client.clock.stamp();
    return objects.put(this.keys.blob(ref), body, { sha256, touched, ifAbsent });
  }
}

/** The error of an object that never stays as it was seen. */
export function changing(operation: string): S3Failure {
  return new S3Failure(409, "OperationAborted", `${operation}: the object changes again and again`);
}
