/** Identifies bytes by their content: images, PDF, text. */

import { describe } from "../../core/arguments.js";
import { decodeUtf16 } from "../../core/bytes.js";
import { isBmp, isTiff, readBmp, readTiff } from "./bitmap.js";
import { isGif, readGif } from "./gif.js";
import { heifType, readHeif } from "./heif.js";
import { isJpeg, readJpeg } from "./jpeg.js";
import { isPdf, readPdf } from "./pdf.js";
import { isPng, readPng } from "./png.js";
import type { Media } from "./types.js";
import { isWebp, readWebp } from "./webp.js";

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
