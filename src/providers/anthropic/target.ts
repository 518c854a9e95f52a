/** The target of Anthropic's Messages API. */

import type { LimitProfile } from "../../content/limits/index.js";
import { anthropic as anthropicLimits } from "../../content/limits/internal.js";
import { oneOfOption, stringArgument } from "../../core/arguments.js";
import { claudeMedia } from "../claude-blocks.js";
import { modelFacts } from "../models/internal.js";
import { mediaFor, type Target } from "../target.js";
import { type AnthropicRequest, isOpaqueBlock, renderAnthropic } from "./render.js";

/** Options of {@link anthropicMessages}. */
export interface AnthropicMessagesOptions {
  /** The model of the request, such as `claude-opus-5-5`. */
  readonly model: string;
  /**
   * The provider, as messages of the session name it. Reasoning is sent back only to the same provider.
   * Default `anthropic`.
   */
  readonly provider?: string;
  /** The account, if the harness has several; see `AssistantMessage.account`. */
  readonly account?: string;
  /** Default `limitProfiles.anthropic`. */
  readonly profile?: LimitProfile;
  /**
   * A transport of the profile. Default its first, Anthropic's own API. On Bedrock and Vertex no media is
   * sent by reference.
   */
  readonly transport?: string;
  /** The model's context window in tokens. Without it the limits of models with a small window apply. */
  readonly contextWindow?: number;
  /**
   * The reasoning that is sent back: `all`, or that of the `current` turn. Newer models (Fable and Mythos from
   * 5.1, the others from 5.5) refuse it after other bytes than those that it was made for. Without this option
   * they get all that counts, by `prefix` of the projection, and no more. Other models get all.
   */
  readonly reasoning?: "all" | "current";
  /**
   * The lifetime of cache markers. Default `5m`. A request has at most four markers, including those on
   * declared tools.
   */
  readonly cacheTtl?: "5m" | "1h";
  /**
   * Whether changes of tools that system messages of mid-session tell (`toolsAdded`, `toolsRemoved`) stand where they
   * were told, so that reasoning and cache stay: declare `tools` of the projection, which stay those of the session's
   * first messages. For models that bind reasoning, with the headers `mid-conversation-tool-changes-2026-07-01` and
   * `inline-tools-2026-09-15`. Default false: `tools` of the projection change.
   */
  readonly toolChanges?: boolean;
  /**
   * Types of custom messages (`customType`) that count until the user's next message, such as a date, a reminder or a
   * list of todos. They stand at the end, behind each result too, and the API clears them; a newer one replaces that
   * of its type. With the header `mid-conversation-system-clear-at-2026-08-21`, for Opus from 4.8, Fable and Mythos
   * from 5, and all models from 5.5. Default none: each stays in the user's turn.
   */
  readonly turnOnly?: readonly string[];
  /**
   * Sends only what is new if the API still holds the rest, by a message thread (beta `message-threads-2026-08-12`,
   * not with zero data retention). A value with `thread.type` `continue` takes no `tools` beside it; if the API
   * refuses it, send `whole()`. Give `project` the `tools`, since a thread keeps those of its first request. Default
   * false.
   */
  readonly continue?: boolean;
}

/**
 * Projects to Anthropic's Messages API. The value has the members of a request that a session fills, `system`
 * and `messages`, and fits the official client's types.
 *
 * @throws TypeError if `model` is no string, or an option has an unknown value.
 * @example
 * ```ts
 * const model = "claude-opus-5-5";
 * const { value } = await project(await session.context(), anthropicMessages({ model }));
 * const reply = await client.messages.create({ model, max_tokens: 4096, ...value });
 * ```
 * @see @anthropic-ai/sdk 1.11.0, resources/messages/messages.d.ts
 */
export function anthropicMessages(options: AnthropicMessagesOptions): Target<AnthropicRequest> {
  const model = stringArgument("model", options?.model);
  const facts = modelFacts(model);
  // An unknown model, as after a proxy, is treated as an older one.
  const trimsAssistant = facts.refusesPrefill !== true;
  const profile = options.profile ?? anthropicLimits;
  const { transport = profile.transports[0], contextWindow, account } = options;
  const reasoning = options.reasoning && oneOfOption("reasoning", options.reasoning, ["all", "current"]);
  const cacheTtl = oneOfOption("cacheTtl", options.cacheTtl, ["5m", "1h"]);
  const { turnOnly } = options;
  for (const [at, type] of turnOnly?.entries() ?? []) stringArgument(`turnOnly[${at}]`, type);
  const isOwnApi = transport === "api";
  const renderOptions = { cacheTtl, trimsAssistant, isThread: options.continue === true };
  return {
    name: "anthropic-messages",
    model: {
      provider: stringArgument("provider", options.provider ?? "anthropic"),
      model,
      api: "anthropic-messages",
      ...(account === undefined ? {} : { account }),
    },
    accepts: mediaFor(model, options.provider ?? "anthropic", {
      user: claudeMedia,
      toolResult: claudeMedia,
      references: isOwnApi ? ["file", "url"] : [],
    }),
    rules: {
      toolName: { maxLength: maxToolNameLength },
      trimsAssistant,
      ...(reasoning === "current" ? { takesReasoning: reasoning } : {}),
      bindsReasoning: reasoning === undefined && facts.bindsReasoning === true,
      ...(options.toolChanges === true ? { toolChanges: "all" as const } : {}),
      ...(facts.systemTurns === true && turnOnly !== undefined ? { turnOnly } : {}),
      // Such as the PDF that a fetch of the API's own found. It takes no image of the model's.
      opaqueMedia: (data) => (isOpaqueBlock(data) ? "always" : "never"),
    },
    limits: { profile, transport, ...(contextWindow === undefined ? {} : { contextWindow }) },
    embedsBase64: true,
    estimate: { image: facts.image ?? "anthropicLarge" },
    maxCacheMarkers: 4,
    ...(options.continue === true ? { heldMs: threadMs } : {}),
    ...(options.profile === undefined ? { renderKey: JSON.stringify(options) } : {}),
    render: (request, tools, since) => {
      const isThread = renderOptions.isThread && tools.zeroRetention !== true;
      return renderAnthropic(request, { ...renderOptions, isThread }, tools, since);
    },
  };
}

/**
 * A thread ends 5 minutes after the last request; half a minute is for the way.
 * @see https://platform.claude.com/docs/en/build-with-claude/message-threads (stored copy, 2026-11-28)
 */
const threadMs = 270_000;

/**
 * The limit for names of declared tools. A call in the history may have 200 characters, but then its tool
 * cannot be declared.
 *
 * @see https://github.com/anthropics/claude-code/issues/16425 and
 *   https://github.com/anthropics/claude-code/issues/2673 (stored copies read 2026-11-21)
 */
const maxToolNameLength = 128;
