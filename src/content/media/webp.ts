/** Reads the chunks of a WebP: its size, orientation, frames, and whether it is whole. */

import { fourCC, u16le, u24le, u32be, u32le } from "./byte-reader.js";
import { exifOrientation } from "./exif.js";
import type { ImageMedia, InvalidMedia, Orientation } from "./types.js";
import { image, invalid, maxParts } from "./types.js";

const mediaType = "image/webp";
const riff = /* @__PURE__ */ fourCC("RIFF");
const webp = /* @__PURE__ */ fourCC("WEBP");
const lossy = /* @__PURE__ */ fourCC("VP8 ");
const lossless = /* @__PURE__ */ fourCC("VP8L");
const extended = /* @__PURE__ */ fourCC("VP8X");
const anmf = /* @__PURE__ */ fourCC("ANMF");
const exif = /* @__PURE__ */ fourCC("EXIF");

const animatedFlag = 0x02;
const exifFlag = 0x08;

export function isWebp(bytes: Uint8Array): boolean {
  return bytes.length >= 12 && u32be(bytes, 0) === riff && u32be(bytes, 8) === webp;
}

/**
 * Reads the first chunk of a WebP, and of an extended WebP the chunk list. The header has the length of the
 * whole, so that a missing end is found without it. Ignores bytes after that length.
 *
 * @see https://github.com/webmproject/libwebp doc/webp-container-spec.txt and
 *   doc/webp-lossless-bitstream-spec.txt (read 2026-11-21)
 */
export function readWebp(bytes: Uint8Array): ImageMedia | InvalidMedia {
  if (bytes.length < 20) return invalid(mediaType, "truncated");
  const end = 8 + u32le(bytes, 4);
  if (end > bytes.length) return invalid(mediaType, "truncated");
  const length = u32le(bytes, 16);
  switch (u32be(bytes, 12)) {
    case lossy:
      return sized(length, 10, end) ?? readLossy(bytes);
    case lossless:
      return sized(length, 5, end) ?? readLossless(bytes);
    case extended:
      return sized(length, 10, end) ?? readExtended(bytes, length, end);
    default:
      return invalid(mediaType, "malformed");
  }
}

/** The error if the first chunk is too short for its fields, or longer than the whole. */
function sized(length: number, least: number, end: number): InvalidMedia | undefined {
  return length < least || 20 + length > end ? invalid(mediaType, "malformed") : undefined;
}

function readLossy(bytes: Uint8Array): ImageMedia | InvalidMedia {
  if (u24le(bytes, 23) !== 0x2a019d) return invalid(mediaType, "malformed");
  return image(mediaType, u16le(bytes, 26) & 0x3fff, u16le(bytes, 28) & 0x3fff);
}

function readLossless(bytes: Uint8Array): ImageMedia | InvalidMedia {
  const bits = u32le(bytes, 21);
  // The three highest bits are the version, which is always 0.
  if (bytes[20] !== 0x2f || bits >>> 29 !== 0) return invalid(mediaType, "malformed");
  return image(mediaType, (bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
}

function readExtended(bytes: Uint8Array, length: number, end: number): ImageMedia | InvalidMedia {
  const width = u24le(bytes, 24) + 1;
  const height = u24le(bytes, 27) + 1;
  if (width * height > 0xffffffff) return invalid(mediaType, "too-large");
  const flags = bytes[20] as number;
  const animated = (flags & animatedFlag) !== 0;
  const hasExif = (flags & exifFlag) !== 0;

  let frames = 0;
  let stills = 0;
  let orientation: Orientation | undefined;
  let at = 20 + length + (length & 1);
  let parts = 0;
  for (; parts < maxParts && at + 8 <= end; parts++) {
    const name = u32be(bytes, at);
    const size = u32le(bytes, at + 4);
    const data = at + 8;
    if (name === anmf || name === lossy || name === lossless) {
      if (data + size > end) return invalid(mediaType, "malformed");
      if (name === anmf) frames++;
      else stills++;
    }
    if (name === exif && hasExif) {
      orientation ??= exifOrientation(bytes, data, Math.min(data + size, end));
    }
    at = data + size + (size & 1);
  }
  if (frames + stills === 0) return invalid(mediaType, "malformed");
  const counted = animated && frames > 0 && parts < maxParts;
  return image(mediaType, width, height, { animated, frames: counted ? frames : undefined, orientation });
}
