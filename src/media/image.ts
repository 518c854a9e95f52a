import type { ImageMedia, ImageMediaType, InvalidMedia, InvalidReason, Orientation } from "./media.js";

/**
 * How many segments, chunks or EXIF entries are gone through in one file. Real files have dozens; an ICC profile in a JPEG
 * at most 255, frames of long animations a few hundred. A limit of bytes would not do: they can lie far apart.
 */
export const maxParts = 4096;

/** The result for an unsound header. */
export function invalid(mediaType: ImageMediaType, reason: InvalidReason): InvalidMedia {
  return { kind: "invalid", mediaType, reason };
}

/** What a file says of itself beyond its size. */
interface Extras {
  readonly animated?: boolean;
  readonly frames?: number | undefined;
  readonly orientation?: Orientation | undefined;
}

/** The result for an image of this size. */
export function image(
  mediaType: ImageMediaType,
  width: number,
  height: number,
  { animated = false, frames, orientation }: Extras = {},
): ImageMedia | InvalidMedia {
  if (width === 0 || height === 0) return invalid(mediaType, "zero-size");
  const media = { kind: "image", mediaType, width, height, animated } as const;
  if (frames === undefined && orientation === undefined) return media;
  return {
    ...media,
    ...(frames === undefined ? {} : { frames }),
    ...(orientation === undefined ? {} : { orientation }),
  };
}
