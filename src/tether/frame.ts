/**
 * The types of frames on the wire, and their shapes: the table from which `checkFrame` and the zod schemas
 * of `sessile/schema` derive.
 */

import { tetherLimits } from "../content/limits/index.js";
import type { ImageMediaType } from "../content/media/index.js";
import {
  anything,
  array,
  integerFrom,
  matching,
  nonEmptyString,
  object,
  oneOf,
  optional,
  type Problem,
  string,
  stringAmong,
  variants,
} from "../core/shape.js";

/** A conversation: a channel, such as `telegram` or `mcp`, and an id within it. */
export interface TetherSession {
  readonly channel: string;
  readonly id: string;
}

/**
 * A frame between a host and an agent. `user.*` and `control.*` go to the agent, all other types come from
 * it. Layers in between forward the payload without reading it. Member names are those of the wire.
 *
 * @see docs/requirements.md R32 to R88
 */
export interface TetherFrame<Type extends string = string, Payload = unknown> {
  readonly v: 1;
  readonly type: Type;
  /** The time of creation, RFC 3339, such as `2026-01-31T12:00:00Z`. */
  readonly ts: string;
  readonly session: TetherSession;
  /** The id of its message: the deltas and the end of one answer share it. */
  readonly msg_id?: string;
  /** The sequence number in a ring, from 1 on; absent outside of a ring. */
  readonly seq?: number;
  readonly payload: Payload;
}

/** A frame with its sequence number in a ring. */
export type SequencedFrame = TetherFrame & { readonly seq: number };

/** An image on the wire. */
export interface TetherImage {
  readonly media_type: ImageMediaType;
  /**
   * Base64 (RFC 4648 section 4), not a data URL. Padding is optional in incoming frames, and written in
   * outgoing ones.
   */
  readonly data: string;
}

/** The author as the channel reports it. Untrusted. */
export interface TetherUser {
  readonly id?: string;
  readonly name?: string;
}

/** A user's message. `text` is empty if it has images only. */
export interface UserMessagePayload {
  readonly text: string;
  readonly images?: readonly TetherImage[];
  readonly user?: TetherUser;
}

/** A chunk of an answer. Images come with the end of the answer. */
export interface AssistantDeltaPayload {
  readonly text: string;
}

/** A complete answer. */
export interface AssistantDonePayload {
  readonly text: string;
  readonly images?: readonly TetherImage[];
}

/** A user's message to the agent. */
export type UserMessageFrame = TetherFrame<"user.message", UserMessagePayload>;
/** A chunk of the agent's answer. */
export type AssistantDeltaFrame = TetherFrame<"assistant.delta", AssistantDeltaPayload>;
/** The agent's answer. */
export type AssistantDoneFrame = TetherFrame<"assistant.done", AssistantDonePayload>;

// The shapes of frames: the table from which `checkFrame` and the zod schemas of `sessile/schema`
// derive.

/**
 * The profile of ISO 8601 in RFC 3339. Impossible days pass.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3339 section 5.6 (read 2026-11-22)
 */
const timePattern: RegExp =
  /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,100})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

const envelope = {
  v: oneOf(1),
  type: nonEmptyString,
  ts: matching<string>(timePattern, "a time such as 2026-01-31T12:00:00Z"),
  session: object({ channel: nonEmptyString, id: nonEmptyString }),
  msg_id: optional(nonEmptyString),
  seq: optional(integerFrom(1)),
};
const envelopeShape = object(envelope);

/** The members of an image. An unsupported type passes: it is LIMIT_EXCEEDED, not a wrong shape. */
export const imageFields = {
  media_type: stringAmong<ImageMediaType>(...tetherLimits.imageTypes),
  data: string,
};

const images = optional(array(object(imageFields)));
const user = optional(object({ id: optional(string), name: optional(string) }));

/** The payloads of the known types. */
export const payloadShapes = {
  "user.message": object({ text: string, images, user }),
  "assistant.delta": object({ text: string }),
  "assistant.done": object({ text: string, images }),
};

type KnownType = keyof typeof payloadShapes;

const knownFrame = <T extends KnownType>(type: T) =>
  object({ ...envelope, type: oneOf(type), payload: payloadShapes[type] });

/** A frame of any type. Frames of unknown types have any payload, or no payload. */
export const frameShape = variants("type", [
  knownFrame("user.message"),
  knownFrame("assistant.delta"),
  knownFrame("assistant.done"),
  object({ ...envelope, payload: anything }),
]);

/** The first problem of a frame's shape; its images are checked by their limits. */
export function frameProblem(value: unknown): Problem | undefined {
  // The envelope first: its problems matter more than those of the payload.
  return envelopeShape(value) ?? frameShape(value);
}
