import { type AiSdkMessages, aiSdkMessages } from "sessile/ai-sdk";
import type { HazardMaker } from "../../../arbitraries/hazards.js";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { breaches } from "../rule.js";
import { aiSdkRules } from "./rules.js";

function aiSdk(provider: string, modelId: string): CheckedTarget {
  const opaque = (word: string) => ({
    type: "tool-call",
    toolCallId: word,
    toolName: "web_search",
    input: {},
    providerExecuted: true,
  });
  const signed = (word: string) => JSON.stringify({ anthropic: { signature: word } });
  // The provider of "anthropic.messages" is Anthropic.
  const [maker = provider] = provider.split(".");
  const model: HazardMaker = { provider: maker, model: modelId, api: `ai-sdk/${provider}`, opaque, signed };
  return {
    name: `ai-sdk for ${provider}`,
    target: aiSdkMessages({ model: { provider, modelId } }),
    breaches: (value) => breaches({ provider, ...(value as AiSdkMessages) }, aiSdkRules),
    makers: [model, foreign],
    keepsPrefix: true,
  };
}

/** The AI SDK, for some providers behind it. */
export const checkedAiSdk: readonly CheckedTarget[] = [
  aiSdk("anthropic.messages", "claude-sonnet-4-5"),
  aiSdk("openai.chat", "gpt-5"),
  aiSdk("google.generative-ai", "gemini-3-pro"),
  aiSdk("mistral.chat", "mistral-large"),
  aiSdk("amazon-bedrock", "meta.llama"),
];
