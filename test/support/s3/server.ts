import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { signatureFault } from "./signature.js";

/**
 * A small S3 in memory, on 127.0.0.1: one bucket, strict about signatures, conditions, checksums and parts.
 * Replies have the shapes of AWS's documentation of each operation (API reference of S3, read 2026-11-23).
 */

/** How this server differs from AWS, as other stores do. */
export interface S3ServerOptions {
  /** `If-None-Match` and `If-Match` of writes: honoured, ignored, or answered by 501. @default "honoured" */
  readonly conditions?: "honoured" | "ignored" | "refused";
  /** Whether checksums are kept and told, or answered by 501. @default true */
  readonly checksums?: boolean | "refused";
  /** Keys of a page of a list. @default 1000 */
  readonly pageKeys?: number;
  /** The least bytes of a part that is not the last. @default 5 MiB */
  readonly minPartBytes?: number;
  /** The most bytes that one copy takes. @default 5 GB */
  readonly maxCopyBytes?: number;
  /** Milliseconds that the server's clock is ahead. @default 0 */
  readonly aheadMs?: number;
  /** Whether deleted and replaced objects are kept as old versions. @default false */
  readonly versioned?: boolean;
}

/** An object. */
export interface S3Object {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly modifiedAt: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly sha256: string | undefined;
}

interface Upload {
  readonly key: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly startedAt: number;
  readonly parts: Map<number, { readonly bytes: Buffer; readonly etag: string }>;
}

/** A request that arrived, for tests that count or judge them. */
export interface SeenRequest {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
}

/** A running server. */
export interface S3Server {
  /** The bucket in path style. */
  readonly url: string;
  readonly objects: Map<string, S3Object>;
  readonly uploads: ReadonlyMap<string, Upload>;
  readonly requests: SeenRequest[];
  /** Old versions and delete markers, of a versioned bucket. */
  readonly versions: { readonly key: string; readonly bytes: Buffer | undefined }[];
  /** Answers the next requests that match itself: returns true if it did. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Loses the answer of the next write, after it took effect. */
  loseAnswer(): void;
  /** Stores bytes under a key, as another program would. */
  damage(key: string, bytes: Uint8Array): void;
  close(): Promise<void>;
}

class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(code);
  }
}

const bucket = "blobs";
const xmlns = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
const md5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");
const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();
const escapeXml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const iso = (ms: number): string => new Date(ms).toISOString();

/** Starts a server. Its lists and HEAD replies have whole seconds, as those of AWS. */
export async function startS3Server(options: S3ServerOptions = {}): Promise<S3Server> {
  const { conditions = "honoured", checksums = true, pageKeys = 1000, aheadMs = 0 } = options;
  const { minPartBytes = 5 * 2 ** 20, maxCopyBytes = 5_000_000_000, versioned = false } = options;
  const objects = new Map<string, S3Object>();
  const uploads = new Map<string, Upload>();
  const requests: SeenRequest[] = [];
  let losses = 0;
  const versions: { key: string; bytes: Buffer | undefined }[] = [];
  const now = (): number => Date.now() + aheadMs;
  const second = (): number => Math.floor(now() / 1000) * 1000;

  const replace = (key: string, object: S3Object | undefined): void => {
    const old = objects.get(key);
    if (versioned && old !== undefined) versions.push({ key, bytes: old.bytes });
    if (object !== undefined) objects.set(key, object);
    else objects.delete(key);
  };
  const checkWrite = (key: string, headers: IncomingMessage["headers"]): void => {
    const [match, noneMatch] = [headers["if-match"], headers["if-none-match"]];
    if (match === undefined && noneMatch === undefined) return;
    if (conditions === "refused") throw new Refusal(501, "NotImplemented");
    if (conditions === "ignored") return;
    const found = objects.get(key);
    if (noneMatch !== undefined && noneMatch !== "*") throw new Refusal(501, "NotImplemented");
    if (noneMatch === "*" && found !== undefined) throw new Refusal(412, "PreconditionFailed");
    if (match !== undefined && found === undefined) throw new Refusal(404, "NoSuchKey");
    if (match !== undefined && match !== found?.etag) throw new Refusal(412, "PreconditionFailed");
  };
  const checkBody = (body: Buffer, headers: IncomingMessage["headers"]): string | undefined => {
    const digest = sha256(body);
    const content = headers["x-amz-content-sha256"];
    if (content === undefined) throw new Refusal(400, "MissingSecurityHeader");
    if (content !== "UNSIGNED-PAYLOAD" && content !== digest.toString("hex")) {
      throw new Refusal(400, "XAmzContentSHA256Mismatch");
    }
    const declared = headers["x-amz-checksum-sha256"];
    if (declared === undefined) return undefined;
    if (checksums === "refused") throw new Refusal(501, "NotImplemented");
    if (declared !== digest.toString("base64")) throw new Refusal(400, "BadDigest");
    return digest.toString("base64");
  };
  const metadataOf = (headers: IncomingMessage["headers"]): Record<string, string> =>
    Object.fromEntries(
      Object.entries(headers)
        .filter(([name]) => name.startsWith("x-amz-meta-") || name === "content-type")
        .map(([name, value]) => [name, String(value)]),
    );
  const sourceOf = (headers: IncomingMessage["headers"]): { key: string; object: S3Object } => {
    const source = decodeURIComponent(String(headers["x-amz-copy-source"])).replace(/^\//, "");
    if (!source.startsWith(`${bucket}/`)) throw new Refusal(404, "NoSuchBucket");
    const key = source.slice(bucket.length + 1);
    const object = objects.get(key);
    if (object === undefined) throw new Refusal(404, "NoSuchKey");
    const match = headers["x-amz-copy-source-if-match"];
    if (match !== undefined && match !== object.etag) throw new Refusal(412, "PreconditionFailed");
    return { key, object };
  };
  const uploadOf = (key: string, id: string): Upload => {
    const upload = uploads.get(id);
    if (upload === undefined || upload.key !== key) throw new Refusal(404, "NoSuchUpload");
    return upload;
  };

  const list = (query: URLSearchParams): string => {
    const prefix = query.get("prefix") ?? "";
    const after = Buffer.from(query.get("continuation-token") ?? "", "base64").toString();
    const max = Math.min(pageKeys, Number(query.get("max-keys") ?? 1000));
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = keys.slice(0, max);
    const isTruncated = max > 0 && keys.length > page.length;
    const token = Buffer.from(page.at(-1) ?? "").toString("base64");
    const rows = page.map((key) => {
      const { etag, bytes, modifiedAt } = objects.get(key) as S3Object;
      return `<Contents><Key>${escapeXml(key)}</Key><LastModified>${iso(modifiedAt)}</LastModified><ETag>${escapeXml(etag)}</ETag><Size>${bytes.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`;
    });
    const next = isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : "";
    return `<ListBucketResult ${xmlns}><Name>${bucket}</Name><Prefix>${escapeXml(prefix)}</Prefix><KeyCount>${page.length}</KeyCount><MaxKeys>${max}</MaxKeys><IsTruncated>${isTruncated}</IsTruncated>${rows.join("")}${next}</ListBucketResult>`;
  };
  const listUploads = (query: URLSearchParams): string => {
    const prefix = query.get("prefix") ?? "";
    const marker = query.get("key-marker") ?? "";
    const found = [...uploads].filter(([, { key }]) => key.startsWith(prefix) && key > marker);
    found.sort(([, a], [, b]) => (a.key < b.key ? -1 : 1));
    const page = found.slice(0, pageKeys);
    const rows = page.map(
      ([id, { key, startedAt }]) =>
        `<Upload><Key>${escapeXml(key)}</Key><UploadId>${id}</UploadId><Initiator><ID>1</ID></Initiator><StorageClass>STANDARD</StorageClass><Initiated>${iso(startedAt)}</Initiated></Upload>`,
    );
    const last = page.at(-1);
    const next =
      last === undefined
        ? ""
        : `<NextKeyMarker>${escapeXml(last[1].key)}</NextKeyMarker><NextUploadIdMarker>${last[0]}</NextUploadIdMarker>`;
    return `<ListMultipartUploadsResult ${xmlns}><Bucket>${bucket}</Bucket>${next}<IsTruncated>${found.length > page.length}</IsTruncated>${rows.join("")}</ListMultipartUploadsResult>`;
  };

  const put = (key: string, body: Buffer, headers: IncomingMessage["headers"]): void => {
    checkWrite(key, headers);
    const checksum = checkBody(body, headers);
    replace(key, {
      bytes: body,
      etag: `"${md5(body)}"`,
      modifiedAt: second(),
      metadata: metadataOf(headers),
      sha256: checksums === true ? checksum : undefined,
    });
  };
  const copy = (key: string, headers: IncomingMessage["headers"]): string => {
    const source = sourceOf(headers);
    const isReplaced = headers["x-amz-metadata-directive"] === "REPLACE";
    if (source.key === key && !isReplaced) throw new Refusal(400, "InvalidRequest");
    if (source.object.bytes.length > maxCopyBytes) throw new Refusal(400, "InvalidRequest");
    checkWrite(key, headers);
    const { bytes, metadata } = source.object;
    const object = {
      bytes,
      etag: source.object.etag.includes("-") ? `"${md5(bytes)}"` : source.object.etag,
      modifiedAt: second(),
      metadata: isReplaced ? metadataOf(headers) : metadata,
      sha256: source.object.sha256,
    };
    replace(key, object);
    return `<CopyObjectResult ${xmlns}><LastModified>${iso(object.modifiedAt)}</LastModified><ETag>${escapeXml(object.etag)}</ETag></CopyObjectResult>`;
  };
  const putPart = (upload: Upload, query: URLSearchParams, body: Buffer): string => {
    const number = Number(query.get("partNumber"));
    if (!(number >= 1 && number <= 10_000)) throw new Refusal(400, "InvalidArgument");
    const etag = `"${md5(body)}"`;
    upload.parts.set(number, { bytes: body, etag });
    return etag;
  };
  const copyPart = (upload: Upload, query: URLSearchParams, headers: IncomingMessage["headers"]): string => {
    const { object } = sourceOf(headers);
    const range = /^bytes=(\d+)-(\d+)$/.exec(String(headers["x-amz-copy-source-range"]));
    if (range === null || Number(range[2]) >= object.bytes.length) throw new Refusal(400, "InvalidArgument");
    const bytes = object.bytes.subarray(Number(range[1]), Number(range[2]) + 1);
    if (bytes.length > maxCopyBytes) throw new Refusal(400, "InvalidRequest");
    const etag = putPart(upload, query, bytes);
    return `<CopyPartResult ${xmlns}><LastModified>${iso(second())}</LastModified><ETag>${escapeXml(etag)}</ETag></CopyPartResult>`;
  };
  const complete = (id: string, upload: Upload, body: string): string => {
    const named = [...body.matchAll(/<Part><PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag><\/Part>/g)];
    if (named.length === 0) throw new Refusal(400, "MalformedXML");
    let before = 0;
    const parts = named.map(([, number, etag], index) => {
      const part = upload.parts.get(Number(number));
      if (part === undefined || part.etag !== etag?.replaceAll("&quot;", '"'))
        throw new Refusal(400, "InvalidPart");
      if (Number(number) <= before) throw new Refusal(400, "InvalidPartOrder");
      before = Number(number);
      if (index < named.length - 1 && part.bytes.length < minPartBytes)
        throw new Refusal(400, "EntityTooSmall");
      return part;
    });
    const bytes = Buffer.concat(parts.map((part) => part.bytes));
    const etag = `"${md5(Buffer.concat(parts.map(({ etag: one }) => Buffer.from(one.slice(1, -1), "hex"))))}-${parts.length}"`;
    replace(upload.key, {
      bytes,
      etag,
      modifiedAt: Math.floor(upload.startedAt / 1000) * 1000,
      metadata: upload.metadata,
      sha256: undefined,
    });
    uploads.delete(id);
    return `<CompleteMultipartUploadResult ${xmlns}><Location>${escapeXml(upload.key)}</Location><Bucket>${bucket}</Bucket><Key>${escapeXml(upload.key)}</Key><ETag>${escapeXml(etag)}</ETag></CompleteMultipartUploadResult>`;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url as string, "http://host");
    const [, first, ...rest] = url.pathname.split("/").map(decodeURIComponent);
    const key = rest.join("/");
    const { headers } = request;
    const method = request.method as string;
    const query = url.searchParams;
    requests.push({ method, key, query, headers });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);

    const send = (status: number, xml = "", more: Record<string, string> = {}): void => {
      if (status === 200 && losses > 0 && (method === "PUT" || method === "POST")) {
        losses--;
        return void response.destroy();
      }
      const text = xml === "" ? "" : `<?xml version="1.0" encoding="UTF-8"?>\n${xml}`;
      const type = xml === "" ? {} : { "content-type": "application/xml" };
      response.writeHead(status, {
        date: new Date(now()).toUTCString(),
        "content-length": Buffer.byteLength(text),
        "x-amz-request-id": "1",
        ...type,
        ...more,
      });
      response.end(method === "HEAD" ? "" : text);
    };
    try {
      const fault = signatureFault(request);
      if (fault !== undefined) throw new Refusal(403, fault);
      if (first !== bucket) throw new Refusal(404, "NoSuchBucket");
      const uploadId = query.get("uploadId");
      if (key === "") {
        if (method !== "GET") throw new Refusal(405, "MethodNotAllowed");
        if (query.has("uploads")) return send(200, listUploads(query));
        if (query.get("list-type") === "2") return send(200, list(query));
        throw new Refusal(501, "NotImplemented");
      }
      if (method === "POST" && query.has("uploads")) {
        const id = randomUUID();
        uploads.set(id, { key, metadata: metadataOf(headers), startedAt: now(), parts: new Map() });
        return send(
          200,
          `<InitiateMultipartUploadResult ${xmlns}><Bucket>${bucket}</Bucket><Key>${escapeXml(key)}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
        );
      }
      if (uploadId !== null) {
        const upload = uploadOf(key, uploadId);
        if (method === "PUT") {
          // The upload was made without an algorithm.
          if (headers["x-amz-checksum-sha256"] !== undefined) throw new Refusal(400, "InvalidRequest");
          if (headers["x-amz-copy-source"] !== undefined) return send(200, copyPart(upload, query, headers));
          checkBody(body, headers);
          return send(200, "", { etag: putPart(upload, query, body) });
        }
        if (method === "POST") {
          checkBody(body, headers);
          return send(200, complete(uploadId, upload, body.toString()));
        }
        if (method === "DELETE") {
          uploads.delete(uploadId);
          return send(204);
        }
        const rows = [...upload.parts].map(
          ([number, { bytes, etag }]) =>
            `<Part><PartNumber>${number}</PartNumber><LastModified>${iso(second())}</LastModified><ETag>${escapeXml(etag)}</ETag><Size>${bytes.length}</Size></Part>`,
        );
        return send(
          200,
          `<ListPartsResult ${xmlns}><Bucket>${bucket}</Bucket><Key>${escapeXml(key)}</Key><UploadId>${uploadId}</UploadId><IsTruncated>false</IsTruncated>${rows.join("")}</ListPartsResult>`,
        );
      }
      if (method === "PUT") {
        if (headers["x-amz-copy-source"] !== undefined) return send(200, copy(key, headers));
        put(key, body, headers);
        return send(200, "", { etag: (objects.get(key) as S3Object).etag });
      }
      if (method === "DELETE") {
        checkWrite(key, headers);
        if (versioned) versions.push({ key, bytes: undefined });
        replace(key, undefined);
        return send(204);
      }
      if (method !== "GET" && method !== "HEAD") throw new Refusal(405, "MethodNotAllowed");
      const object = objects.get(key);
      if (object === undefined) throw new Refusal(404, "NoSuchKey");
      if (headers["if-match"] !== undefined && headers["if-match"] !== object.etag) {
        throw new Refusal(412, "PreconditionFailed");
      }
      const { bytes, etag, modifiedAt, metadata } = object;
      const told: Record<string, string> = {
        date: new Date(now()).toUTCString(),
        etag,
        "last-modified": new Date(modifiedAt).toUTCString(),
        "accept-ranges": "bytes",
        ...metadata,
      };
      if (object.sha256 !== undefined && headers["x-amz-checksum-mode"] === "ENABLED") {
        told["x-amz-checksum-sha256"] = object.sha256;
        told["x-amz-checksum-type"] = object.sha256.includes("-") ? "COMPOSITE" : "FULL_OBJECT";
      }
      const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "");
      if (range !== null && method === "GET") {
        const from = Number(range[1]);
        const to = Math.min(bytes.length - 1, range[2] === "" ? Number.POSITIVE_INFINITY : Number(range[2]));
        if (from >= bytes.length) throw new Refusal(416, "InvalidRange");
        told["content-range"] = `bytes ${from}-${to}/${bytes.length}`;
        response.writeHead(206, { ...told, "content-length": to - from + 1 });
        response.end(bytes.subarray(from, to + 1));
        return;
      }
      response.writeHead(200, { ...told, "content-length": bytes.length });
      response.end(method === "HEAD" ? undefined : bytes);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      send(
        error.status,
        `<Error><Code>${error.code}</Code><Message>refused by the test server</Message><RequestId>1</RequestId></Error>`,
      );
    }
  };

  const server = createServer((request, response) => {
    if (running.intercept?.(request, response)) return;
    answer(request, response).catch((error) => response.destroy(error));
  });
  // Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const running: S3Server = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${bucket}`,
    objects,
    uploads,
    requests,
    versions,
    intercept: undefined,
    loseAnswer() {
      losses++;
    },
    damage(key, bytes) {
      const body = Buffer.from(bytes);
      const before = objects.get(key);
      if (before === undefined) throw new Error(`no object ${key}`);
      objects.set(key, { ...before, bytes: body, etag: `"${md5(body)}"`, sha256: undefined });
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return running;
}
