import { describe, oneOfOption } from "../../internal/arguments.js";
import { type LimitProfile, limitProfiles } from "../../limits/index.js";
import { type ClaudeShownBlock, claudeMedia, claudeShownBlock } from "../claude-blocks.js";
import type { Target } from "../target.js";
import { transcriptOf } from "../transcript.js";

/** A user's message, as the Claude Agent SDK takes it: assigns to `SDKUserMessage` of @anthropic-ai/claude-agent-sdk. */
export interface ClaudeAgentMessage {
  type: "user";
  message: { role: "user"; content: ClaudeShownBlock[] };
  parent_tool_use_id: null;
  session_id: string;
}

/** Options of {@link claudeAgentMessages}. */
export interface ClaudeAgentMessagesOptions {
  /** The agent's session. Default "", as the SDK itself has it where the prompt is a string. */
  readonly sessionId?: string;
  /**
   * `latest`: what the user said since the model spoke, for a session that the agent has itself. `transcript`: everything from
   * the beginning, told as a conversation, for a new one. Default `latest`.
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
 * A turn for the Claude Agent SDK: one message with text, images and documents. The agent keeps its own history and has its own
 * instructions, so that what it has been told is not repeated unless a transcript is asked for.
 *
 * @throws TypeError for a session's id that is no string, and for a `history` that is neither.
 * @example
 * ```ts
 * const { value } = await project(contextOf([userMessage("hi")]), claudeAgentMessages({ sessionId: "5f0c" }));
 * const prompt = (async function* () { yield* value; })();
 * // for await (const event of query({ prompt })) …
 * value.length; // 1
 * ```
 * @see sdk.d.ts of @anthropic-ai/claude-agent-sdk (stored copy read 2026-11-21)
 */
export function claudeAgentMessages(options: ClaudeAgentMessagesOptions = {}): Target<ClaudeAgentMessage[]> {
  const { sessionId = "", profile = limitProfiles.anthropic, contextWindow } = options;
  const { transport = profile.transports[0] } = options;
  if (typeof sessionId !== "string") {
    throw new TypeError(`sessionId: expected a string, got ${describe(sessionId)}`);
  }
  const history = oneOfOption("history", options.history, ["latest", "transcript"]);
  return {
    name: "claude-agent",
    maker: { provider: "claude-agent", model: "none" },
    accepts: { user: claudeMedia, toolResult: claudeMedia },
    rules: {
      ...(history === "latest" ? { history } : {}),
      takesReasoning: false,
      // Ids and arguments are told in words: nothing needs to be changed in them.
      callId: { character: /[^\p{Cs}\p{Cc}]/u, maxLength: 1000 },
      objectArguments: false,
      userFirst: false,
    },
    limits: { profile, transport, ...(contextWindow === undefined ? {} : { contextWindow }) },
    embedsBase64: true,
    // Blocks are not marked: the API counts the turns of the agent's own history, so that its paths lead nowhere here.
    render: (request) => {
      const pieces = transcriptOf(request, history === "transcript");
      const content = pieces.map(({ text, part }): ClaudeShownBlock => {
        return text === undefined ? claudeShownBlock(part) : { type: "text", text };
      });
      const message = { role: "user" as const, content };
      return [{ type: "user", message, parent_tool_use_id: null, session_id: sessionId }];
    },
  };
}
