/** Reads the size of a BMP or TIFF, and whether its pixels are whole. Both need a conversion to be sent. */

import { u16be, u16le, u32be, u32le } from "./byte-reader.js";
import { exifOrientation } from "./exif.js";
import type { ImageMedia, InvalidMedia } from "./types.js";
import { image, invalid, maxParts } from "./types.js";

const bmpHeaders: ReadonlySet<number> = /* @__PURE__ */ new Set([12, 16, 40, 52, 56, 64, 108, 124]);

/** Also checks the length of the header and the number of planes: text can begin with `BM`. */
export function isBmp(bytes: Uint8Array): boolean {
  if (bytes.length < 26 || bytes[0] !== 0x42 || bytes[1] !== 0x4d) return false;
  const header = u32le(bytes, 14);
  return bmpHeaders.has(header) && u16le(bytes, header === 12 ? 22 : 26) === 1;
}

/**
 * Reads the header of a BMP, and compares the length of its pixels with the bytes.
 *
 * @see https://learn.microsoft.com/en-us/windows/win32/api/wingdi/ns-wingdi-bitmapinfoheader (read
 *   2026-11-28)
 */
export function readBmp(bytes: Uint8Array): ImageMedia | InvalidMedia {
  const mediaType = "image/bmp";
  const isOld = u32le(bytes, 14) === 12;
  const width = isOld ? u16le(bytes, 18) : u32le(bytes, 18) | 0;
  // A negative height means that the first row is the upper one.
  const height = isOld ? u16le(bytes, 20) : Math.abs(u32le(bytes, 22) | 0);
  if (width < 0) return invalid(mediaType, "malformed");
  const depth = u16le(bytes, isOld ? 24 : 28);
  const isPlain = isOld || [0, 3, 6].includes(u32le(bytes, 30));
  const pixels = isPlain ? Math.ceil((width * depth) / 32) * 4 * height : u32le(bytes, 34);
  if (u32le(bytes, 10) + pixels > bytes.length) return invalid(mediaType, "truncated");
  return image(mediaType, width, height);
}

export function isTiff(bytes: Uint8Array): boolean {
  const start = u32be(bytes, 0);
  return bytes.length >= 8 && (start === 0x49492a00 || start === 0x4d4d002a);
}

const tags = { width: 256, height: 257, offsets: 273, lengths: 279, tileOffsets: 324, tileLengths: 325 };

/** Bytes of a value of each type, from BYTE to DOUBLE. */
const typeSizes = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8];

/**
 * Reads the first directory of a TIFF, and compares the places of its strips or tiles with the bytes. Of
 * further pages only their directories have to be there.
 *
 * @see https://www.itu.int/itudoc/itu-t/com16/tiff-fx/docs/tiff6.pdf sections 2, 8 and 15 (read 2026-11-28)
 */
export function readTiff(bytes: Uint8Array): ImageMedia | InvalidMedia {
  const mediaType = "image/tiff";
  const [u16, u32] = bytes[0] === 0x49 ? [u16le, u32le] : [u16be, u32be];
  const directory = u32(bytes, 4);
  const count = u16(bytes, directory);
  if (directory + 2 + 12 * count > bytes.length) return invalid(mediaType, "truncated");
  if (count > maxParts) return invalid(mediaType, "too-many-parts");

  /** The value of an entry at an index; undefined for other types than SHORT and LONG, or past its end. */
  const valueAt = (entry: number, index: number): number | undefined => {
    const type = u16(bytes, entry + 2);
    const values = u32(bytes, entry + 4);
    if ((type !== 3 && type !== 4) || index >= values) return undefined;
    const size = type === 3 ? 2 : 4;
    const at = (size * values <= 4 ? entry + 8 : u32(bytes, entry + 8)) + size * index;
    return size === 2 ? u16(bytes, at) : u32(bytes, at);
  };
  const entries = new Map<number, number>();
  for (let index = 0; index < count; index++) {
    const entry = directory + 2 + 12 * index;
    const length = (typeSizes[u16(bytes, entry + 2)] ?? 0) * u32(bytes, entry + 4);
    if (length > 4 && u32(bytes, entry + 8) + length > bytes.length) return invalid(mediaType, "truncated");
    entries.set(u16(bytes, entry), entry);
  }
  const first = (tag: number) => {
    const entry = entries.get(tag);
    return entry === undefined ? undefined : valueAt(entry, 0);
  };
  const offsets = entries.get(tags.offsets) ?? entries.get(tags.tileOffsets);
  const lengths = entries.get(tags.lengths) ?? entries.get(tags.tileLengths);
  for (let index = 0; offsets !== undefined && lengths !== undefined; index++) {
    const offset = valueAt(offsets, index);
    const length = valueAt(lengths, index);
    if (offset === undefined || length === undefined) break;
    if (offset + length > bytes.length) return invalid(mediaType, "truncated");
  }
  let next = u32(bytes, directory + 2 + 12 * count);
  for (let pages = 1; next !== 0 && pages < maxParts; pages++) {
    if (next + 6 > bytes.length) return invalid(mediaType, "truncated");
    next = u32(bytes, next + 2 + 12 * u16(bytes, next));
  }
  const orientation = exifOrientation(bytes, 0, bytes.length);
  return image(mediaType, first(tags.width), first(tags.height), { orientation });
}
