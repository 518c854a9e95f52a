import type { AssistantDeltaFrame, AssistantDoneFrame, CheckedUserMessage } from "sessile/tether";
import type { Model } from "./model.js";
import type { Tools } from "./tools.js";

/** What {@link tetherAgent} needs. */
export interface TetherAgentOptions {
  /** Its sessions and blobs lie here, and are there again after a restart. */
  readonly dir: string;
  /** The agent's own name: the same conversation with two agents is two sessions. */
  readonly instance: string;
  readonly model: Model;
  /** Default none. An image that one makes goes out with the answer. */
  readonly tools?: Tools;
}

/** An agent behind frames: a session for each conversation. */
export interface TetherAgent {
  /**
   * Answers a message: pieces of the answer, then its end. Messages of one conversation are answered one after the other,
   * in the order of the calls. What goes wrong is an answer too, so that somebody who asked is told.
   */
  answer(
    message: CheckedUserMessage,
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterable<AssistantDeltaFrame | AssistantDoneFrame>;
}

export declare function tetherAgent(options: TetherAgentOptions): TetherAgent;
