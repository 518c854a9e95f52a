import { type AssistantMessage, contextFrom, project, userMessage } from "sessile";
import { type OpenaiResponsesOptions, openaiResponses } from "sessile/openai";
import { pngBytes, url } from "../../support/providers/openai/samples.js";
import { blobs, model, said } from "./samples.js";

type Messages = Parameters<typeof contextFrom>[0];
type Block = AssistantMessage["content"][number];

/** Messages, projected. */
export async function projected(messages: Messages, options: Partial<OpenaiResponsesOptions> = {}) {
  return await project(contextFrom(messages), openaiResponses({ model, ...options }), { blobs });
}

/** The input that messages become. */
export const inputOf = async (...args: Parameters<typeof projected>) =>
  (await projected(...args)).value.input;

/** What the model said, after a question. */
export async function saidBack(blocks: readonly Block[], options: Partial<OpenaiResponsesOptions> = {}) {
  const { value, losses } = await projected(
    [userMessage("Go"), said("openai-responses", ...blocks)],
    options,
  );
  return { items: value.input.slice(1), losses: losses.filter(({ code }) => code !== "interrupted") };
}

/** An item of reasoning. */
export const reasoningItem = (id: string, more: object = {}) => ({
  type: "reasoning",
  id,
  summary: [],
  encrypted_content: `gAAA${id}`,
  ...more,
});
/** A block that stores an item of reasoning. */
export const thinking = (item: object): Block => ({
  type: "thinking",
  thinking: "Hm.",
  thinkingSignature: JSON.stringify(item),
});
/** A text, with its mark. */
export const text = (words: string, signature?: string): Block => ({
  type: "text",
  text: words,
  ...(signature === undefined ? {} : { textSignature: signature }),
});
export const call = { type: "toolCall", id: "call_1|fc_1", name: "read", arguments: { path: "a" } } as const;

/** The image that samples show. */
export const image = { type: "input_image", detail: "auto", image_url: url("image/png", pngBytes) };
