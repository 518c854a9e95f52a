/** The media types of images that every model provider accepts. */
export type ImageMediaType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** Any media type of an image that {@link sniff} recognises. Most providers take the others converted only. */
export type KnownImageType =
  | ImageMediaType
  | "image/heic"
  | "image/heif"
  | "image/avif"
  | "image/bmp"
  | "image/tiff";

/**
 * The EXIF orientation. 1 leaves the pixels unchanged; 2, 4, 5 and 7 mirror them. From 5 to 8 width and
 * height are exchanged on display.
 */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** An image whose parts are complete, from its header to its end. The pixels are not decoded. */
export interface ImageMedia {
  readonly kind: "image";
  readonly mediaType: KnownImageType;
  /**
   * Pixels as stored, at least 1, before any {@link ImageMedia.orientation}. Undefined only for a HEIF, AVIF
   * or TIFF file that does not state it.
   */
  readonly width?: number;
  /** Pixels as stored, at least 1. */
  readonly height?: number;
  /**
   * A PNG with animation control before its image data, a GIF with a second frame, a WebP whose flag says so, a
   * HEIF or AVIF sequence.
   */
  readonly animated: boolean;
  /** Frames of an animation, if known: the PNG's own claim, unchecked; counted in a GIF or a WebP. */
  readonly frames?: number;
  /** The orientation in the file's EXIF, if it has one. */
  readonly orientation?: Orientation;
}

/** A PDF. */
export interface PdfMedia {
  readonly kind: "pdf";
  readonly mediaType: "application/pdf";
  /** At least 1. Undefined if they cannot be counted, such as those in encrypted objects. */
  readonly pages?: number;
  /** It is encrypted, if only to restrict printing or copying. */
  readonly encrypted?: true;
}

/** Valid UTF-8 without NUL, including empty text. Bytes do not tell the kind of text. */
export interface TextMedia {
  readonly kind: "text";
  readonly mediaType: "text/plain";
}

/**
 * The reason why an image is invalid. `truncated`: the bytes end before the image does. `zero-size`: its
 * width or height is 0. `too-large`: they exceed the format's maximum. `too-many-parts`: it has more than
 * 4096 segments or chunks beside its data. `malformed`: any other violation of the format.
 */
export type InvalidReason = "truncated" | "zero-size" | "too-large" | "too-many-parts" | "malformed";

/** Bytes with the signature of an image that is not whole: decoders and providers refuse them. */
export interface InvalidMedia {
  readonly kind: "invalid";
  /** The type of the signature. */
  readonly mediaType: KnownImageType;
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

/** The result for an invalid image. */
export function invalid(mediaType: KnownImageType, reason: InvalidReason): InvalidMedia {
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
  mediaType: KnownImageType,
  width: number | undefined,
  height: number | undefined,
  { animated = false, frames, orientation }: Extras = {},
): ImageMedia | InvalidMedia {
  if (width === 0 || height === 0) return invalid(mediaType, "zero-size");
  const sides = width === undefined || height === undefined ? {} : { width, height };
  const media = { kind: "image", mediaType, ...sides, animated } as const;
  if (frames === undefined && orientation === undefined) return media;
  return {
    ...media,
    ...(frames === undefined ? {} : { frames }),
    ...(orientation === undefined ? {} : { orientation }),
  };
}
