/**
 * Blobs in a container of Azure Blob Storage: the driver, on the client of `@azure/storage-blob`, which repeats calls.
 *
 * @module azure
 */

import type { BlobBackend } from "../../../blobs/index.js";
import { describe } from "../../../core/arguments.js";
import { objectBlobBackend } from "../blobs.js";
import type { CopyOptions, ObjectBody, ObjectDriver, ObjectHead, ObjectRange } from "../driver.js";
import { noChunks, ObjectFailure, type ObjectStat, type ObjectUpload, type SeenObject } from "../driver.js";

interface Facts {
  readonly etag?: string;
  readonly lastModified?: Date;
  readonly contentLength?: number;
  readonly contentRange?: string;
  readonly readableStreamBody?: AsyncIterable<unknown>;
}

interface Conditional {
  conditions?: { ifMatch?: string; ifNoneMatch?: string };
}

interface Blobs {
  readonly url: string;
  getProperties(): Promise<Facts>;
  download(offset: number, count: number | undefined, options: Conditional): Promise<Facts>;
  upload(body: Uint8Array, length: number): Promise<Facts>;
  setMetadata(metadata: Record<string, string>, options: Conditional): Promise<Facts>;
  beginCopyFromURL(
    url: string,
    options: Conditional & { sourceConditions: { ifMatch: string }; intervalInMs: number },
  ): Promise<{ pollUntilDone(): Promise<Facts & { readonly copyStatus?: string }> }>;
  delete(options: Conditional): Promise<unknown>;
  stageBlock(id: string, body: Uint8Array, length: number): Promise<unknown>;
  commitBlockList(ids: string[]): Promise<Facts>;
}

/** A container as a `ContainerClient` of `@azure/storage-blob` has it: the members that are used. */
export interface AzureContainer {
  readonly url: string;
  /** The client of a blob. */
  getBlockBlobClient(name: string): Blobs;
  /** All blobs whose names have a prefix. */
  listBlobsFlat(options: {
    prefix: string;
    abortSignal?: AbortSignal;
  }): AsyncIterable<{ readonly name: string; readonly properties: Facts }>;
}

/** Options of {@link azureBlobBackend}. */
export interface AzureBlobsOptions {
  /** The client of the container. Attempts and timeouts are those of its `retryOptions`. */
  readonly container: AzureContainer;
  /** The beginning of all keys, such as `agents/`. @default none */
  readonly prefix?: string;
}

/**
 * Creates a backend that stores blobs in a container of Azure Blob Storage. Keys are
 * `<prefix><algorithm>/<two digits>/<digest>`; a partition has the prefix `<prefix>@<name>/`.
 *
 * @throws TypeError for invalid options
 * @example
 * ```ts
 * // `container` is `BlobServiceClient.fromConnectionString(…).getContainerClient("blobs")`
 * const blobs = blobStore(azureBlobBackend({ container }));
 * const { ref } = await blobs.put(bytes);
 * ```
 */
export function azureBlobBackend({ container, prefix = "" }: AzureBlobsOptions): BlobBackend {
  if (typeof container?.getBlockBlobClient !== "function" || typeof container.listBlobsFlat !== "function")
    throw new TypeError(`container: expected a client of a container, got ${describe(container)}`);
  return objectBlobBackend(new AzureDriver(container), prefix);
}

class AzureDriver implements ObjectDriver {
  readonly location: string;
  readonly partBytes: number = 8 * 2 ** 20;
  /** Limits of Put Block and Put Block List (read 2026-11-28). */
  readonly maxPartBytes: number = 4000 * 2 ** 20;
  readonly maxParts = 50_000;
  readonly remaining = ["snapshots, versions and soft-deleted blobs", "uncommitted blocks, for a week"];
  readonly #container: AzureContainer;

  constructor(container: AzureContainer) {
    this.#container = container;
    this.location = `${container.url.split("?", 1)[0]}/`; // without the signature of a SAS
  }

  async head(key: string): Promise<ObjectHead | undefined> {
    const facts = await call(() => this.#blob(key).getProperties());
    return facts && headOf(key, facts);
  }

  async read(key: string, range: ObjectRange, etag?: string): Promise<ObjectBody | undefined> {
    const found = await call(() => this.#blob(key).download(range.offset, range.length, ifMatch(etag)));
    if (found === undefined) {
      // Of an empty blob no range can be had.
      const head = range.offset === 0 ? await this.head(key) : undefined;
      return head?.size === 0 ? { ...head, bytes: noChunks() } : undefined;
    }
    const size = Number(found.contentRange?.split("/")[1] ?? found.contentLength);
    const bytes = found.readableStreamBody as ObjectBody["bytes"];
    return { ...headOf(key, found, size), bytes };
  }

  /** Replaces an existing blob: that renews its time, and mends damage. */
  async put(key: string, bytes: Uint8Array): Promise<ObjectStat> {
    const facts = await call(() => this.#blob(key).upload(bytes, bytes.length));
    return headOf(key, facts, bytes.length);
  }

  /** Within the account. Onto itself it writes the metadata: each write has another ETag and time. */
  async copy(from: SeenObject, to: string, options: CopyOptions = {}): Promise<ObjectStat | false> {
    const { key, size, etag } = from;
    const source = this.#blob(key);
    const copying = call(async () => {
      if (key === to) return source.setMetadata({}, ifMatch(etag));
      const copy = await this.#blob(to).beginCopyFromURL(source.url, {
        ...(options.ifAbsent && { conditions: { ifNoneMatch: "*" } }),
        sourceConditions: { ifMatch: `"${etag}"` },
        intervalInMs: 200,
      });
      const copied = await copy.pollUntilDone();
      if (copied.copyStatus !== "success") throw new ObjectFailure("COPY_FAILED", String(copied.copyStatus));
      return copied;
    });
    const facts = await copying.catch(async (error: ObjectFailure) => {
      // The code of a source that is gone, and of one that may not be read.
      if (error.code !== "CannotVerifyCopySource" || (await this.head(key))?.etag === etag) throw error;
      return undefined;
    });
    return facts !== undefined && headOf(to, facts, size);
  }

  async delete(key: string, etag?: string): Promise<boolean> {
    const deleted = await call(() => this.#blob(key).delete(ifMatch(etag)));
    return deleted !== undefined || (await this.head(key)) === undefined;
  }

  async *list(prefix: string, signal?: AbortSignal): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    const options = { prefix, ...(signal !== undefined && { abortSignal: signal }) };
    try {
      for await (const { name, properties } of this.#container.listBlobsFlat(options))
        yield [headOf(name, properties)];
    } catch (error) {
      signal?.throwIfAborted();
      throw failureOf(error);
    }
  }

  async upload(key: string): Promise<ObjectUpload> {
    const blob = this.#blob(key);
    const id = (number: number) => btoa(String(number).padStart(6, "0")); // all of one length
    return {
      part: (number, bytes) => call(() => blob.stageBlock(id(number), bytes, bytes.length)),
      complete: async (count, size) => {
        const ids = Array.from({ length: count }, (_, at) => id(at + 1));
        return headOf(key, await call(() => blob.commitBlockList(ids)), size);
      },
      // No call drops blocks: Azure does after a week.
      abort: async () => undefined,
    };
  }

  #blob(key: string): Blobs {
    return this.#container.getBlockBlobClient(key);
  }
}

/** Codes of a blob that is absent, another one, or there against a condition. */
const refused = /^(BlobNotFound|(Source)?ConditionNotMet|BlobAlreadyExists|InvalidRange)$/;

/** Makes a call; undefined if it is refused with such a code. */
async function call<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    const failure = failureOf(error);
    if (refused.test(failure.code)) return undefined;
    throw failure;
  }
}

/** The failure of a `RestError`, with the code of Azure, or of the system. */
function failureOf(error: unknown): ObjectFailure {
  if (error instanceof ObjectFailure) return error;
  const { code, statusCode = 0, details, message } = Object(error);
  return new ObjectFailure(code || details?.errorCode || `HTTP_${statusCode}`, message, { cause: error });
}

/** Lists have ETags without quotes, replies with them. */
function headOf(key: string, facts: Facts = {}, size = facts.contentLength): ObjectHead {
  const [etag, modifiedAt] = [facts.etag?.replaceAll('"', ""), facts.lastModified?.getTime()];
  if (etag === undefined || modifiedAt === undefined || size === undefined)
    throw new ObjectFailure("BROKEN_REPLY", "the reply lacks a size, a time or an ETag");
  return { key, size, etag, version: etag, modifiedAt };
}

function ifMatch(etag: string | undefined): Conditional {
  return etag === undefined ? {} : { conditions: { ifMatch: `"${etag}"` } };
}
