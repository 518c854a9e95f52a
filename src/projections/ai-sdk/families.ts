import { limitProfiles } from "../../limits/index.js";
import type { Target, TargetLimits, TargetMedia, TargetRules } from "../target.js";

/** What is known of a family of providers. */
export interface Family {
  readonly accepts: TargetMedia;
  readonly limits?: Pick<TargetLimits, "profile" | "transport">;
  readonly estimate?: NonNullable<Target<unknown>["estimate"]>;
  readonly callId?: NonNullable<TargetRules["callId"]>;
  /** The name of its options, where they can hold a cache marker on a part. */
  readonly cacheKey?: "anthropic";
}

const images = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const stills = ["image/png", "image/jpeg", "image/webp"];
const pdf = "application/pdf";

/** Of a provider that nobody knows: images, since all converters write these, and nothing in a tool's result. */
const unknown: Family = { accepts: { user: images, toolResult: [] } };

const anthropic: Family = {
  accepts: { user: [...images, pdf, "text/*"], toolResult: [...images, pdf] },
  limits: { profile: limitProfiles.anthropic },
  estimate: { image: "anthropic", pdf: "anthropic" },
  cacheKey: "anthropic",
};

/**
 * What the converter of a provider package takes, throwing at all else, and what it writes as it is in a tool's result. The
 * first line that fits counts.
 *
 * @see https://github.com/vercel/ai packages/anthropic, amazon-bedrock, openai, openai-compatible, google, mistral, xai and groq:
 *   src/convert-to-….ts (stored copies, read 2026-11-21), and of @ai-sdk/anthropic 3.0.138 itself
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
      estimate: { image: "anthropic" },
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
    { accepts: { user: [...images, pdf], toolResult: [] }, limits: { profile: limitProfiles.openai } },
  ],
  [
    /^google\./,
    {
      accepts: { user: [...stills, pdf], toolResult: [] },
      limits: { profile: limitProfiles.gemini },
      estimate: { image: "gemini3", pdf: "gemini" },
    },
  ],
  [
    /^mistral\./,
    {
      accepts: { user: [...images, pdf], toolResult: [] },
      limits: { profile: limitProfiles.mistral },
      callId: { character: /[A-Za-z0-9]/, maxLength: 9 },
    },
  ],
  [
    /^xai\./,
    {
      accepts: { user: ["image/png", "image/jpeg"], toolResult: [] },
      limits: { profile: limitProfiles.xai },
    },
  ],
  [/^groq\./, { accepts: { user: images, toolResult: [] }, limits: { profile: limitProfiles.groq } }],
];

/** What is known of a provider, by the name that its models say. Only models from Gemini 3 on see what is in a tool's result. */
export function familyOf(provider: string, modelId: string): Family {
  const family = families.find(([name]) => name.test(provider))?.[1] ?? unknown;
  if (family.limits?.profile !== limitProfiles.gemini || !/gemini-(?:[3-9]|\d\d)/.test(modelId))
    return family;
  return { ...family, accepts: { ...family.accepts, toolResult: family.accepts.user } };
}
