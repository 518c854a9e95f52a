import type {
  AssistantDeltaFrame,
  AssistantDoneFrame,
  TetherImage,
  TetherSession,
  UserMessageFrame,
  UserMessagePayload,
} from "./frame.js";

/** What every builder of a frame takes besides the content. */
export interface FrameOptions {
  /** Default a UUID of version 7, but for deltas and the end of one answer give one. */
  readonly msgId?: string;
  /** Default now. */
  readonly ts?: Date;
}

/**
 * A `user.message` frame. Fields of images other than the two of the wire are left behind, so that a reserved `ref` never
 * goes out.
 *
 * @throws SessileError what {@link checkFrame} throws: a producer refuses before it sends
 * @throws TypeError for a session without channel and id
 * @example
 * ```ts
 * const frame = userMessageFrame({ channel: "mcp", id: "default" }, { text: "What is this?", images: [tetherImage(bytes)] });
 * ```
 */
export declare function userMessageFrame(
  session: TetherSession,
  payload: UserMessagePayload,
  options?: FrameOptions,
): UserMessageFrame;

/** An `assistant.delta` frame: text alone. */
export declare function assistantDelta(
  session: TetherSession,
  text: string,
  options?: FrameOptions,
): AssistantDeltaFrame;

/** An `assistant.done` frame, with images or without; checked as {@link userMessageFrame} is. */
export declare function assistantDone(
  session: TetherSession,
  text: string,
  images?: readonly TetherImage[],
  options?: FrameOptions,
): AssistantDoneFrame;

/**
 * An image as the wire has it: its type as sniffed, its bytes as base64.
 *
 * @throws SessileError MEDIA_INVALID, LIMIT_EXCEEDED for more than 10 MiB or what is no PNG, JPEG, GIF or WebP
 */
export declare function tetherImage(bytes: Uint8Array): TetherImage;
