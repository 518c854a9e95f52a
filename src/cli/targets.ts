/** The targets of a request that the command line names. */

import { type LimitProfile, limitProfiles } from "../content/limits/index.js";
import { aiSdkMessages } from "../frameworks/ai-sdk/index.js";
import { anthropicMessages } from "../providers/anthropic/index.js";
import { bedrockConverse } from "../providers/bedrock/index.js";
import { geminiContents, geminiInteractions } from "../providers/gemini/index.js";
import type { Target } from "../providers/index.js";
import { openaiChat, openaiResponses } from "../providers/openai/index.js";

/** A target by name. `provider` is the one whose models need no `--model`. */
interface NamedTarget {
  readonly provider: string;
  readonly profile?: LimitProfile;
  make(model: string): Target<object>;
}

/** The one table of targets. */
export const targets: Readonly<Record<string, NamedTarget>> = {
  anthropic: {
    provider: "anthropic",
    profile: limitProfiles.anthropic,
    make: (model) => anthropicMessages({ model }),
  },
  openai: {
    provider: "openai",
    profile: limitProfiles.openai,
    make: (model) => openaiResponses({ model }),
  },
  "openai-chat": {
    provider: "openai",
    profile: limitProfiles.openai,
    make: (model) => openaiChat({ model }),
  },
  gemini: { provider: "google", profile: limitProfiles.gemini, make: (model) => geminiContents({ model }) },
  "gemini-interactions": {
    provider: "google",
    profile: limitProfiles.gemini,
    make: (model) => geminiInteractions({ model }),
  },
  bedrock: {
    provider: "amazon-bedrock",
    profile: limitProfiles.bedrockConverse,
    make: (model) => bedrockConverse({ model }),
  },
  "ai-sdk": {
    provider: "anthropic",
    make: (modelId) => aiSdkMessages({ model: { provider: "anthropic", modelId } }),
  },
};
