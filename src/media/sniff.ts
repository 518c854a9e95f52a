import { describe } from "../internal/arguments.js";
import { isGif, readGif } from "./gif.js";
import { isJpeg, readJpeg } from "./jpeg.js";
import type { Media } from "./media.js";
import { isPng, readPng } from "./png.js";
import { u32be } from "./read.js";
import { isText } from "./text.js";
import { isWebp, readWebp } from "./webp.js";

/**
 * What bytes are, by the bytes alone: an image with its size, a PDF, text, or undefined for all else. An image whose
 * header is unsound has the kind `invalid` and a reason, so that it can be refused instead of kept as unknown.
 *
 * The whole file is wanted, or a view of it; it is not changed and not kept. Never throws on any bytes, and works at most
 * in proportion to them: image headers are read without the pixels, but for a GIF, whose frames are counted, and text is
 * read whole. The first bytes decide, so that a file made to be two things at once counts as the image or PDF.
 *
 * @throws TypeError when `bytes` is no Uint8Array.
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
  if (isPdf(bytes)) return { kind: "pdf", mediaType: "application/pdf" };
  return isText(bytes) ? { kind: "text", mediaType: "text/plain" } : undefined;
}

/**
 * By name too: a byte array of another realm, such as a frame's, is no instance of this one's class. A view first, since
 * an object can have any name and any prototype.
 */
function isByteArray(bytes: unknown): boolean {
  if (!ArrayBuffer.isView(bytes)) return false;
  return bytes instanceof Uint8Array || Object.prototype.toString.call(bytes) === "[object Uint8Array]";
}

/** `%PDF-` at the very start, though readers of PDF look for it in the first kilobyte. */
function isPdf(bytes: Uint8Array): boolean {
  return u32be(bytes, 0) === 0x25504446 && bytes[4] === 0x2d;
}
