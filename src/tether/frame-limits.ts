import { type ErrorDetails, SessileError } from "../errors/index.js";
import { describe } from "../internal/arguments.js";
import { tetherLimits } from "../limits/index.js";
import type { TetherFrame } from "./frame.js";

const { maxImageBytes, maxFrameBytes, maxImages, maxWireBytes, imageTypes } = tetherLimits;

/** A limit that is broken: in words, and as the error's details have it. */
export interface Broken {
  readonly text: string;
  readonly violation: ErrorDetails["LIMIT_EXCEEDED"]["violations"][number];
}

/** Places that an error names at most: a body can have a million images, and what is logged of it should not. */
const maxPlaces = 100;

/** More images than a frame takes. */
export function tooManyImages(count: number): Broken {
  return {
    text: `too many images: ${count} (max ${maxImages})`,
    violation: {
      rule: "imageCount",
      unit: "count",
      limit: maxImages,
      actual: count,
      items: placesOf(count),
    },
  };
}

/** An image that is too large. `name` is what to call it. */
export function imageTooLarge(bytes: number, index: number, name: string): Broken {
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

/** Images of one frame that are too large together. */
export function imagesTooLarge(bytes: number, count: number): Broken {
  return {
    text: `images too large together: ${bytes} bytes (max ${maxFrameBytes})`,
    violation: {
      rule: "imageBytes",
      unit: "decodedBytes",
      limit: maxFrameBytes,
      actual: bytes,
      items: placesOf(count),
    },
  };
}

/** An image of a type that no frame takes. */
export function unsupportedType(mediaType: string, index: number, name: string): Broken {
  return {
    text: `${name} of unsupported type: ${describe(mediaType)} (only ${imageTypes.join(", ")})`,
    violation: {
      rule: "imageTypes",
      unit: "mediaType",
      limit: imageTypes,
      // Whatever somebody put there: enough of it to be recognised.
      actual: mediaType.slice(0, 100),
      items: [index],
    },
  };
}

/** A frame that is too large for the wire. */
export function frameTooLarge(bytes: number): Broken {
  return {
    text: `frame too large: ${bytes} bytes (max ${maxWireBytes})`,
    violation: { rule: "bodyBytes", unit: "bodyBytes", limit: maxWireBytes, actual: bytes, items: [] },
  };
}

/** The error of limits that are broken. */
export function limitExceeded(...broken: readonly Broken[]): SessileError<"LIMIT_EXCEEDED"> {
  return new SessileError("LIMIT_EXCEEDED", broken.map(({ text }) => text).join("; "), {
    details: { profile: "tether", violations: broken.map(({ violation }) => violation) },
  });
}

function placesOf(count: number): readonly number[] {
  return Array.from({ length: Math.min(count, maxPlaces) }, (_, index) => index);
}

/** The error of bytes that begin as an image. */
export function unsoundImage(
  { mediaType, reason }: { readonly mediaType: string; readonly reason: string },
  place = "",
): SessileError<"MEDIA_INVALID"> {
  return new SessileError("MEDIA_INVALID", `${place}begins as ${mediaType} and is none: ${reason}`, {
    details: { mediaType, reason },
  });
}

/**
 * The bytes of a frame as JSON, without writing its images out: base64 takes as many bytes as characters, and nothing is escaped.
 *
 * @throws SessileError LIMIT_EXCEEDED where one text alone is too long: what JSON escapes could else be more than a string holds
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

/** Refuses a frame of ours that is too long for the wire, as its reader would. */
export function assertFitsWire(frame: TetherFrame): void {
  const bytes = wireBytes(frame);
  if (bytes > tetherLimits.maxWireBytes) throw limitExceeded(frameTooLarge(bytes));
}

const encoder = new TextEncoder();
const scratchBytes = 2 ** 16;

/** The bytes of text as UTF-8, counted piece by piece: no copy of it is made. */
export function utf8Bytes(text: string): number {
  const scratch = new Uint8Array(scratchBytes);
  let bytes = 0;
  for (let at = 0; at < text.length; ) {
    // A pair that the piece cuts in two does not fit into what is left of the scratch, so it begins the next piece.
    const { read, written } = encoder.encodeInto(text.slice(at, at + scratchBytes), scratch);
    at += read;
    bytes += written;
  }
  return bytes;
}
