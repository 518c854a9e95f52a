/** Multipart uploads, and copies, which go by parts above 5 GB. */

import { encodeUtf8 } from "../../../core/bytes.js";
import type { SeenObject } from "../driver.js";
import { bodyHeaders, encodeKey, isChanged, readQuery, readSha256, S3Failure } from "./client.js";
import type { HeadStat, S3Objects } from "./objects.js";
import { childText, type XmlElement } from "./xml.js";

/** A multipart upload. Its key shows nothing until it is completed. */
export interface Upload {
  readonly key: string;
  readonly id: string;
}

/** A part of an upload that arrived. */
export interface UploadedPart {
  readonly number: number;
  readonly etag: string;
}

/** Limits of copies. S3 copies up to 5 GB at once (CopyObject and UploadPartCopy, read 2026-11-23). */
export interface CopyLimits {
  /** Above this size a copy goes by parts. */
  readonly maxCopyBytes: number;
  /** The size of these parts. */
  readonly copyPartBytes: number;
}

const awsLimits: CopyLimits = { maxCopyBytes: 5_000_000_000, copyPartBytes: 2 ** 30 };

/** Rounds of two attempts to complete an upload, each followed by a look. */
const maxCompletions = 4;

/** Parts of one upload (multipart upload limits of S3, read 2026-11-23). */
export const maxParts = 10_000;
/** Bytes of one part. */
export const maxPartBytes = 5 * 2 ** 30;

/** The multipart uploads of a bucket. */
export class S3Uploads {
  readonly #objects: S3Objects;
  readonly #limits: CopyLimits;

  constructor(objects: S3Objects, limits: CopyLimits = awsLimits) {
    this.#objects = objects;
    this.#limits = limits;
  }

  /** Starts an upload. */
  async create(key: string, metadata: Readonly<Record<string, string>> = {}): Promise<Upload> {
    const reply = await this.#objects.client.sendForXml(
      {
        operation: "put into",
        method: "POST",
        target: `/${encodeKey(key)}?uploads=`,
        headers: { "content-type": "application/octet-stream", ...metadata },
      },
      "InitiateMultipartUploadResult",
    );
    return { key, id: required(reply, "UploadId") };
  }

  /** Uploads a part. All but the last need 5 MiB. */
  async put(upload: Upload, number: number, bytes: Uint8Array): Promise<UploadedPart> {
    const etag = await this.#objects.client.send(
      {
        operation: "put into",
        method: "PUT",
        target: uploadTarget(upload, { partNumber: String(number) }),
        headers: bodyHeaders(await readSha256(bytes)),
        body: bytes,
      },
      [],
      ({ headers }) => headers.get("etag"),
    );
    if (!etag) throw new S3Failure(200, "BROKEN_REPLY", "put into: the part has no ETag");
    return { number, etag };
  }

  /**
   * Makes an object of the parts, and returns its ETag.
   *
   * @param isDone whether the object that has the key is this one: a server whose answer was lost has
   *   forgotten the upload when it is asked again
   */
  async complete(
    upload: Upload,
    parts: readonly UploadedPart[],
    isDone: (found: HeadStat) => boolean,
  ): Promise<string> {
    const rows = parts.map(
      ({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
    );
    const root = "CompleteMultipartUpload";
    const body = encodeUtf8(
      `<${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${rows.join("")}</${root}>`,
    );
    const request = {
      operation: "put into",
      method: "POST",
      target: uploadTarget(upload),
      headers: { "content-type": "application/xml", "x-amz-content-sha256": (await readSha256(body)).hex },
      body,
      attempts: 2,
    } as const;
    for (let round = 1; ; round++) {
      try {
        return required(await this.#objects.client.sendForXml(request, `${root}Result`), "ETag");
      } catch (error) {
        // NoSuchUpload of AWS, InternalError of radosgw: the first attempt may have been the successful one.
        if (!(error instanceof S3Failure)) throw error;
        const found = await this.#objects.head(upload.key);
        if (found !== undefined && isDone(found)) return found.etag;
        const canPass = error.status < 400 || error.status >= 500;
        if (!canPass || round === maxCompletions) throw error;
      }
    }
  }

  /** Drops an upload and its parts. */
  async abort(upload: Upload): Promise<void> {
    const request = { operation: "delete from", method: "DELETE", target: uploadTarget(upload) } as const;
    await this.#objects.client.send(request, [404], () => undefined);
  }

  /** The uploads below a prefix that are neither completed nor aborted, with the time of their start. */
  async *list(prefix: string): AsyncGenerator<Upload & { readonly startedAt: number }, void, undefined> {
    let marker: Record<string, string> = {};
    for (;;) {
      const query = new URLSearchParams({ uploads: "", prefix, ...marker });
      const page = await this.#objects.client.sendForXml(
        { operation: "list", method: "GET", target: `?${readQuery(query)}` },
        "ListMultipartUploadsResult",
      );
      for (const element of page.children) {
        if (element.name !== "Upload") continue;
        const startedAt = Date.parse(childText(element, "Initiated") ?? "");
        const upload = { key: required(element, "Key"), id: required(element, "UploadId"), startedAt };
        if (Number.isFinite(startedAt) && upload.key.startsWith(prefix)) yield upload;
      }
      if (childText(page, "IsTruncated") !== "true") return;
      const next = {
        "key-marker": required(page, "NextKeyMarker"),
        "upload-id-marker": childText(page, "NextUploadIdMarker") ?? "",
      };
      if (JSON.stringify(next) === JSON.stringify(marker)) throw endless();
      marker = next;
    }
  }

  /** The bytes of the parts of an upload. */
  async uploadBytes(upload: Upload): Promise<number> {
    let bytes = 0;
    let marker = "0";
    for (;;) {
      const page = await this.#objects.client.sendForXml(
        { operation: "list", method: "GET", target: uploadTarget(upload, { "part-number-marker": marker }) },
        "ListPartsResult",
      );
      for (const part of page.children) {
        if (part.name === "Part") bytes += Number(required(part, "Size"));
      }
      if (childText(page, "IsTruncated") !== "true") return bytes;
      const next = required(page, "NextPartNumberMarker");
      if (next === marker) throw endless();
      marker = next;
    }
  }

  /**
   * Copies an object as it was seen, with new metadata.
   *
   * @returns false if it is gone or another by now
   */
  async copy(source: SeenObject, to: string, touched: number): Promise<boolean> {
    const metadata = { "x-amz-meta-touched": String(touched) };
    const from = await this.#objects.copySource(source);
    try {
      if (source.size > this.#limits.maxCopyBytes) {
        await this.#copyByParts(from, source.size, to, touched);
        return true;
      }
      await this.#objects.client.sendForXml(
        {
          operation: "copy in",
          method: "PUT",
          target: `/${encodeKey(to)}`,
          headers: {
            ...from,
            ...metadata,
            "content-type": "application/octet-stream",
            "x-amz-metadata-directive": "REPLACE",
          },
        },
        "CopyObjectResult",
      );
      return true;
    } catch (error) {
      if (error instanceof S3Failure && isChanged(error)) return false;
      throw error;
    }
  }

  async #copyByParts(
    from: Readonly<Record<string, string>>,
    size: number,
    to: string,
    touched: number,
  ): Promise<void> {
    const upload = await this.create(to, { "x-amz-meta-touched": String(touched) });
    const partBytes = Math.max(this.#limits.copyPartBytes, Math.ceil(size / maxParts));
    try {
      const parts: UploadedPart[] = [];
      for (let at = 0; at < size; at += partBytes) {
        const number = parts.length + 1;
        const range = `bytes=${at}-${Math.min(size, at + partBytes) - 1}`;
        const reply = await this.#objects.client.sendForXml(
          {
            operation: "copy in",
            method: "PUT",
            target: uploadTarget(upload, { partNumber: String(number) }),
            headers: { ...from, "x-amz-copy-source-range": range },
          },
          "CopyPartResult",
        );
        parts.push({ number, etag: required(reply, "ETag") });
      }
      await this.complete(upload, parts, (found) => found.size === size && found.touched === touched);
    } catch (error) {
      await this.abort(upload).catch(() => undefined);
      throw error;
    }
  }
}

function uploadTarget({ key, id }: Upload, query: Readonly<Record<string, string>> = {}): string {
  return `/${encodeKey(key)}?${readQuery(new URLSearchParams({ ...query, uploadId: id }))}`;
}

function required(element: XmlElement, name: string): string {
  const text = childText(element, name);
  if (text) return text;
  throw new S3Failure(200, "BROKEN_REPLY", `the reply ${element.name} has no ${name}`);
}

function endless(): S3Failure {
  return new S3Failure(200, "BROKEN_REPLY", "list: the list does not end");
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
