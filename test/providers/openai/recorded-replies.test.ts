/** Replies of Responses that were recorded elsewhere go back to their maker as they came. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { contextFrom, project, toolCalls, toolResult, userMessage } from "sessile";
import { type OpenaiResponsesReply, openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";

const replies = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures", "replies");
const providers = ["openai", "azure", "xai", "open-responses"];

type Item = Record<string, unknown>;

/** Why a reply does not go back as it came, by provider and file. */
const exceptions: Readonly<Record<string, string>> = {
  "openai/openai-custom-tool.1.json": "the id is made up: OpenAI's own begin with ctc",
};

interface Difference {
  readonly provider: RegExp;
  readonly field: string;
  readonly reason: string;
  /** The item with this difference alone; undefined if it does not concern the item. */
  readonly apply: (item: Item) => Item | undefined;
}

const openai = /^(?:openai|azure)$/;

/** How an item may differ from the one that came. */
const differences: readonly Difference[] = [
  {
    provider: /./,
    field: "message.content[].logprobs",
    reason: "log probabilities are for people",
    apply: (item) => {
      const content = item.content as Item[];
      // A message without words is kept whole.
      if (item.type !== "message" || content.every(({ text }) => text === "")) return undefined;
      return { ...item, content: content.map(({ logprobs: _, ...part }) => part) };
    },
  },
  {
    provider: openai,
    field: "reasoning",
    reason: "what is not encrypted is stored, and goes as a reference",
    apply: (item) =>
      item.type === "reasoning" && typeof item.encrypted_content !== "string"
        ? { type: "item_reference", id: item.id }
        : undefined,
  },
  {
    provider: /^(?:xai|open-responses)$/,
    field: "reasoning",
    reason: "the same, of those that do not send the text",
    apply: (item) =>
      item.type === "reasoning" && typeof item.encrypted_content !== "string" && !Array.isArray(item.content)
        ? { type: "item_reference", id: item.id }
        : undefined,
  },
  {
    provider: /./,
    field: "reasoning.*",
    reason: "members that are null are refused",
    apply: (item) =>
      item.type === "reasoning"
        ? Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null))
        : undefined,
  },
  {
    provider: /./,
    field: "custom_tool_call.status",
    reason: "no input member of a custom call",
    apply: (item) => (item.type === "custom_tool_call" ? { ...item, status: undefined } : undefined),
  },
];

const asSent = (item: Item, provider: string): Item =>
  differences
    .filter((one) => one.provider.test(provider))
    .reduce((sent, { apply }) => apply(sent) ?? sent, item);

const files = providers.flatMap((provider) => {
  const directory = join(replies, provider);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.endsWith(".json"))
    .map((name) => ({ provider, name, reply: JSON.parse(readFileSync(join(directory, name), "utf8")) }))
    .filter(({ reply }) => Array.isArray(reply.output));
});

describe.skipIf(files.length === 0)("recorded replies (skipped where SESSILE_FIXTURES has none)", () => {
  test.each(files)("$provider/$name", async ({ provider, name, reply }) => {
    const { model } = reply as OpenaiResponsesReply;
    const read = readOpenaiResponsesReply(reply, { provider, model });
    const message = JSON.parse(JSON.stringify(read));
    const results = toolCalls(message).map((call) => toolResult(call, "[]"));
    const context = contextFrom([userMessage("Go"), message, ...results, userMessage("And?")]);
    const { value, losses } = await project(context, openaiResponses({ model, provider, stored: true }));
    const output = reply.output as Item[];
    const sent = value.input.slice(1, 1 + output.length);
    const expected = output.map((item) => asSent(item, provider));
    if (!(`${provider}/${name}` in exceptions)) {
      expect(sent).toEqual(expected);
      expect(losses).toEqual([]);
    } else {
      expect(sent).not.toEqual(expected);
    }
  });
});
