import { type BlobStore, digest } from "../blobs/index.js";
import type { StoredResource } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { describe } from "../internal/arguments.js";
import { randomHex8 } from "../internal/ids.js";
import { type ImageMedia, mediaTypeOfName, sniff } from "../media/index.js";
import type { Gathered } from "./read-source.js";

/** The same, and what the bytes are. */
export interface Identified extends Gathered {
  readonly identity: Identity;
}

/** The most bytes of one resource, where nothing else is said. */
export const defaultMaxBytes: number = 64 << 20;

/** @throws TypeError for what cannot store bytes */
export function assertBlobs(blobs: unknown): void {
  if (typeof (blobs as Partial<BlobStore> | null | undefined)?.put === "function") return;
  throw new TypeError(`blobs: expected a blob store, got ${describe(blobs)}`);
}

/** @throws SessileError MEDIA_INVALID, MEDIA_TYPE_MISMATCH */
export function identified(piece: Gathered, mismatch: MismatchPolicy): Identified {
  const { bytes, name, declared } = piece;
  return { ...piece, identity: identify(bytes, { name, mediaType: declared?.mediaType }, mismatch) };
}

/** Stores bytes, and gives their resource. */
export async function store(
  piece: Identified,
  resourceId: string,
  options: {
    readonly blobs: Pick<BlobStore, "put">;
    readonly source?: "upload" | "tool" | "import";
    readonly signal?: AbortSignal;
  },
): Promise<StoredResource> {
  const { bytes, name, declared, uri, identity } = piece;
  const { mediaType } = identity;
  const { signal } = options;
  const { ref } = await options.blobs.put(bytes, { mediaType, ...(signal === undefined ? {} : { signal }) });
  const sha256 = ref.startsWith("sha256:") ? ref : digest(bytes);
  return {
    resourceId,
    kind: identity.kind,
    ...(name === undefined ? {} : { name }),
    mediaType,
    size: bytes.length,
    contentSha256: sha256.slice("sha256:".length),
    blob: ref,
    ...(identity.kind === "image" ? { width: identity.width, height: identity.height } : {}),
    source: options.source ?? "upload",
    ...(uri === undefined ? {} : { uri }),
    ...(declared === undefined ? {} : { declared }),
  };
}

/** What bytes are, as far as a resource says so. */
export type Identity =
  | Pick<ImageMedia, "kind" | "mediaType" | "width" | "height" | "animated">
  | { readonly kind: "file"; readonly mediaType: string };

/** The media type of bytes that are none of what is recognised: kept and described, never projected. */
export const unknownMediaType = "application/octet-stream";

/**
 * What to do with bytes that claim to be an image and are none: `refuse` them, or keep them as a `file`, which is never
 * sent as an image.
 */
export type MismatchPolicy = "refuse" | "file";

/**
 * What bytes are, by the bytes, held against what a name and a sender claim. Of an image of another image type the bytes
 * are believed, and the claim is no error.
 *
 * @throws SessileError MEDIA_INVALID, MEDIA_TYPE_MISMATCH
 */
export function identify(
  bytes: Uint8Array,
  { name = "", mediaType }: { readonly name?: string | undefined; readonly mediaType?: string | undefined },
  mismatch: MismatchPolicy,
): Identity {
  const media = sniff(bytes);
  if (media?.kind === "image") {
    const { kind, mediaType: actual, width, height, animated } = media;
    return { kind, mediaType: actual, width, height, animated };
  }
  if (media?.kind === "invalid") {
    if (mismatch === "file") return { kind: "file", mediaType: unknownMediaType };
    const { mediaType: begins, reason } = media;
    throw new SessileError("MEDIA_INVALID", `begins as ${begins} and is none: ${reason}`, {
      details: { mediaType: begins, reason },
    });
  }
  const actual = media?.mediaType ?? unknownMediaType;
  const claim = [mediaType, mediaTypeOfName(name)].find(isRecognisable);
  if (claim === undefined || mismatch === "file") return { kind: "file", mediaType: actual };
  throw new SessileError("MEDIA_TYPE_MISMATCH", `said to be ${claim}, and is ${actual}`, {
    details: { declared: claim, actual },
  });
}

/** Only where the bytes of a type are known can they contradict the claim: of SVG or HEIC nothing is known. */
function isRecognisable(mediaType: string | undefined): mediaType is string {
  return mediaType !== undefined && /^image\/(?:png|jpe?g|gif|webp)$/.test(mediaType);
}

/** `res_` and 16 random hexadecimal digits. */
export function newResourceId(): string {
  return `res_${randomHex8()}${randomHex8()}`;
}

/** An id from a caller's source; a TypeError says what it should have been. */
export function resourceIdFrom(newId: (() => string) | undefined): string {
  if (newId === undefined) return newResourceId();
  const id = newId();
  if (typeof id === "string" && /^res_[0-9a-f]{16}$/.test(id)) return id;
  throw new TypeError(`newId: expected "res_" and 16 hexadecimal digits, got ${describe(id)}`);
}
