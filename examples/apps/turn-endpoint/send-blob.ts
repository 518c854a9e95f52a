import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { BlobStore } from "sessile/blobs";
import type { BlobRef } from "sessile/content";
import { sniff } from "sessile/media";
import { commonHeaders } from "./answer.js";
import { HttpFailure } from "./http-failure.js";
import { oneByOne } from "./one-by-one.js";

/** Sends a blob: what it is, by its bytes, is found out once, and then it is never held whole for a client that reads slowly. */
export type SendBlob = (response: ServerResponse, ref: BlobRef) => Promise<void>;

/** More is not sent to a page. */
const maxBytes = 64 * 2 ** 20;

/** A {@link SendBlob} for a store. */
export function blobSender(blobs: Pick<BlobStore, "get" | "stat" | "stream">): SendBlob {
  const types = new Map<BlobRef, string>();
  const inTurn = oneByOne();
  const typeOf = async (ref: BlobRef): Promise<string> => {
    const bytes = await blobs.get(ref);
    if (bytes === undefined) throw notFound();
    const media = sniff(bytes);
    return media === undefined || media.kind === "invalid"
      ? "application/octet-stream"
      : media.kind === "text"
        ? `${media.mediaType}; charset=utf-8`
        : media.mediaType;
  };
  return async (response, ref) => {
    const stat = await blobs.stat(ref);
    if (stat === undefined || stat.size > maxBytes) throw notFound();
    const type = types.get(ref) ?? (await inTurn(() => typeOf(ref)));
    types.set(ref, type);
    const chunks = await blobs.stream(ref);
    if (chunks === undefined) throw notFound();
    response.writeHead(200, {
      ...commonHeaders,
      // What has this name has these bytes for ever.
      "cache-control": "private, max-age=31536000, immutable",
      "content-type": type,
      "content-length": stat.size,
      "content-security-policy": "default-src 'none'; sandbox",
    });
    await pipeline(chunks, response);
  };
}

/** A blob that is not there. */
export function notFound(): HttpFailure {
  return new HttpFailure(404, { code: "NOT_FOUND", message: "this session has no such blob" });
}
