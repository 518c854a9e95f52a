/**
 * Checks of incoming and outgoing frames: shape, limits with their errors, length on the wire, and images,
 * which are decoded once.
 */

import { tetherLimits } from "../content/limits/index.js";
import { type ImageMedia, type ImageMediaType, sniff } from "../content/media/index.js";
import { describe } from "../core/arguments.js";
import { base64BytesAtMost, decodeBase64, padBase64 } from "../core/base64.js";
import { decodeUtf8 } from "../core/bytes.js";
import { type ErrorDetails, SessileError } from "../core/errors/index.js";
import { isTooDeep } from "../core/json.js";
import { isRecord, joinPath, type Problem } from "../core/shape.js";
import {
  type AssistantDeltaFrame,
  type AssistantDoneFrame,
  frameProblem,
  type TetherFrame,
  type TetherImage,
  type UserMessageFrame,
} from "./frame.js";

/** An image of a frame, decoded. */
export interface FrameImage {
  /** Sniffed from the bytes, and equal to the declared type. */
  readonly mediaType: ImageMediaType;
  readonly bytes: Uint8Array;
  /** Pixels. */
  readonly width: number;
  /** Pixels. */
  readonly height: number;
}

/** A valid frame, and its images, decoded once. */
export type CheckedFrame =
  | { readonly kind: "userMessage"; readonly frame: UserMessageFrame; readonly images: readonly FrameImage[] }
  | { readonly kind: "assistantDelta"; readonly frame: AssistantDeltaFrame; readonly images: readonly [] }
  | {
      readonly kind: "assistantDone";
      readonly frame: AssistantDoneFrame;
      readonly images: readonly FrameImage[];
    }
  /** Any other type: its payload is not checked. */
  | { readonly kind: "other"; readonly frame: TetherFrame; readonly images: readonly [] };

/** A checked `user.message`. */
export type CheckedUserMessage = Extract<CheckedFrame, { readonly kind: "userMessage" }>;

/**
 * Checks a frame against the protocol and its limits ({@link tetherLimits}), for senders and receivers. It
 * checks the envelope, the payload of known types, the number, types and sizes of images, and the length on
 * the wire. Sizes are computed from the length of the base64, so that nothing too large is decoded. Each
 * image is decoded once, and its bytes must match `media_type`. Reserved fields (`ref`, `size`) are ignored.
 * The checked frame is a copy, with its unknown fields, so that later changes of the value do not affect it.
 *
 * @throws SessileError INVALID_MESSAGE for a wrong shape or invalid base64; LIMIT_EXCEEDED with the limit and
 *   the actual value, such as `too many images: 5 (max 4)`; MEDIA_INVALID for an image with an invalid
 *   header; MEDIA_TYPE_MISMATCH for bytes of another type than declared
 * @example
 * ```ts
 * const checked = checkFrame(json);
 * if (checked.kind === "assistantDone") {
 *   const sizes = checked.images.map(({ mediaType, bytes }) => [mediaType, bytes.length]);
 *   console.log(checked.frame.payload.text, sizes);
 * }
 * ```
 */
export function checkFrame(value: unknown): CheckedFrame {
  return checkFrameWith(value, { measured: false });
}

/** The results of the check in this process. A value with a forged type is not in it. */
const checkedHere = new WeakSet<CheckedFrame>();

/** Returns a message that this process checked, and checks any other value now. */
export function ensureChecked(message: CheckedUserMessage): CheckedUserMessage {
  if (checkedHere.has(message)) return message;
  const { frame } = (message ?? {}) as Partial<CheckedUserMessage>;
  const checked = checkFrame(frame);
  if (checked.kind === "userMessage") return checked;
  throw wrongShape({ path: "type", expected: '"user.message"' });
}

/**
 * {@link checkFrame} for callers within this module.
 *
 * @param options.measured the length on the wire was checked already
 * @param options.payloadPath the path of the payload in errors; default `payload`
 */
export function checkFrameWith(
  value: unknown,
  { measured, payloadPath = "payload" }: { readonly measured: boolean; readonly payloadPath?: string },
): CheckedFrame {
  const frame = asFrame(copyFrame(value), payloadPath);
  const images = () => frameImages(frame as UserMessageFrame | AssistantDoneFrame, payloadPath);
  const result = Object.freeze(checkedFrame(frame, images));
  // After the images, so that an oversized image is reported by its own limit.
  if (!measured && result.kind !== "other") assertFitsWire(frame);
  checkedHere.add(result);
  return result;
}

function checkedFrame(frame: TetherFrame, images: () => readonly FrameImage[]): CheckedFrame {
  switch (frame.type) {
    case "user.message":
      return { kind: "userMessage", frame: frame as UserMessageFrame, images: images() };
    case "assistant.done":
      return { kind: "assistantDone", frame: frame as AssistantDoneFrame, images: images() };
    case "assistant.delta":
      return { kind: "assistantDelta", frame: frame as AssistantDeltaFrame, images: [] };
    default:
      return { kind: "other", frame, images: [] };
  }
}

/**
 * Reads a frame from the body of a request, a line, or a parsed value, by {@link checkFrame}. The limit of
 * the wire, 28 MiB, is checked before anything is parsed. JSON may be nested 256 deep. MCP's tool, gateways
 * and agents share this check.
 *
 * @param received UTF-8 bytes, text, or a parsed value
 * @throws SessileError as {@link checkFrame}, INVALID_MESSAGE for invalid UTF-8 or JSON, LIMIT_EXCEEDED for a
 *   body that is too long
 * @example
 * ```ts
 * try {
 *   console.log(readFrame(body).frame.type);
 * } catch (error) {
 *   if (SessileError.is(error, "LIMIT_EXCEEDED")) console.error(error.message, error.details.violations);
 *   else throw error;
 * }
 * ```
 */
export function readFrame(received: unknown): CheckedFrame {
  if (typeof received !== "string" && !(received instanceof Uint8Array)) return checkFrame(received);
  return checkFrameWith(parseBody(received), { measured: true });
}

function frameImages(
  { payload }: UserMessageFrame | AssistantDoneFrame,
  payloadPath: string,
): readonly FrameImage[] {
  return Object.freeze(readImages(payload.images ?? [], joinPath(payloadPath, "images")));
}

function asFrame(value: unknown, payloadPath: string): TetherFrame {
  const problem = frameProblem(value);
  if (problem === undefined) return value as TetherFrame;
  const { path, expected } = problem;
  const inPayload = path.startsWith("payload.") ? path.slice("payload.".length) : undefined;
  throw wrongShape({ path: inPayload === undefined ? path : joinPath(payloadPath, inPayload), expected });
}

/** The error of a value of another shape. An empty path is the frame itself. */
export function wrongShape({ path, expected }: Problem, cause?: unknown): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path === "" ? "frame" : path}: expected ${expected}`, {
    details: { path, expected },
    cause,
  });
}

/**
 * Copies the parts of a frame that the check reads, so that a getter or another owner of the frame cannot
 * change them after the check. Strings are shared. Parts that the check refuses are not copied.
 */
function copyFrame(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const frame = { ...value };
  frame.session = copyRecord(frame.session);
  if (isRecord(frame.payload)) frame.payload = copyPayload(frame.payload);
  return frame;
}

function copyPayload(from: Record<string, unknown>): Record<string, unknown> {
  const payload = { ...from };
  const { images } = payload;
  if (isRecord(payload.user)) payload.user = { ...payload.user };
  if (Array.isArray(images) && images.length <= tetherLimits.maxImages) {
    payload.images = images.map(copyRecord);
  }
  return payload;
}

function copyRecord(value: unknown): unknown {
  return isRecord(value) ? { ...value } : value;
}

/**
 * Decodes the images of a payload, after all of them passed the limits.
 *
 * @param path their path in errors, such as `payload.images`
 */
function readImages(images: readonly TetherImage[], path: string): readonly FrameImage[] {
  assertWithinLimits(images);
  return images.map((image, index) => readImage(image, `${path}[${index}]`));
}

/** Computes sizes from the length of the base64, without decoding. */
function assertWithinLimits(images: readonly TetherImage[]): void {
  // First and alone, so that the work below is bounded.
  if (images.length > tetherLimits.maxImages) throw limitExceeded(tooManyImages(images.length));
  const exceeded: ExceededLimit[] = [];
  let total = 0;
  images.forEach(({ media_type, data }, index) => {
    const name = `images[${index}]`;
    const bytes = base64BytesAtMost(data);
    total += bytes;
    if (!isImageType(media_type)) exceeded.push(unsupportedType(media_type, index, name));
    if (bytes > tetherLimits.maxImageBytes) exceeded.push(imageTooLarge(bytes, index, name));
  });
  if (total > tetherLimits.maxFrameBytes) exceeded.push(imagesTooLarge(total, images.length));
  if (exceeded.length > 0) throw limitExceeded(...exceeded);
}

function readImage({ media_type, data }: TetherImage, path: string): FrameImage {
  const bytes = decodeBase64(padBase64(data));
  if (bytes === undefined) {
    const expected = "base64 (RFC 4648 section 4), without a data URL's prefix";
    throw wrongShape({ path: `${path}.data`, expected });
  }
  const media = sniff(bytes);
  if (media?.kind === "invalid") throw invalidImage(media, `${path}: `);
  if (media?.kind === "image" && media.mediaType === media_type) return frameImage(media, media_type, bytes);
  const actual = media?.mediaType ?? "application/octet-stream";
  throw new SessileError("MEDIA_TYPE_MISMATCH", `${path}: declared as ${media_type}, but is ${actual}`, {
    details: { declared: media_type, actual },
  });
}

function frameImage(
  { width = 0, height = 0 }: ImageMedia,
  mediaType: ImageMediaType,
  bytes: Uint8Array,
): FrameImage {
  return { mediaType, bytes, width, height };
}

/** As for the lines of a session: deeper JSON overflows the stack of recursive readers. */
const maxDepth = 256;

/** Parses a body as JSON, after its length, encoding and depth passed the limits. */
function parseBody(body: Uint8Array | string): unknown {
  const size = bodySize(body);
  if (size > tetherLimits.maxWireBytes) throw limitExceeded(frameTooLarge(size));
  const text = typeof body === "string" ? body : decodeUtf8(body);
  if (text === undefined) throw wrongShape({ path: "", expected: "UTF-8" });
  if (isTooDeep(text, maxDepth))
    throw wrongShape({ path: "", expected: `JSON that is at most ${maxDepth} deep` });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw wrongShape({ path: "", expected: "JSON" }, cause);
  }
}

/**
 * The length on the wire in bytes. Short texts are not measured exactly: any lower bound within the limit
 * will do.
 */
function bodySize(body: Uint8Array | string): number {
  if (typeof body === "string") {
    // A UTF-16 code unit takes at most three bytes.
    return body.length * 3 <= tetherLimits.maxWireBytes ? body.length : utf8Bytes(body);
  }
  return body.length;
}

// The limits of frames: their errors, and the length of a frame on the wire.

const { maxImageBytes, maxFrameBytes, maxImages, maxWireBytes, imageTypes } = tetherLimits;

/** A limit that a frame exceeds: for the message of the error, and for its details. */
interface ExceededLimit {
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
function tooManyImages(count: number): ExceededLimit {
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
function imagesTooLarge(bytes: number, count: number): ExceededLimit {
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
function frameTooLarge(bytes: number): ExceededLimit {
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
function assertFitsWire(frame: TetherFrame): void {
  const bytes = wireBytes(frame);
  if (bytes > tetherLimits.maxWireBytes) throw limitExceeded(frameTooLarge(bytes));
}

const encoder = new TextEncoder();
const scratchBytes = 2 ** 16;

/** The length of a text as UTF-8 in bytes, counted in chunks without a copy of the text. */
function utf8Bytes(text: string): number {
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
