/** The media types of images that {@link sniff} recognises: every model provider accepts them. */
export type ImageMediaType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/**
 * The EXIF orientation. 1 leaves the pixels unchanged; 2, 4, 5 and 7 mirror them. From 5 to 8 width and
 * height are exchanged on display.
 */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** An image with a valid header. The pixels after it are not checked. */
export interface ImageMedia {
  readonly kind: "image";
  readonly mediaType: ImageMediaType;
  /** Pixels as stored, at least 1, before any {@link ImageMedia.orientation}. */
  readonly width: number;
  /** Pixels as stored, at least 1. */
  readonly height: number;
  /**
   * A PNG with animation control before its image data, a GIF with a second frame, a WebP whose flag says so.
   */
  readonly animated: boolean;
  /** Frames of an animation, if known: the PNG's own claim, unchecked; counted in a GIF or a WebP. */
  readonly frames?: number;
  /** The orientation in the file's EXIF, if it has one. */
  readonly orientation?: Orientation;
}

/** A PDF. Its header tells neither the number of pages nor whether it is encrypted. */
export interface PdfMedia {
  readonly kind: "pdf";
  readonly mediaType: "application/pdf";
}

/** Valid UTF-8 without NUL, including empty text. Bytes do not tell the kind of text. */
export interface TextMedia {
  readonly kind: "text";
  readonly mediaType: "text/plain";
}

/**
 * The reason why the header of an image is invalid. `truncated`: the bytes end before the width and height.
 * `zero-size`: one of them is 0. `too-large`: they exceed the format's maximum. `too-many-parts`: more
 * than 4096 segments or chunks come before the size. `malformed`: any other violation of the format.
 */
export type InvalidReason = "truncated" | "zero-size" | "too-large" | "too-many-parts" | "malformed";

/** Bytes with the signature of an image and an invalid header: a decoder refuses them. */
export interface InvalidMedia {
  readonly kind: "invalid";
  /** The type of the signature. */
  readonly mediaType: ImageMediaType;
  readonly reason: InvalidReason;
}

/** The result of {@link sniff}. */
export type Media = ImageMedia | PdfMedia | TextMedia | InvalidMedia;

/**
 * The maximum number of segments, chunks or EXIF entries to read in one file. Real files have dozens; an ICC
 * profile in a JPEG has at most 255, a long animation a few hundred frames. A limit in bytes fails: parts can
 * be far apart.
 */
export const maxParts = 4096;

/** The result for an invalid header. */
export function invalid(mediaType: ImageMediaType, reason: InvalidReason): InvalidMedia {
  return { kind: "invalid", mediaType, reason };
}

/** Properties of an image beside its size. */
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
