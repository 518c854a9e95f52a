import { generateText, jsonSchema, stepCountIs, type ToolSet } from "ai";
import { contextFrom, project, userMessage } from "sessile";
import { type AiSdkStep, aiSdkMessages, readAiSdkReply } from "sessile/ai-sdk";
import { describe, expect, test } from "vitest";
import { base64, png } from "../../attachments/samples.js";
import { validatingModel } from "../../support/providers/ai-sdk/model.js";

const step = (more: Partial<AiSdkStep> = {}): AiSdkStep => ({
  model: { provider: "openai.responses", modelId: "gpt-5" },
  content: [{ type: "text" }],
  finishReason: "stop",
  usage: { inputTokens: 10, outputTokens: 3, totalTokens: 13 },
  response: { messages: [{ role: "assistant", content: [{ type: "text", text: "hi" }] }] },
  ...more,
});

describe("readAiSdkReply", () => {
  test("keeps who made it, what it cost and why it stopped", () => {
    const usage = {
      inputTokens: 10,
      inputTokenDetails: { noCacheTokens: 4, cacheReadTokens: 5, cacheWriteTokens: 1 },
      outputTokens: 3,
      totalTokens: 13,
    };
    const { timestamp, ...reply } = readAiSdkReply(step({ usage }), { account: "a" });
    expect(reply).toEqual({
      role: "assistant",
      provider: "openai",
      model: "gpt-5",
      api: "ai-sdk/openai.responses",
      account: "a",
      content: [{ type: "text", text: "hi" }],
      usage: {
        input: 4,
        output: 3,
        cacheRead: 5,
        cacheWrite: 1,
        totalTokens: 13,
      },
      stopReason: "stop",
    });
    expect(timestamp).toBeGreaterThan(0);
  });

  test("counts what a provider tells, and nothing where it tells nothing", () => {
    const untold = { noCacheTokens: undefined, cacheReadTokens: 4, cacheWriteTokens: undefined };
    const some = {
      inputTokens: 10,
      inputTokenDetails: untold,
      outputTokens: undefined,
      totalTokens: undefined,
    };
    expect(readAiSdkReply(step({ usage: some })).usage).toMatchObject({
      input: 6,
      output: 0,
      cacheRead: 4,
      totalTokens: 10,
    });
    const told = { noCacheTokens: 7, cacheReadTokens: 5, cacheWriteTokens: 0 };
    const apart = { inputTokens: 10, inputTokenDetails: told, outputTokens: 1, totalTokens: 11 };
    expect(readAiSdkReply(step({ usage: apart })).usage).toMatchObject({ input: 7, cacheRead: 5 });
    const none = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };
    expect(readAiSdkReply(step({ usage: none })).usage).toMatchObject({
      input: 0,
      output: 0,
      totalTokens: 0,
    });
  });

  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["tool-calls", "toolUse"],
    ["content-filter", "error"],
    ["error", "error"],
    ["other", "stop"],
    ["constructor", "stop"],
  ])("reads %s as %s", (finishReason, stopReason) => {
    const reply = readAiSdkReply(step({ finishReason }));
    expect(reply.stopReason).toBe(stopReason);
    expect(reply.errorMessage).toBe(stopReason === "error" ? finishReason : undefined);
  });

  test("keeps marks as signatures, and what is of no other kind as it is", () => {
    const marks = { openai: { itemId: "rs_1", reasoningEncryptedContent: "e" } };
    const search = {
      type: "tool-call",
      toolCallId: "s",
      toolName: "web_search",
      input: {},
      providerExecuted: true,
    };
    const result = {
      type: "tool-result",
      toolCallId: "s",
      toolName: "web_search",
      output: { type: "json", value: 1 },
    };
    const file = { type: "file", mediaType: "image/png", data: base64(png()) };
    const content = [
      { type: "reasoning", text: "Hm.", providerOptions: marks },
      { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "r" } } },
      { ...search, providerOptions: undefined },
      result,
      { type: "text", text: "Yes.", providerOptions: {} },
      file,
      {
        type: "tool-call",
        toolCallId: "c",
        toolName: "read",
        input: { a: 1 },
        providerOptions: { google: { thoughtSignature: "t" } },
      },
      { type: "tool-call", toolCallId: "d", toolName: "read", input: {}, providerExecuted: undefined },
      "nothing",
    ];
    const reply = readAiSdkReply(step({ response: { messages: [{ role: "assistant", content }] } }));
    expect(reply.content).toEqual([
      { type: "thinking", thinking: "Hm.", thinkingSignature: JSON.stringify(marks) },
      {
        type: "thinking",
        thinking: "",
        thinkingSignature: JSON.stringify({ anthropic: { redactedData: "r" } }),
        redacted: true,
      },
      { type: "opaque", data: search },
      { type: "opaque", data: result },
      { type: "text", text: "Yes." },
      { type: "opaque", data: file },
      {
        type: "toolCall",
        id: "c",
        name: "read",
        arguments: { a: 1 },
        thoughtSignature: JSON.stringify({ google: { thoughtSignature: "t" } }),
      },
      { type: "toolCall", id: "d", name: "read", arguments: {} },
    ]);
    expect(JSON.parse(JSON.stringify(reply.content))).toEqual(reply.content);
  });

  test("keeps nothing of the reply itself", () => {
    const input = { at: { line: 1 } };
    const search = { type: "tool-call", toolCallId: "s1", toolName: "search", input, providerExecuted: true };
    const content = [{ type: "tool-call", toolCallId: "c1", toolName: "read", input }, search];
    const message = readAiSdkReply(
      step({ content, response: { messages: [{ role: "assistant", content }] } }),
    );
    input.at.line = 2;
    expect(message.content).toMatchObject([
      { arguments: { at: { line: 1 } } },
      { data: { input: { at: { line: 1 } } } },
    ]);
  });

  test("reads the last step of a result, and each step by itself", async () => {
    const tools: ToolSet = {
      read: { inputSchema: jsonSchema({ type: "object" }), execute: async () => "done" },
    };
    const model = validatingModel("anthropic.messages", [
      { type: "text", text: "I read." },
      { type: "tool-call", toolCallId: "c1", toolName: "read", input: "{}" },
    ]);
    const { value } = await project(contextFrom([userMessage("?")]), aiSdkMessages({ model }));
    const result = await generateText({ model, tools, stopWhen: stepCountIs(1), ...value });
    const reply = readAiSdkReply(result);
    expect(reply.content).toEqual([
      { type: "text", text: "I read." },
      { type: "toolCall", id: "c1", name: "read", arguments: {} },
    ]);
    expect(reply.stopReason).toBe("toolUse");
    expect(result.steps.map((one) => readAiSdkReply(one).content)).toEqual([reply.content]);
  });

  test("does not take the step before for one that said nothing", () => {
    const content = [
      { type: "text", text: "" },
      { type: "tool-result" },
      { type: "tool-error", providerExecuted: false },
    ];
    expect(readAiSdkReply(step({ content })).content).toEqual([]);
    expect(readAiSdkReply(step({ content: [] })).content).toEqual([]);
    expect(
      readAiSdkReply(step({ content: [{ type: "tool-result", ...{ providerExecuted: true } }] })).content,
    ).toHaveLength(1);
    expect(readAiSdkReply(step({ response: { messages: [] } })).content).toEqual([]);
    const said = { messages: [{ role: "assistant", content: "hi" }] };
    expect(readAiSdkReply(step({ response: said })).content).toEqual([{ type: "text", text: "hi" }]);
  });

  test("refuses a result without a step", () => {
    const refusal = { code: "INVALID_MESSAGE", details: { path: "steps", expected: "an array with a step" } };
    expect(() => readAiSdkReply({ steps: [] })).toThrow(expect.objectContaining(refusal));
  });
});
