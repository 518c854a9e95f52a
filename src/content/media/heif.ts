/** Reads the boxes of a HEIF container: HEIC and AVIF images, their size, and whether they are whole. */

import {
  fourCC,
  type ImageMedia,
  type InvalidMedia,
  image,
  invalid,
  type KnownImageType,
  maxParts,
  u16be,
  u32be,
} from "./types.js";

const ftyp = /* @__PURE__ */ fourCC("ftyp");
const meta = /* @__PURE__ */ fourCC("meta");
const mdat = /* @__PURE__ */ fourCC("mdat");
const idat = /* @__PURE__ */ fourCC("idat");
const moov = /* @__PURE__ */ fourCC("moov");
const pitm = /* @__PURE__ */ fourCC("pitm");
const iprp = /* @__PURE__ */ fourCC("iprp");
const ipco = /* @__PURE__ */ fourCC("ipco");
const ipma = /* @__PURE__ */ fourCC("ipma");
const ispe = /* @__PURE__ */ fourCC("ispe");

/** The brands that name a codec; a file of another brand, such as `mif1`, names the codec beside it. */
const brands: ReadonlyMap<number, KnownImageType> = /* @__PURE__ */ new Map(
  (
    [
      ["heic", "image/heic"],
      ["heix", "image/heic"],
      ["heim", "image/heic"],
      ["heis", "image/heic"],
      ["hevc", "image/heic"],
      ["hevx", "image/heic"],
      ["avif", "image/avif"],
      ["avis", "image/avif"],
    ] as const
  ).map(([brand, mediaType]) => [fourCC(brand), mediaType]),
);
const containers: ReadonlySet<number> = /* @__PURE__ */ new Set(["mif1", "mif2", "msf1"].map(fourCC));
const sequences: ReadonlySet<number> = /* @__PURE__ */ new Set(["hevc", "hevx", "avis", "msf1"].map(fourCC));

/**
 * The type of a HEIF container by its brands; undefined for other bytes, such as a film, which has the same
 * kind of boxes. AVIF counts before the generic brand: providers that take HEIF do not take it.
 *
 * @see https://nokiatech.github.io/heif/technical.html and https://aomediacodec.github.io/av1-avif/#brands
 *   (read 2026-11-28)
 */
export function heifType(bytes: Uint8Array): KnownImageType | undefined {
  if (bytes.length < 16 || u32be(bytes, 4) !== ftyp) return undefined;
  const major = u32be(bytes, 8);
  const known = brands.get(major);
  if (known !== undefined) return known;
  if (!containers.has(major)) return undefined;
  const end = Math.min(u32be(bytes, 0), bytes.length, 16 + 4 * 64);
  for (let at = 16; at + 4 <= end; at += 4) {
    if (brands.get(u32be(bytes, at)) === "image/avif") return "image/avif";
  }
  return "image/heif";
}

/**
 * Reads the top level of a HEIF container to its end, and the size of its primary image. Bytes that are no
 * box end the walk, as after the end of other formats.
 *
 * @see https://www.iso.org/standard/83102.html ISO/IEC 14496-12, boxes; ISO/IEC 23008-12, `ispe` and `ipma`,
 *   after https://github.com/strukturag/libheif (read 2026-11-28)
 */
export function readHeif(bytes: Uint8Array, mediaType: KnownImageType): ImageMedia | InvalidMedia {
  let size: Size | undefined;
  let hasIndex = false;
  let hasData = false;
  const end = walkBoxes(bytes, 0, bytes.length, (name, from, to) => {
    if (to > bytes.length) return;
    if (name === mdat) hasData = true;
    if (name === meta || name === moov) hasIndex = true;
    if (name !== meta || size !== undefined) return;
    size = primarySize(bytes, from + 4, to);
    // Small images have their data in the index.
    walkBoxes(bytes, from + 4, to, (inner) => {
      if (inner === idat) hasData = true;
    });
  });
  const isWhole = hasIndex && hasData && end <= bytes.length;
  if (!isWhole && bytes.length - end < 8) return invalid(mediaType, "truncated");
  return image(mediaType, size?.width, size?.height, { animated: sequences.has(u32be(bytes, 8)) });
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * Calls `found` for each box with its name and the offsets of its content, which may be past `end`. Each step
 * consumes at least 8 bytes.
 *
 * @returns the offset after the last box
 */
function walkBoxes(
  bytes: Uint8Array,
  start: number,
  end: number,
  found: (name: number, from: number, to: number) => void,
): number {
  let at = start;
  for (let parts = 0; parts < maxParts && at + 8 <= end; parts++) {
    const name = u32be(bytes, at + 4);
    if (!isName(name)) break;
    const short = u32be(bytes, at);
    const head = short === 1 ? 16 : 8;
    // A length of 0 is the rest of the file.
    const length =
      short === 0 ? end - at : short === 1 ? u32be(bytes, at + 8) * 2 ** 32 + u32be(bytes, at + 12) : short;
    if (length < head) break;
    found(name, at + head, at + length);
    at += length;
  }
  return at;
}

/** Whether four bytes are printable ASCII, or begin with the sign of a QuickTime name. */
function isName(name: number): boolean {
  for (const shift of [24, 16, 8, 0]) {
    const byte = (name >>> shift) & 0xff;
    if (byte !== 0xa9 && (byte < 0x20 || byte > 0x7e)) return false;
  }
  return true;
}

/** The size that the primary item is associated with; that of the largest item if none is. */
function primarySize(bytes: Uint8Array, start: number, end: number): Size | undefined {
  let primary: number | undefined;
  const sizes = new Map<number, Size>();
  let associations: readonly [from: number, to: number] | undefined;
  walkBoxes(bytes, start, end, (name, from, to) => {
    if (to > end) return;
    if (name === pitm) primary = bytes[from] === 0 ? u16be(bytes, from + 4) : u32be(bytes, from + 4);
    if (name !== iprp) return;
    walkBoxes(bytes, from, to, (inner, first, last) => {
      if (last > to) return;
      if (inner === ipma) associations = [first, last];
      if (inner !== ipco) return;
      let index = 0;
      walkBoxes(bytes, first, last, (property, at) => {
        index++;
        if (property !== ispe || at + 12 > last) return;
        const size = { width: u32be(bytes, at + 4), height: u32be(bytes, at + 8) };
        if (size.width > 0 && size.height > 0) sizes.set(index, size);
      });
    });
  });
  if (primary !== undefined && associations !== undefined) {
    for (const index of readProperties(bytes, primary, ...associations)) {
      const size = sizes.get(index);
      if (size !== undefined) return size;
    }
  }
  const area = ({ width, height }: Size) => width * height;
  return [...sizes.values()].reduce<Size | undefined>(
    (most, size) => (most === undefined || area(size) > area(most) ? size : most),
    undefined,
  );
}

/** The 1-based indexes of an item's properties. Each step consumes at least 3 bytes. */
function readProperties(bytes: Uint8Array, item: number, from: number, to: number): readonly number[] {
  const isLongId = bytes[from] !== 0;
  const isLongIndex = ((bytes[from + 3] as number) & 1) !== 0;
  let at = from + 8;
  for (let left = u32be(bytes, from + 4); left > 0 && at < to; left--) {
    const id = isLongId ? u32be(bytes, at) : u16be(bytes, at);
    at += isLongId ? 4 : 2;
    const count = bytes[at++] as number;
    const width = isLongIndex ? 2 : 1;
    if (id === item && at + count * width <= to) {
      return Array.from({ length: count }, (_, place) =>
        isLongIndex ? u16be(bytes, at + 2 * place) & 0x7fff : (bytes[at + place] as number) & 0x7f,
      );
    }
    at += count * width;
  }
  return [];
}
