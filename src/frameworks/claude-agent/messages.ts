/** The target of user messages for the Claude Agent SDK. */

import type { LimitProfile } from "../../content/limits/index.js";
import { anthropic as anthropicLimits } from "../../content/limits/internal.js";
import { describe, oneOfOption } from "../../core/arguments.js";
import type { Target } from "../../providers/index.js";
import {
  type ClaudeShownBlock,
  claudeMedia,
  claudeShownBlock,
  textCallRules,
  toTranscript,
} from "../../providers/internal.js";

/**
 * A user message of the Claude Agent SDK. Assignable to `SDKUserMessage` of @anthropic-ai/claude-agent-sdk.
 */
export interface ClaudeAgentMessage {
  type: "user";
  message: { role: "user"; content: ClaudeShownBlock[] };
  parent_tool_use_id: null;
  session_id: string;
}

/** Options of {@link claudeAgentMessages}. */
export interface ClaudeAgentMessagesOptions {
  /** The agent's session id. Default "", as the SDK itself sends it if the prompt is a string. */
  readonly sessionId?: string;
  /**
   * `latest`: the user's content since the model's last message, for a session that the agent itself has.
   * `transcript`: the whole conversation as text, for a new session. Default `latest`.
   */
  readonly history?: "latest" | "transcript";
  /** Default `limitProfiles.anthropic`. */
  readonly profile?: LimitProfile;
  /** One of the profile's; default its first, Anthropic's own API. */
  readonly transport?: string;
  /** Tokens; without it limits of models with a small one count. */
  readonly contextWindow?: number;
}

/**
 * Projects a turn for the Claude Agent SDK: one message with text, images and documents. The agent keeps its
 * own history and instructions. Earlier turns are repeated only if a transcript is asked for.
 *
 * @throws TypeError if `sessionId` is no string or `history` is not one of the two.
 * @example
 * ```ts
 * const target = claudeAgentMessages({ sessionId: "5f0c" });
 * const { value } = await project(contextFrom([userMessage("hi")]), target);
 * const prompt = (async function* () { yield* value; })();
 * // for await (const event of query({ prompt })) …
 * value.length; // 1
 * ```
 * @see sdk.d.ts of @anthropic-ai/claude-agent-sdk (stored copy read 2026-11-21)
 */
export function claudeAgentMessages(options: ClaudeAgentMessagesOptions = {}): Target<ClaudeAgentMessage[]> {
  const { sessionId = "", profile = anthropicLimits, contextWindow } = options;
  const { transport = profile.transports[0] } = options;
  if (typeof sessionId !== "string") {
    throw new TypeError(`sessionId: expected a string, got ${describe(sessionId)}`);
  }
  const history = oneOfOption("history", options.history, ["latest", "transcript"]);
  return {
    name: "claude-agent",
    model: { provider: "claude-agent", model: "none" },
    accepts: { user: claudeMedia, toolResult: claudeMedia },
    rules: { ...(history === "latest" ? { history } : {}), ...textCallRules },
    limits: { profile, transport, ...(contextWindow === undefined ? {} : { contextWindow }) },
    embedsBase64: true,
    // No trace: the API counts the turns of the agent's own history, so its error paths do not refer to these
    // messages.
    render: (request) => {
      const pieces = toTranscript(request, history === "transcript");
      const content = pieces.map(({ text, part }): ClaudeShownBlock => {
        return text === undefined ? claudeShownBlock(part) : { type: "text", text };
      });
      const message = { role: "user" as const, content };
      return [{ type: "user", message, parent_tool_use_id: null, session_id: sessionId }];
    },
  };
}
