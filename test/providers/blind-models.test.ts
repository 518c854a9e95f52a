import {
  assistantMessage,
  contextFrom,
  type ImageBlock,
  project,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { aiSdkMessages } from "sessile/ai-sdk";
import { anthropicMessages } from "sessile/anthropic";
import { replayAlways } from "sessile/attachments";
import { bedrockConverse } from "sessile/bedrock";
import { geminiContents, geminiInteractions } from "sessile/gemini";
import { openaiChat, openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { base64, pdf } from "../attachments/samples.js";
import { written } from "../support/projection-oracle.js";
import { pngOf, stored, storeOf } from "./samples.js";

const [seen, shot, inline] = [1, 2, 3].map((at) => pngOf({ width: 2, height: 2 }, at)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const photo = stored(seen, { resourceId: "res_0000000000000001", name: "photo.png" });
const screen = stored(shot, { resourceId: "res_0000000000000002", name: "screen.png" });
const paper = stored(pdf, { resourceId: "res_0000000000000003", mediaType: "application/pdf", kind: "file" });
const call = { type: "toolCall", id: "call_1abc", name: "look", arguments: {} } as const;
const image: ImageBlock = { type: "image", data: base64(inline), mimeType: "image/png" };
const context = contextFrom([
  userMessage("what is this?", photo),
  assistantMessage({ provider: "elsewhere", model: "m" }, "let me look", call),
  toolResult(call, "here", screen),
  { role: "user", content: [{ type: "text", text: "and this?" }, image], timestamp: 3 },
]);
const options = { blobs: storeOf(seen, shot, pdf), replay: replayAlways };
const bytes = [seen, shot, inline].map((each) => base64(each));

/** The images that a target's request has, and the request. */
async function sentTo(target: Target<unknown>) {
  const projection = await project(context, target, options);
  const text = written(projection.value);
  return { images: bytes.filter((each) => text.includes(each)).length, text, losses: projection.losses };
}

const hosts: readonly [string, Target<unknown>][] = [
  ["DeepSeek", openaiChat({ model: "deepseek-chat", dialect: "deepseek" })],
  ["DeepSeek V4", openaiChat({ model: "deepseek-v4-pro", dialect: "deepseek" })],
  [
    "DeepSeek by Anthropic's protocol",
    anthropicMessages({ model: "deepseek-reasoner", provider: "deepseek" }),
  ],
  ["Groq", openaiChat({ model: "llama-3.3-70b-versatile", dialect: "groq" })],
  ["Groq, an open model of OpenAI", openaiChat({ model: "openai/gpt-oss-120b", dialect: "groq" })],
  ["OpenRouter", openaiChat({ model: "deepseek/deepseek-r1:free", dialect: "openrouter" })],
  ["OpenRouter, GLM", openaiChat({ model: "z-ai/glm-4.6", dialect: "openrouter" })],
  ["vLLM", openaiChat({ model: "Qwen/Qwen2.5-7B-Instruct", dialect: "vllm" })],
  ["vLLM's Responses", openaiResponses({ model: "openai/gpt-oss-20b", provider: "vllm" })],
  ["Ollama", openaiChat({ model: "llama3.2:3b", dialect: "ollama" })],
  ["Mistral", openaiChat({ model: "codestral-latest", dialect: "mistral" })],
  ["xAI", openaiChat({ model: "grok-3", provider: "xai" })],
  ["Bedrock", bedrockConverse({ model: "us.meta.llama3-1-70b-instruct-v1:0" })],
  ["the AI SDK", aiSdkMessages({ model: { provider: "groq.chat", modelId: "llama-3.1-8b-instant" } })],
];

describe("a model that reads no images", () => {
  test.each(hosts)("gets descriptions, with a loss each: %s", async (_, target) => {
    const { images, text, losses } = await sentTo(target);
    expect(images).toBe(0);
    for (const name of ["photo.png", "screen.png"]) expect(text).toContain(name);
    expect(losses.filter(({ code }) => code === "unsupported")).toHaveLength(3);
  });

  test.each<[string, Target<unknown>]>([
    ["OpenAI", openaiChat({ model: "gpt-5.4" })],
    ["Claude", anthropicMessages({ model: "claude-opus-5-5" })],
    ["Gemini", geminiContents({ model: "gemini-3-pro" })],
    ["Interactions", geminiInteractions({ model: "gemini-3-pro" })],
    ["Groq's Llama 4", openaiChat({ model: "meta-llama/llama-4-scout-17b-16e-instruct", dialect: "groq" })],
    ["a vision model in vLLM", openaiChat({ model: "Qwen/Qwen2.5-VL-7B-Instruct", dialect: "vllm" })],
    ["LLaVA in Ollama", openaiChat({ model: "llava:7b", dialect: "ollama" })],
    ["a model that the table has not", openaiChat({ model: "my-model", dialect: "vllm" })],
  ])("is another than %s, which has them back after a switch", async (_, target) => {
    const before = JSON.stringify(context);
    expect((await sentTo(openaiChat({ model: "deepseek-chat", dialect: "deepseek" }))).images).toBe(0);
    expect((await sentTo(target)).images).toBe(3);
    expect(JSON.stringify(context)).toBe(before);
  });

  test("is what the caller says, where the table has not the model or is wrong", async () => {
    const accepts = { user: ["image/png"], toolResult: [] };
    const chat = { dialect: "vllm" } as const;
    expect((await sentTo(openaiChat({ ...chat, model: "deepseek-chat", accepts }))).images).toBe(3);
    const none = { user: [], toolResult: [] };
    expect((await sentTo(openaiChat({ ...chat, model: "my-model", accepts: none }))).images).toBe(0);
    expect((await sentTo(openaiResponses({ model: "my-model", accepts: none }))).images).toBe(0);
  });

  test("gets a PDF from a server that reads it for the model, and its description elsewhere", async () => {
    const has = async (target: Target<unknown>) => {
      const { value } = await project(contextFrom([userMessage("read", paper)]), target, options);
      return written(value).includes(base64(pdf));
    };
    expect(await has(openaiChat({ model: "deepseek/deepseek-r1", dialect: "openrouter" }))).toBe(true);
    expect(await has(bedrockConverse({ model: "us.meta.llama3-1-70b-instruct-v1:0" }))).toBe(true);
    expect(await has(openaiChat({ model: "deepseek-chat", dialect: "deepseek" }))).toBe(false);
    expect(await has(openaiChat({ model: "llama-3.3-70b-versatile", dialect: "groq" }))).toBe(false);
  });
});
