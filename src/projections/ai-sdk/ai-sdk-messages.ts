import { describe, stringArgument } from "../../internal/arguments.js";
import type { LimitProfile } from "../../limits/index.js";
import type { Target, TargetMedia } from "../target.js";
import { familyOf, makerNames } from "./families.js";
import type { AiSdkMessages } from "./messages.js";
import { renderMessages } from "./render.js";

/** What a model of the AI SDK says of itself. */
export interface AiSdkModel {
  /** Such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
}

/** Options of {@link aiSdkMessages}. */
export interface AiSdkMessagesOptions {
  /** The model that the messages are for: the object that `generateText` takes. */
  readonly model: AiSdkModel;
  /** The account, where the harness has several with one provider. */
  readonly account?: string;
  /** Media that the provider takes, in place of what is known of it. */
  readonly accepts?: TargetMedia;
  /** Limits in place of the provider's. */
  readonly profile?: LimitProfile;
  /** The model's context window, in tokens; where it is not told, limits of models with a small one count. */
  readonly contextWindow?: number;
}

/**
 * Messages of the AI SDK, for version 6 and 7. What a provider package takes is known of some by their models' names, of others that
 * they take images from a user: a converter throws at what it does not know, or writes base64 out as text.
 *
 * @throws TypeError for a model without a provider or an id
 * @see https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message (a stored copy, read 2026-11-21)
 * @example
 * ```ts
 * const model = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
 * const { value } = await project(contextOf([userMessage("hi")]), aiSdkMessages({ model }));
 * value.messages; // [{ role: "user", content: [{ type: "text", text: "hi" }] }]
 * ```
 */
export function aiSdkMessages(options: AiSdkMessagesOptions): Target<AiSdkMessages> {
  const model = options?.model;
  if (typeof model !== "object" || model === null) {
    throw new TypeError(`model: expected a model of the AI SDK, got ${describe(model)}`);
  }
  const provider = stringArgument("model.provider", model.provider);
  const modelId = stringArgument("model.modelId", model.modelId);
  const family = familyOf(provider, modelId);
  const { account, accepts = family.accepts, contextWindow } = options;
  const limits = options.profile === undefined ? family.limits : { profile: options.profile };
  return {
    name: "ai-sdk-messages",
    maker: { ...makerNames(provider, modelId), ...(account === undefined ? {} : { account }) },
    accepts,
    rules: {
      ...(family.callId === undefined ? {} : { callId: family.callId }),
      ...(family.toolName === undefined ? {} : { toolName: family.toolName }),
    },
    ...(limits === undefined
      ? {}
      : { limits: { ...limits, ...(contextWindow === undefined ? {} : { contextWindow }) } }),
    ...(family.estimate === undefined ? {} : { estimate: family.estimate }),
    ...(family.cacheKey === undefined ? {} : { maxCacheMarkers: 4 }),
    embedsBase64: true,
    render: (request, tools) => renderMessages(request, tools, family),
  };
}
