/** Operations on the objects of a bucket: HEAD, PUT, copy, DELETE and lists. */

import type { ObjectStat, SeenObject } from "../driver.js";
import {
  BrokenReply,
  bodyHeaders,
  encodeKey,
  readQuery,
  type S3Client,
  S3Failure,
  type S3Request,
  type Sha256,
} from "./client.js";
import { childText, type XmlElement } from "./xml.js";

/** Facts that a HEAD gives. */
export interface HeadStat extends ObjectStat {
  /** `x-amz-meta-touched`: the time of the last put or touch, as the writer knew it. */
  readonly touched: number | undefined;
  /** The SHA-256 of the whole object in base64, if the server keeps it and was asked. */
  readonly sha256: string | undefined;
}

/** The objects of a bucket. */
export class S3Objects {
  readonly client: S3Client;
  #bucket: string | undefined;
  /** False after the server refused `If-Match` with a deletion. */
  #deletesIfMatch = true;
  /** False after the server refused a checksum that it should keep. */
  #takesChecksums = true;

  /** @param bucket the name of the bucket, if the URL tells it */
  constructor(client: S3Client, bucket: string | undefined) {
    this.client = client;
    this.#bucket = bucket;
  }

  /**
   * The facts of an object, or undefined.
   *
   * @param options.withChecksum asks for the SHA-256 that the server keeps
   * @param options.isFollowed the caller writes to the bucket next, which shows if there is one
   */
  async head(
    key: string,
    options: { readonly withChecksum?: boolean; readonly isFollowed?: boolean } = {},
  ): Promise<HeadStat | undefined> {
    const request: S3Request = {
      operation: "look into",
      method: "HEAD",
      target: `/${encodeKey(key)}`,
      headers: options.withChecksum ? { "x-amz-checksum-mode": "ENABLED" } : {},
    };
    const found = await this.client.send(request, [404], ({ ok, headers }) =>
      ok ? statByKey(key, headers) : undefined,
    );
    // A HEAD has no body that tells an absent bucket from an absent key.
    if (found === undefined && !options.isFollowed && !this.client.isBucketProved) await this.prove(key);
    return found;
  }

  /**
   * Proves that there is a bucket, and returns its name.
   *
   * @param prefix of the list that is asked for: a policy may allow no other
   */
  async prove(prefix: string): Promise<string> {
    const name = childText(await this.#page(prefix, 0), "Name");
    if (name) return name;
    throw new S3Failure(200, "BROKEN_REPLY", "list: the reply does not name the bucket");
  }

  /**
   * Stores bytes under a key.
   *
   * @returns false if there is an object already, with `ifAbsent`; "unsupported" if the server refuses that
   */
  async put(
    key: string,
    body: Uint8Array,
    options: {
      readonly sha256: Sha256;
      readonly touched: number;
      readonly ifAbsent: boolean;
    },
  ): Promise<boolean | "unsupported"> {
    const hasChecksum = this.#takesChecksums;
    const request: S3Request = {
      operation: "put into",
      method: "PUT",
      target: `/${encodeKey(key)}`,
      headers: {
        ...bodyHeaders(options.sha256),
        ...(hasChecksum ? { "x-amz-checksum-sha256": options.sha256.base64 } : {}),
        "x-amz-meta-touched": String(options.touched),
        ...(options.ifAbsent ? { "if-none-match": "*" } : {}),
      },
      body,
    };
    const others = options.ifAbsent ? [412, 501] : hasChecksum ? [501] : [];
    const status = await this.client.send(request, others, (response) => response.status);
    if (status !== 501) return status !== 412;
    if (options.ifAbsent) return "unsupported";
    this.#takesChecksums = false;
    return this.put(key, body, options);
  }

  /** The headers of a request that copies an object as it was seen. */
  async copySource({ key, etag }: SeenObject): Promise<Record<string, string>> {
    // The bucket's own host does not always tell its name: a list does.
    this.#bucket ??= await this.prove(key);
    return {
      "x-amz-copy-source": `/${encodeURIComponent(this.#bucket)}/${encodeKey(key)}`,
      "x-amz-copy-source-if-match": etag,
    };
  }

  /**
   * Deletes an object.
   *
   * @param etag the object that was seen; another one stays, if the server compares
   * @returns false if another one stayed
   */
  async delete(key: string, etag?: string): Promise<boolean> {
    const isConditional = etag !== undefined && this.#deletesIfMatch;
    const request: S3Request = {
      operation: "delete from",
      method: "DELETE",
      target: `/${encodeKey(key)}`,
      headers: isConditional ? { "if-match": etag } : {},
    };
    const others = isConditional ? [404, 412, 501] : [404];
    const status = await this.client.send(request, others, (response) => response.status);
    if (status !== 501) return status !== 412;
    this.#deletesIfMatch = false;
    return this.delete(key);
  }

  /** The objects below a prefix, in pages of the server. */
  async *list(prefix: string, signal?: AbortSignal): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    let token: string | undefined;
    let emptyPages = 0;
    do {
      const page = await this.#page(prefix, undefined, token, signal);
      const objects = page.children.filter(({ name }) => name === "Contents").map(listedObject);
      const isTruncated = childText(page, "IsTruncated") === "true";
      const next = isTruncated ? childText(page, "NextContinuationToken") : undefined;
      emptyPages = objects.length === 0 ? emptyPages + 1 : 0;
      if (next !== undefined && (next === token || emptyPages > maxEmptyPages)) {
        throw new S3Failure(200, "BROKEN_REPLY", "list: the list does not end");
      }
      // Without the token, as in ListObjects version 1, a part would pass for the whole list.
      if (isTruncated && !next) {
        throw new S3Failure(200, "BROKEN_REPLY", "list: a truncated list has no NextContinuationToken");
      }
      token = next;
      yield objects;
    } while (token !== undefined);
  }

  async #page(
    prefix: string,
    maxKeys: number | undefined,
    token?: string,
    signal?: AbortSignal,
  ): Promise<XmlElement> {
    const query = new URLSearchParams({ "list-type": "2", prefix });
    if (maxKeys !== undefined) query.set("max-keys", String(maxKeys));
    if (token !== undefined) query.set("continuation-token", token);
    return this.client.sendForXml(
      { operation: "list", method: "GET", target: `?${readQuery(query)}`, signal },
      "ListBucketResult",
    );
  }
}

/** Pages without a key in a row: more are a list without an end. */
const maxEmptyPages = 1000;

function statByKey(key: string, headers: Headers): HeadStat {
  const size = Number(headers.get("content-length") ?? Number.NaN);
  const modifiedAt = Date.parse(headers.get("last-modified") ?? "");
  const etag = headers.get("etag");
  if (!Number.isSafeInteger(size) || size < 0 || !Number.isFinite(modifiedAt) || !etag) {
    throw new BrokenReply("the reply lacks a size, a time or an ETag");
  }
  const touched = headers.get("x-amz-meta-touched") ?? "";
  const isWhole = headers.get("x-amz-checksum-type") !== "COMPOSITE";
  const sha256 = headers.get("x-amz-checksum-sha256");
  return {
    key,
    size,
    etag,
    modifiedAt,
    touched: /^\d{1,15}$/.test(touched) ? Number(touched) : undefined,
    sha256: isWhole && sha256 !== null && !sha256.includes("-") ? sha256 : undefined,
  };
}

function listedObject(element: XmlElement): ObjectStat {
  const size = Number(childText(element, "Size") || Number.NaN);
  const modifiedAt = Date.parse(childText(element, "LastModified") ?? "");
  const [key, etag] = [childText(element, "Key"), childText(element, "ETag")];
  if (!key || !etag || !Number.isSafeInteger(size) || size < 0 || !Number.isFinite(modifiedAt)) {
    throw new S3Failure(200, "BROKEN_REPLY", "list: an object lacks a key, a size, a time or an ETag");
  }
  return { key, size, etag, modifiedAt };
}
