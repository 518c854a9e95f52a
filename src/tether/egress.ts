import { readPayload } from "../attachments/internal.js";
import type { BlobStore } from "../blobs/index.js";
import type { ImageBlock, Resource } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { decodeBase64, padBase64 } from "../internal/base64.js";
import { encodeBase64 } from "../internal/encode-base64.js";
import { tetherLimits } from "../limits/index.js";
import { type ImageMediaType, sniff } from "../media/index.js";
import type { TetherImage } from "./frame.js";

/** What can go out as an image: a resource, or an image that is inline in a message. */
export type OutgoingImage = Resource | ImageBlock;

/**
 * Why an image is not in a frame. `missing`: its bytes are not stored. `corrupt`: they are not what their name says, or are no
 * base64. `link`: it was never fetched. `mediaType`: it is none of the images that a frame takes. `imageBytes`, `frameBytes`,
 * `imageCount`: the limit that it is over, alone or together with those before it.
 */
export type LeftReason =
  | "missing"
  | "corrupt"
  | "link"
  | "mediaType"
  | "imageBytes"
  | "frameBytes"
  | "imageCount";

/** Images for a frame, and those that could not be. */
export interface OutgoingImages {
  /** In the order in which they were given. */
  readonly images: readonly TetherImage[];
  /** In the order in which they were given. */
  readonly left: readonly { readonly image: OutgoingImage; readonly reason: LeftReason }[];
}

/** Options of {@link outgoingImages}. */
export interface OutgoingOptions {
  readonly blobs: Pick<BlobStore, "get">;
  readonly signal?: AbortSignal;
}

/**
 * The bytes of images as images of a frame, within its limits: in the order in which they are given each that still fits, so that
 * a small one behind one that is too large goes. A blob, or base64, that is there twice goes once. Their type is what they are,
 * whatever the descriptor says. What is left out is told, and never an error: an answer is not lost for an image. One that is over
 * a limit by its descriptor alone is not read.
 *
 * @throws SessileError what the store throws, besides BLOB_CORRUPT; the signal's reason
 * @throws TypeError for images that are no array
 * @example
 * ```ts
 * const { images, left } = await outgoingImages([screenshot], { blobs });
 * const frame = assistantDone({ channel: "mcp", id: "default" }, "As it is now.", images);
 * ```
 */
export async function outgoingImages(
  images: readonly OutgoingImage[],
  options: OutgoingOptions,
): Promise<OutgoingImages> {
  if (!Array.isArray(images)) throw new TypeError(`images: expected an array, got ${describe(images)}`);
  return imagesWithin(images, options, tetherLimits.maxWireBytes);
}

/**
 * {@link outgoingImages} that are no longer than this on the wire.
 *
 * @param wireBytes of base64
 */
export async function imagesWithin(
  given: readonly OutgoingImage[],
  options: OutgoingOptions,
  wireBytes: number,
): Promise<OutgoingImages> {
  const images: TetherImage[] = [];
  const left: { image: OutgoingImage; reason: LeftReason }[] = [];
  const seen = new Set<string>();
  let bytes = Math.min(tetherLimits.maxFrameBytes, Math.floor(wireBytes / 4) * 3);
  for (const image of given) {
    options.signal?.throwIfAborted();
    const name = nameOf(image);
    if (seen.has(name)) continue;
    seen.add(name);
    const found = await read(image, { images: tetherLimits.maxImages - images.length, bytes }, options);
    if (typeof found === "string") left.push({ image, reason: found });
    else {
      bytes -= found.bytes.length;
      images.push({ media_type: found.mediaType, data: encodeBase64(found.bytes) });
    }
  }
  return { images, left };
}

function nameOf(image: OutgoingImage): string {
  if ("data" in image) return image.data;
  return image.kind === "link" ? image.resourceId : image.blob;
}

interface ReadImage {
  readonly mediaType: ImageMediaType;
  readonly bytes: Uint8Array;
}

async function read(
  image: OutgoingImage,
  room: Room,
  { blobs, signal }: OutgoingOptions,
): Promise<ReadImage | LeftReason> {
  const inline = "data" in image;
  if (!inline && image.kind === "link") return "link";
  // What was kept as a file is none of these images, or is not to be shown as one.
  if (!inline && image.kind === "file") return "mediaType";
  // As far as it can be told without the bytes.
  const early = refusal(inline ? Math.floor((image.data.length * 3) / 4) - 2 : image.size, room);
  if (early !== undefined) return early;
  const bytes = inline
    ? (decodeBase64(padBase64(image.data)) ?? "corrupt")
    : await readPayload(blobs, image.blob, signal);
  if (typeof bytes === "string") return bytes;
  const media = sniff(bytes);
  if (media?.kind !== "image") return "mediaType";
  return refusal(bytes.length, room) ?? { mediaType: media.mediaType, bytes };
}

/** What a frame still has room for. */
interface Room {
  readonly images: number;
  readonly bytes: number;
}

function refusal(bytes: number, room: Room): LeftReason | undefined {
  if (room.images === 0) return "imageCount";
  if (bytes > tetherLimits.maxImageBytes) return "imageBytes";
  return bytes > room.bytes ? "frameBytes" : undefined;
}
