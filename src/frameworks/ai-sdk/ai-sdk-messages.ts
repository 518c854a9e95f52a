/** The target of model messages of the AI SDK. */

import { withMedia } from "../../content/internal.js";
import type { LimitProfile } from "../../content/limits/index.js";
import { describe, stringArgument } from "../../core/arguments.js";
import type { Target, TargetMedia } from "../../providers/index.js";
import { mediaFor } from "../../providers/internal.js";
import { bindingOf } from "../../providers/models/internal.js";
import { providerFamily, toModelRef } from "./families.js";
import { type AiSdkMessages, isOwnPart, readSignature } from "./messages.js";
import { renderMessages } from "./render.js";

/** The identity that a model object of the AI SDK carries. */
export interface AiSdkModel {
  /** Such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
}

/** Options of {@link aiSdkMessages}. */
export interface AiSdkMessagesOptions {
  /** The model that the messages are for: the object that `generateText` takes. */
  readonly model: AiSdkModel;
  /** The account, if the harness has several with one provider. */
  readonly account?: string;
  /** Media types that the provider accepts; overrides the built-in table. */
  readonly accepts?: TargetMedia;
  /** Limits in place of the provider's. */
  readonly profile?: LimitProfile;
  /** The model's context window in tokens. Without it the limits of models with a small window apply. */
  readonly contextWindow?: number;
}

/**
 * Projects to messages of the AI SDK, versions 6 and 7. A table by provider and model name lists the media
 * that each provider package converts. For an unknown provider only images from a user are sent: a converter
 * throws on other media or writes base64 as text.
 *
 * @throws TypeError for a model without a provider or an id
 * @see https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message (a stored copy, read 2026-11-21)
 * @example
 * ```ts
 * const model = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
 * const { value } = await project(contextFrom([userMessage("hi")]), aiSdkMessages({ model }));
 * value.messages; // [{ role: "user", content: [{ type: "text", text: "hi" }] }]
 * ```
 */
export function aiSdkMessages(options: AiSdkMessagesOptions): Target<AiSdkMessages> {
  const { provider, modelId } = modelArgument(options?.model);
  const family = providerFamily(provider, modelId);
  const { account, accepts = mediaFor(modelId, provider, family.accepts), contextWindow } = options;
  const limits = options.profile === undefined ? family.limits : { profile: options.profile };
  return {
    name: "ai-sdk-messages",
    model: { ...toModelRef(provider, modelId), ...(account === undefined ? {} : { account }) },
    accepts,
    rules: {
      ...(family.callId === undefined ? {} : { callId: family.callId }),
      ...(family.toolName === undefined ? {} : { toolName: family.toolName }),
      ...bindingOf(modelId),
      opaqueMedia,
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

/** The identity of a model. Throws TypeError for a value without one. */
export function modelArgument(model: AiSdkModel): AiSdkModel {
  if (typeof model !== "object" || model === null) {
    throw new TypeError(`model: expected a model of the AI SDK, got ${describe(model)}`);
  }
  const provider = stringArgument("model.provider", model.provider);
  return { provider, modelId: stringArgument("model.modelId", model.modelId) };
}

/** A file with a signature, and the result of a tool that the provider ran, go back in every turn. */
function opaqueMedia(data: unknown): "always" | "replayed" | "never" {
  const part = withMedia(data, () => "");
  if (!isOwnPart(part)) return "never";
  const { type }: { readonly type: string } = part;
  const isFile = type === "file" || type === "reasoning-file";
  return isFile && readSignature(part.providerOptions) === undefined ? "replayed" : "always";
}
