import { oneOfOption, stringArgument } from "../../internal/arguments.js";
import { type LimitProfile, limitProfiles } from "../../limits/index.js";
import { claudeMedia } from "../claude-blocks.js";
import type { Target } from "../target.js";
import { renderAnthropic } from "./render.js";
import type { AnthropicRequest } from "./types.js";
import { bindsReasoning, seesFinely, takesPrefill } from "./types.js";

/** Options of {@link anthropicMessages}. */
export interface AnthropicMessagesOptions {
  /** As the request has it, such as `claude-opus-5-5`. */
  readonly model: string;
  /** Who serves it, as messages of the session name it; reasoning goes back to the same one only. Default `anthropic`. */
  readonly provider?: string;
  /** The account, where the harness has several; see `AssistantMessage.account`. */
  readonly account?: string;
  /** Default `limitProfiles.anthropic`. */
  readonly profile?: LimitProfile;
  /** One of the profile's; default its first, Anthropic's own API. On Bedrock and Vertex nothing goes by reference. */
  readonly transport?: string;
  /** Tokens; without it limits of models with a small one count. */
  readonly contextWindow?: number;
  /**
   * Whether reasoning of turns that are over goes back. It must stand behind the same bytes as when it was made where a model
   * binds it to these, and a replay policy that ends, a limit or a compaction changes them: by default `current` for such
   * models, from Fable and Mythos 5.1 and Opus 5.5 on, `all` for the rest.
   */
  readonly reasoning?: "all" | "current";
  /** How long cache markers hold. Default `5m`. Where the tools that you declare have markers too, at most four may be there. */
  readonly cacheTtl?: "5m" | "1h";
}

/**
 * Anthropic's Messages API. The value is what a session fills of a request, `system` and `messages`, in shapes that the
 * official client's types take.
 *
 * @throws TypeError when `model` is no text, or an option is none of its choices.
 * @example
 * ```ts
 * const model = "claude-opus-5-5";
 * const { value } = await project(await session.context(), anthropicMessages({ model }));
 * const reply = await client.messages.create({ model, max_tokens: 4096, ...value });
 * ```
 * @see @anthropic-ai/sdk 1.11.0, resources/messages/messages.d.ts
 */
export function anthropicMessages(options: AnthropicMessagesOptions): Target<AnthropicRequest> {
  const model = stringArgument("model", options.model);
  const profile = options.profile ?? limitProfiles.anthropic;
  const { transport = profile.transports[0], contextWindow, account } = options;
  const reasoning = oneOfOption(
    "reasoning",
    options.reasoning ?? (bindsReasoning(model) ? "current" : "all"),
    ["all", "current"],
  );
  const cacheTtl = oneOfOption("cacheTtl", options.cacheTtl, ["5m", "1h"]);
  const isOwnApi = transport === "api";
  return {
    name: "anthropic-messages",
    maker: {
      provider: stringArgument("provider", options.provider ?? "anthropic"),
      model,
      api: "anthropic-messages",
      ...(account === undefined ? {} : { account }),
    },
    accepts: {
      user: claudeMedia,
      toolResult: claudeMedia,
      references: isOwnApi ? ["file", "url"] : [],
    },
    rules: {
      toolName: { maxLength: maxToolNameLength },
      trimsAssistant: takesPrefill(model),
    },
    limits: { profile, transport, ...(contextWindow === undefined ? {} : { contextWindow }) },
    embedsBase64: true,
    estimate: { image: seesFinely(model) ? "anthropicLarge" : "anthropic" },
    maxCacheMarkers: 4,
    render: (request, tools) => {
      const currentReasoningOnly = reasoning === "current";
      return renderAnthropic(
        request,
        { cacheTtl, currentReasoningOnly, trimsAssistant: takesPrefill(model) },
        tools,
      );
    },
  };
}

/**
 * Of declared tools. A call in the history may have 200, but then it is of no tool that there is.
 *
 * @see https://github.com/anthropics/claude-code/issues/16425 and https://github.com/anthropics/claude-code/issues/2673
 *   (stored copies read 2026-11-21)
 */
const maxToolNameLength = 128;
