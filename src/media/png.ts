/** Reads the size and orientation of a PNG, and whether it is animated. */

import { fourCC, u32be } from "./byte-reader.js";
import { exifOrientation } from "./exif.js";
import type { ImageMedia, InvalidMedia, Orientation } from "./types.js";
import { image, invalid, maxParts } from "./types.js";

const mediaType = "image/png";
const ihdr = /* @__PURE__ */ fourCC("IHDR");
const idat = /* @__PURE__ */ fourCC("IDAT");
const iend = /* @__PURE__ */ fourCC("IEND");
const acTL = /* @__PURE__ */ fourCC("acTL");
const eXIf = /* @__PURE__ */ fourCC("eXIf");

export function isPng(bytes: Uint8Array): boolean {
  return bytes.length >= 8 && u32be(bytes, 0) === 0x89504e47 && u32be(bytes, 4) === 0x0d0a1a0a;
}

/**
 * Reads a PNG up to its image data: the standard requires animation control and EXIF before it.
 *
 * @see https://www.w3.org/TR/png-3/#5ChunkOrdering and https://www.w3.org/TR/png-3/#acTL-chunk (read
 *   2026-11-21)
 */
export function readPng(bytes: Uint8Array): ImageMedia | InvalidMedia {
  if (bytes.length < 24) return invalid(mediaType, "truncated");
  // Providers refuse Apple's variant, which has a CgBI chunk first.
  if (u32be(bytes, 8) !== 13 || u32be(bytes, 12) !== ihdr) return invalid(mediaType, "malformed");
  const width = u32be(bytes, 16);
  const height = u32be(bytes, 20);
  if (width > 0x7fffffff || height > 0x7fffffff) return invalid(mediaType, "too-large");

  let frames: number | undefined;
  let orientation: Orientation | undefined;
  let at = 33;
  for (let parts = 0; at + 8 <= bytes.length; parts++) {
    if (parts === maxParts) return invalid(mediaType, "too-many-parts");
    const length = u32be(bytes, at);
    const name = u32be(bytes, at + 4);
    const data = at + 8;
    if (name === idat || name === iend) break;
    if (name === acTL && length === 8 && data + 8 <= bytes.length) {
      // An animation with 0 frames is an error; decoders show the still image.
      frames ??= u32be(bytes, data) || undefined;
    } else if (name === eXIf) {
      orientation ??= exifOrientation(bytes, data, Math.min(data + length, bytes.length));
    }
    at = data + length + 4;
  }
  return image(mediaType, width, height, { animated: frames !== undefined, frames, orientation });
}
