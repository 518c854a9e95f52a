import type OpenAI from "openai";
import type { ParsedChatCompletion } from "openai/resources/chat/completions";
import type { ParsedResponse } from "openai/resources/responses/responses";
import { assistantMessage, cacheConversation, contextFrom, project, toolResult, userMessage } from "sessile";
import {
  type OpenaiChatMessage,
  type OpenaiChatOptions,
  type OpenaiResponsesItem,
  openaiChat,
  openaiResponses,
  readOpenaiChatReply,
  readOpenaiResponsesReply,
} from "sessile/openai";
import { describe, expect, expectTypeOf, test } from "vitest";
import { fileName } from "../../../src/providers/openai/options.js";
import { pdfBytes, pngBytes, url } from "../../support/providers/openai/samples.js";
import { blobs, model, notes, otherShot, report, said, shot } from "./samples.js";

type Messages = Parameters<typeof contextFrom>[0];

async function projected(messages: Messages, options: Partial<OpenaiChatOptions> = {}) {
  return await project(contextFrom(messages), openaiChat({ model, ...options }), { blobs });
}

const messagesOf = async (...args: Parameters<typeof projected>) => (await projected(...args)).value.messages;

const call = { type: "toolCall", id: "call_1", name: "read", arguments: { path: "a" } } as const;
const image = { type: "image_url", image_url: { url: url("image/png", pngBytes) } };

describe("openaiChat", () => {
  test("asks for a model", () => {
    expect(() => openaiChat({ model: "" })).toThrow(/^model: expected a non-empty string/);
  });

  test("says instructions first, as whom it is told to", async () => {
    const system = { role: "system", content: "Be brief.", timestamp: 1 } as const;
    const messages = [system, userMessage("hi")];
    expect(await messagesOf(messages)).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "hi" },
    ]);
    expect(await messagesOf(messages, { instructions: "developer" })).toMatchObject([
      { role: "developer" },
      {},
    ]);
  });

  // @covers R58
  test("shows images by data URL, PDFs as files with a name of their type, other documents as text", async () => {
    const { value, losses } = await projected([userMessage("See", shot, report, notes)], { detail: "low" });
    expect(value.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "See" },
          { type: "text", text: expect.stringContaining("[image shot.png") },
          { type: "image_url", image_url: { ...image.image_url, detail: "low" } },
          { type: "text", text: expect.stringContaining("[file a report") },
          {
            type: "file",
            file: { filename: "a report.pdf", file_data: url("application/pdf", pdfBytes) },
          },
          { type: "text", text: expect.stringContaining("# Notes") },
        ],
      },
    ]);
    expect(losses.map(({ code }) => code)).toEqual(["asText"]);
  });

  // @covers R59
  test("answers each call with text, and shows the images behind all answers", async () => {
    const other = { ...call, id: "call_2" };
    const { value, losses } = await projected([
      userMessage("Go"),
      said("openai-completions", call, other),
      toolResult(other, "two", otherShot),
      toolResult(call, "one", "and a half"),
    ]);
    expect(value.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [call, other].map(({ id }) => ({
          id,
          type: "function",
          function: { name: "read", arguments: '{"path":"a"}' },
        })),
      },
      {
        role: "tool",
        tool_call_id: "call_1",
        content: [
          { type: "text", text: "one" },
          { type: "text", text: "and a half" },
        ],
      },
      {
        role: "tool",
        tool_call_id: "call_2",
        content: [
          { type: "text", text: "two" },
          { type: "text", text: expect.stringContaining("shown after the results") },
        ],
      },
      { role: "user", content: [{ type: "text", text: expect.any(String) }, image] },
    ]);
    expect(losses.map(({ code }) => code)).toEqual(["moved"]);
  });

  test("keeps two messages of one side apart, so that the first stays what it was", async () => {
    const before = [userMessage("one"), userMessage("two")];
    expect(await messagesOf(before)).toEqual([
      { role: "user", content: "one" },
      { role: "user", content: "two" },
    ]);
    const spoken = [
      said("openai-completions", { type: "text", text: "a" }),
      assistantMessage({ provider: "p", model: "m" }, "b"),
    ];
    expect(await messagesOf([...before, ...spoken])).toEqual([
      ...(await messagesOf(before)),
      { role: "assistant", content: "a" },
      { role: "assistant", content: "b" },
    ]);
  });

  test("takes ids of calls from pi's Responses by their first half, and others within 40 characters", async () => {
    const long = "toolu_".padEnd(60, "x");
    const messages = await messagesOf([
      said("openai-completions", { ...call, id: "call_9|fc_9" }),
      toolResult({ id: "call_9|fc_9", name: "read" }, "ok"),
      said("openai-completions", { ...call, id: long }, { ...call, id: "functions.read:0" }),
      toolResult({ id: long, name: "read" }, "ok"),
      toolResult({ id: "functions.read:0", name: "read" }, "ok"),
    ]);
    const ids = messages.flatMap((message) =>
      message.role === "tool"
        ? [message.tool_call_id]
        : message.role === "assistant"
          ? (message.tool_calls ?? []).map(({ id }) => id)
          : [],
    );
    expect(ids[0]).toBe("call_9");
    expect(ids[1]).toBe("call_9");
    expect(ids[2]).toMatch(/^toolu_x+.*$/);
    expect(ids[2]?.length).toBeLessThanOrEqual(40);
    expect(ids.slice(2)).toEqual([ids[2], "functions.read:0", ids[2], "functions.read:0"]);
  });

  test("leaves out reasoning and what only a provider understands, with a loss for each", async () => {
    const { value, losses } = await projected([
      userMessage("Go"),
      said(
        "openai-completions",
        { type: "thinking", thinking: "Hm.", thinkingSignature: "reasoning_content" },
        { type: "opaque", data: { type: "mystery" } },
        { type: "text", text: "Yes." },
      ),
    ]);
    expect(value.messages.at(-1)).toEqual({ role: "assistant", content: "Yes." });
    expect(losses).toMatchObject([
      { code: "reasoning", by: "target", block: 0 },
      { code: "opaque", by: "target", block: 1 },
    ]);
  });

  test("has something to say where all was left out, and it stays there", async () => {
    const nothing = said("openai-completions", { type: "opaque", data: 1 });
    const begun = await messagesOf([nothing]);
    expect(begun).toEqual([{ role: "user", content: "[The conversation goes on from here.]" }]);
    expect((await messagesOf([nothing, userMessage("hi")]))[0]).toEqual(begun[0]);
  });

  test("gives refusals, custom calls and arguments back as they came, to the model that made them", async () => {
    const spoken = said(
      "openai-completions",
      { type: "text", text: "No.", textSignature: "refusal" },
      { type: "toolCall", id: "c1", name: "patch", arguments: { input: "***" }, thoughtSignature: "custom" },
      { ...call, id: "c2", thoughtSignature: 'arguments:{ "path": "a" }' },
    );
    expect((await messagesOf([userMessage("Go"), spoken]))[1]).toEqual({
      role: "assistant",
      content: [{ type: "refusal", refusal: "No." }],
      tool_calls: [
        { id: "c1", type: "custom", custom: { name: "patch", input: "***" } },
        { id: "c2", type: "function", function: { name: "read", arguments: '{ "path": "a" }' } },
      ],
    });
    expect((await messagesOf([userMessage("Go"), { ...spoken, model: "other" }]))[1]).toEqual({
      role: "assistant",
      content: "No.",
      tool_calls: [
        { id: "c1", type: "function", function: { name: "patch", arguments: '{"input":"***"}' } },
        { id: "c2", type: "function", function: { name: "read", arguments: '{"path":"a"}' } },
      ],
    });
  });

  test("has a refusal beside other words where the API had it, since a list may hold one refusal alone", async () => {
    const refusal = (text: string) => ({ type: "text", text, textSignature: "refusal" }) as const;
    const text = { type: "text", text: "So." } as const;
    const answer = async (...content: Parameters<typeof said>[1][]) =>
      (await messagesOf([userMessage("Go"), said("openai-completions", ...content)]))[1];
    expect(await answer(text, refusal("No."))).toEqual({ role: "assistant", content: "So.", refusal: "No." });
    expect(await answer(refusal("No."), refusal("Never."))).toEqual({
      role: "assistant",
      content: [{ type: "refusal", refusal: "No.\nNever." }],
    });
  });

  test("writes other arguments than the mark's where they were edited, or are none", async () => {
    const spoken = said(
      "openai-completions",
      { ...call, id: "c1", thoughtSignature: 'arguments:{ "path": "b" }' },
      { ...call, id: "c2", arguments: "cut off", thoughtSignature: 'arguments:{"path":"cut' },
    );
    const [, message] = await messagesOf([userMessage("Go"), spoken]);
    expect(message).toMatchObject({
      tool_calls: [
        { function: { arguments: '{"path":"a"}' } },
        { function: { arguments: '{"value":"cut off"}' } },
      ],
    });
  });

  test("puts cache breakpoints where the policy says, for models that take them", async () => {
    const context = contextFrom([
      { role: "system", content: "Be brief.", timestamp: 1 },
      userMessage("one"),
      said("openai-completions", call),
      toolResult(call, "ok"),
      said("openai-completions", { ...call, id: "call_2" }),
      toolResult({ id: "call_2", name: "read" }, "ok", "too"),
    ]);
    const options = { blobs, cache: cacheConversation };
    const end = { prompt_cache_breakpoint: { mode: "explicit" } };
    const { value } = await project(context, openaiChat({ model, cacheBreakpoints: true }), options);
    expect(value.messages).toMatchObject([
      { role: "system", content: [{ text: "Be brief.", ...end }] },
      { role: "user", content: "one" },
      { role: "assistant" },
      { role: "tool", content: [{ text: "ok", ...end }] },
      { role: "assistant" },
      { role: "tool", content: [{ text: "ok" }, { text: "too", ...end }] },
    ]);
    expect(JSON.stringify(value).match(/prompt_cache_breakpoint/g)).toHaveLength(3);
    const { value: unmarked } = await project(context, openaiChat({ model }), options);
    expect(JSON.stringify(unmarked)).not.toContain("prompt_cache_breakpoint");
  });

  test("gives values that are the caller's own", async () => {
    const context = contextFrom([userMessage("See", shot)]);
    const first = await project(context, openaiChat({ model }), { blobs });
    const before = JSON.stringify(first.value);
    const second = await project(context, openaiChat({ model }), { blobs });
    second.value.messages.push({ role: "user", content: "more" });
    expect(JSON.stringify(first.value)).toBe(before);
  });
});

test.each([
  ["a.pdf", "application/pdf", "a.pdf"],
  ["A.PDF", "application/pdf", "A.PDF"],
  ["a \n b\u0000.x", "application/pdf", "a b .x.pdf"],
  ["\ud83d", "text/plain", "\ufffd.txt"],
  [" ", "text/markdown", "document.md"],
  [undefined, "application/pdf", "document.pdf"],
  [undefined, "application/x-made-up", "document.txt"],
])("%j of %s is called %j", (name, mediaType, expected) => {
  expect(fileName(name, mediaType)).toBe(expected);
});

type Chat = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;
type Responses = OpenAI.Responses.ResponseCreateParamsNonStreaming;

const newestModel = "gpt-5.6";

describe("the official client's types", () => {
  test("take the value of Chat Completions as it is, and give the reply as it is", async () => {
    const { value } = await project(contextFrom([userMessage("hi")]), openaiChat({ model: newestModel }));
    const request: Chat = { model: newestModel, ...value };
    expect(request.messages).toHaveLength(1);
    expectTypeOf<OpenaiChatMessage>().toExtend<OpenAI.Chat.ChatCompletionMessageParam>();
    expectTypeOf(readOpenaiChatReply).toBeCallableWith({} as OpenAI.Chat.ChatCompletion);
    expectTypeOf(readOpenaiChatReply).toBeCallableWith({} as ParsedChatCompletion<null>);
  });

  test("take the value of Responses as it is, and give the reply as it is", async () => {
    const { value } = await project(
      contextFrom([userMessage("hi")]),
      openaiResponses({ model: newestModel }),
    );
    const request: Responses = { model: newestModel, store: false, ...value };
    expect(request.input).toHaveLength(1);
    expectTypeOf<OpenaiResponsesItem>().toExtend<OpenAI.Responses.ResponseInputItem>();
    expectTypeOf(readOpenaiResponsesReply).toBeCallableWith({} as OpenAI.Responses.Response);
    expectTypeOf(readOpenaiResponsesReply).toBeCallableWith({} as ParsedResponse<null>);
  });
});
