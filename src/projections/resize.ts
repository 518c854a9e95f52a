/** An image that a target does not take as it is. */
export interface ImageToResize {
  readonly bytes: Uint8Array;
  /** As sniffed. */
  readonly mediaType: string;
  /** Pixels, where the bytes tell. */
  readonly width?: number;
  /** Pixels. */
  readonly height?: number;
}

/** What the image has to become; a bound that is absent is kept already. */
export interface ImageBounds {
  /** Pixels of the longer side. */
  readonly maxSide?: number;
  /** Pixels of the whole. */
  readonly maxArea?: number;
  /** Decoded bytes. */
  readonly maxBytes?: number;
  /** One of these, such as `image/png`. */
  readonly mediaTypes?: readonly string[];
  /** One frame. */
  readonly still?: true;
}

/**
 * Makes a smaller or other image for one request; the stored bytes stay as they are. Injected, since image codecs are
 * large: sharp does it in a few lines. Undefined where it cannot be done. What comes back is looked at again, and
 * described where it does not keep the bounds.
 */
export type ResizeImage = (
  image: ImageToResize,
  bounds: ImageBounds,
) => Promise<Uint8Array | undefined> | Uint8Array | undefined;
