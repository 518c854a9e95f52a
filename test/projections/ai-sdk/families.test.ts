import { limitProfiles } from "sessile/limits";
import { describe, expect, test } from "vitest";
import { familyOf } from "../../../src/projections/ai-sdk/families.js";

const stills = ["image/png", "image/jpeg", "image/webp"];
const images = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const pdf = "application/pdf";

describe("familyOf", () => {
  test.each([
    ["anthropic.messages", "m", "anthropic", [...images, pdf, "text/*"], [...images, pdf]],
    ["vertex.anthropic.messages", "m", "anthropic", [...images, pdf, "text/*"], [...images, pdf]],
    ["bedrock.anthropic.messages", "m", "anthropic", [...images, pdf, "text/*"], [...images, pdf]],
    ["amazon-bedrock", "m", "bedrockConverse", [...images, pdf], images],
    ["openai.responses", "m", "openai", [...images, pdf], [...images, pdf]],
    ["azure.responses", "m", "openai", [...images, pdf], [...images, pdf]],
    ["openai.chat", "m", "openai", [...images, pdf], []],
    ["azure.chat", "m", "openai", [...images, pdf], []],
    ["google.generative-ai", "gemini-2.5-pro", "gemini", [...stills, pdf], []],
    ["google.generative-ai", "gemini-3-pro", "gemini", [...stills, pdf], [...stills, pdf]],
    ["google.vertex.chat", "gemini-3.6-flash", "gemini", [...stills, pdf], [...stills, pdf]],
    ["mistral.chat", "m", "mistral", [...images, pdf], []],
    ["xai.chat", "m", "xai", ["image/png", "image/jpeg"], []],
    ["xai.responses", "m", "xai", ["image/png", "image/jpeg"], []],
    ["groq.chat", "m", "groq", images, []],
    ["openai-compatible.chat", "m", undefined, images, []],
    ["anthropic-like.chat", "m", undefined, images, []],
    ["gateway", "anthropic/claude-sonnet-4-5", undefined, images, []],
  ])("%s, %s: %s", (provider, modelId, limits, user, toolResult) => {
    const family = familyOf(provider, modelId);
    expect(family.accepts).toEqual({ user, toolResult });
    expect(family.limits?.profile.name).toBe(limits);
  });

  test.each([
    ["mistral.chat", "m", 9, 9],
    ["gateway", "mistral/mistral-large", 9, 9],
    ["openai.chat", "m", 40, undefined],
    ["groq.chat", "m", 40, undefined],
    ["xai.chat", "m", 40, undefined],
    ["deepseek.chat", "m", 40, undefined],
    ["openai.responses", "m", undefined, undefined],
    ["anthropic.messages", "m", undefined, undefined],
  ])("%s, %s: ids of at most %s characters", (provider, modelId, maxLength, minLength) => {
    const { callId } = familyOf(provider, modelId);
    expect([callId?.maxLength, callId?.minLength]).toEqual([maxLength, minLength]);
  });

  test("tells the ways to Claude apart", () => {
    expect(familyOf("bedrock.anthropic.messages", "m").limits).toEqual({
      profile: limitProfiles.anthropic,
      transport: "bedrock",
    });
    expect(familyOf("vertex.anthropic.messages", "m").limits?.transport).toBe("vertex");
  });
});
