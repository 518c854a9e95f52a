import { type AcpPromptOptions, acpPrompt } from "sessile/projections/acp";
import { type AiSdkMessages, aiSdkMessages } from "sessile/projections/ai-sdk";
import { type CodexExec, codexExec } from "sessile/projections/codex";
import { mcpContent } from "sessile/projections/mcp";
import { makerNames } from "../../src/projections/ai-sdk/maker-names.js";
import type { HazardMaker } from "../arbitraries/hazards.js";
import type { CheckedTarget } from "./checked-targets.js";
import { everything } from "./providers/acp/rejected.js";
import { acpRules } from "./providers/acp/rules.js";
import { aiSdkRules } from "./providers/ai-sdk/rules.js";
import { codexRules } from "./providers/codex/rules.js";
import { mcpRules } from "./providers/mcp/rules.js";
import { breaches } from "./providers/rule.js";

const foreign: HazardMaker = { provider: "elsewhere", model: "other-1", api: "other-api" };

function acp(name: string, options: AcpPromptOptions, keepsPrefix: boolean): CheckedTarget {
  return {
    name,
    target: acpPrompt(options),
    breaches: (value) => {
      const prompt = "prompt" in value ? value.prompt : undefined;
      return breaches({ prompt, capabilities: options.capabilities ?? {} }, acpRules);
    },
    makers: [foreign],
    keepsPrefix,
    tellsInstructions: true,
  };
}

function codex(name: string, history: "latest" | "transcript", keepsPrefix: boolean): CheckedTarget {
  return {
    name,
    // What is in the value is the path, so that it shows by it which image it is.
    target: codexExec({ history, pathOf: ({ base64 }) => `/images/${base64}.png` }),
    breaches: (value) => breaches(value as CodexExec, codexRules),
    makers: [foreign],
    keepsPrefix,
    tellsInstructions: true,
  };
}

function aiSdk(provider: string, modelId: string): CheckedTarget {
  const opaque = (word: string) => ({
    type: "tool-call",
    toolCallId: word,
    toolName: "web_search",
    input: {},
    providerExecuted: true,
  });
  const signed = (word: string) => JSON.stringify({ anthropic: { signature: word } });
  const model: HazardMaker = { ...makerNames(provider, modelId), opaque, signed };
  return {
    name: `ai-sdk for ${provider}`,
    target: aiSdkMessages({ model: { provider, modelId } }),
    breaches: (value) => breaches({ provider, ...(value as AiSdkMessages) }, aiSdkRules),
    makers: [model, foreign],
    keepsPrefix: true,
  };
}

/** Protocols and programs that stand between a session and a model, with what checks them. */
export const checkedHosts: readonly CheckedTarget[] = [
  {
    name: "mcp",
    target: mcpContent(),
    breaches: (value) => breaches(value, mcpRules),
    makers: [foreign],
    keepsPrefix: true,
    tellsInstructions: true,
  },
  acp("acp, of everything", { capabilities: everything }, false),
  acp("acp, of text alone", {}, false),
  acp("acp, as a transcript", { capabilities: everything, history: "transcript" }, true),
  aiSdk("anthropic.messages", "claude-sonnet-4-5"),
  aiSdk("openai.chat", "gpt-5"),
  aiSdk("google.generative-ai", "gemini-3-pro"),
  codex("codex", "latest", false),
  codex("codex, as a transcript", "transcript", false),
];
