import { checkLimits, limitProfiles } from "sessile/limits";
import type { FrameImage } from "sessile/tether";
import { isBlank, textPieces } from "./pieces.js";

/** Of a caption, in UTF-16 code units after entities are parsed. https://core.telegram.org/bots/api#sendphoto, read 2026-11-22. */
const maxCaptionUnits = 1024;
/** Of a message, likewise. https://core.telegram.org/bots/api#sendmessage, read 2026-11-22. */
export const maxTextUnits = 4096;

/** What of an image a plan looks at. */
export type OutgoingImage = Omit<FrameImage, "bytes"> & { readonly bytes: Pick<Uint8Array, "length"> };

/** How an image goes out. */
export type ImageMethod = "sendPhoto" | "sendDocument";

/** An image to be sent. */
export interface ImageSend {
  /** Which one of the images. */
  readonly image: number;
  /** To be tried in this order until one is taken. */
  readonly methods: readonly [ImageMethod, ...ImageMethod[]];
  readonly caption?: string;
}

/** An answer as calls of the Bot API, in order: all of `images`, then all of `texts`. */
export interface OutgoingPlan {
  readonly images: readonly ImageSend[];
  readonly texts: readonly string[];
  /** In place of `texts`, when the image with the caption could not be sent: so its text is never lost. */
  readonly textsWithoutCaption: readonly string[];
}

/**
 * How an answer is sent: images first, so that text and images do not mix. Text that fits is the caption of the first image;
 * longer text follows in pieces. It has no entities, so that its length is what Telegram counts. Pure.
 */
export function planOutgoing({
  text,
  images,
}: {
  readonly text: string;
  readonly images: readonly OutgoingImage[];
}): OutgoingPlan {
  const pieces = textPieces(text, maxTextUnits);
  const captioned = images.length > 0 && !isBlank(text) && text.length <= maxCaptionUnits;
  return {
    images: images.map((image, index) => ({
      image: index,
      methods: methodsFor(image),
      ...(captioned && index === 0 ? { caption: text } : {}),
    })),
    texts: captioned ? [] : pieces,
    textsWithoutCaption: pieces,
  };
}

function methodsFor({ mediaType, bytes, width, height }: OutgoingImage): ImageSend["methods"] {
  // As a photo, only its first picture would be left: https://github.com/nickoala/telepot/issues/159, read 2026-11-22.
  if (mediaType === "image/gif") return ["sendDocument"];
  const item = { mediaType, size: bytes.length, width, height };
  const fits = checkLimits([item], limitProfiles.telegram, { transport: "photo" }).length === 0;
  return fits ? ["sendPhoto", "sendDocument"] : ["sendDocument"];
}
