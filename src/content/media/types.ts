/** Media as their readers return them, types by file name, and the integers that readers find in bytes. */

import { mediaTypeEssence, mediaTypeInfo, mediaTypeInfoOfExtension } from "../../core/media-types.js";

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
interface TextMedia {
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

// Media types by file name, and extensions by media type.

/**
 * The extension for files of a media type, without a dot, or undefined for an unknown type. Ignores case,
 * surrounding white space and parameters. The result is from a fixed list and safe in a path.
 *
 * @example
 * ```ts
 * mediaTypeExtension("image/jpeg"); // "jpg"
 * mediaTypeExtension("application/x-made-up"); // undefined
 * ```
 */
export function mediaTypeExtension(mediaType: string): string | undefined {
  return mediaTypeInfo(mediaType)?.extensions[0];
}

/**
 * The media type that a file name claims by its extension, in any case, or undefined for an unknown
 * extension. Compare the claim with the bytes by {@link agreesWith}.
 *
 * @param name a base name or a path, POSIX or Windows
 * @example
 * ```ts
 * mediaTypeOfName("C:\\shots\\Screen.PNG"); // "image/png"
 * mediaTypeOfName(".gif"); // undefined
 * ```
 */
export function mediaTypeOfName(name: string): string | undefined {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const dot = base.lastIndexOf(".");
  return dot < 1 ? undefined : mediaTypeInfoOfExtension(base.slice(dot + 1))?.mediaType;
}

/**
 * Whether sniffed bytes can have the media type that a name or a sender claims: the same type, or any text
 * type if the bytes are text. `image/jpg` is an alias of `image/jpeg`.
 *
 * @example
 * ```ts
 * agreesWith({ kind: "text", mediaType: "text/plain" }, "text/markdown"); // true
 * agreesWith({ kind: "text", mediaType: "text/plain" }, "image/png"); // false
 * ```
 */
export function agreesWith(media: Media, mediaType: string): boolean {
  const claimed = mediaTypeEssence(mediaType);
  if (media.kind !== "text") return claimed === media.mediaType;
  return claimed.startsWith("text/") || mediaTypeInfo(claimed)?.text === true;
}

// Integers in bytes. A byte past the end reads as 0, so callers check the length if that matters.

export function u16be(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

export function u16le(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
}

export function u24le(bytes: Uint8Array, at: number): number {
  return u16le(bytes, at) | ((bytes[at + 2] as number) << 16);
}

export function u32be(bytes: Uint8Array, at: number): number {
  return ((u16be(bytes, at) << 16) | u16be(bytes, at + 2)) >>> 0;
}

export function u32le(bytes: Uint8Array, at: number): number {
  return (u16le(bytes, at) | (u16le(bytes, at + 2) << 16)) >>> 0;
}

/** Four ASCII characters as {@link u32be} reads them: the name of a chunk. */
export function fourCC(name: string): number {
  return (
    (name.charCodeAt(0) << 24) | (name.charCodeAt(1) << 16) | (name.charCodeAt(2) << 8) | name.charCodeAt(3)
  );
}
