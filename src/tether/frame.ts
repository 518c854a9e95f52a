/** The types of frames on the wire. */

import type { ImageMediaType } from "../content/media/index.js";

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
