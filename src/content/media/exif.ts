/** Reads the orientation in EXIF data. */

import { u16be, u16le, u32be, u32le } from "./byte-reader.js";
import type { Orientation } from "./types.js";
import { maxParts } from "./types.js";

const orientationTag = 0x0112;
const shortType = 3;

/** Whether the JPEG prefix of EXIF (`Exif`, 0, 0) is at `at`. */
export function hasExifPrefix(bytes: Uint8Array, at: number): boolean {
  return u32be(bytes, at) === 0x45786966 && at + 6 <= bytes.length && u16be(bytes, at + 4) === 0;
}

/**
 * Reads the orientation from the first directory of the TIFF structure between `start` and `end`. Skips the
 * prefix of JPEG, which some writers put into other formats too. Returns undefined for a value outside 1 to
 * 8.
 *
 * @see https://www.digicamsoft.com/exif22/exif22/html/exif22_24.htm Exif 2.2, page 18 (read 2026-11-21)
 */
export function exifOrientation(bytes: Uint8Array, start: number, end: number): Orientation | undefined {
  const tiff = hasExifPrefix(bytes, start) ? start + 6 : start;
  const order = u16be(bytes, tiff);
  if (order !== 0x4949 && order !== 0x4d4d) return undefined;
  const [u16, u32] = order === 0x4949 ? [u16le, u32le] : [u16be, u32be];
  if (u16(bytes, tiff + 2) !== 42) return undefined;
  const directory = tiff + u32(bytes, tiff + 4);
  const count = Math.min(u16(bytes, directory), maxParts);
  // The standard sorts entries by tag; some writers do not.
  for (let index = 0; index < count; index++) {
    const entry = directory + 2 + 12 * index;
    if (entry + 12 > end) return undefined;
    if (u16(bytes, entry) !== orientationTag) continue;
    const value = u16(bytes, entry + 8);
    const sound = u16(bytes, entry + 2) === shortType && u32(bytes, entry + 4) === 1;
    return sound && value >= 1 && value <= 8 ? (value as Orientation) : undefined;
  }
  return undefined;
}
