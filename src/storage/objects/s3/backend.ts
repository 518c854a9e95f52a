/** The backend of blobs on S3. */

import {
  type BlobBackend,
  type BlobHints,
  type BlobLeftovers,
  type BlobReading,
  type BlobStat,
  type BlobStore,
  type BlobStoreOptions,
  type BlobWriter,
  blobStore,
} from "../../../blobs/index.js";
import { type BucketFolder, BucketKeys, prefixArgument } from "../../../blobs/internal.js";
import type { BlobRef } from "../../../content/index.js";
import { describe, integerOption } from "../../../core/arguments.js";
import { bucketAddress } from "./address.js";
import { type RetryPolicy, S3Client } from "./client.js";
import { type CopyLimits, maxPartBytes, S3Uploads } from "./multipart.js";
import { S3Objects } from "./objects.js";
import { openBlob } from "./reading.js";
import { objectStatTouchedAt, type S3Bucket, StoredBlobs } from "./stored-blobs.js";
import { S3Trash } from "./trash.js";
import { S3Writer } from "./writer.js";

/** Options of {@link s3BlobBackend}. */
export interface S3BlobsOptions {
  /**
   * Signs and sends one request: the `fetch` of an `AwsClient` of aws4fetch, or a `fetch` behind a proxy that
   * signs. Requests are repeated here, so it need not.
   */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** The endpoint and the bucket, `https://host/bucket`, or the bucket's own host. */
  readonly url: string;
  /** The beginning of all keys, such as `agents/`. @default none */
  readonly prefix?: string;
  /**
   * Bytes of one part of an upload. A stream of more is uploaded by parts, and holds three parts in memory.
   * Minimum: 5 MiB, maximum: 5 GiB. @default 8 MiB
   */
  readonly partBytes?: number;
  /**
   * Whether the server honours `If-None-Match` with a put. By default one small put of each backend is sent
   * twice, to see. @default asked of the server
   */
  readonly assumeConditionalWrites?: boolean;
}

/** Bounds that tests make smaller. */
export interface S3Tuning {
  readonly policy?: RetryPolicy;
  readonly copyLimits?: CopyLimits;
  /** Minimum of `partBytes`. */
  readonly minPartBytes?: number;
}

const mebibyte = 2 ** 20;
/** The number of partitions whose backends are kept. */
const maxPartitions = 1000;

/**
 * The backend of {@link s3BlobStore}: blobs as objects of a bucket, under
 * `<prefix><algorithm>/<two digits>/<digest>`. A partition has the prefix `<prefix>@<name>/`.
 *
 * @throws TypeError, RangeError for invalid options
 * @see docs/reference/s3.md for the promises, the permissions and the rules of a bucket
 */
export function s3BlobBackend(options: S3BlobsOptions): BlobBackend {
  return s3BlobBackendWith(options, {});
}

/** {@link s3BlobBackend} with other bounds. */
export function s3BlobBackendWith(options: S3BlobsOptions, tuning: S3Tuning): BlobBackend {
  const { fetch, url, prefix = "", assumeConditionalWrites } = options;
  if (typeof fetch !== "function") {
    throw new TypeError(`fetch: expected a function that signs and sends a request, got ${describe(fetch)}`);
  }
  if (assumeConditionalWrites !== undefined && typeof assumeConditionalWrites !== "boolean") {
    const given = describe(assumeConditionalWrites);
    throw new TypeError(`assumeConditionalWrites: expected true or false, got ${given}`);
  }
  const { policy, copyLimits, minPartBytes = 5 * mebibyte } = tuning;
  const partBytes = integerOption("partBytes", options.partBytes, 8 * mebibyte, minPartBytes, maxPartBytes);
  const address = bucketAddress(url);
  const client = new S3Client({ fetch, base: address.base, ...(policy === undefined ? {} : { policy }) });
  const objects = new S3Objects(client, address.bucket);
  const uploads = new S3Uploads(objects, copyLimits);
  const bucket: S3Bucket = { objects, uploads, partBytes, conditional: assumeConditionalWrites };
  return new S3BlobBackend(bucket, new BucketKeys(prefixArgument(prefix)));
}

/**
 * Blobs in a bucket of S3, or of a store with its interface. Any number of processes may use the same prefix.
 *
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * // `aws` is an AwsClient of aws4fetch, with `service: "s3", retries: 0`
 * const blobs = s3BlobStore({
 *   fetch: (url, init) => aws.fetch(url, init),
 *   url: "https://s3.eu-central-1.amazonaws.com/my-bucket",
 *   prefix: "agents/",
 * });
 * const { ref } = await blobs.put(bytes);
 * ```
 */
export function s3BlobStore(options: S3BlobsOptions & BlobStoreOptions): BlobStore {
  return blobStore(s3BlobBackend(options), options);
}

class S3BlobBackend implements BlobBackend {
  readonly location: string;
  readonly trash: S3Trash;
  readonly #bucket: S3Bucket;
  readonly #blobs: StoredBlobs;
  readonly #whole: S3BlobBackend;
  readonly #partitions = new Map<string, S3BlobBackend>();

  constructor(bucket: S3Bucket, keys: BucketKeys, whole?: S3BlobBackend) {
    this.#bucket = bucket;
    this.#blobs = new StoredBlobs(bucket, keys);
    this.#whole = whole ?? this;
    this.location = `${bucket.objects.client.base}/${keys.prefix}`;
    this.trash = new S3Trash(
      this.#blobs,
      (operation, act) => this.#guard(operation, act),
      (operation, error) => this.#failed(operation, error),
    );
  }

  write(ref: BlobRef, bytes: Uint8Array): Promise<BlobStat> {
    return this.#guard("put into", () => this.#blobs.write(ref, bytes));
  }

  async create(hints: BlobHints): Promise<BlobWriter> {
    const writer = new S3Writer(this.#blobs, hints);
    return {
      write: (chunk) => this.#guard("put into", () => writer.write(chunk)),
      commit: (ref) => this.#guard("put into", () => writer.commit(ref)),
      discard: () => writer.discard(),
    };
  }

  read(ref: BlobRef): Promise<BlobReading | undefined> {
    return this.#guard("read from", async () => {
      const reading = await openBlob(this.#blobs, ref, () => this.trash.restore(ref));
      return reading && { ...reading, bytes: this.#guarded(reading.bytes) };
    });
  }

  stat(ref: BlobRef): Promise<BlobStat | undefined> {
    return this.#guard("look into", () => this.#blobs.stat(ref));
  }

  /** The key of a blob in the bucket. */
  locate(ref: BlobRef): Promise<string | undefined> {
    return this.#guard("look into", async () => (await this.#blobs.head(ref))?.key);
  }

  touch(ref: BlobRef): Promise<BlobStat | undefined> {
    return this.#guard("touch in", () => this.#blobs.touch(ref));
  }

  async *list(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<BlobStat, void, undefined> {
    const { objects } = this.#bucket;
    try {
      for (const folder of ["sha256", "blake3"] as const) {
        for await (const page of objects.list(this.#blobs.keys.folder(folder), options.signal)) {
          for (const object of page) {
            const ref = this.#blobs.keys.refByKey(object.key);
            if (ref !== undefined) yield { ref, size: object.size, touchedAt: objectStatTouchedAt(object) };
          }
        }
      }
    } catch (error) {
      throw this.#failed("list", error);
    }
  }

  delete(ref: BlobRef): Promise<boolean> {
    return this.#guard("delete from", async () => {
      const head = await this.#blobs.head(ref);
      if (head === undefined) return false;
      await this.#bucket.objects.delete(head.key);
      return true;
    });
  }

  /** The server's time at the earliest, so that no lease ends too soon. */
  now(): Promise<number> {
    return this.#guard("look into", async () => {
      const { objects } = this.#bucket;
      if (!objects.client.clock.isKnown) await objects.prove(this.#blobs.keys.prefix);
      return objects.client.clock.earliest();
    });
  }

  partition(name: string): S3BlobBackend {
    const partitions = this.#whole.#partitions;
    const known = partitions.get(name);
    if (known !== undefined) return known;
    const made = new S3BlobBackend(this.#bucket, this.#whole.#blobs.keys.partition(name), this.#whole);
    partitions.set(name, made);
    for (const [oldest] of partitions) {
      if (partitions.size <= maxPartitions) break;
      partitions.delete(oldest);
    }
    return made;
  }

  clear(): Promise<readonly string[]> {
    return this.#guard("clear", async () => {
      if (this.#whole === this) throw new TypeError("clear: only a named partition is cleared");
      const { objects } = this.#bucket;
      for await (const page of objects.list(this.#blobs.keys.prefix))
        for (const { key } of page) await objects.delete(key);
      return [];
    });
  }

  deleteQuarantined(ref: BlobRef): Promise<boolean> {
    return this.#guard("clean", async () => {
      const { objects } = this.#bucket;
      let isDeleted = false;
      for await (const page of objects.list(this.#blobs.keys.quarantineFolder(ref)))
        for (const { key } of page) {
          await objects.delete(key);
          isDeleted = true;
        }
      return isDeleted;
    });
  }

  /** Multipart uploads and staged objects. */
  removeLeftovers(before: number, { dryRun }: { readonly dryRun: boolean }): Promise<BlobLeftovers> {
    return this.#guard("clean", async () => {
      const { objects, uploads } = this.#bucket;
      const { keys } = this.#blobs;
      let count = 0;
      let bytes = 0;
      const folders: readonly BucketFolder[] = ["staging", "sha256", "blake3", "trash", "quarantine"];
      for (const folder of folders) {
        for await (const upload of uploads.list(keys.folder(folder))) {
          if (upload.startedAt >= before) continue;
          count++;
          bytes += await uploads.uploadBytes(upload);
          if (!dryRun) await uploads.abort(upload);
        }
      }
      for await (const page of objects.list(keys.folder("staging"))) {
        for (const { key, size, modifiedAt } of page) {
          if (modifiedAt >= before) continue;
          count++;
          bytes += size;
          if (!dryRun) await objects.delete(key);
        }
      }
      return { count, bytes };
    });
  }

  async *#guarded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* bytes;
    } catch (error) {
      throw this.#failed("read from", error);
    }
  }

  async #guard<T>(operation: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      throw this.#failed(operation, error);
    }
  }

  #failed(operation: string, error: unknown): unknown {
    return this.#bucket.objects.client.error(operation, this.location, error);
  }
}
