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
    ["moonshotai.chat", "kimi-k2.5", true],
    ["openai.chat", "kimi-k2.5", true],
    ["azure.chat", "kimi-k2.5", true],
    ["groq.chat", "moonshotai/kimi-k2-instruct", true],
    ["gateway", "moonshotai/kimi-k2.5", true],
    ["amazon-bedrock", "moonshot.kimi-k2-thinking", true],
    ["amazon-bedrock", "us.anthropic.claude-opus-5-v1:0", false],
    ["amazon-bedrock", "arn:aws:bedrock:us-east-1:1:application-inference-profile/a", false],
    ["gateway", "anthropic/claude-sonnet-4-5", false],
    ["openai.chat", "claude-sonnet-4-5", false],
    ["xai.responses", "m", false],
    ["openai.responses", "m", false],
    ["mistral.chat", "m", false],
    ["anthropic.messages", "m", false],
  ])("%s, %s: whether Kimi's own id goes as it is: %s", (provider, modelId, taken) => {
    const character = familyOf(provider, modelId).callId?.character ?? /[A-Za-z0-9_-]/;
    expect(Array.from("functions.read:0").every((one) => character.test(one))).toBe(taken);
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
