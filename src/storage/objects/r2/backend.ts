/** The backend of blobs in an R2 bucket. */

import type {
  BlobBackend,
  BlobLeftovers,
  BlobReading,
  BlobStat,
  BlobTrash,
  BlobWriter,
  TrashedBlob,
} from "../../../blobs/index.js";
import { BucketKeys, prefixArgument } from "../../../blobs/internal.js";
import type { BlobRef } from "../../../content/index.js";
import { SessileError } from "../../../core/errors/index.js";
import { Bucket, type R2BucketBinding, type R2Stat } from "./bucket.js";
import { openBlob } from "./reading.js";
import { R2Writer } from "./writer.js";

/** Options of {@link r2BlobBackend}. */
export interface R2BlobsOptions {
  /** The binding of the bucket, such as `env.BLOBS`. */
  readonly bucket: R2BucketBinding;
  /** The beginning of all keys, such as `agents/`. @default none */
  readonly prefix?: string;
}

/**
 * Creates a backend that stores blobs in a bucket of R2, through the binding of a Worker or Durable Object.
 * Keys are `<prefix><algorithm>/<two digits>/<digest>`; a partition has the prefix `<prefix>@<name>/`.
 *
 * @throws TypeError for invalid options
 * @example
 * ```ts
 * const blobs = blobStore(r2BlobBackend({ bucket: env.BLOBS }));
 * const { ref } = await blobs.put(bytes);
 * ```
 */
export function r2BlobBackend({ bucket, prefix = "" }: R2BlobsOptions): BlobBackend {
  return new R2BlobBackend(new Bucket(bucket), new BucketKeys(prefixArgument(prefix)));
}

/** How often an object is looked at again that others change at the same moment. */
const maxRounds = 4;

class R2BlobBackend implements BlobBackend {
  readonly location: string;
  readonly trash: BlobTrash;
  readonly #bucket: Bucket;
  readonly #keys: BucketKeys;
  readonly #isPartition: boolean;

  constructor(bucket: Bucket, keys: BucketKeys, isPartition = false) {
    this.#bucket = bucket;
    this.#keys = keys;
    this.#isPartition = isPartition;
    this.location = keys.prefix;
    this.trash = new R2Trash(bucket, keys, (ref) => this.touch(ref));
  }

  /** Replaces an existing blob: that costs no more than a touch, and mends damage. */
  async write(ref: BlobRef, bytes: Uint8Array): Promise<BlobStat> {
    const key = this.#keys.blob(ref);
    // R2 refuses bytes that were changed on the way.
    const options = ref.startsWith("sha256:") ? { sha256: ref.slice(7) } : {};
    const stat = await this.#bucket.call("put into", key, () =>
      this.#bucket.binding.put(key, bytes, options),
    );
    return statByRef(ref, stat ?? fail("put into", key));
  }

  async create(): Promise<BlobWriter> {
    return new R2Writer({
      bucket: this.#bucket,
      key: this.#keys.staging(),
      write: (ref, bytes) => this.write(ref, bytes),
      publish: async (ref, staged) => {
        const key = this.#keys.blob(ref);
        const stat = await this.#bucket.copy(staged, key);
        return statByRef(ref, stat ?? fail("put into", key));
      },
    });
  }

  read(ref: BlobRef): Promise<BlobReading | undefined> {
    const source = {
      bucket: this.#bucket,
      keys: this.#keys,
      restore: (lost: BlobRef) => this.trash.restore(lost),
      move: (seen: R2Stat, to: string) => moved(this.#bucket, seen, to),
    };
    return openBlob(source, ref);
  }

  async stat(ref: BlobRef): Promise<BlobStat | undefined> {
    const head = await this.#bucket.head(this.#keys.blob(ref));
    return head && statByRef(ref, head);
  }

  /** Writes the blob anew, since only a write gives an object another time. */
  async touch(ref: BlobRef): Promise<BlobStat | undefined> {
    const key = this.#keys.blob(ref);
    for (let round = 0; round < maxRounds; round++) {
      const head = await this.#bucket.head(key);
      if (head === undefined) return undefined;
      const stat = await this.#bucket.copy(head, key);
      if (stat !== undefined) return statByRef(ref, stat);
    }
    return fail("touch in", key);
  }

  async *list(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<BlobStat, void, undefined> {
    for (const folder of ["sha256", "blake3"] as const) {
      for await (const page of this.#bucket.list(this.#keys.folder(folder), options.signal)) {
        for (const object of page) {
          const ref = this.#keys.refByKey(object.key);
          if (ref !== undefined) yield statByRef(ref, object);
        }
      }
    }
  }

  async delete(ref: BlobRef): Promise<boolean> {
    const head = await this.#bucket.head(this.#keys.blob(ref));
    if (head === undefined) return false;
    await this.#bucket.delete(head.key);
    return true;
  }

  /** The time of R2: a worker's clock need not be the same. */
  async now(): Promise<number> {
    const key = this.#keys.staging();
    const { binding } = this.#bucket;
    const stat = await this.#bucket.call("look into", key, () => binding.put(key, new Uint8Array()));
    await this.#bucket.delete(key);
    return (stat ?? fail("look into", key)).uploaded.getTime();
  }

  partition(name: string): R2BlobBackend {
    return new R2BlobBackend(this.#bucket, this.#keys.partition(name), true);
  }

  async clear(): Promise<readonly string[]> {
    if (!this.#isPartition) throw new TypeError("clear: only a named partition is cleared");
    await this.#deleteBelow(this.#keys.prefix);
    // A binding does not list them.
    return ["unfinished multipart uploads until R2 ends them, after seven days by default"];
  }

  deleteQuarantined(ref: BlobRef): Promise<boolean> {
    return this.#deleteBelow(this.#keys.quarantineFolder(ref));
  }

  /** Deletes all objects with a prefix. Returns whether there was one. */
  async #deleteBelow(prefix: string): Promise<boolean> {
    let isDeleted = false;
    for await (const page of this.#bucket.list(prefix))
      for (const { key } of page) {
        await this.#bucket.delete(key);
        isDeleted = true;
      }
    return isDeleted;
  }

  /** Staged objects. R2 itself ends multipart uploads after a time: seven days by default. */
  async removeLeftovers(before: number, { dryRun }: { readonly dryRun: boolean }): Promise<BlobLeftovers> {
    let count = 0;
    let bytes = 0;
    for await (const page of this.#bucket.list(this.#keys.folder("staging"))) {
      for (const { key, size, uploaded } of page) {
        if (uploaded.getTime() >= before) continue;
        count++;
        bytes += size;
        if (!dryRun) await this.#bucket.delete(key);
      }
    }
    return { count, bytes };
  }
}

/**
 * The trash: objects under `trash/<algorithm>/<two digits>/<digest>/<time>-<id>`. R2 moves nothing
 * atomically: a blob that is touched in the moment of its deletion ends here. So its lease in the trash
 * starts with its move.
 */
class R2Trash implements BlobTrash {
  readonly #bucket: Bucket;
  readonly #keys: BucketKeys;
  readonly #touch: (ref: BlobRef) => Promise<BlobStat | undefined>;

  constructor(bucket: Bucket, keys: BucketKeys, touch: (ref: BlobRef) => Promise<BlobStat | undefined>) {
    this.#bucket = bucket;
    this.#keys = keys;
    this.#touch = touch;
  }

  async take({ ref, touchedAt }: BlobStat): Promise<boolean> {
    const head = await this.#bucket.head(this.#keys.blob(ref));
    if (head === undefined || head.uploaded.getTime() > touchedAt) return false;
    return moved(this.#bucket, head, this.#keys.trashed(ref, Date.now()));
  }

  async *list(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<TrashedBlob, void, undefined> {
    for await (const page of this.#bucket.list(this.#keys.folder("trash"), options.signal)) {
      for (const { key, size, uploaded } of page) {
        const ref = this.#keys.trashedRef(key)?.ref;
        const trashedAt = uploaded.getTime();
        if (ref !== undefined) yield { ref, size, trashedAt, touchedAt: trashedAt };
      }
    }
  }

  async restore(ref: BlobRef): Promise<boolean> {
    for (let round = 0; round < maxRounds; round++) {
      const copies = await this.#copies(ref);
      if (copies.length === 0) return false;
      if (await this.#restoreOne(ref, copies)) {
        for (const { key } of copies) await this.#bucket.delete(key);
        return true;
      }
    }
    return fail("collect in", this.#keys.trashFolder(ref));
  }

  async delete(ref: BlobRef, seen?: TrashedBlob): Promise<boolean> {
    let isDeleted = false;
    for (const { key, uploaded } of await this.#copies(ref)) {
      if (seen !== undefined && uploaded.getTime() !== seen.trashedAt) continue;
      await this.#bucket.delete(key);
      isDeleted = true;
    }
    return isDeleted;
  }

  /** Whether one of the copies is the blob again. */
  async #restoreOne(ref: BlobRef, copies: readonly R2Stat[]): Promise<boolean> {
    // Bytes that were put again since are at least as good.
    if ((await this.#touch(ref)) !== undefined) return true;
    for (const copy of copies.toReversed()) {
      if ((await this.#bucket.copy(copy, this.#keys.blob(ref), { ifAbsent: true })) !== undefined)
        return true;
    }
    return false;
  }

  /** The copies of a blob in the trash, oldest first: one, unless a collection was killed. */
  async #copies(ref: BlobRef): Promise<R2Stat[]> {
    const copies: R2Stat[] = [];
    for await (const page of this.#bucket.list(this.#keys.trashFolder(ref)))
      for (const copy of page) copies.push(copy);
    return copies.sort((a, b) => a.uploaded.getTime() - b.uploaded.getTime());
  }
}

/**
 * Moves an object as it was seen: copies it, looks again, deletes it.
 * @returns false if it stayed, because it was written since, or if it is gone
 */
async function moved(bucket: Bucket, seen: R2Stat, to: string): Promise<boolean> {
  if ((await bucket.copy(seen, to)) === undefined) return false;
  const now = await bucket.head(seen.key);
  // Gone: by another collection, or by a deletion, which then finds the copy in the trash.
  if (now === undefined) return true;
  await bucket.delete(now.version === seen.version ? seen.key : to);
  return now.version === seen.version;
}

function statByRef(ref: BlobRef, { size, uploaded }: R2Stat): BlobStat {
  return { ref, size, touchedAt: uploaded.getTime() };
}

/** The error of an object that never stays as it was seen. */
function fail(operation: string, path: string): never {
  const message = `${operation} ${path}: the object changes again and again`;
  throw new SessileError("STORAGE_FAILED", message, { details: { operation, path, errno: "CHANGING" } });
}
