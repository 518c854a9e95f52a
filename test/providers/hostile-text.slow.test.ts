import {
  assistantMessage,
  contextFrom,
  type ImageBlock,
  project,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { acpPrompt } from "sessile/acp";
import { aiSdkMessages } from "sessile/ai-sdk";
import { anthropicMessages } from "sessile/anthropic";
import { bedrockConverse } from "sessile/bedrock";
import { claudeAgentMessages } from "sessile/claude-agent";
import { codexExec } from "sessile/codex";
import { isContextOverflow } from "sessile/compaction";
import { geminiContents, geminiInteractions } from "sessile/gemini";
import { mcpContent } from "sessile/mcp";
import { mediaTypeOfName } from "sessile/media";
import { openaiChat, openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { image } from "../attachments/samples.js";
import { exponentOf, exponentOfAsync, growing, maxExponent } from "../support/growth.js";

/** Characters; the largest is what an attack had. */
const sizes = [37_500, 75_000, 150_000, 300_000];

/** Beginnings of what the expressions look for, without its end. */
const pieces = [
  "claude-",
  "claude-a-",
  "gemini-1.",
  "anthropic.claude-3-",
  "-0",
  "a-",
  "-20250101",
  "image/",
  "; ",
  "messages.1.",
  "prompt token count of 1",
  "exceed context limit: 1 + ",
  "input token count(",
  "maximum context length is ",
  "context_length",
  " ",
  "\n",
];

const textOf = (piece: string) => (size: number) => piece.repeat(size / piece.length);

type AnyTarget = Target<unknown>;

/** Every target that has the name of a model or of a provider. */
const named: readonly ((model: string) => AnyTarget)[] = [
  (model) => anthropicMessages({ model }),
  (model) => bedrockConverse({ model }),
  (model) => geminiContents({ model }),
  (model) => geminiInteractions({ model }),
  (model) => openaiChat({ model }),
  (model) => openaiResponses({ model }),
  (modelId) => aiSdkMessages({ model: { provider: "google.generative-ai", modelId } }),
  (provider) => aiSdkMessages({ model: { provider, modelId: "m" } }),
];

const transcripts: readonly AnyTarget[] = [
  codexExec({ imagePath: () => undefined, history: "transcript" }),
  acpPrompt({ history: "transcript" }),
  claudeAgentMessages({ history: "transcript" }),
  mcpContent(),
];

describe.each(["a-", "[", "\\[user", "\u200b[", " ", "\n", "\v"])(
  "takes time in proportion to lines of %j:",
  (piece) => {
    test("names, ids and texts in a transcript", async () => {
      const work = async (hostile: string) => {
        const call = { type: "toolCall", id: hostile, name: hostile, arguments: { hostile } } as const;
        const maker = { provider: hostile, model: hostile };
        const linked = { ...image(1), name: hostile, mediaType: hostile };
        const context = contextFrom([
          userMessage(hostile, linked),
          assistantMessage(maker, hostile, call),
          toolResult(call, hostile, linked),
        ]);
        for (const target of transcripts) await project(context, target);
      };
      expect(await exponentOfAsync(growing(5000), textOf(piece), work)).toBeLessThan(maxExponent);
    });
  },
);

describe.each(pieces)("takes time in proportion to a text of %j:", (piece) => {
  const text = textOf(piece);

  test("the name of a model", async () => {
    const work = async (model: string) => {
      const said = assistantMessage({ provider: "anthropic", model }, "yes");
      const context = contextFrom([userMessage("hi"), said, userMessage("go")]);
      for (const targetOf of named) await project(context, targetOf(model));
    };
    expect(await exponentOfAsync(sizes, text, work)).toBeLessThan(maxExponent);
  });

  test("the media type of an inline image", async () => {
    const work = (mimeType: string) => {
      const block: ImageBlock = { type: "image", data: "AAAA", mimeType };
      return project(
        contextFrom([{ ...userMessage("see"), content: [block] }]),
        anthropicMessages({ model: "m" }),
      );
    };
    expect(await exponentOfAsync(sizes, text, work)).toBeLessThan(maxExponent);
  });

  test("what a provider says when it refuses", async () => {
    const projection = await project(contextFrom([userMessage("hi")]), anthropicMessages({ model: "m" }));
    const explain = (message: string) => projection.explain({ status: 400, message });
    expect(exponentOf(sizes, text, explain)).toBeLessThan(maxExponent);
    expect(exponentOf(sizes, text, (of) => isContextOverflow(new Error(of)))).toBeLessThan(maxExponent);
  });

  test("the name of a file", () => {
    expect(exponentOf(sizes, text, (name) => mediaTypeOfName(name))).toBeLessThan(maxExponent);
  });
});
