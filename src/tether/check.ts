import type { ImageMediaType } from "../media/index.js";
import type { AssistantDeltaFrame, AssistantDoneFrame, TetherFrame, UserMessageFrame } from "./frame.js";

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
 * envelope, the payload of the types that are known, how many images, and their sizes, which are told by the length of the
 * base64, so that nothing too large is ever decoded. Then the images are decoded, once, and their bytes have to be what
 * `media_type` says. Reserved fields (`ref`, `size`) are passed over. Fields that are not known stay in the frame.
 *
 * @throws SessileError INVALID_MESSAGE where the shape is wrong or data is no base64; LIMIT_EXCEEDED, whose text names the limit
 *   and what came, such as `too many images: 5 (max 4)`; MEDIA_INVALID for an image with an unsound header;
 *   MEDIA_TYPE_MISMATCH where bytes are not what is said
 */
export declare function checkFrame(value: unknown): CheckedFrame;

/**
 * A frame from the body of a request or a line: {@link checkFrame} behind the limit of the wire, 28 MiB, and JSON.
 *
 * @param body bytes as UTF-8, or text
 * @throws SessileError what {@link checkFrame} throws, LIMIT_EXCEEDED for a body that is too long
 */
export declare function readFrame(body: Uint8Array | string): CheckedFrame;
