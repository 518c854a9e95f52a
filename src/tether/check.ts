import { SessileError } from "../errors/index.js";
import { base64BytesAtMost, decodeBase64, padBase64 } from "../internal/base64.js";
import { decodeUtf8 } from "../internal/bytes.js";
import { tooDeep } from "../internal/json-depth.js";
import { isRecord, joinPath, type Problem } from "../internal/shape.js";
import { tetherLimits } from "../limits/index.js";
import { type ImageMedia, type ImageMediaType, sniff } from "../media/index.js";
import type {
  AssistantDeltaFrame,
  AssistantDoneFrame,
  TetherFrame,
  TetherImage,
  UserMessageFrame,
} from "./frame.js";
import {
  assertFitsWire,
  type Broken,
  frameTooLarge,
  imagesTooLarge,
  imageTooLarge,
  limitExceeded,
  tooManyImages,
  unsoundImage,
  unsupportedType,
  utf8Bytes,
} from "./frame-limits.js";
import { frameProblem } from "./shape.js";

/** An image of a frame, decoded. */
export interface FrameImage {
  /** As sniffed, which is what the frame says. */
  readonly mediaType: ImageMediaType;
  readonly bytes: Uint8Array;
  /** Pixels. */
  readonly width: number;
  /** Pixels. */
  readonly height: number;
}

/** A frame that holds to the protocol, and its images, decoded once. */
export type CheckedFrame =
  | { readonly kind: "userMessage"; readonly frame: UserMessageFrame; readonly images: readonly FrameImage[] }
  | { readonly kind: "assistantDelta"; readonly frame: AssistantDeltaFrame; readonly images: readonly [] }
  | {
      readonly kind: "assistantDone";
      readonly frame: AssistantDoneFrame;
      readonly images: readonly FrameImage[];
    }
  /** Any other type: its payload is not looked at. */
  | { readonly kind: "other"; readonly frame: TetherFrame; readonly images: readonly [] };

/** The frame of somebody's message. */
export type CheckedUserMessage = Extract<CheckedFrame, { readonly kind: "userMessage" }>;

/**
 * Holds a frame against the protocol and its limits ({@link tetherLimits}), for whoever sends one and for whoever gets one: the
 * envelope, the payload of the types that are known, how many images, their types and sizes, which are told by the length of
 * the base64, so that nothing too large is ever decoded, and the length on the wire. Then the images are decoded, once, and their
 * bytes have to be what `media_type` says. Reserved fields (`ref`, `size`) are passed over. Fields that are not known stay in the frame, which is a
 * copy: nobody changes it behind the check.
 *
 * @throws SessileError INVALID_MESSAGE where the shape is wrong or data is no base64; LIMIT_EXCEEDED, whose text names the limit
 *   and what came, such as `too many images: 5 (max 4)`; MEDIA_INVALID for an image with an unsound header;
 *   MEDIA_TYPE_MISMATCH where bytes are not what is said
 * @example
 * ```ts
 * const checked = checkFrame(json);
 * if (checked.kind === "assistantDone") {
 *   console.log(checked.frame.payload.text, checked.images.map(({ mediaType, bytes }) => [mediaType, bytes.length]));
 * }
 * ```
 */
export function checkFrame(value: unknown): CheckedFrame {
  return checked(value, { measured: false });
}

/** Frames that went through the check: nothing else can be in here, whatever type somebody gave it. */
const assured = new WeakSet<CheckedFrame>();

/** A message that was checked in this process: the very same where it was, and checked now where only its type says so. */
export function assuredMessage(message: CheckedUserMessage): CheckedUserMessage {
  if (assured.has(message)) return message;
  const { frame } = (message ?? {}) as Partial<CheckedUserMessage>;
  const now = checkFrame(frame);
  if (now.kind === "userMessage") return now;
  throw wrongShape({ path: "type", expected: '"user.message"' });
}

/**
 * {@link checkFrame} with two more things that only this module knows.
 *
 * @param options.measured the frame's length on the wire is known to be within the limit
 * @param options.payloadPlace where errors say that the payload is; default `payload`
 */
export function checked(
  value: unknown,
  { measured, payloadPlace = "payload" }: { readonly measured: boolean; readonly payloadPlace?: string },
): CheckedFrame {
  const frame = asFrame(copyFrame(value), payloadPlace);
  const images = () => imagesOf(frame as UserMessageFrame | AssistantDoneFrame, payloadPlace);
  const result = Object.freeze(checkedAs(frame, images));
  // What is too large by itself is told by its own limit.
  if (!measured && result.kind !== "other") assertFitsWire(frame);
  assured.add(result);
  return result;
}

function checkedAs(frame: TetherFrame, images: () => readonly FrameImage[]): CheckedFrame {
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
 * A frame as it comes in: {@link checkFrame} for a value, and for the body of a request or a line the same behind JSON and the
 * limit of the wire, 28 MiB, which is told before anything is parsed. JSON is taken to a depth of 256. It is the one check of
 * MCP's tool, an ingress, a gateway and an agent.
 *
 * @param received bytes as UTF-8, text, or what was parsed of them
 * @throws SessileError what {@link checkFrame} throws, INVALID_MESSAGE for what is no JSON, LIMIT_EXCEEDED for a body that is
 *   too long
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
  return checked(parseBody(received), { measured: true });
}

function imagesOf(
  { payload }: UserMessageFrame | AssistantDoneFrame,
  payloadPlace: string,
): readonly FrameImage[] {
  return Object.freeze(readImages(payload.images ?? [], joinPath(payloadPlace, "images")));
}

function asFrame(value: unknown, payloadPlace: string): TetherFrame {
  const problem = frameProblem(value);
  if (problem === undefined) return value as TetherFrame;
  const { path, expected } = problem;
  const inPayload = /^payload\.(.*)$/s.exec(path)?.[1];
  throw wrongShape({ path: inPayload === undefined ? path : joinPath(payloadPlace, inPayload), expected });
}

function wrongShape({ path, expected }: Problem): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path === "" ? "frame" : path}: expected ${expected}`, {
    details: { path, expected },
  });
}

/**
 * What is looked at, copied: it is read once, so that a getter or whoever else holds the frame cannot put something else in
 * the place of what was checked. Strings are shared. What is refused anyway is left as it is.
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
 * The images of a payload, decoded, once all of them are within the limits.
 *
 * @param place where they stand, such as `payload.images`
 */
export function readImages(images: readonly TetherImage[], place: string): readonly FrameImage[] {
  assertWithinLimits(images);
  return images.map((image, index) => readImage(image, `${place}[${index}]`));
}

/** By the length of the base64: nothing is decoded for it. */
function assertWithinLimits(images: readonly TetherImage[]): void {
  // Alone, so that nothing below grows with what somebody sends.
  if (images.length > tetherLimits.maxImages) throw limitExceeded(tooManyImages(images.length));
  const broken: Broken[] = [];
  let total = 0;
  images.forEach(({ media_type, data }, index) => {
    const name = `images[${index}]`;
    const bytes = base64BytesAtMost(data);
    total += bytes;
    if (!isImageType(media_type)) broken.push(unsupportedType(media_type, index, name));
    if (bytes > tetherLimits.maxImageBytes) broken.push(imageTooLarge(bytes, index, name));
  });
  if (total > tetherLimits.maxFrameBytes) broken.push(imagesTooLarge(total, images.length));
  if (broken.length > 0) throw limitExceeded(...broken);
}

/** To the letter: what reads a frame compares. */
function isImageType(mediaType: string): boolean {
  return tetherLimits.imageTypes.some((type) => type === mediaType);
}

function readImage({ media_type, data }: TetherImage, place: string): FrameImage {
  const bytes = decodeBase64(padBase64(data));
  if (bytes === undefined) {
    const path = `${place}.data`;
    const expected = "base64 (RFC 4648 section 4), without a data URL's prefix";
    throw new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}`, {
      details: { path, expected },
    });
  }
  const media = sniff(bytes);
  if (media?.kind === "invalid") throw unsoundImage(media, `${place}: `);
  if (media?.kind === "image" && media.mediaType === media_type) return frameImage(media, bytes);
  const actual = media?.mediaType ?? "application/octet-stream";
  throw new SessileError("MEDIA_TYPE_MISMATCH", `${place}: said to be ${media_type}, and is ${actual}`, {
    details: { declared: media_type, actual },
  });
}

function frameImage({ mediaType, width, height }: ImageMedia, bytes: Uint8Array): FrameImage {
  return { mediaType, bytes, width, height };
}

/** As for a session's lines: what is deeper breaks every recursive reader after this one. */
const maxDepth = 256;

/** The JSON of a body, which is measured before anything is made of it. */
export function parseBody(body: Uint8Array | string): unknown {
  const size = sizeOf(body);
  if (size > tetherLimits.maxWireBytes) throw limitExceeded(frameTooLarge(size));
  const text = typeof body === "string" ? body : decodeUtf8(body);
  if (text === undefined) throw noFrame("UTF-8");
  if (tooDeep(text, maxDepth)) throw noFrame(`JSON that is at most ${maxDepth} deep`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw noFrame("JSON", cause);
  }
}

/** Bytes on the wire, or fewer where they are too few to matter. */
function sizeOf(body: Uint8Array | string): number {
  if (typeof body === "string") {
    // One unit of a string is three bytes at most.
    return body.length * 3 <= tetherLimits.maxWireBytes ? body.length : utf8Bytes(body);
  }
  return body.length;
}

function noFrame(expected: string, cause?: unknown): SessileError<"INVALID_MESSAGE"> {
  const message = `frame: expected ${expected}`;
  return new SessileError("INVALID_MESSAGE", message, { details: { path: "", expected }, cause });
}
