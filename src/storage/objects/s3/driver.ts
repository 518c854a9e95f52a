/** The driver of S3: a bucket as the blobs of `../blobs.ts` need it. */

import { type BlobBackend, type BlobStore, type BlobStoreOptions, blobStore } from "../../../blobs/index.js";
import { describe, integerOption } from "../../../core/arguments.js";
import { changing, maxRounds, objectBlobBackend } from "../blobs.js";
import {
  noChunks,
  type ObjectBody,
  type ObjectDriver,
  type ObjectHead,
  type ObjectRange,
  type ObjectStat,
  type ObjectUpload,
  type SeenObject,
} from "../driver.js";
import {
  BrokenReply,
  bucketAddress,
  encodeKey,
  type RetryPolicy,
  readSha256,
  responseChunks,
  S3Client,
  type Sha256,
} from "./client.js";
import { type CopyLimits, maxPartBytes, maxParts, S3Uploads, type UploadedPart } from "./multipart.js";
import { type HeadStat, S3Objects } from "./objects.js";

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
  const driver = new S3Driver({ objects, uploads, partBytes, conditional: assumeConditionalWrites });
  return objectBlobBackend(driver, prefix);
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

/** What a driver stands on. */
export interface S3Bucket {
  readonly objects: S3Objects;
  readonly uploads: S3Uploads;
  readonly partBytes: number;
  /** Whether `If-None-Match` is honoured; undefined before the probe. */
  readonly conditional: boolean | undefined;
}

/** Bodies of this size are sent without a look at the object first, if the server refuses an existing one. */
const maxUnseenBytes = 256 * 1024;

export class S3Driver implements ObjectDriver {
  readonly location: string;
  readonly partBytes: number;
  readonly maxPartBytes = maxPartBytes;
  readonly maxParts = maxParts;
  readonly remaining = [] as const;
  readonly #objects: S3Objects;
  readonly #uploads: S3Uploads;
  #conditional: boolean | undefined;

  constructor({ objects, uploads, partBytes, conditional }: S3Bucket) {
    this.location = `${objects.client.base}/`;
    this.partBytes = partBytes;
    this.#objects = objects;
    this.#uploads = uploads;
    this.#conditional = conditional;
  }

  async head(key: string): Promise<ObjectHead | undefined> {
    const head = await this.#objects.head(key);
    return head && headOf(head);
  }

  read(key: string, { offset, length }: ObjectRange, etag?: string): Promise<ObjectBody | undefined> {
    const range = `bytes=${offset}-${length === undefined ? "" : offset + length - 1}`;
    const headers = { range, ...(etag !== undefined && { "if-match": etag }) };
    const request = { operation: "read from", method: "GET", target: `/${encodeKey(key)}`, headers } as const;
    const others = etag === undefined ? [404, 416] : [404, 412, 416];
    return this.#objects.client.send(request, others, (response, failure) => {
      const { status } = response;
      if (status === 404 || status === 412) return undefined;
      const found = response.headers.get("etag") ?? "";
      // Of an empty object no range can be had.
      if (status === 416 && offset === 0) return { size: 0, etag: found, bytes: noChunks() };
      if (failure !== undefined) throw failure;
      const body = response.body ?? undefined;
      const size = objectSize(response, offset);
      if (size === undefined) {
        body?.cancel().catch(() => undefined);
        throw new BrokenReply("the reply lacks a size, or has another range");
      }
      return { size, etag: found, bytes: responseChunks(response) };
    });
  }

  /** It ends with a look at the object, which has the time. */
  async put(key: string, bytes: Uint8Array, digest: string | undefined): Promise<ObjectStat> {
    const sha256 = await readSha256(bytes, digest);
    let isSeen = !(this.#conditional && bytes.length <= maxUnseenBytes);
    for (let round = 0; round < maxRounds; round++) {
      const head = isSeen
        ? await this.#objects.head(key, { withChecksum: true, isFollowed: true })
        : undefined;
      isSeen = true;
      let isWritten = true;
      if (head === undefined) isWritten = await this.#putAbsent(key, bytes, sha256, round < maxRounds - 1);
      else if (head.size === bytes.length && head.sha256 === sha256.base64)
        isWritten = await this.copy(head, key);
      // Damaged, or the server keeps no checksum: bytes that were not compared are replaced.
      else await this.#put(key, bytes, sha256, false);
      if (!isWritten) continue;
      const stat = await this.head(key);
      // A writer whose bytes were damaged may have been first.
      if (stat?.size === bytes.length) return stat;
    }
    throw changing();
  }

  /** With another `x-amz-meta-touched`: S3 copies nothing onto itself otherwise. */
  copy(from: SeenObject, to: string): Promise<boolean> {
    return this.#uploads.copy(from, to, this.#objects.client.clock.stamp());
  }

  delete(key: string, etag?: string): Promise<boolean> {
    return this.#objects.delete(key, etag);
  }

  async *list(prefix: string, signal?: AbortSignal): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    for await (const page of this.#objects.list(prefix, signal))
      yield page.map((object) => ({ ...object, modifiedAt: wholeSeconds(object.modifiedAt) }));
  }

  async upload(key: string): Promise<ObjectUpload> {
    const upload = await this.#uploads.create(key);
    const parts: UploadedPart[] = [];
    return {
      part: async (number, bytes) => {
        parts[number - 1] = await this.#uploads.put(upload, number, bytes);
      },
      complete: async (_, size) => {
        const etag = await this.#uploads.complete(upload, parts, (found) => found.size === size);
        return { key, size, etag };
      },
      abort: () => this.#uploads.abort(upload),
    };
  }

  async abortUploads(
    prefix: string,
    before: number,
    isOwn: (key: string) => boolean,
    { dryRun }: { readonly dryRun: boolean },
  ): Promise<{ readonly count: number; readonly bytes: number }> {
    let [count, bytes] = [0, 0];
    for await (const upload of this.#uploads.list(prefix)) {
      if (upload.startedAt >= before || !isOwn(upload.key)) continue;
      count++;
      bytes += await this.#uploads.uploadBytes(upload);
      if (!dryRun) await this.#uploads.abort(upload);
    }
    return { count, bytes };
  }

  async now(key: string): Promise<number> {
    const { clock } = this.#objects.client;
    if (!clock.isKnown) await this.#objects.prove(key);
    return clock.earliest();
  }

  /** Puts a blob that was absent; false if another writer was first, with `ifAbsent`. */
  async #putAbsent(key: string, body: Uint8Array, sha256: Sha256, ifAbsent: boolean): Promise<boolean> {
    if (!ifAbsent || this.#conditional === false) return (await this.#put(key, body, sha256, false)) === true;
    const done = await this.#put(key, body, sha256, true);
    if (done === "unsupported") {
      this.#conditional = false;
      return this.#putAbsent(key, body, sha256, false);
    }
    // The probe: a server that honours the condition refuses the same request; others store the same again.
    if (done && this.#conditional === undefined && body.length <= maxUnseenBytes) {
      this.#conditional = (await this.#put(key, body, sha256, true)) === false;
    }
    return done;
  }

  #put(key: string, body: Uint8Array, sha256: Sha256, ifAbsent: boolean): Promise<boolean | "unsupported"> {
    const touched = this.#objects.client.clock.stamp();
    return this.#objects.put(key, body, { sha256, touched, ifAbsent });
  }
}

/** HEAD replies have whole seconds, so lists are rounded down too. */
export function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

/** The ETag alone does not show a touch: a copy of the same bytes keeps it. */
function headOf(head: HeadStat): ObjectHead {
  const { key, size, etag, modifiedAt, touched } = head;
  return {
    key,
    size,
    etag,
    modifiedAt: wholeSeconds(modifiedAt),
    version: `${etag} ${modifiedAt} ${touched}`,
  };
}

/** The size of the whole object; undefined if the reply lacks it, or begins at another byte. */
function objectSize({ status, headers }: Response, offset: number): number | undefined {
  const ranged = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(headers.get("content-range") ?? "");
  if (status === 206) return ranged !== null && Number(ranged[1]) === offset ? Number(ranged[2]) : undefined;
  // A server without ranges sends all.
  const length = headers.get("content-length") ?? "";
  return offset === 0 && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}
