/** Reads the chunks of a PNG: its size, orientation, animation, and whether it is whole. */

import { crc32 } from "../../core/crc32.js";
import { fourCC, u32be } from "./byte-reader.js";
import { exifOrientation } from "./exif.js";
import { type ImageMedia, type InvalidMedia, image, invalid, maxParts, type Orientation } from "./types.js";

const mediaType = "image/png";
const ihdr = /* @__PURE__ */ fourCC("IHDR");
const idat = /* @__PURE__ */ fourCC("IDAT");
const iend = /* @__PURE__ */ fourCC("IEND");
const fcTL = /* @__PURE__ */ fourCC("fcTL");
const fdAT = /* @__PURE__ */ fourCC("fdAT");
const acTL = /* @__PURE__ */ fourCC("acTL");
const eXIf = /* @__PURE__ */ fourCC("eXIf");

export function isPng(bytes: Uint8Array): boolean {
  return bytes.length >= 8 && u32be(bytes, 0) === 0x89504e47 && u32be(bytes, 4) === 0x0d0a1a0a;
}

/**
 * Reads the chunks of a PNG to its end. Compares the checksums of the critical chunks, without which no
 * decoder shows the image. Animation control and EXIF count only before the image data, as the standard
 * requires. Bytes after the end are ignored.
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
  let hasData = false;
  let at = 8;
  for (let parts = 0; at + 12 <= bytes.length; ) {
    const length = u32be(bytes, at);
    const name = u32be(bytes, at + 4);
    const data = at + 8;
    const end = data + length;
    if (end + 4 > bytes.length) return invalid(mediaType, "truncated");
    if (isCritical(name) && crc32(bytes, at + 4, end) !== u32be(bytes, end)) {
      return invalid(mediaType, "malformed");
    }
    if (name === iend) {
      if (!hasData) return invalid(mediaType, "malformed");
      return image(mediaType, width, height, { animated: frames !== undefined, frames, orientation });
    }
    if (name === idat) hasData = true;
    // Writers cut the data into any number of chunks.
    else if (name !== fdAT && name !== fcTL && parts++ >= maxParts)
      return invalid(mediaType, "too-many-parts");
    if (!hasData && name === acTL && length === 8) {
      // An animation with 0 frames is an error; decoders show the still image.
      frames ??= u32be(bytes, data) || undefined;
    } else if (!hasData && name === eXIf) orientation ??= exifOrientation(bytes, data, end);
    at = end + 4;
  }
  return invalid(mediaType, "truncated");
}

/** A chunk whose name begins with a capital letter. */
function isCritical(name: number): boolean {
  return (name & 0x20000000) === 0;
}
