import type { ImageMediaType } from "../media/index.js";

/** Who a frame is between: a channel, such as `telegram` or `mcp`, and a conversation in it. */
export interface TetherSession {
  readonly channel: string;
  readonly id: string;
}

/**
 * A frame between a host and an agent. `user.*` and `control.*` go in, all else goes out. Layers between the two pass the
 * payload on without looking inside. Names are those of the wire.
 *
 * @see docs/requirements.md R32 to R88
 */
export interface TetherFrame<Type extends string = string, Payload = unknown> {
  readonly v: 1;
  readonly type: Type;
  /** When it was made: a date and time of ISO 8601 as RFC 3339 has it, such as `2026-01-31T12:00:00Z`. */
  readonly ts: string;
  readonly session: TetherSession;
  /** The message that it belongs to: the deltas and the end of one answer share it. */
  readonly msg_id?: string;
  /** Its place in the ring, from 1 on; absent until it is in one. */
  readonly seq?: number;
  readonly payload: Payload;
}

/** A frame that a ring has given its place. */
export type SequencedFrame = TetherFrame & { readonly seq: number };

/** An image on the wire. */
export interface TetherImage {
  readonly media_type: ImageMediaType;
  /** Base64, RFC 4648 section 4: read with padding or without, written with it. No data URL. */
  readonly data: string;
}

/** Who speaks, as the channel tells it. Untrusted. */
export interface TetherUser {
  readonly id?: string;
  readonly name?: string;
}

/** What somebody said; `text` is empty where images stand alone. */
export interface UserMessagePayload {
  readonly text: string;
  readonly images?: readonly TetherImage[];
  readonly user?: TetherUser;
}

/** A piece of an answer on its way. It has no images: they come with the end. */
export interface AssistantDeltaPayload {
  readonly text: string;
}

/** A whole answer. */
export interface AssistantDonePayload {
  readonly text: string;
  readonly images?: readonly TetherImage[];
}

/** Somebody's message on its way to the agent. */
export type UserMessageFrame = TetherFrame<"user.message", UserMessagePayload>;
/** A piece of the agent's answer. */
export type AssistantDeltaFrame = TetherFrame<"assistant.delta", AssistantDeltaPayload>;
/** The agent's answer. */
export type AssistantDoneFrame = TetherFrame<"assistant.done", AssistantDonePayload>;
