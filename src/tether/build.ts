/** Builders of frames. They run the same check as readers of frames. */

import { tetherLimits } from "../content/limits/index.js";
import { sniff } from "../content/media/index.js";
import { describe, stringArgument } from "../core/arguments.js";
import { encodeBase64 } from "../core/base64.js";
import { uuidv7 } from "../core/ids.js";
import { isRecord } from "../core/shape.js";
import { checkFrame } from "./check.js";
import type {
  AssistantDeltaFrame,
  AssistantDoneFrame,
  TetherFrame,
  TetherImage,
  TetherSession,
  UserMessageFrame,
  UserMessagePayload,
} from "./frame.js";
import { imageTooLarge, invalidImage, isImageType, limitExceeded, unsupportedType } from "./frame-limits.js";
import { sessionArgument } from "./session-id.js";

/** Options of the builders of frames. */
export interface FrameOptions {
  /** Default: a UUID of version 7. The deltas and the end of one answer share an id: pass it. */
  readonly msgId?: string | undefined;
  /** Default: now. */
  readonly ts?: Date | undefined;
}

/**
 * Builds a `user.message` frame. Fields outside the protocol are dropped, so that the reserved `ref` is never
 * sent.
 *
 * @throws SessileError as {@link checkFrame}, and LIMIT_EXCEEDED for a frame that is too long for the wire:
 *   senders refuse before they send
 * @throws TypeError for a session without channel and id; RangeError for an invalid `ts`, or one outside the
 *   years 0 to 9999
 * @example
 * ```ts
 * const session = { channel: "mcp", id: "default" };
 * const frame = userMessageFrame(session, { text: "What is this?", images: [tetherImage(bytes)] });
 * ```
 */
export function userMessageFrame(
  session: TetherSession,
  payload: UserMessagePayload,
  options: FrameOptions = {},
): UserMessageFrame {
  const { text, images, user } = payload;
  return buildFrame("user.message", session, options, {
    text,
    ...withImages(images),
    ...(user === undefined ? {} : { user: pickFields(user, ["id", "name"]) }),
  });
}

/** Builds an `assistant.delta` frame, which has text only. Checked as by {@link userMessageFrame}. */
export function assistantDelta(
  session: TetherSession,
  text: string,
  options: FrameOptions = {},
): AssistantDeltaFrame {
  return buildFrame("assistant.delta", session, options, { text });
}

/**
 * Builds an `assistant.done` frame, with or without images. Checked as by {@link userMessageFrame}.
 *
 * @example
 * ```ts
 * assistantDone({ channel: "mcp", id: "default" }, "Done.").payload; // { text: "Done." }
 * ```
 */
export function assistantDone(
  session: TetherSession,
  text: string,
  images: readonly TetherImage[] = [],
  options: FrameOptions = {},
): AssistantDoneFrame {
  return buildFrame("assistant.done", session, options, { text, ...withImages(images) });
}

/**
 * Encodes an image for the wire: the sniffed type, and base64.
 *
 * @throws SessileError MEDIA_INVALID for a damaged image; LIMIT_EXCEEDED for more than 10 MiB, or other
 *   bytes than PNG, JPEG, GIF or WebP
 */
export function tetherImage(bytes: Uint8Array): TetherImage {
  const media = sniff(bytes);
  if (bytes.length > tetherLimits.maxImageBytes) {
    throw limitExceeded(imageTooLarge(bytes.length, 0, "image"));
  }
  if (media?.kind === "invalid") throw invalidImage(media);
  if (media?.kind !== "image" || !isImageType(media.mediaType)) {
    throw limitExceeded(unsupportedType(media?.mediaType ?? "application/octet-stream", 0, "image"));
  }
  return { media_type: media.mediaType, data: encodeBase64(bytes) };
}

/** Runs the check of the receiving side. */
function buildFrame<Frame extends TetherFrame>(
  type: Frame["type"],
  session: TetherSession,
  { msgId, ts }: FrameOptions,
  payload: Frame["payload"],
): Frame {
  const frame: TetherFrame = {
    v: 1,
    type,
    ts: printTime(ts),
    session: sessionArgument(session),
    msg_id: msgId === undefined ? uuidv7(Date.now()) : stringArgument("msgId", msgId),
    payload,
  };
  return checkFrame(frame).frame as Frame;
}

/** The years of the wire have four digits. */
function printTime(ts: Date = new Date()): string {
  const year = ts instanceof Date ? ts.getUTCFullYear() : Number.NaN;
  if (year >= 0 && year <= 9999) return ts.toISOString();
  throw new RangeError(`ts: expected a Date from the year 0 to 9999, got ${describe(ts)}`);
}

/** Omits an empty `images`, so that a frame of text is equal to one of a version without images. */
function withImages(images: readonly TetherImage[] | undefined): Pick<UserMessagePayload, "images"> {
  if (images === undefined) return {};
  if (!Array.isArray(images)) return { images };
  return images.length === 0
    ? {}
    : { images: images.map((image) => pickFields(image, ["media_type", "data"])) };
}

/** Copies the named fields. A value that is not an object is left to the check. */
function pickFields<T extends object>(from: T, fields: readonly (keyof T & string)[]): T {
  if (!isRecord(from)) return from;
  return Object.fromEntries(
    fields.filter((field) => from[field] !== undefined).map((field) => [field, from[field]]),
  ) as T;
}
