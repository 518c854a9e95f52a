/** The driver of R2: a bucket's binding as the blobs of `../blobs.ts` need it. Calls are repeated while that can help. */

import type { BlobBackend } from "../../../blobs/index.js";
import { describe } from "../../../core/arguments.js";
import { retry } from "../../../core/concurrency.js";
import { changing, objectBlobBackend } from "../blobs.js";
import type { CopyOptions, ObjectBody, ObjectDriver, ObjectHead, ObjectRange } from "../driver.js";
import {
  ObjectFailure,
  type ObjectStat,
  type ObjectUpload,
  type SeenObject,
  streamChunks,
} from "../driver.js";

/** Facts about an object, as the binding has them. */
interface R2Stat {
  readonly key: string;
  /** Another one after each write. */
  readonly version: string;
  readonly size: number;
  readonly etag: string;
  /** The time of the last write, by the clock of R2. */
  readonly uploaded: Date;
}

/** An object with its bytes, which are absent if a condition failed. */
interface R2Body extends R2Stat {
  readonly body?: ReadableStream<Uint8Array>;
}

interface R2Condition {
  etagMatches?: string;
  etagDoesNotMatch?: string;
}

interface R2Page {
  readonly objects: readonly R2Stat[];
  readonly truncated: boolean;
  readonly cursor?: string;
}

interface R2Upload {
  uploadPart(number: number, bytes: Uint8Array): Promise<R2Part>;
  complete(parts: R2Part[]): Promise<R2Stat>;
  abort(): Promise<void>;
}

interface R2Part {
  partNumber: number;
  etag: string;
}

/** A bucket of R2 as a Worker's binding has it: the members of `R2Bucket` that are used. */
export interface R2BucketBinding {
  /** Facts about an object; null if there is none. */
  head(key: string): Promise<R2Stat | null>;
  /** An object, or a range of it; null if there is none. */
  get(
    key: string,
    options?: { range?: { offset: number; length?: number }; onlyIf?: R2Condition },
  ): Promise<R2Body | null>;
  /** Writes an object; null if the condition failed. */
  put(
    key: string,
    value: ReadableStream<Uint8Array> | Uint8Array,
    options?: { onlyIf?: R2Condition; sha256?: string },
  ): Promise<R2Stat | null>;
  /** Deletes an object; fine if there is none. */
  delete(key: string): Promise<void>;
  /** A page of objects whose keys have a prefix. */
  list(options: { prefix: string; cursor?: string }): Promise<R2Page>;
  /** Begins an upload in parts. */
  createMultipartUpload(key: string): Promise<R2Upload>;
}

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
  if (typeof bucket?.put !== "function" || typeof bucket.createMultipartUpload !== "function")
    throw new TypeError(`bucket: expected a binding of R2, got ${describe(bucket)}`);
  return objectBlobBackend(new R2Driver(bucket), prefix);
}

const maxAttempts = 6;
const waitMs = [100, 2000] as const;

/**
 * Codes of failures that another attempt cannot mend, as R2 has them at the end of a message: no rights, a
 * checksum or a range that does not fit, an object that is too large.
 *
 * @see https://developers.cloudflare.com/r2/api/error-codes/ (read 2026-11-23)
 */
const lasting: ReadonlySet<string> = new Set(["10002", "10003", "10006", "10037", "10039", "100100"]);

class R2Driver implements ObjectDriver {
  readonly location = "";
  /** R2 takes 5 MiB and more (limits, read 2026-11-23). */
  readonly partBytes: number = 5 * 1024 * 1024;
  readonly maxParts = 10_000;
  // A binding does not list them.
  readonly remaining = ["unfinished multipart uploads until R2 ends them, after seven days by default"];
  readonly #bucket: R2BucketBinding;

  constructor(bucket: R2BucketBinding) {
    this.#bucket = bucket;
  }

  async head(key: string): Promise<ObjectHead | undefined> {
    const head = await call(() => this.#bucket.head(key));
    return head === null ? undefined : headOf(head);
  }

  async read(key: string, range: ObjectRange, etag?: string): Promise<ObjectBody | undefined> {
    const options = { range, ...(etag !== undefined && { onlyIf: { etagMatches: etag } }) };
    const found = await call(() =>
      this.#bucket.get(key, options).catch(async (error: unknown): Promise<R2Body | null> => {
        // Of an empty object no range can be had: R2 and its simulator report that in different ways.
        const head = await this.#bucket.head(key);
        if (head === null || head.size > 0) throw error;
        return { ...headOf(head), uploaded: head.uploaded, body: new Blob().stream() };
      }),
    );
    if (!found?.body) return undefined;
    return { size: found.size, etag: found.etag, bytes: streamChunks(found.body) };
  }

  /** Replaces an existing blob: that costs no more than a touch, and mends damage. */
  async put(key: string, bytes: Uint8Array, sha256: string | undefined): Promise<ObjectStat> {
    // R2 refuses bytes that were changed on the way.
    const options = sha256 === undefined ? {} : { sha256 };
    const stat = await call(() => this.#bucket.put(key, bytes, options));
    if (stat === null) throw changing();
    return headOf(stat);
  }

  /** Streamed through the worker, since a binding has no copy of its own. */
  async copy(from: SeenObject, to: string, options: CopyOptions = {}): Promise<ObjectStat | false> {
    const { key, etag } = from;
    // A copy onto itself must not bring a replaced object back.
    const ownEtag = key === to ? { onlyIf: { etagMatches: etag } } : {};
    const condition = options.ifAbsent ? { onlyIf: { etagDoesNotMatch: "*" } } : ownEtag;
    return call(async () => {
      const source = await this.#bucket.get(key, { onlyIf: { etagMatches: etag } });
      if (!source?.body) return false;
      const copied = await this.#bucket.put(to, source.body, condition);
      return copied !== null && headOf(copied);
    });
  }

  /** R2 compares nothing before it deletes. */
  async delete(key: string): Promise<boolean> {
    await call(() => this.#bucket.delete(key));
    return true;
  }

  async *list(prefix: string, signal?: AbortSignal): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    let cursor: string | undefined;
    do {
      signal?.throwIfAborted();
      const options = { prefix, ...(cursor === undefined ? {} : { cursor }) };
      const page = await call(() => this.#bucket.list(options));
      yield page.objects.map(headOf);
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined);
  }

  async upload(key: string): Promise<ObjectUpload> {
    const upload = await call(() => this.#bucket.createMultipartUpload(key));
    const parts: R2Part[] = [];
    return {
      part: async (number, bytes) => {
        parts[number - 1] = await call(() => upload.uploadPart(number, bytes));
      },
      complete: (_, size) =>
        call(async () => {
          try {
            return headOf(await upload.complete(parts));
          } catch (error) {
            // An upload whose answer was lost is not known any more.
            const found = await this.#bucket.head(key);
            if (found?.size === size) return headOf(found);
            throw error;
          }
        }),
      abort: () => upload.abort(),
    };
  }
}

function headOf({ key, size, etag, version, uploaded }: R2Stat): ObjectHead {
  return { key, size, etag, version, modifiedAt: uploaded.getTime() };
}

/** Makes attempts with growing random waits. */
async function call<T>(attempt: () => Promise<T>): Promise<T> {
  try {
    return await retry(attempt, {
      waitMs,
      again: (error, count) => !lasting.has(errorCode(error) ?? "") && count < maxAttempts,
    });
  } catch (cause) {
    throw new ObjectFailure(errorCode(cause) ?? "NO_ANSWER", errorMessage(cause), { cause });
  }
}

/** The number that R2 has at the end of a message. */
function errorCode(error: unknown): string | undefined {
  return /\((\d{5,6})\)\s{0,8}$/.exec(errorMessage(error))?.[1];
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
