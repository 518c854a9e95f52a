import { SessileError } from "../errors/index.js";
import { type ImageMedia, mediaTypeOfName, sniff } from "../media/index.js";

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
