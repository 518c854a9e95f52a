import type { MediaPart, Target } from "sessile/projections";
import { acpPrompt } from "sessile/projections/acp";
import { aiSdkMessages } from "sessile/projections/ai-sdk";
import { anthropicMessages } from "sessile/projections/anthropic";
import { bedrockConverse } from "sessile/projections/bedrock";
import { claudeAgentMessages } from "sessile/projections/claude-agent";
import { codexExec } from "sessile/projections/codex";
import { geminiContents } from "sessile/projections/gemini";
import { mcpContent } from "sessile/projections/mcp";
import { openaiChat, openaiResponses } from "sessile/projections/openai";

/** The models that the examples speak of; each can be chosen by the environment. */
export const models = {
  anthropic: process.env.ANTHROPIC_MODEL ?? "claude-opus-5-5",
  openai: process.env.OPENAI_MODEL ?? "gpt-5.4",
  gemini: process.env.GEMINI_MODEL ?? "gemini-3-pro",
  bedrock: "anthropic.claude-opus-5-5",
};

/** Every target by name; what Codex is shown as a file is at the path that is given. */
export function everyTarget(
  pathOf: (image: MediaPart) => string | undefined,
): Readonly<Record<string, Target<object>>> {
  return {
    anthropicMessages: anthropicMessages({ model: models.anthropic }),
    openaiChat: openaiChat({ model: models.openai }),
    openaiResponses: openaiResponses({ model: models.openai }),
    geminiContents: geminiContents({ model: models.gemini }),
    bedrockConverse: bedrockConverse({ model: models.bedrock }),
    aiSdkMessages: aiSdkMessages({ model: { provider: "anthropic.messages", modelId: models.anthropic } }),
    mcpContent: mcpContent(),
    acpPrompt: acpPrompt({ capabilities: { image: true, embeddedContext: true } }),
    claudeAgentMessages: claudeAgentMessages(),
    codexExec: codexExec({ pathOf }),
  };
}
