import { essenceOf, typeOf } from "../internal/media-types.js";
import { type Media, sniff } from "../media/index.js";

/**
 * Whether text is a media type, with or without parameters: what a resource says of itself can be any text.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6838 section 4.2 (read 2026-11-21)
 */
export function isMediaType(mediaType: string): boolean {
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(essenceOf(mediaType));
}

/** Whether a list of types such as `image/png` or `image/*` has a type. */
export function isTaken(types: readonly string[], mediaType: string): boolean {
  const essence = essenceOf(mediaType);
  if (!isMediaType(essence)) return false;
  return types.some((taken) =>
    taken.endsWith("/*") ? essence.startsWith(taken.slice(0, -1)) : taken === essence,
  );
}

/** Whether the bytes of a type are text, so that they can be shown as such. */
export function isTextual(mediaType: string): boolean {
  if (typeOf(mediaType)?.text === true) return true;
  return essenceOf(mediaType).startsWith("text/") && isMediaType(mediaType);
}

/** What bytes turned out to be. */
export interface MediaFacts {
  readonly kind: "image" | "document";
  readonly mediaType: string;
  readonly width?: number;
  readonly height?: number;
  readonly animated?: boolean;
}

/**
 * What bytes are that are said to be of a type, or a reason in words why they are nothing that can be sent as such. Providers
 * refuse a whole request over one image that is not what it says it is.
 */
export function identifyMedia(bytes: Uint8Array, declared: string): MediaFacts | string {
  const media = sniff(bytes);
  const mediaType = essenceOf(declared);
  if (isTextual(mediaType)) {
    return media?.kind === "text" ? { kind: "document", mediaType } : "its bytes are no text";
  }
  if (media?.kind === "invalid") return `its bytes are no sound ${media.mediaType}: ${media.reason}`;
  if (media?.kind === "image") {
    const { width, height, animated } = media;
    return { kind: "image", mediaType: media.mediaType, width, height, animated };
  }
  if (mediaType.startsWith("image/")) return otherImage(mediaType, media);
  if (mediaType === "application/pdf" && media?.kind !== "pdf") return "its bytes are no PDF";
  return { kind: "document", mediaType: media?.kind === "pdf" ? media.mediaType : mediaType };
}

/** Of an image type that is not recognised by its bytes, such as HEIC, only that they are nothing else can be told. */
function otherImage(mediaType: string, media: Media | undefined): MediaFacts | string {
  const known = ["image/png", "image/jpeg", "image/gif", "image/webp"].includes(mediaType);
  if (known || media !== undefined) return "its bytes are no image";
  return { kind: "image", mediaType };
}
