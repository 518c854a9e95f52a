/** The media types of images that are recognised: those that every provider of models takes. */
export type ImageMediaType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/**
 * How the stored pixels are to be turned for display, as EXIF numbers it: 1 as they are; 2, 4, 5 and 7 mirrored as well.
 * From 5 to 8 the image is shown with width and height exchanged.
 */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** An image whose header is sound. Nothing is said of the pixels behind it. */
export interface ImageMedia {
  readonly kind: "image";
  readonly mediaType: ImageMediaType;
  /** Pixels as stored, at least 1, before any {@link ImageMedia.orientation}. */
  readonly width: number;
  /** Pixels as stored, at least 1. */
  readonly height: number;
  /** A PNG with animation control before its image data, a GIF with a second frame, a WebP whose flag says so. */
  readonly animated: boolean;
  /** Of an animation, where known: as the PNG says, unchecked; as counted in a GIF or a WebP. */
  readonly frames?: number;
  /** Where the file's EXIF says so. */
  readonly orientation?: Orientation;
}

/** A PDF. How many pages it has and whether it is encrypted cannot be told from its header. */
export interface PdfMedia {
  readonly kind: "pdf";
  readonly mediaType: "application/pdf";
}

/** Valid UTF-8 without NUL, empty text included. What kind of text it is, bytes do not tell. */
export interface TextMedia {
  readonly kind: "text";
  readonly mediaType: "text/plain";
}

/**
 * Why the header of an image is unsound. `truncated`: the bytes end before the width and height. `zero-size`: one of them
 * is 0. `too-large`: they are beyond what the format can have. `too-many-parts`: more segments or chunks than any writer
 * makes come before what is looked for. `malformed`: something else is not as the format has it.
 */
export type InvalidReason = "truncated" | "zero-size" | "too-large" | "too-many-parts" | "malformed";

/** Bytes that begin as an image does and are none: whoever decodes them will refuse them. */
export interface InvalidMedia {
  readonly kind: "invalid";
  /** What the first bytes say. */
  readonly mediaType: ImageMediaType;
  readonly reason: InvalidReason;
}

/** What bytes are. */
export type Media = ImageMedia | PdfMedia | TextMedia | InvalidMedia;
