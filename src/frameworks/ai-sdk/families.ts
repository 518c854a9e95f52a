/** The table of provider families behind the AI SDK: limits, rules, media, signatures. */

import { limitProfiles } from "../../content/limits/index.js";
import type { Target, TargetLimits, TargetMedia, TargetRules } from "../../providers/index.js";
import { isOneOf, modelFacts } from "../../providers/models/internal.js";

/** Facts about a family of providers. */
export interface Family {
  readonly accepts: TargetMedia;
  readonly limits?: Pick<TargetLimits, "profile" | "transport">;
  readonly estimate?: NonNullable<Target<unknown>["estimate"]>;
  readonly callId?: NonNullable<TargetRules["callId"]>;
  readonly toolName?: NonNullable<TargetRules["toolName"]>;
  /**
   * The converter uses a document's file name as its name. Bedrock accepts short names only, each once per
   * request.
   */
  readonly namesDocuments?: true;
  /** The key of its provider options, if these can hold a cache marker on a part. */
  readonly cacheKey?: "anthropic";
}

const images = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const stills = ["image/png", "image/jpeg", "image/webp"];
const pdf = "application/pdf";

type CallId = NonNullable<Family["callId"]>;

/**
 * The id rule of Chat Completions, as for `openaiChat`: https://github.com/vercel/ai/issues/5171 (stored
 * copy, 2026-11-22).
 */
const chatIds: CallId = { character: /[!-~]/, maxLength: 40 };

/**
 * The id rule of Bedrock, as for `bedrockConverse`: https://github.com/run-llama/llama_index/pull/22775
 * (stored copy, 2026-11-22).
 */
const bedrockIds: CallId = { character: /[A-Za-z0-9_.:-]/, maxLength: 64 };

/** https://github.com/anomalyco/opencode/issues/1680 (stored copy, 2026-11-22). */
const mistralIds: CallId = { character: /[A-Za-z0-9]/, minLength: 9, maxLength: 9 };

/** https://ai.google.dev/api/caching#FunctionDeclaration, as for `geminiContents`. */
const googleNames: NonNullable<Family["toolName"]> = { character: /[\w.:-]/, first: /[A-Za-z_]/ };

/**
 * An unknown provider: all converters write images, and no converter is sure to write media in a tool's
 * result. Most of these providers use Chat Completions.
 */
const unknown: Family = { accepts: { user: images, toolResult: [] }, callId: chatIds };

const anthropic: Family = {
  accepts: { user: [...images, pdf, "text/*"], toolResult: [...images, pdf] },
  limits: { profile: limitProfiles.anthropic },
  estimate: { image: "anthropicLarge", pdf: "anthropic" },
  cacheKey: "anthropic",
};

/**
 * The media types that each provider package converts (it throws on any other), and those that it keeps in a
 * tool's result. The first row that matches applies.
 *
 * @see https://github.com/vercel/ai packages/anthropic, amazon-bedrock, openai, openai-compatible, google,
 *   mistral, xai and groq: src/convert-to-….ts (stored copies, read 2026-11-21), and @ai-sdk/anthropic
 *   3.0.138
 */
const families: readonly (readonly [RegExp, Family])[] = [
  [
    /^(?:amazon-)?bedrock\.anthropic\./,
    { ...anthropic, limits: { profile: limitProfiles.anthropic, transport: "bedrock" } },
  ],
  [
    /^(?:google\.)?vertex\.anthropic\./,
    { ...anthropic, limits: { profile: limitProfiles.anthropic, transport: "vertex" } },
  ],
  [/^anthropic(?:\.|$)/, anthropic],
  [
    /^amazon-bedrock(?:\.|$)/,
    {
      accepts: { user: [...images, pdf], toolResult: images },
      limits: { profile: limitProfiles.bedrockConverse },
      estimate: { image: "anthropicLarge" },
      callId: bedrockIds,
      // https://github.com/vercel/ai/issues/20365 (stored copy, 2026-11-22).
      namesDocuments: true,
    },
  ],
  [
    /^(?:openai|azure|azure-openai)\.responses$/,
    {
      accepts: { user: [...images, pdf], toolResult: [...images, pdf] },
      limits: { profile: limitProfiles.openai },
    },
  ],
  // Chat completions have the images of a tool's result written out as text.
  [
    /^(?:openai|azure|azure-openai)\.chat$/,
    {
      accepts: { user: [...images, pdf], toolResult: [] },
      limits: { profile: limitProfiles.openai },
      callId: chatIds,
    },
  ],
  [
    /^google\./,
    {
      accepts: { user: [...stills, pdf], toolResult: [] },
      limits: { profile: limitProfiles.gemini },
      estimate: { image: "gemini3", pdf: "gemini" },
      toolName: googleNames,
    },
  ],
  [
    /^mistral\./,
    {
      accepts: { user: [...images, pdf], toolResult: [] },
      limits: { profile: limitProfiles.mistral },
      callId: mistralIds,
    },
  ],
  [
    /^xai\./,
    {
      accepts: { user: ["image/png", "image/jpeg"], toolResult: [] },
      limits: { profile: limitProfiles.xai },
      callId: chatIds,
    },
  ],
  [
    /^groq\./,
    {
      accepts: { user: images, toolResult: [] },
      limits: { profile: limitProfiles.groq },
      callId: chatIds,
    },
  ],
];

/** A model of Google behind a gateway. */
const routedToGoogle = /^(?:google|vertex)\//;

/**
 * Facts about a provider, by its name in model objects. Only models from Gemini 3 on see media in a tool's
 * result.
 */
export function providerFamily(provider: string, modelId: string): Family {
  const known = families.find(([name]) => name.test(provider))?.[1];
  const found = known ?? (routedToGoogle.test(modelId) ? { ...unknown, toolName: googleNames } : unknown);
  const facts = modelFacts(modelId);
  const { image = found.estimate?.image, pdf = found.estimate?.pdf } = facts;
  const estimate = { ...(image !== undefined && { image }), ...(pdf !== undefined && { pdf }) };
  const family = { ...found, estimate, ...idsFor(found, provider, modelId) };
  if (family.limits?.profile !== limitProfiles.gemini || facts.signsCalls !== true) return family;
  return { ...family, accepts: { ...family.accepts, toolResult: family.accepts.user } };
}

/**
 * Servers of Chat Completions pass ids on to the model, Converse only to Claude. Responses accepts letters, digits,
 * `_` and `-`, and the ARN of an inference profile may be Claude's.
 */
function idsFor({ callId }: Family, provider: string, modelId: string): Pick<Family, "callId"> {
  const isClaude = isOneOf(modelId, ["claude"]);
  if (
    callId === undefined ||
    callId === mistralIds ||
    (callId === bedrockIds && !isClaude && !isArn(modelId))
  )
    return {};
  const isNarrow = isArn(modelId) || provider.endsWith(".responses");
  return {
    callId: { ...callId, ...(isNarrow ? { character: /[A-Za-z0-9_-]/ } : modelFacts(modelId).callId) },
  };
}

function isArn(modelId: string): boolean {
  return modelId.startsWith("arn:");
}

/** How a message names who made it: the provider by its first name, and the package by the rest. */
export function toModelRef(
  provider: string,
  modelId: string,
): { readonly provider: string; readonly model: string; readonly api: string } {
  return { provider: provider.split(".")[0] ?? provider, model: modelId, api: `ai-sdk/${provider}` };
}
