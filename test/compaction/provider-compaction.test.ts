import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import {
  type AssistantMessage,
  type Context,
  type Message,
  project,
  type Target,
  userMessage,
} from "sessile";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { compact, contextTokens, providerCompaction } from "sessile/compaction";
import { geminiContents } from "sessile/gemini";
import { openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { sessionOf, told, user } from "./scripted.js";

const claude = "claude-opus-5-5";
const gpt = "gpt-6-astra";
const window = 200_000;

/** A signed block, as `compaction: { type: "summarize" }` gives it, or one of the threshold. */
const block = {
  type: "compaction",
  content: "They fixed the parser.",
  encrypted_content: "e30=",
  signature: "c2ln",
};

const claudeReply = (...content: readonly { readonly type: string }[]): AssistantMessage =>
  readAnthropicReply(
    { model: claude, content, stop_reason: "compaction", usage: { input_tokens: 9, output_tokens: 5 } },
    { model: claude },
  );

/** What `client.responses.compact` gives: the user's messages, then the item. */
const compacted: OpenAI.Responses.CompactedResponse = {
  id: "resp_1",
  created_at: 1_790_000_000,
  object: "response.compaction",
  output: [
    {
      type: "message",
      id: "msg_1",
      role: "user",
      status: "completed",
      content: [{ type: "input_text", text: "Fix it." }],
    },
    { type: "compaction", id: "cmp_1", encrypted_content: "gAAA" },
  ] as unknown as OpenAI.Responses.ResponseOutputItem[],
  usage: {
    input_tokens: 9,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 14,
  } as OpenAI.Responses.ResponseUsage,
};
const gptReply = () =>
  readOpenaiResponsesReply(
    { model: gpt, error: null, incomplete_details: null, ...compacted },
    { model: gpt },
  );

const log = "a line of the log\n".repeat(200);
const history: readonly Message[] = [user("Fix it."), told(log), user("The parser."), told("Done.")];

/** The session after the message, compacted if the strategy asks for it. */
async function recorded(message: AssistantMessage, generate = async () => ({ text: "By a model." })) {
  const session = await sessionOf([...history, message]);
  const strategy = providerCompaction();
  const asks = async () => {
    const context = await session.context();
    return strategy.shouldCompact(context, { window, tokens: contextTokens(context) });
  };
  const asked = await asks();
  if (asked) await compact(session, { strategy, window, generate });
  expect(await asks()).toBe(false);
  return { session, asked };
}

async function sent<V>(context: Context, target: Target<V>) {
  const { value, losses, byPolicy } = await project(context, target);
  return { value, losses, byPolicy };
}

const asSent = (one: AssistantMessage["content"][number]) => (one.type === "opaque" ? one.data : one);

describe("a summary that the provider made", () => {
  test("comes first in the requests of its own provider, as it came, and without a model's text", async () => {
    const never = () => Promise.reject(new Error("asked"));
    const { session, asked } = await recorded(claudeReply(block), never);
    expect(asked).toBe(true);
    await session.appendMessage(userMessage("And now?"));
    const { value, losses } = await sent(await session.context(), anthropicMessages({ model: claude }));
    const messages: Anthropic.Beta.BetaMessageParam[] = value.messages;
    expect(messages).toEqual([
      { role: "assistant", content: [block] },
      { role: "user", content: [{ type: "text", text: "And now?" }] },
    ]);
    expect(losses).toEqual([]);
  });

  test("has the text of a hook in place of its own", async () => {
    const session = await sessionOf([...history, claudeReply(block)]);
    const generate = () => Promise.reject(new Error("asked"));
    const before = async () => ({ summary: "They fixed [redacted]." });
    await compact(session, { strategy: providerCompaction(), window, generate, before });
    const { value } = await sent<unknown>(await session.context(), geminiContents({ model: "gemini-3-pro" }));
    expect(JSON.stringify(value)).toContain("They fixed [redacted].");
  });

  test("has its text for every other model, once, and not its block", async () => {
    const { session } = await recorded(claudeReply(block));
    await session.appendMessage(userMessage("And now?"));
    const context = await session.context();
    for (const target of [geminiContents({ model: "gemini-3-pro" }), openaiResponses({ model: gpt })]) {
      const { value } = await sent<unknown>(context, target);
      const text = JSON.stringify(value);
      expect(text.split("They fixed the parser.")).toHaveLength(2);
      expect(text).not.toContain("c2ln");
    }
  });

  test("is a model's text for others if only its provider can read it", async () => {
    const { session } = await recorded(gptReply());
    await session.appendMessage(userMessage("And now?"));
    const context = await session.context();
    const { value } = await sent(context, openaiResponses({ model: gpt }));
    const input: OpenAI.Responses.ResponseInputItem[] = value.input;
    expect(input).toEqual([
      ...compacted.output,
      { role: "user", content: [{ type: "input_text", text: "And now?" }] },
    ]);
    const other = await sent(context, anthropicMessages({ model: claude }));
    expect(JSON.stringify(other.value)).toContain("By a model.");
    expect(JSON.stringify(other.value)).not.toContain("gAAA");
  });

  test("hides what it covers from its own provider before it is recorded if it is signed", async () => {
    const session = await sessionOf([
      ...history,
      claudeReply(block, { type: "text", text: "Go on." } as never),
    ]);
    const { value, losses, byPolicy } = await sent(
      await session.context(),
      anthropicMessages({ model: claude }),
    );
    expect(value.messages).toEqual([
      { role: "assistant", content: [block, { type: "text", text: "Go on." }] },
    ]);
    expect(losses).toEqual([]);
    expect(byPolicy.map(({ code }) => code)).toEqual(history.map(() => "notRepeated"));
  });

  test("is behind what it covers until it is recorded if it is not signed: the request only grows", async () => {
    const { signature: _, ...unsigned } = block;
    const message = claudeReply(unsigned, { type: "text", text: log } as never);
    const target = anthropicMessages({ model: claude });
    const before = await sent(await (await sessionOf(history)).context(), target);
    const unrecorded = await sent(await (await sessionOf([...history, message])).context(), target);
    expect(unrecorded.value.messages.slice(0, 3)).toEqual(before.value.messages.slice(0, 3));
    const { session } = await recorded(message);
    const { value } = await sent(await session.context(), target);
    expect(value.messages).toEqual([{ role: "assistant", content: message.content.map(asSent) }]);
  });

  test("stands for nothing if it failed", async () => {
    const failed = { type: "compaction", content: null, encrypted_content: null };
    const { session, asked } = await recorded(claudeReply(failed, { type: "text", text: "Go on." } as never));
    expect(asked).toBe(false);
    const { value } = await sent(await session.context(), anthropicMessages({ model: claude }));
    expect(value.messages).toHaveLength(4);
  });

  test("is updated by the next one", async () => {
    const { session } = await recorded(claudeReply(block));
    const next = { ...block, content: "They fixed the lexer too." };
    await session.appendMessage(userMessage("The lexer."));
    await session.appendMessage(told(log));
    await session.appendMessage(claudeReply(next));
    const strategy = providerCompaction();
    await compact(session, { strategy, window, generate: async () => ({ text: "never" }) });
    const { value } = await sent(await session.context(), anthropicMessages({ model: claude }));
    expect(value.messages).toEqual([{ role: "assistant", content: [next] }]);
    const other = await sent<unknown>(await session.context(), geminiContents({ model: "gemini-3-pro" }));
    expect(JSON.stringify(other.value)).toContain("They fixed the lexer too.");
    expect(JSON.stringify(other.value)).not.toContain("They fixed the parser.");
  });
});
