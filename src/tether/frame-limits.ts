/** The limits of frames: their errors, and the length of a frame on the wire. */

import { tetherLimits } from "../content/limits/index.js";
import type { ImageMediaType } from "../content/media/index.js";
import { describe } from "../core/arguments.js";
import { type ErrorDetails, SessileError } from "../core/errors/index.js";
import type { TetherFrame } from "./frame.js";

const { maxImageBytes, maxFrameBytes, maxImages, maxWireBytes, imageTypes } = tetherLimits;

/** A limit that a frame exceeds: for the message of the error, and for its details. */
export interface ExceededLimit {
  readonly text: string;
  readonly violation: ErrorDetails["LIMIT_EXCEEDED"]["violations"][number];
}

/**
 * The most indexes in the details of an error: a hostile body may have a million images, and errors are
 * logged.
 */
const maxIndexes = 100;

/** Whether frames take images of a type. Case-sensitive: readers of frames compare the exact string. */
export function isImageType(mediaType: string): mediaType is ImageMediaType {
  return imageTypes.some((type) => type === mediaType);
}

/** More images than a frame takes. */
export function tooManyImages(count: number): ExceededLimit {
  return {
    text: `too many images: ${count} (max ${maxImages})`,
    violation: {
      rule: "imageCount",
      unit: "count",
      limit: maxImages,
      actual: count,
      items: firstIndexes(count),
    },
  };
}

/** An image that is too large. `name` is for the message. */
export function imageTooLarge(bytes: number, index: number, name: string): ExceededLimit {
  return {
    text: `${name} too large: ${bytes} bytes (max ${maxImageBytes})`,
    violation: {
      rule: "imageBytes",
      unit: "decodedBytes",
      limit: maxImageBytes,
      actual: bytes,
      items: [index],
    },
  };
}

/** The images of one frame that are too large together. */
export function imagesTooLarge(bytes: number, count: number): ExceededLimit {
  return {
    text: `images too large together: ${bytes} bytes (max ${maxFrameBytes})`,
    violation: {
      rule: "imageBytes",
      unit: "decodedBytes",
      limit: maxFrameBytes,
      actual: bytes,
      items: firstIndexes(count),
    },
  };
}

/** An image of a type that frames do not take. */
export function unsupportedType(mediaType: string, index: number, name: string): ExceededLimit {
  return {
    text: `${name} of unsupported type: ${describe(mediaType)} (only ${imageTypes.join(", ")})`,
    violation: {
      rule: "imageTypes",
      unit: "mediaType",
      limit: imageTypes,
      // Untrusted text, cut to a recognisable length.
      actual: mediaType.slice(0, 100),
      items: [index],
    },
  };
}

/** A frame that is too large for the wire. */
export function frameTooLarge(bytes: number): ExceededLimit {
  return {
    text: `frame too large: ${bytes} bytes (max ${maxWireBytes})`,
    violation: { rule: "bodyBytes", unit: "bodyBytes", limit: maxWireBytes, actual: bytes, items: [] },
  };
}

/** The error of one or more exceeded limits. */
export function limitExceeded(...limits: readonly ExceededLimit[]): SessileError<"LIMIT_EXCEEDED"> {
  return new SessileError("LIMIT_EXCEEDED", limits.map(({ text }) => text).join("; "), {
    details: { profile: "tether", violations: limits.map(({ violation }) => violation) },
  });
}

function firstIndexes(count: number): readonly number[] {
  return Array.from({ length: Math.min(count, maxIndexes) }, (_, index) => index);
}

/** The error of bytes with the signature of an image that is cut or damaged. */
export function invalidImage(
  { mediaType, reason }: { readonly mediaType: string; readonly reason: string },
  prefix = "",
): SessileError<"MEDIA_INVALID"> {
  return new SessileError("MEDIA_INVALID", `${prefix}invalid ${mediaType}: ${reason}`, {
    details: { mediaType, reason },
  });
}

/**
 * The length of a frame as JSON in bytes. Images are not serialized: base64 has one byte a character and
 * needs no escapes.
 *
 * @throws SessileError LIMIT_EXCEEDED if one string alone is too long: its escaped JSON could exceed the
 *   longest string
 */
export function wireBytes(frame: TetherFrame): number {
  let bytes = 0;
  const rest = JSON.stringify(frame, (key, value: unknown) => {
    if (typeof value !== "string") return value;
    if (value.length > tetherLimits.maxWireBytes) throw limitExceeded(frameTooLarge(value.length));
    if (key !== "data") return value;
    bytes += value.length;
    return "";
  });
  return bytes + utf8Bytes(rest);
}

/** @throws SessileError LIMIT_EXCEEDED for a frame that is too long for the wire */
export function assertFitsWire(frame: TetherFrame): void {
  const bytes = wireBytes(frame);
  if (bytes > tetherLimits.maxWireBytes) throw limitExceeded(frameTooLarge(bytes));
}

const encoder = new TextEncoder();
const scratchBytes = 2 ** 16;

/** The length of a text as UTF-8 in bytes, counted in chunks without a copy of the text. */
export function utf8Bytes(text: string): number {
  const scratch = new Uint8Array(scratchBytes);
  let bytes = 0;
  for (let at = 0; at < text.length; ) {
    // `read` excludes a surrogate pair that does not fit, so that it begins the next chunk.
    const { read, written } = encoder.encodeInto(text.slice(at, at + scratchBytes), scratch);
    at += read;
    bytes += written;
  }
  return bytes;
}
