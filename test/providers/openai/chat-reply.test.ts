import type OpenAI from "openai";
import type { AssistantMessage } from "sessile";
import { type OpenaiChatReply, readOpenaiChatReply } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { chatCallsReply, chatReply } from "../../support/providers/openai/replies.js";

const contentOf = (message: Parameters<typeof chatReply>[0]) =>
  readOpenaiChatReply(chatReply(message)).content;

describe("readOpenaiChatReply", () => {
  test("keeps text and calls, and what is known of them", () => {
    expect(readOpenaiChatReply(chatCallsReply())).toEqual({
      role: "assistant",
      content: [
        { type: "text", text: "Let me look." },
        { type: "toolCall", id: "call_a", name: "read", arguments: { path: "a.ts" } },
        { type: "toolCall", id: "call_b", name: "list", arguments: {} },
      ],
      api: "openai-completions",
      provider: "openai",
      model: "gpt-5.6-2026-06-01",
      usage: { input: 30, output: 20, cacheRead: 60, cacheWrite: 10, totalTokens: 120 },
      stopReason: "toolUse",
      providerFields: {
        id: "chatcmpl-1",
        finish_reason: "tool_calls",
        usage: { completion_tokens_details: { reasoning_tokens: 5 } },
      },
      timestamp: 1_790_000_000_000,
    });
  });

  test("keeps the members of the reply and its choice, but none that are known and no log probabilities", () => {
    const [choice] = chatReply({ content: "Yes." }).choices;
    const more = { native_finish_reason: "end_turn", logprobs: { content: [] }, content_filter_results: {} };
    const citations = ["https://a.example"];
    const reply = { ...chatReply({}), service_tier: "flex", citations, choices: [{ ...choice, ...more }] };
    expect(readOpenaiChatReply(reply as never).providerFields).toEqual({
      id: "chatcmpl-1",
      service_tier: "flex",
      citations,
      finish_reason: "stop",
      native_finish_reason: "end_turn",
      usage: { completion_tokens_details: { reasoning_tokens: 5 } },
    });
  });

  test("reads a call in the form before tools as a call", () => {
    const function_call = { name: "read", arguments: '{"a":1}' };
    expect(contentOf({ function_call })).toEqual([
      { type: "toolCall", id: "made_call_0", name: "read", arguments: { a: 1 } },
    ]);
  });

  test("takes the provider, the model and the account that it is told", () => {
    const options = { provider: "openrouter", model: "m", account: "work" };
    expect(readOpenaiChatReply(chatCallsReply(), options)).toMatchObject(options);
  });

  test("marks refusals, custom calls and arguments that it would write in another way", () => {
    expect(contentOf({ refusal: "No." })).toEqual([{ type: "text", text: "No.", textSignature: "refusal" }]);
    const tool_calls: OpenAI.Chat.ChatCompletionMessageToolCall[] = [
      { id: "c1", type: "custom", custom: { name: "patch", input: "***" } },
      { id: "c2", type: "function", function: { name: "read", arguments: '{ "a": 1.0 }' } },
      { id: "c3", type: "function", function: { name: "read", arguments: '{"a":' } },
      { id: "c4", type: "function", function: { name: "read", arguments: "" } },
    ];
    const marks = contentOf({ tool_calls });
    expect(marks).toMatchObject([
      { id: "c1", arguments: { input: "***" }, thoughtSignature: "custom" },
      { id: "c2", arguments: { a: 1 }, thoughtSignature: 'arguments:{ "a": 1.0 }' },
      { id: "c3", arguments: '{"a":', thoughtSignature: 'arguments:{"a":' },
      { id: "c4", arguments: {} },
    ]);
    // pi sends marks that are JSON along.
    for (const mark of marks) {
      if (mark.type === "toolCall") expect(() => JSON.parse(mark.thoughtSignature ?? "")).toThrow();
    }
  });

  test("keeps reasoning that others add as pi does, and what was said aloud as its transcript", () => {
    const message = { content: "Yes.", reasoning_content: "Hm.", reasoning: "Hm." };
    expect(contentOf(message)).toEqual([
      { type: "thinking", thinking: "Hm.", thinkingSignature: "reasoning_content" },
      { type: "text", text: "Yes." },
    ]);
    const audio = { id: "a", data: "AA==", expires_at: 1 };
    expect(contentOf({ audio: { ...audio, transcript: "Yes." } })).toEqual([
      { type: "text", text: "Yes." },
      { type: "opaque", data: { message: { audio } } },
    ]);
  });

  test("keeps calls of a type that it does not know as they are", () => {
    const call = { id: "c1", type: "later", later: { name: "x" } };
    const [choice] = chatReply({}).choices;
    const reply: OpenaiChatReply = {
      ...chatReply({}),
      choices: [
        {
          finish_reason: "tool_calls",
          message: { content: choice?.message.content ?? null, tool_calls: [call] },
        },
      ],
    };
    expect(readOpenaiChatReply(reply).content).toEqual([{ type: "opaque", data: call }]);
  });

  test("reads what servers of this protocol leave out or write in another way", () => {
    const read = (reply: unknown) => readOpenaiChatReply(reply as OpenaiChatReply);
    const before = Date.now();
    const choices = [{ finish_reason: "stop", message: { content: "Yes." } }];
    const bare = read({ model: "m", choices, usage: { completion_tokens: 2 } });
    expect(bare.timestamp).toBeGreaterThanOrEqual(before);
    expect(bare.usage).toMatchObject({ input: 0, output: 2, totalTokens: 2 });
    expect(read({ model: "m", choices: [{ finish_reason: "stop" }] }).content).toEqual([]);
    const pieces = [{ type: "thinking", thinking: [] }, { type: "text", text: "Yes." }, { type: "text" }];
    expect(contentOf({ content: pieces as unknown as string })).toEqual([
      { type: "opaque", data: pieces[0] },
      { type: "text", text: "Yes." },
      { type: "opaque", data: pieces[2] },
    ]);
  });

  test("keeps calls whose arguments are no text, or that have no name, and gives those without an id one each", () => {
    const calls = [
      { id: "c1", type: "function", function: { name: "read", arguments: { path: "a" } } },
      { id: "c2", type: "function", function: { arguments: "{}" } },
      { id: "", type: "function", function: { name: "read", arguments: "{}" } },
      { type: "function", function: { name: "read", arguments: "{}" } },
    ];
    const content = contentOf({ tool_calls: calls as OpenAI.Chat.ChatCompletionMessageToolCall[] });
    expect(content).toEqual([
      { type: "toolCall", id: "c1", name: "read", arguments: { path: "a" } },
      { type: "opaque", data: calls[1] },
      { type: "toolCall", id: "made_call_2", name: "read", arguments: {} },
      { type: "toolCall", id: "made_call_3", name: "read", arguments: {} },
    ]);
    Object.assign(calls[0]?.function.arguments ?? {}, { path: "b" });
    expect(content[0]).toMatchObject({ arguments: { path: "a" } });
  });

  const notReplies: readonly unknown[] = [undefined, null, "text", { error: { message: "No." } }];
  test.each(notReplies)("%j is no reply", (reply) => {
    expect(() => readOpenaiChatReply(reply as OpenaiChatReply)).toThrow(
      expect.objectContaining({ code: "INVALID_MESSAGE" }),
    );
  });

  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["tool_calls", "toolUse"],
    ["content_filter", "error"],
  ] as const)("reads the end %s as %s", (finish_reason, stopReason) => {
    const reply = chatReply({ content: "x" });
    const choices = reply.choices.map((choice) => ({ ...choice, finish_reason }));
    const message = readOpenaiChatReply({ ...reply, choices });
    expect(message.stopReason).toBe(stopReason);
    expect(message.errorMessage !== undefined).toBe(stopReason === "error");
  });

  test("takes a reply without an end for an aborted one, and a call that was cut for one that never began", () => {
    const ended = (finish_reason: "length" | "tool_calls" | null, last: string) => {
      const calls = ['{"a":1}', last].map((json, at) => ({
        id: `call_${at}`,
        type: "function" as const,
        function: { name: "read", arguments: json },
      }));
      const reply = chatReply({ content: "Well.", tool_calls: calls });
      const choices = reply.choices.map((choice) => ({ ...choice, finish_reason }));
      return readOpenaiChatReply({ ...reply, choices });
    };
    const types = ({ content }: AssistantMessage) => content.map(({ type }) => type);
    const aborted = ended(null, '{"b":2}');
    expect([aborted.stopReason, types(aborted)]).toEqual(["aborted", ["text", "toolCall"]]);
    const cut = ended("length", '{"b":');
    expect([cut.stopReason, types(cut)]).toEqual(["length", ["text", "toolCall"]]);
    expect(types(ended("length", '{"b":2}'))).toEqual(["text", "toolCall", "toolCall"]);
    expect(types(ended("tool_calls", '{"b":'))).toEqual(["text", "toolCall", "toolCall"]);
  });

  test("reads the reasoning that Mistral puts into its content", () => {
    const content = [
      {
        type: "thinking",
        thinking: [
          { type: "text", text: "Two and " },
          { type: "text", text: "two." },
        ],
      },
      { type: "text", text: "Four." },
    ];
    expect(contentOf({ content: content as unknown as string })).toEqual([
      { type: "thinking", thinking: "Two and two.", thinkingSignature: "content" },
      { type: "text", text: "Four." },
    ]);
  });

  test("sees calls behind an end that does not tell of them, and gets by without choices and usage", () => {
    const reply = chatCallsReply();
    const choices = reply.choices.map((choice) => ({ ...choice, finish_reason: "stop" }));
    expect(readOpenaiChatReply({ ...reply, choices }).stopReason).toBe("toolUse");
    const { created, model } = reply;
    const bare = readOpenaiChatReply({ created, model, choices: [], usage: null });
    expect(bare).toMatchObject({ content: [], stopReason: "stop" });
    expect(bare.usage).toBeUndefined();
  });
});
