/** Reads the segments of a JPEG: its size, orientation, and whether it is whole. */

import { u16be } from "./byte-reader.js";
import { exifOrientation, hasExifPrefix } from "./exif.js";
import type { ImageMedia, InvalidMedia, Orientation } from "./types.js";
import { image, invalid, maxParts } from "./types.js";

const mediaType = "image/jpeg";

export function isJpeg(bytes: Uint8Array): boolean {
  return bytes.length >= 3 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff;
}

/**
 * Reads the segments and scans of a JPEG to its end. Skips bytes between segments that are not a marker, as
 * decoders do. Ignores bytes after the end, such as the further images of a phone.
 *
 * @see https://www.w3.org/Graphics/JPEG/itu-t81.pdf table B.1 (read 2026-11-21)
 */
export function readJpeg(bytes: Uint8Array): ImageMedia | InvalidMedia {
  let orientation: Orientation | undefined;
  let size: { readonly width: number; readonly height: number } | undefined;
  let hasScan = false;
  let at = 2;
  for (let parts = 0; parts < maxParts; ) {
    at = markerFrom(bytes, at);
    const marker = bytes[at];
    if (marker === undefined) return invalid(mediaType, "truncated");
    const segment = at + 1;
    at = segment;
    // A scan has any number of restart markers.
    if (!(hasScan && standsAlone(marker))) parts++;
    if (standsAlone(marker)) continue;
    if (marker === endOfImage) {
      if (size === undefined || !hasScan) return invalid(mediaType, "malformed");
      return image(mediaType, size.width, size.height, { orientation });
    }
    if (segment + 2 > bytes.length) return invalid(mediaType, "truncated");
    const length = u16be(bytes, segment);
    if (length < 2) return invalid(mediaType, "malformed");
    at = segment + length;
    if (marker === startOfScan) {
      if (size === undefined) return invalid(mediaType, "malformed");
      hasScan = true;
    } else if (isFrameHeader(marker) && size === undefined) {
      // Too short for the fields of a frame header.
      if (length < 8) return invalid(mediaType, "malformed");
      if (segment + 7 > bytes.length) return invalid(mediaType, "truncated");
      size = { width: u16be(bytes, segment + 5), height: u16be(bytes, segment + 3) };
      if (size.width === 0 || size.height === 0) return invalid(mediaType, "zero-size");
    } else if (marker === app1 && size === undefined && orientation === undefined) {
      if (hasExifPrefix(bytes, segment + 2)) {
        orientation = exifOrientation(bytes, segment + 2, Math.min(at, bytes.length));
      }
    }
  }
  return invalid(mediaType, "too-many-parts");
}

const startOfScan = 0xda;
const endOfImage = 0xd9;
const app1 = 0xe1;

/** Offset of the next marker code: the byte after one or more FF that is not 0, which escapes FF in data. */
function markerFrom(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    if (bytes[at] === 0xff) {
      do at++;
      while (bytes[at] === 0xff);
      if (bytes[at] !== 0) return at;
    }
    at++;
  }
  return at;
}

/** TEM, the restart markers and SOI have no length field. */
function standsAlone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

/** SOF markers are C0 to CF except DHT (C4), DAC (CC) and the reserved JPG (C8). */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}
