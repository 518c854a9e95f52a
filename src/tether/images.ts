import { SessileError } from "../errors/index.js";
import { base64BytesAtMost, decodeBase64, padBase64 } from "../internal/base64.js";
import { tetherLimits } from "../limits/index.js";
import { type ImageMedia, sniff } from "../media/index.js";
import type { FrameImage } from "./check.js";
import type { TetherImage } from "./frame.js";
import {
  type Broken,
  imagesTooLarge,
  imageTooLarge,
  limitExceeded,
  tooManyImages,
  unsoundImage,
  unsupportedType,
} from "./limit-errors.js";

/**
 * The images of a payload, decoded, once all of them are within the limits.
 *
 * @param place where they stand, such as `payload.images`
 */
export function readImages(images: readonly TetherImage[], place: string): readonly FrameImage[] {
  assertWithinLimits(images);
  return images.map((image, index) => readImage(image, `${place}[${index}]`));
}

/** By the length of the base64: nothing is decoded for it. */
function assertWithinLimits(images: readonly TetherImage[]): void {
  // Alone, so that nothing below grows with what somebody sends.
  if (images.length > tetherLimits.maxImages) throw limitExceeded(tooManyImages(images.length));
  const broken: Broken[] = [];
  let total = 0;
  images.forEach(({ media_type, data }, index) => {
    const name = `images[${index}]`;
    const bytes = base64BytesAtMost(data);
    total += bytes;
    if (!isImageType(media_type)) broken.push(unsupportedType(media_type, index, name));
    if (bytes > tetherLimits.maxImageBytes) broken.push(imageTooLarge(bytes, index, name));
  });
  if (total > tetherLimits.maxFrameBytes) broken.push(imagesTooLarge(total, images.length));
  if (broken.length > 0) throw limitExceeded(...broken);
}

/** To the letter: what reads a frame compares. */
function isImageType(mediaType: string): boolean {
  return tetherLimits.imageTypes.some((type) => type === mediaType);
}

function readImage({ media_type, data }: TetherImage, place: string): FrameImage {
  const bytes = decodeBase64(padBase64(data));
  if (bytes === undefined) {
    const path = `${place}.data`;
    const expected = "base64 (RFC 4648 section 4), without a data URL's prefix";
    throw new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}`, {
      details: { path, expected },
    });
  }
  const media = sniff(bytes);
  if (media?.kind === "invalid") throw unsoundImage(media, `${place}: `);
  if (media?.kind === "image" && media.mediaType === media_type) return frameImage(media, bytes);
  const actual = media?.mediaType ?? "application/octet-stream";
  throw new SessileError("MEDIA_TYPE_MISMATCH", `${place}: said to be ${media_type}, and is ${actual}`, {
    details: { declared: media_type, actual },
  });
}

function frameImage({ mediaType, width, height }: ImageMedia, bytes: Uint8Array): FrameImage {
  return { mediaType, bytes, width, height };
}
