/** Identifies bytes by their content: images, PDF, text. Then the readers of the simple formats of images. */

import { describe } from "../../core/arguments.js";
import { crc32, decodeUtf16 } from "../../core/bytes.js";
import { heifType, readHeif } from "./heif.js";
import { isPdf, readPdf } from "./pdf.js";
import {
  fourCC,
  type ImageMedia,
  type InvalidMedia,
  image,
  invalid,
  type Media,
  maxParts,
  type Orientation,
  u16be,
  u16le,
  u24le,
  u32be,
  u32le,
} from "./types.js";

/**
 * Identifies bytes by their content: an image with its size, a PDF or text; undefined for anything else. An
 * image that is cut or damaged has the kind `invalid` and a reason, so that a caller can refuse it instead of
 * keeping it as unknown: a provider refuses every later request with it.
 *
 * Takes the whole file, and neither changes nor keeps it. Never throws on any bytes. Runs in linear time: it
 * reads the parts of an image to the end and decodes no pixels. The first bytes decide: a polyglot file
 * counts as the image or PDF. Bytes after the end of an image are ignored, as decoders do.
 *
 * @throws TypeError if `bytes` is not a Uint8Array.
 * @example
 * ```ts
 * sniff(new TextEncoder().encode("<svg/>"))?.mediaType; // "text/plain"
 *
 * const media = sniff(bytes);
 * if (media?.kind === "image") console.log(media.width, media.height, media.animated);
 * if (media?.kind === "invalid") throw new Error(`no ${media.mediaType}: ${media.reason}`);
 * ```
 */
export function sniff(bytes: Uint8Array): Media | undefined {
  if (!isByteArray(bytes)) {
    throw new TypeError(`bytes: expected a Uint8Array, got ${describe(bytes)}`);
  }
  if (isPng(bytes)) return readPng(bytes);
  if (isJpeg(bytes)) return readJpeg(bytes);
  if (isGif(bytes)) return readGif(bytes);
  if (isWebp(bytes)) return readWebp(bytes);
  if (isTiff(bytes)) return readTiff(bytes);
  if (isBmp(bytes)) return readBmp(bytes);
  const heif = heifType(bytes);
  if (heif !== undefined) return readHeif(bytes, heif);
  if (isPdf(bytes)) return readPdf(bytes);
  return isText(bytes) || decodeUtf16(bytes) !== undefined
    ? { kind: "text", mediaType: "text/plain" }
    : undefined;
}

/**
 * Also compares the class name: a Uint8Array of another realm, such as an iframe, is not an instance of this
 * realm's class. `isView` comes first because any object can fake a name and a prototype.
 */
function isByteArray(bytes: unknown): boolean {
  if (!ArrayBuffer.isView(bytes)) return false;
  return bytes instanceof Uint8Array || Object.prototype.toString.call(bytes) === "[object Uint8Array]";
}

/**
 * Whether bytes are UTF-8 without NUL, in one pass without allocation. As strict as the standard: refuses
 * overlong forms, surrogates, code points above U+10FFFF and a truncated sequence at the end.
 *
 * @see http://howardhinnant.github.io/utf_summary.html the valid ranges (read 2026-11-21)
 */
export function isText(bytes: Uint8Array): boolean {
  const { length } = bytes;
  let at = 0;
  while (at < length) {
    const first = bytes[at++] as number;
    if (first < 0x80) {
      if (first === 0) return false;
      continue;
    }
    if (first < 0xc2 || first > 0xf4) return false;
    const more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (at + more > length) return false;
    // Some first bytes restrict the range of the second byte.
    const second = bytes[at] as number;
    const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
    const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) return false;
    for (let next = at + 1; next < at + more; next++) {
      if (((bytes[next] as number) & 0xc0) !== 0x80) return false;
    }
    at += more;
  }
  return true;
}

// Reads the chunks of a PNG: its size, orientation, animation, and whether it is whole.

const pngType = "image/png";

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
  if (bytes.length < 24) return invalid(pngType, "truncated");
  // Providers refuse Apple's variant, which has a CgBI chunk first.
  if (u32be(bytes, 8) !== 13 || u32be(bytes, 12) !== ihdr) return invalid(pngType, "malformed");
  const width = u32be(bytes, 16);
  const height = u32be(bytes, 20);
  if (width > 0x7fffffff || height > 0x7fffffff) return invalid(pngType, "too-large");

  let frames: number | undefined;
  let orientation: Orientation | undefined;
  let hasData = false;
  let at = 8;
  for (let parts = 0; at + 12 <= bytes.length; ) {
    const length = u32be(bytes, at);
    const name = u32be(bytes, at + 4);
    const data = at + 8;
    const end = data + length;
    if (end + 4 > bytes.length) return invalid(pngType, "truncated");
    if (isCritical(name) && crc32(bytes, at + 4, end) !== u32be(bytes, end)) {
      return invalid(pngType, "malformed");
    }
    if (name === iend) {
      if (!hasData) return invalid(pngType, "malformed");
      return image(pngType, width, height, { animated: frames !== undefined, frames, orientation });
    }
    if (name === idat) hasData = true;
    // Writers cut the data into any number of chunks.
    else if (name !== fdAT && name !== fcTL && parts++ >= maxParts) return invalid(pngType, "too-many-parts");
    if (!hasData && name === acTL && length === 8) {
      // An animation with 0 frames is an error; decoders show the still image.
      frames ??= u32be(bytes, data) || undefined;
    } else if (!hasData && name === eXIf) orientation ??= exifOrientation(bytes, data, end);
    at = end + 4;
  }
  return invalid(pngType, "truncated");
}

/** A chunk whose name begins with a capital letter. */
function isCritical(name: number): boolean {
  return (name & 0x20000000) === 0;
}

// Reads the segments of a JPEG: its size, orientation, and whether it is whole.

const jpegType = "image/jpeg";

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
    if (marker === undefined) return invalid(jpegType, "truncated");
    const segment = at + 1;
    at = segment;
    // A scan has any number of restart markers.
    if (!(hasScan && standsAlone(marker))) parts++;
    if (standsAlone(marker)) continue;
    if (marker === endOfImage) {
      if (size === undefined || !hasScan) return invalid(jpegType, "malformed");
      return image(jpegType, size.width, size.height, { orientation });
    }
    if (segment + 2 > bytes.length) return invalid(jpegType, "truncated");
    const length = u16be(bytes, segment);
    if (length < 2) return invalid(jpegType, "malformed");
    at = segment + length;
    if (marker === startOfScan) {
      if (size === undefined) return invalid(jpegType, "malformed");
      hasScan = true;
    } else if (isFrameHeader(marker) && size === undefined) {
      // Too short for the fields of a frame header.
      if (length < 8) return invalid(jpegType, "malformed");
      if (segment + 7 > bytes.length) return invalid(jpegType, "truncated");
      size = { width: u16be(bytes, segment + 5), height: u16be(bytes, segment + 3) };
      if (size.width === 0 || size.height === 0) return invalid(jpegType, "zero-size");
    } else if (marker === app1 && size === undefined && orientation === undefined) {
      if (hasExifPrefix(bytes, segment + 2)) {
        orientation = exifOrientation(bytes, segment + 2, Math.min(at, bytes.length));
      }
    }
  }
  return invalid(jpegType, "too-many-parts");
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

// Reads the blocks of a GIF: its size, its frames, and whether it is whole.

const gifType = "image/gif";

export function isGif(bytes: Uint8Array): boolean {
  // GIF87a or GIF89a.
  if (bytes.length < 6 || u32be(bytes, 0) !== 0x47494638) return false;
  return (bytes[4] === 0x37 || bytes[4] === 0x39) && bytes[5] === 0x61;
}

/**
 * Reads the blocks of a GIF to its trailer, which decoders do not need, and neither does this. Skips zeros
 * between blocks, as decoders do.
 *
 * @see https://256stuff.com/gray/docs/gifspecs/data.html GIF89a, sections 15 and 16 (read 2026-11-21)
 */
export function readGif(bytes: Uint8Array): ImageMedia | InvalidMedia {
  if (bytes.length < 13) return invalid(gifType, "truncated");
  let frames = 0;
  let at = 13 + colorTableLength(bytes[10]);
  // Each step consumes at least one byte.
  for (;;) {
    const block = bytes[at];
    if (block === 0x21) at = afterSubBlocks(bytes, at + 2);
    else if (block === 0x2c) {
      frames++;
      // The descriptor, its color table, and the byte with the minimum code size.
      at = afterSubBlocks(bytes, at + 11 + colorTableLength(bytes[at + 9]));
    } else if (block === 0) at++;
    else if (frames > 0 && (block === 0x3b || at === bytes.length)) break;
    else return invalid(gifType, block === undefined ? "truncated" : "malformed");
  }
  const extras = frames > 1 ? { animated: true, frames } : {};
  return image(gifType, u16le(bytes, 6), u16le(bytes, 8), extras);
}

function colorTableLength(packed = 0): number {
  return packed & 0x80 ? 3 << ((packed & 7) + 1) : 0;
}

/** Offset after the block that ends a list of sub-blocks; past any bytes if they end before it. */
function afterSubBlocks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const length = bytes[at] as number;
    at += length + 1;
    if (length === 0) return at;
  }
  return Number.POSITIVE_INFINITY;
}

// Reads the chunks of a WebP: its size, orientation, frames, and whether it is whole.

const webpType = "image/webp";

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
  if (bytes.length < 20) return invalid(webpType, "truncated");
  const end = 8 + u32le(bytes, 4);
  if (end > bytes.length) return invalid(webpType, "truncated");
  const length = u32le(bytes, 16);
  switch (u32be(bytes, 12)) {
    case lossy:
      return sized(length, 10, end) ?? readLossy(bytes);
    case lossless:
      return sized(length, 5, end) ?? readLossless(bytes);
    case extended:
      return sized(length, 10, end) ?? readExtended(bytes, length, end);
    default:
      return invalid(webpType, "malformed");
  }
}

/** The error if the first chunk is too short for its fields, or longer than the whole. */
function sized(length: number, least: number, end: number): InvalidMedia | undefined {
  return length < least || 20 + length > end ? invalid(webpType, "malformed") : undefined;
}

function readLossy(bytes: Uint8Array): ImageMedia | InvalidMedia {
  if (u24le(bytes, 23) !== 0x2a019d) return invalid(webpType, "malformed");
  return image(webpType, u16le(bytes, 26) & 0x3fff, u16le(bytes, 28) & 0x3fff);
}

function readLossless(bytes: Uint8Array): ImageMedia | InvalidMedia {
  const bits = u32le(bytes, 21);
  // The three highest bits are the version, which is always 0.
  if (bytes[20] !== 0x2f || bits >>> 29 !== 0) return invalid(webpType, "malformed");
  return image(webpType, (bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
}

function readExtended(bytes: Uint8Array, length: number, end: number): ImageMedia | InvalidMedia {
  const width = u24le(bytes, 24) + 1;
  const height = u24le(bytes, 27) + 1;
  if (width * height > 0xffffffff) return invalid(webpType, "too-large");
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
      if (data + size > end) return invalid(webpType, "malformed");
      if (name === anmf) frames++;
      else stills++;
    }
    if (name === exif && hasExif) {
      orientation ??= exifOrientation(bytes, data, Math.min(data + size, end));
    }
    at = data + size + (size & 1);
  }
  if (frames + stills === 0) return invalid(webpType, "malformed");
  const counted = animated && frames > 0 && parts < maxParts;
  return image(webpType, width, height, { animated, frames: counted ? frames : undefined, orientation });
}

// Reads the size of a BMP or TIFF, and whether its pixels are whole. Both need a conversion to be sent.

const bmpHeaders: ReadonlySet<number> = /* @__PURE__ */ new Set([12, 16, 40, 52, 56, 64, 108, 124]);

/** Also checks the length of the header and the number of planes: text can begin with `BM`. */
function isBmp(bytes: Uint8Array): boolean {
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
function readBmp(bytes: Uint8Array): ImageMedia | InvalidMedia {
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

function isTiff(bytes: Uint8Array): boolean {
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
function readTiff(bytes: Uint8Array): ImageMedia | InvalidMedia {
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

// Reads the orientation in EXIF data.

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
