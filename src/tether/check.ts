import { SessileError } from "../errors/index.js";
import { isRecord } from "../internal/shape.js";
import { tetherLimits } from "../limits/index.js";
import type { ImageMediaType } from "../media/index.js";
import { parseBody } from "./body.js";
import type { AssistantDeltaFrame, AssistantDoneFrame, TetherFrame, UserMessageFrame } from "./frame.js";
import { readImages } from "./images.js";
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
 * envelope, the payload of the types that are known, how many images, and their types and sizes, which are told by the length of
 * the base64, so that nothing too large is ever decoded. Then the images are decoded, once, and their bytes have to be what
 * `media_type` says. Reserved fields (`ref`, `size`) are passed over. Fields that are not known stay in the frame, which is a
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
  const frame = asFrame(copyFrame(value));
  switch (frame.type) {
    case "user.message": {
      const known = frame as UserMessageFrame;
      return { kind: "userMessage", frame: known, images: imagesOf(known) };
    }
    case "assistant.done": {
      const known = frame as AssistantDoneFrame;
      return { kind: "assistantDone", frame: known, images: imagesOf(known) };
    }
    case "assistant.delta":
      return { kind: "assistantDelta", frame: frame as AssistantDeltaFrame, images: [] };
    default:
      return { kind: "other", frame, images: [] };
  }
}

/**
 * A frame from the body of a request or a line: {@link checkFrame} behind JSON and the limit of the wire, 28 MiB, which is told
 * before anything is parsed. JSON is taken to a depth of 256.
 *
 * @param body bytes as UTF-8, or text
 * @throws SessileError what {@link checkFrame} throws, INVALID_MESSAGE for what is no JSON, LIMIT_EXCEEDED for a body that is
 *   too long
 * @throws TypeError for a body that is neither
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
export function readFrame(body: Uint8Array | string): CheckedFrame {
  return checkFrame(parseBody(body));
}

function imagesOf({ payload }: UserMessageFrame | AssistantDoneFrame): readonly FrameImage[] {
  return readImages(payload.images ?? [], "payload.images");
}

function asFrame(value: unknown): TetherFrame {
  const problem = frameProblem(value);
  if (problem === undefined) return value as TetherFrame;
  const { path, expected } = problem;
  throw new SessileError("INVALID_MESSAGE", `${path === "" ? "frame" : path}: expected ${expected}`, {
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
