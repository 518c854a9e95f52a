import { exifOrientation, hasExifPrefix } from "./exif.js";
import { image, invalid, maxParts } from "./image.js";
import type { ImageMedia, InvalidMedia, Orientation } from "./media.js";
import { u16be } from "./read.js";

const mediaType = "image/jpeg";

export function isJpeg(bytes: Uint8Array): boolean {
  return bytes.length >= 3 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff;
}

/**
 * Reads a JPEG up to its frame header, which can lie hundreds of kilobytes behind the start. Bytes between segments that
 * are no marker are skipped, as decoders do.
 *
 * @see https://www.w3.org/Graphics/JPEG/itu-t81.pdf table B.1 (read 2026-11-21)
 */
export function readJpeg(bytes: Uint8Array): ImageMedia | InvalidMedia {
  let orientation: Orientation | undefined;
  let at = 2;
  for (let parts = 0; parts < maxParts; parts++) {
    at = markerFrom(bytes, at);
    const marker = bytes[at];
    if (marker === undefined) return invalid(mediaType, "truncated");
    const segment = at + 1;
    at = segment;
    if (standsAlone(marker)) continue;
    if (marker === startOfScan || marker === endOfImage) return invalid(mediaType, "malformed");
    if (segment + 2 > bytes.length) return invalid(mediaType, "truncated");
    const length = u16be(bytes, segment);
    if (length < 2) return invalid(mediaType, "malformed");
    if (isFrameHeader(marker)) {
      // Less than a frame header's own fields: what would be read belongs to something else.
      if (length < 8) return invalid(mediaType, "malformed");
      if (segment + 7 > bytes.length) return invalid(mediaType, "truncated");
      return image(mediaType, u16be(bytes, segment + 5), u16be(bytes, segment + 3), { orientation });
    }
    at = segment + length;
    if (marker === app1 && orientation === undefined && hasExifPrefix(bytes, segment + 2)) {
      orientation = exifOrientation(bytes, segment + 2, Math.min(at, bytes.length));
    }
  }
  return invalid(mediaType, "too-many-parts");
}

const startOfScan = 0xda;
const endOfImage = 0xd9;
const app1 = 0xe1;

/** Where the code of the next marker is: after at least one FF, neither FF itself nor the 0 that makes an FF data. */
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

/** TEM, the restart markers and a start of image have no length. */
function standsAlone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

/** Of the markers C0 to CF all but the tables of Huffman (C4) and arithmetic coding (CC), and one that is reserved (C8). */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}
