import { crc32 } from "node:zlib";
import { concatBytes } from "./plain-values.js";

/** Bytes, numbers that are bytes, or ASCII. */
export type Part = Uint8Array | readonly number[] | string;

/** Parts, one after the other. */
export function bytesOf(...parts: readonly Part[]): Uint8Array {
  return concatBytes(parts.map(bytesOfOne));
}

function bytesOfOne(part: Part): Uint8Array {
  if (typeof part === "string") return new TextEncoder().encode(part);
  return part instanceof Uint8Array ? part : Uint8Array.from(part);
}

export const be16 = (value: number): readonly number[] => [value >>> 8, value & 0xff];
export const be32 = (value: number): readonly number[] => [...be16(value >>> 16), ...be16(value & 0xffff)];
const le16 = (value: number): readonly number[] => be16(value).toReversed();
const le24 = (value: number): readonly number[] => be32(value).slice(1).toReversed();
export const le32 = (value: number): readonly number[] => be32(value).toReversed();

/** The size of an image to be made. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** EXIF with this orientation, after so many entries that mean nothing here. */
export function tiff(orientation: number, order: "II" | "MM" = "MM", entriesBefore = 0): Uint8Array {
  const [u16, u32] = order === "MM" ? [be16, be32] : [le16, le32];
  const entry = (tag: number, value: number) => bytesOf(u16(tag), u16(3), u32(1), u16(value), [0, 0]);
  const others = Array.from({ length: entriesBefore }, (_, at) => entry(0x0100 + (at % 0x12), 7));
  const entries = [...others, entry(0x0112, orientation)];
  return bytesOf(order, u16(42), u32(8), u16(entries.length), ...entries, u32(0));
}

export const exifPrefix = bytesOf("Exif", [0, 0]);

export const pngSignature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

export function pngChunk(name: string, data: Part = []): Uint8Array {
  const named = bytesOf(name, data);
  return bytesOf(be32(named.length - 4), named, be32(crc32(named)));
}

export const acTL = (frames: number): Uint8Array => pngChunk("acTL", [...be32(frames), ...be32(0)]);

/** A PNG with these chunks before and after its image data, which are no pixels. */
export function png(
  { width, height }: Size,
  before: readonly Part[] = [],
  after: readonly Part[] = [],
): Uint8Array {
  const header = pngChunk("IHDR", [...be32(width), ...be32(height), 8, 6, 0, 0, 0]);
  const data = pngChunk("IDAT", [0x78, 0x9c]);
  return bytesOf(pngSignature, header, ...before, data, ...after, pngChunk("IEND"));
}

export function jpegSegment(marker: number, data: Part = []): Uint8Array {
  const body = bytesOf(data);
  return bytesOf([0xff, marker], be16(body.length + 2), body);
}

export const jpegExif = (exif: Uint8Array): Uint8Array => jpegSegment(0xe1, bytesOf(exifPrefix, exif));

/** A frame header of a JPEG. */
export function sof({ width, height }: Size, marker = 0xc0, components = 3): Uint8Array {
  const each = Array.from({ length: components }, (_, at) => [at + 1, 0x11, 0]).flat();
  return jpegSegment(marker, [8, ...be16(height), ...be16(width), components, ...each]);
}

/** A JPEG of these parts between its start and its scan, which has no pixels. */
export function jpeg(...parts: readonly Part[]): Uint8Array {
  return bytesOf([0xff, 0xd8], ...parts, jpegSegment(0xda, [1, 1, 0, 0, 63, 0]), [0x12, 0x34], [0xff, 0xd9]);
}

/** Bytes in the sub-blocks of a GIF, each of at most 255. */
export function gifBlocks(length: number, blockLength = 255): Uint8Array {
  const blocks: Part[] = [];
  for (let left = length; left > 0; left -= blockLength) {
    const size = Math.min(left, blockLength);
    // Bytes that would be frames, extensions or an end, were they taken for the beginning of a block.
    blocks.push([size, ...Array.from({ length: size }, (_, at) => [0x2c, 0x21, 0x3b][at % 3] as number)]);
  }
  return bytesOf(...blocks, [0]);
}

export const gifExtension = (label: number, length: number): Uint8Array =>
  bytesOf([0x21, label], gifBlocks(length));

/** A frame of a GIF; with `colorBits` it has a color table of its own. */
export function gifFrame(length: number, colorBits = 0): Uint8Array {
  const packed = colorBits === 0 ? 0 : 0x80 | (colorBits - 1);
  const table = colorBits === 0 ? [] : new Uint8Array(3 << colorBits).fill(0x2c);
  return bytesOf([0x2c], new Uint8Array(8), [packed], table, [2], gifBlocks(length));
}

export function gif({ width, height }: Size, blocks: readonly Part[], colorBits = 0): Uint8Array {
  const packed = colorBits === 0 ? 0 : 0x80 | (colorBits - 1);
  const table = colorBits === 0 ? [] : new Uint8Array(3 << colorBits).fill(0x3b);
  return bytesOf("GIF89a", le16(width), le16(height), [packed, 0, 0], table, ...blocks, [0x3b]);
}

export function webpChunk(name: string, data: Part = []): Uint8Array {
  const body = bytesOf(data);
  return bytesOf(name, le32(body.length), body, body.length % 2 === 1 ? [0] : []);
}

export function webp(...chunks: readonly Part[]): Uint8Array {
  const body = bytesOf("WEBP", ...chunks);
  return bytesOf("RIFF", le32(body.length), body);
}

/** A lossy image's chunk; `scale` are the two bits above each dimension. */
export function vp8({ width, height }: Size, scale = 0): Uint8Array {
  const dimensions = [...le16(width | (scale << 14)), ...le16(height | (scale << 14))];
  return webpChunk("VP8 ", [0x10, 0x02, 0x00, 0x9d, 0x01, 0x2a, ...dimensions, 0x34, 0x25]);
}

/** A lossless image's chunk; `alpha` is the bit above the dimensions. */
export function vp8l({ width, height }: Size, alpha = 0): Uint8Array {
  const bits = ((width - 1) | ((height - 1) << 14) | (alpha << 28)) >>> 0;
  return webpChunk("VP8L", [0x2f, ...le32(bits), 0x11]);
}

export const webpAnimated = 0x02;
export const webpExif = 0x08;

export function vp8x({ width, height }: Size, flags = 0): Uint8Array {
  return webpChunk("VP8X", [flags, 0, 0, 0, ...le24(width - 1), ...le24(height - 1)]);
}

/** A BMP of 24 bits a pixel. */
export function bmp({ width, height }: Size): Uint8Array {
  const pixels = new Uint8Array(Math.ceil((width * 24) / 32) * 4 * height);
  const header = bytesOf(le32(40), le32(width), le32(height), le16(1), le16(24), new Uint8Array(24));
  return bytesOf("BM", le32(54 + pixels.length), le32(0), le32(54), header, pixels);
}

/** A TIFF with its pixels in strips of these lengths, behind its directory. */
export function tiffImage(
  { width, height }: Size,
  strips: readonly number[],
  order: "II" | "MM" = "MM",
): Uint8Array {
  const [u16, u32] = order === "MM" ? [be16, be32] : [le16, le32];
  const lists = 10 + 12 * 4 + 4;
  const list = 4 * strips.length;
  const inline = strips.length === 1;
  const data = lists + (inline ? 0 : 2 * list);
  const offsets = strips.map((_, at) => data + strips.slice(0, at).reduce((sum, length) => sum + length, 0));
  const entry = (tag: number, values: readonly number[], at: number) =>
    bytesOf(u16(tag), u16(4), u32(values.length), u32(inline || values.length === 1 ? (values[0] ?? 0) : at));
  return bytesOf(
    ...[order, u16(42), u32(8), u16(4)],
    ...[entry(256, [width], 0), entry(257, [height], 0), entry(273, offsets, lists)],
    ...[entry(279, strips, lists + list), u32(0)],
    ...(inline ? [] : [...offsets, ...strips].map((value) => u32(value))),
    ...strips.map((length) => new Uint8Array(length).fill(7)),
  );
}

/** A box of an ISO container. */
export function box(name: string, ...content: readonly Part[]): Uint8Array {
  const body = bytesOf(...content);
  return bytesOf(be32(body.length + 8), name, body);
}

/** A HEIF container: the first size is that of its primary image, the others are of its tiles or previews. */
export function heif(brands: readonly string[], ...sizes: readonly Size[]): Uint8Array {
  const [major = "heic"] = brands;
  const properties = sizes.map(({ width, height }) => box("ispe", be32(0), be32(width), be32(height)));
  // The primary item has the last property, and another item the first ones.
  const items = sizes.map((_, at) => bytesOf(be16(at + 1), [2, 1, sizes.length - at + 1]));
  const index = box(
    "meta",
    be32(0),
    box("pitm", be32(0), be16(1)),
    box(
      "iprp",
      box("ipco", box("colr", "nclx"), ...properties.toReversed()),
      box("ipma", be32(0), be32(items.length), ...items),
    ),
  );
  return bytesOf(box("ftyp", major, be32(0), ...brands), index, box("mdat", new Uint8Array(40)));
}
