import type { BlobStat } from "../blobs/index.js";
import type { BlobRef } from "../content/index.js";
import type { Keys } from "./address.js";
import { S3Failure, type Sha256, sha256Of } from "./client.js";
import type { S3Uploads } from "./multipart.js";
import type { HeadStat, ObjectStat, S3Objects } from "./objects.js";

/** Blobs as objects: their leases, puts, touches and moves. */

/** What the partitions of a store share. */
export interface S3Bucket {
  readonly objects: S3Objects;
  readonly uploads: S3Uploads;
  /** Bytes of one part. Fewer bytes are put at once. */
  readonly partBytes: number;
  /** Whether `If-None-Match` is honoured; undefined before the probe. */
  conditional: boolean | undefined;
}

/** A writer's time is believed if the server's own time of the object is at most this far from it. */
export const believedMs = 60_000;

/**
 * The start of a blob's lease. The writer's time, in milliseconds, is in the metadata. If it contradicts the
 * server's time, as after a copy by another program, the lease is longer rather than shorter.
 */
export function touchedAtOf({ touched, modifiedAt }: HeadStat): number {
  const isBelieved = touched !== undefined && Math.abs(touched - modifiedAt) <= believedMs;
  return isBelieved ? touched : longestLease({ modifiedAt });
}

/** A time that is never before {@link touchedAtOf}, from what a list tells. */
export function longestLease({ modifiedAt }: Pick<ObjectStat, "modifiedAt">): number {
  return modifiedAt + believedMs;
}

/** How often an object is looked at again that others change at the same moment. */
const maxRounds = 4;
/** Bodies of this size are sent without a look at the object first, if the server refuses an existing one. */
const maxUnseenBytes = 256 * 1024;

/** The blobs of one partition. */
export class StoredBlobs {
  readonly bucket: S3Bucket;
  readonly keys: Keys;

  constructor(bucket: S3Bucket, keys: Keys) {
    this.bucket = bucket;
    this.keys = keys;
  }

  /** The object of a blob, or undefined. */
  head(ref: BlobRef): Promise<HeadStat | undefined> {
    return this.bucket.objects.head(this.keys.blob(ref));
  }

  /** Renews a lease: the object is copied onto itself, with a later time. Undefined if it does not exist. */
  async touch(ref: BlobRef): Promise<BlobStat | undefined> {
    for (let round = 0; round < maxRounds; round++) {
      const head = await this.head(ref);
      if (head === undefined) return undefined;
      const touched = await this.#touch(ref, head);
      if (touched !== undefined) return touched;
    }
    throw changing("touch in");
  }

  /** Stores bytes. See `BlobBackend.write`. */
  async write(ref: BlobRef, bytes: Uint8Array): Promise<BlobStat> {
    const { bucket } = this;
    const sha256 = await sha256Of(bytes);
    let isSeen = !(
      bucket.conditional &&
      bytes.length <= maxUnseenBytes &&
      bucket.objects.client.clock.isKnown
    );
    for (let round = 0; round < maxRounds; round++) {
      const head = isSeen
        ? await bucket.objects.head(this.keys.blob(ref), { withChecksum: true, isFollowed: true })
        : undefined;
      isSeen = true;
      if (head === undefined) {
        const stat = await this.#putAbsent(ref, bytes, sha256);
        if (stat !== undefined) return stat;
      } else if (head.size === bytes.length && head.sha256 === sha256.base64) {
        const touched = await this.#touch(ref, head);
        if (touched !== undefined) return touched;
      } else {
        // Damaged, or the server keeps no checksum: bytes that were not compared are replaced.
        return this.#put(ref, bytes, sha256, this.#later(head));
      }
    }
    return this.#put(ref, bytes, sha256, this.#later(await this.head(ref)));
  }

  /** Publishes a staged object as a blob. An existing one is replaced: that costs no more than a touch. */
  async publish(ref: BlobRef, staged: Pick<ObjectStat, "key" | "size" | "etag">): Promise<BlobStat> {
    const { objects, uploads } = this.bucket;
    const key = this.keys.blob(ref);
    const touched = this.#later(await objects.head(key, { isFollowed: true }));
    if (!(await uploads.copy(staged, key, touched))) {
      throw new S3Failure(404, "NoSuchKey", "put into: the staged object is gone");
    }
    return { ref, size: staged.size, touchedAt: touched };
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
    const isSame = now.etag === seen.etag && touchedAtOf(now) <= touchedAtOf(seen);
    if (isSame && (await objects.delete(seen.key, seen.etag))) return true;
    // A refused deletion may be the second attempt of one whose answer was lost.
    if (isSame && (await this.head(ref)) === undefined) return true;
    await objects.delete(to);
    return false;
  }

  async #touch(ref: BlobRef, head: HeadStat): Promise<BlobStat | undefined> {
    const touched = this.#later(head);
    const isTouched = await this.bucket.uploads.copy(head, head.key, touched);
    return isTouched ? { ref, size: head.size, touchedAt: touched } : undefined;
  }

  /** Puts a blob that was absent; undefined if another writer was first. */
  async #putAbsent(ref: BlobRef, body: Uint8Array, sha256: Sha256): Promise<BlobStat | undefined> {
    const { bucket } = this;
    const touched = this.#later(undefined);
    if (bucket.conditional === false) return this.#put(ref, body, sha256, touched);
    const put = () => bucket.objects.put(this.keys.blob(ref), body, { sha256, touched, ifAbsent: true });
    const done = await put();
    if (done === "unsupported") {
      bucket.conditional = false;
      return this.#put(ref, body, sha256, touched);
    }
    if (!done) return undefined;
    // The probe: a server that honours the condition refuses the same request, and others store the same again.
    if (bucket.conditional === undefined && body.length <= maxUnseenBytes) {
      bucket.conditional = (await put()) === false;
    }
    return { ref, size: body.length, touchedAt: touched };
  }

  async #put(ref: BlobRef, body: Uint8Array, sha256: Sha256, touched: number): Promise<BlobStat> {
    await this.bucket.objects.put(this.keys.blob(ref), body, { sha256, touched, ifAbsent: false });
    return { ref, size: body.length, touchedAt: touched };
  }

  /** The time of a put or touch now, later than that of the object that was seen. */
  #later(head: HeadStat | undefined): number {
    const now = this.bucket.objects.client.clock.stamp();
    return head === undefined ? now : Math.max(now, Math.floor(touchedAtOf(head)) + touchStepMs);
  }
}

/** Two milliseconds, so that a rounded comparison of two touches shows the later one. */
const touchStepMs = 2;

function changing(operation: string): S3Failure {
  return new S3Failure(409, "OperationAborted", `${operation}: the object changes again and again`);
}
