import { describe, stringArgument } from "../internal/arguments.js";
import { encodeBase64 } from "../internal/encode-base64.js";
import { uuidv7 } from "../internal/ids.js";
import { isRecord } from "../internal/shape.js";
import { tetherLimits } from "../limits/index.js";
import { sniff } from "../media/index.js";
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
import { imageTooLarge, limitExceeded, unsoundImage, unsupportedType } from "./frame-limits.js";
import { sessionArgument } from "./session-id.js";

/** What every builder of a frame takes besides the content. */
export interface FrameOptions {
  /** Default a UUID of version 7, but for deltas and the end of one answer give one. */
  readonly msgId?: string;
  /** Default now. */
  readonly ts?: Date;
}

/**
 * A `user.message` frame. Fields that are not the wire's are left behind, so that a reserved `ref` never goes out.
 *
 * @throws SessileError what {@link checkFrame} throws, and LIMIT_EXCEEDED for a frame that is too long for the wire: a producer
 *   refuses before it sends
 * @throws TypeError for a session without channel and id; RangeError for a `ts` that is no time or not of the years 0 to 9999
 * @example
 * ```ts
 * const frame = userMessageFrame({ channel: "mcp", id: "default" }, { text: "What is this?", images: [tetherImage(bytes)] });
 * ```
 */
export function userMessageFrame(
  session: TetherSession,
  payload: UserMessagePayload,
  options: FrameOptions = {},
): UserMessageFrame {
  const { text, images, user } = payload;
  return built("user.message", session, options, {
    text,
    ...sentImages(images),
    ...(user === undefined ? {} : { user: picked(user, ["id", "name"]) }),
  });
}

/** An `assistant.delta` frame: text alone. Checked as {@link userMessageFrame} is. */
export function assistantDelta(
  session: TetherSession,
  text: string,
  options: FrameOptions = {},
): AssistantDeltaFrame {
  return built("assistant.delta", session, options, { text });
}

/**
 * An `assistant.done` frame, with images or without; checked as {@link userMessageFrame} is.
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
  return built("assistant.done", session, options, { text, ...sentImages(images) });
}

/**
 * An image as the wire has it: its type as sniffed, its bytes as base64.
 *
 * @throws SessileError MEDIA_INVALID, LIMIT_EXCEEDED for more than 10 MiB or what is no PNG, JPEG, GIF or WebP
 */
export function tetherImage(bytes: Uint8Array): TetherImage {
  const media = sniff(bytes);
  if (bytes.length > tetherLimits.maxImageBytes) {
    throw limitExceeded(imageTooLarge(bytes.length, 0, "image"));
  }
  if (media?.kind === "invalid") throw unsoundImage(media);
  if (media?.kind !== "image") {
    throw limitExceeded(unsupportedType(media?.mediaType ?? "application/octet-stream", 0, "image"));
  }
  return { media_type: media.mediaType, data: encodeBase64(bytes) };
}

/** The frame, checked as its reader will check it. */
function built<Frame extends TetherFrame>(
  type: Frame["type"],
  session: TetherSession,
  { msgId, ts }: FrameOptions,
  payload: Frame["payload"],
): Frame {
  const frame: TetherFrame = {
    v: 1,
    type,
    ts: timeOf(ts),
    session: sessionArgument(session),
    msg_id: msgId === undefined ? uuidv7(Date.now()) : stringArgument("msgId", msgId),
    payload,
  };
  return checkFrame(frame).frame as Frame;
}

/** The wire has four digits for a year. */
function timeOf(ts: Date = new Date()): string {
  const year = ts instanceof Date ? ts.getUTCFullYear() : Number.NaN;
  if (year >= 0 && year <= 9999) return ts.toISOString();
  throw new RangeError(`ts: expected a Date from the year 0 to 9999, got ${describe(ts)}`);
}

/** No key where there are none, so that a frame of text alone is what it always was. */
function sentImages(images: readonly TetherImage[] | undefined): Pick<UserMessagePayload, "images"> {
  if (images === undefined) return {};
  if (!Array.isArray(images)) return { images };
  return images.length === 0 ? {} : { images: images.map((image) => picked(image, ["media_type", "data"])) };
}

/** An object with these of its fields; what is none is refused as it is. */
function picked<T extends object>(from: T, fields: readonly (keyof T & string)[]): T {
  if (!isRecord(from)) return from;
  return Object.fromEntries(
    fields.filter((field) => from[field] !== undefined).map((field) => [field, from[field]]),
  ) as T;
}
