/** Reads the blocks of a GIF: its size, its frames, and whether it is whole. */

import { u16le, u32be } from "./byte-reader.js";
import type { ImageMedia, InvalidMedia } from "./types.js";
import { image, invalid } from "./types.js";

const mediaType = "image/gif";

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
  if (bytes.length < 13) return invalid(mediaType, "truncated");
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
    else return invalid(mediaType, block === undefined ? "truncated" : "malformed");
  }
  const extras = frames > 1 ? { animated: true, frames } : {};
  return image(mediaType, u16le(bytes, 6), u16le(bytes, 8), extras);
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
