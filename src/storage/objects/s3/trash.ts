/** The trash of a blob store on S3. */

import type { BlobStat, BlobTrash, TrashedBlob } from "../../../blobs/index.js";
import type { BlobRef } from "../../../content/index.js";
import type { ObjectStat } from "./objects.js";
import { changing, maxRounds, objectStatTouchedAt, type StoredBlobs } from "./stored-blobs.js";

/**
 * The trash: objects under `trash/<algorithm>/<two digits>/<digest>/<time of the move>-<id>`. S3 moves
 * nothing atomically: a blob that is touched in the moment of its deletion ends here. So the lease of a blob
 * in the trash starts with its move.
 */
export class S3Trash implements BlobTrash {
  readonly #blobs: StoredBlobs;
  readonly #guard: <T>(operation: string, act: () => Promise<T>) => Promise<T>;
  readonly #failed: (operation: string, error: unknown) => unknown;

  constructor(
    blobs: StoredBlobs,
    guard: <T>(operation: string, act: () => Promise<T>) => Promise<T>,
    failed: (operation: string, error: unknown) => unknown,
  ) {
    this.#blobs = blobs;
    this.#guard = guard;
    this.#failed = failed;
  }

  take(seen: BlobStat): Promise<boolean> {
    return this.#guard("collect in", async () => {
      const head = await this.#blobs.head(seen.ref);
      if (head === undefined || objectStatTouchedAt(head) > seen.touchedAt) return false;
      const now = this.#clock.stamp();
      return this.#blobs.move(seen.ref, head, this.#blobs.keys.trashed(seen.ref, now), now);
    });
  }

  async *list(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<TrashedBlob, void, undefined> {
    const { keys, bucket } = this.#blobs;
    try {
      for await (const page of bucket.objects.list(keys.folder("trash"), options.signal)) {
        for (const { key, size } of page) {
          const named = keys.trashedRef(key);
          if (named !== undefined) yield { ...named, size, touchedAt: named.trashedAt };
        }
      }
    } catch (error) {
      throw this.#failed("list the trash of", error);
    }
  }

  restore(ref: BlobRef): Promise<boolean> {
    return this.#guard("collect in", async () => {
      for (let round = 0; round < maxRounds; round++) {
        const copies = await this.#copies(ref);
        if (copies.length === 0) return false;
        if (await this.#restoreOne(ref, copies)) {
          for (const { key } of copies) await this.#blobs.bucket.objects.delete(key);
          return true;
        }
      }
      throw changing("collect in");
    });
  }

  delete(ref: BlobRef, seen?: TrashedBlob): Promise<boolean> {
    return this.#guard("collect in", async () => {
      let isDeleted = false;
      for (const { key } of await this.#copies(ref)) {
        if (seen !== undefined && this.#blobs.keys.trashedRef(key)?.trashedAt !== seen.trashedAt) continue;
        isDeleted = (await this.#blobs.bucket.objects.delete(key)) || isDeleted;
      }
      return isDeleted;
    });
  }

  /** Whether one of the copies is the blob again. */
  async #restoreOne(ref: BlobRef, copies: readonly ObjectStat[]): Promise<boolean> {
    // Bytes that were put again since are at least as good.
    if ((await this.#blobs.touch(ref)) !== undefined) return true;
    for (const copy of copies.toReversed()) {
      const { uploads } = this.#blobs.bucket;
      if (await uploads.copy(copy, this.#blobs.keys.blob(ref), this.#clock.stamp())) return true;
    }
    return false;
  }

  get #clock() {
    return this.#blobs.bucket.objects.client.clock;
  }

  /** The copies of a blob in the trash, oldest first: one, unless a collection was killed. */
  async #copies(ref: BlobRef): Promise<ObjectStat[]> {
    const { keys, bucket } = this.#blobs;
    const copies: ObjectStat[] = [];
    for await (const page of bucket.objects.list(keys.trashFolder(ref))) {
      for (const copy of page) if (keys.trashedRef(copy.key)?.ref === ref) copies.push(copy);
    }
    return copies;
  }
}
