/** The ends of replies in requests: a pause, a refusal, a running container; and signatures that are none. */

import {
  type AssistantMessage,
  assistantMessage,
  contextFrom,
  messageText,
  project,
  type Target,
  toolResult,
  type Usage,
  userMessage,
} from "sessile";
import { readAiSdkReply } from "sessile/ai-sdk";
import { anthropicMessages, anthropicStream, readAnthropicReply } from "sessile/anthropic";
import { bedrockConverse, bedrockStream, readBedrockReply } from "sessile/bedrock";
import { usageCost } from "sessile/cost";
import { geminiContents, geminiInteractions, geminiStream, readGeminiReply } from "sessile/gemini";
import {
  openaiChat,
  openaiChatStream,
  openaiResponses,
  openaiResponsesStream,
  readOpenaiChatReply,
  readOpenaiResponsesReply,
} from "sessile/openai";
import { describe, expect, it } from "vitest";
import { eventsFrom } from "../support/reply-streams.js";

const model = "claude-opus-4-8";
const target = anthropicMessages({ model });
const reply = (content: readonly object[], stop_reason: string, more: object = {}) =>
  readAnthropicReply({ id: "msg_1", model, content, stop_reason, usage: {}, ...more } as never, { model });
const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } };
const text = { type: "text", text: "I search." };

describe("a reply that the provider paused", () => {
  it("goes back as it came, without a warning, and its rest continues the turn", async () => {
    const paused = reply([text, search], "pause_turn");
    const first = await project(contextFrom([userMessage("hi"), paused]), target);
    expect(first.value.messages.at(-1)).toEqual({ role: "assistant", content: [text, search] });
    expect([first.warnings, first.losses]).toEqual([[], []]);
    const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };
    const rest = reply([found, { type: "text", text: "It is 42." }], "end_turn");
    const { value, losses } = await project(
      contextFrom([userMessage("hi"), paused, rest, userMessage("go")]),
      target,
    );
    expect(value.messages[1]?.content).toMatchObject([text, search, found, { text: "It is 42." }]);
    expect(losses).toEqual([]);
  });
});

describe("a call of the provider's own tool that runs in a container", () => {
  const code = { ...search, name: "code_execution" };
  const read = {
    type: "tool_use",
    id: "toolu_1",
    name: "read",
    input: {},
    caller: { type: "code_execution_20260120", tool_id: code.id },
  };
  const asked = reply([code, read], "tool_use", {
    container: { id: "container_1", expires_at: "2026-11-28T07:00:00Z" },
  });
  const history = [userMessage("hi"), asked, toolResult({ id: "toolu_1", name: "read" }, "a")];

  it("goes out with the container's id, as long as its result is to come", async () => {
    expect((await project(contextFrom(history), target)).value).toMatchObject({
      container: "container_1",
    });
    const done = reply(
      [{ type: "code_execution_tool_result", tool_use_id: code.id, content: {} }, text],
      "end_turn",
    );
    const later = await project(contextFrom([...history, done, userMessage("go")]), target);
    expect(later.value).not.toHaveProperty("container");
    const other = await project(contextFrom(history), anthropicMessages({ model: "claude-sonnet-5" }));
    expect(other.value).not.toHaveProperty("container");
  });
});

describe("a turn that the model declined", () => {
  const refused = reply([{ type: "text", text: "Well" }], "refusal", {
    stop_details: { type: "refusal", category: "bio", explanation: "no" },
  });
  const call = { type: "toolCall", id: "toolu_1", name: "read", arguments: {} } as const;
  const history = [
    userMessage("first"),
    assistantMessage({ provider: "anthropic", model }, "answer"),
    userMessage("forbidden"),
    assistantMessage({ provider: "anthropic", model }, call),
    toolResult(call, "secret"),
    refused,
    userMessage("next"),
  ];
  const spoken = (value: unknown) => JSON.stringify(value).match(/first|answer|forbidden|secret|Well|next/g);

  // @covers R26
  it("does not go out again to it, and a warning says so", async () => {
    const { value, warnings, losses, byPolicy } = await project(contextFrom(history), target);
    expect(spoken(value)).toEqual(["first", "answer", "next"]);
    expect(warnings).toMatchObject([{ code: "refused" }]);
    expect(losses).toEqual([]);
    expect(byPolicy.map(({ code, entryId }) => [code, entryId])).toEqual(
      ["m2", "m3", "m4", "m5"].map((id) => ["refused", id]),
    );
  });

  it("leaves a request without anything else empty", async () => {
    const { warnings } = await project(contextFrom([userMessage("forbidden"), refused]), target);
    expect(warnings.map(({ code }) => code)).toEqual(["empty", "refused"]);
  });

  it("goes to a fallback model, without the reply", async () => {
    const others: readonly Target<object>[] = [
      anthropicMessages({ model: "claude-opus-4-6" }),
      openaiChat({ model: "gpt-5.5" }),
    ];
    for (const other of others) {
      const { value, warnings } = await project(contextFrom(history.slice(0, -1)), other);
      expect(spoken(value)).toEqual(["first", "answer", "forbidden", "secret"]);
      expect(warnings).toMatchObject([{ code: "refused" }]);
    }
  });

  const usage = {};
  const chat = (finish_reason: string) => ({ model, created: 1, choices: [{ ...first, finish_reason }] });
  const first = { index: 0, message: { role: "assistant", content: "Well" } };
  const responses = (reason: string) => {
    const content = [{ type: "output_text", text: "Well", annotations: [] }];
    const output = [{ type: "message", id: "msg_1", role: "assistant", status: "incomplete", content }];
    const members = { id: "resp_1", model, created_at: 1, status: "incomplete", output };
    return { ...members, incomplete_details: { reason }, error: null };
  };
  const step = (finishReason: string, rawFinishReason?: string) => ({
    ...{ model: { provider: "google", modelId: model }, content: [{ type: "text", text: "Well" }], usage },
    ...{ finishReason, rawFinishReason, response: { messages: [] } },
  });
  const anthropic = (stop_reason: string) => reply([{ type: "text", text: "Well" }], stop_reason);
  const bedrock = (stopReason: string) =>
    readBedrockReply({ output: { message: { content: [] } }, stopReason }, { model });
  const gemini = (finishReason: string) => readGeminiReply({ candidates: [{ finishReason }] }, { model });
  const readers: Readonly<Record<string, (reason: string) => AssistantMessage>> = {
    anthropic,
    bedrock,
    gemini,
    chat: (reason) => readOpenaiChatReply(chat(reason) as never),
    responses: (reason) => readOpenaiResponsesReply(responses(reason) as never),
    "the AI SDK": (reason) => readAiSdkReply(step(reason) as never),
    "the AI SDK, raw": (reason) => readAiSdkReply(step("other", reason) as never),
    blocked: (blockReason) => readGeminiReply({ promptFeedback: { blockReason } }, { model }),
  };

  it.each([
    ["anthropic", "refusal sensitive"],
    ["bedrock", "guardrail_intervened content_filtered refusal"],
    ["gemini", "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR"],
    ["gemini", "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"],
    ["blocked", "SAFETY OTHER"],
    ["chat", "content_filter sensitive"],
    ["responses", "content_filter"],
    ["the AI SDK", "content-filter"],
    ["the AI SDK, raw", "refusal SPII content_filter"],
  ])("is refused by the words of %s: %s", (reader, reasons) => {
    for (const reason of reasons.split(" ")) {
      const { stopReason, refused, errorMessage } = (readers[reader] as (typeof readers)[string])(reason);
      expect([reason, stopReason, refused, typeof errorMessage]).toEqual([reason, "error", true, "string"]);
    }
  });

  it.each([
    ["anthropic", "end_turn new_reason", "stop"],
    ["bedrock", "malformed_tool_use malformed_model_output new_reason", "error"],
    ["gemini", "MALFORMED_FUNCTION_CALL LANGUAGE OTHER NO_IMAGE NEW_REASON", "error"],
    ["chat", "error network_error insufficient_system_resource new_reason", "error"],
    ["chat", "model_length model_context_window_exceeded", "length"],
    ["responses", "max_output_tokens new_reason", "length"],
    ["the AI SDK", "error", "error"],
    ["the AI SDK", "other unknown", "stop"],
  ])("is none by other words of %s: %s", (reader, reasons, end) => {
    for (const reason of reasons.split(" ")) {
      const { stopReason, refused } = (readers[reader] as (typeof readers)[string])(reason);
      expect([reason, stopReason, refused]).toEqual([reason, end, undefined]);
    }
  });

  it("is one in a stream of OpenAI too, and does not go out again", async () => {
    const chunk = { model, created: 1, object: "chat.completion.chunk" };
    const delta = { role: "assistant", content: "Well" };
    const streams = [
      openaiChatStream(
        eventsFrom([
          { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
          { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "content_filter" }] },
        ]),
      ),
      openaiResponsesStream(
        eventsFrom([{ type: "response.incomplete", response: responses("content_filter") }]),
      ),
    ];
    for (const stream of streams) {
      const message = await stream.message();
      expect(message).toMatchObject({ stopReason: "error", refused: true, content: [{ text: "Well" }] });
      const to = message.api === "openai-responses" ? openaiResponses({ model }) : openaiChat({ model });
      const context = contextFrom([userMessage("forbidden"), message, userMessage("next")]);
      expect(spoken((await project<object>(context, to)).value)).toEqual(["next"]);
    }
  });
});

describe("a signature that is none", () => {
  it.each(["", null, 5])("%j goes back to no provider", async (signature) => {
    const content = [
      { type: "thinking", thinking: "hm", thinkingSignature: signature },
      { type: "text", text: "yes", textSignature: signature },
      { type: "toolCall", id: "c1", name: "read", arguments: {}, thoughtSignature: signature },
    ];
    const gemini = geminiContents({ model: "gemini-3-pro-preview" });
    const targets: readonly Target<object>[] = [
      target,
      gemini,
      geminiInteractions({ model: "gemini-3-pro-preview" }),
      bedrockConverse({ model: "anthropic.claude-opus-4-8" }),
      openaiResponses({ model: "gpt-5.5" }),
    ];
    for (const to of targets) {
      const { provider, model: name, api } = to.model;
      const own = {
        role: "assistant",
        provider,
        model: name,
        api,
        content,
        stopReason: "toolUse",
        timestamp: 1,
      };
      const messages = [
        userMessage("hi"),
        own as AssistantMessage,
        toolResult({ id: "c1", name: "read" }, "ok"),
      ];
      const { value } = await project(contextFrom(messages), to);
      const sent = JSON.stringify(value);
      expect(sent).not.toMatch(/[sS]ignature":(?:""|null|5)/);
      expect(sent).not.toContain("hm");
    }
  });

  it.each(["", null, 5])("%j is kept by no reader", (signature) => {
    const parts = [
      { text: "hm", thought: true, thoughtSignature: signature },
      { functionCall: { name: "read", args: {} }, thoughtSignature: signature },
      { inlineData: { mimeType: "audio/wav", data: "UklGRg==" }, thoughtSignature: signature },
    ];
    const gemini = readGeminiReply({ candidates: [{ content: { parts }, finishReason: "STOP" }] } as never, {
      model: "g",
    });
    expect(gemini.content.map(({ type }) => type)).toEqual(["thinking", "toolCall", "opaque"]);
    expect(gemini.content[0]).not.toHaveProperty("thinkingSignature");
    expect(gemini.content[1]).not.toHaveProperty("thoughtSignature");
    const reasoningText = { text: "hm", signature };
    const converse = {
      output: { message: { content: [{ reasoningContent: { reasoningText } }] } },
      stopReason: "end_turn",
    };
    expect(readBedrockReply(converse as never, { model }).content).toEqual([
      { type: "thinking", thinking: "hm" },
    ]);
    expect(reply([{ type: "thinking", thinking: "hm", signature }], "end_turn").content).toEqual([
      { type: "thinking", thinking: "hm" },
    ]);
  });
});

describe("a reply that a limit cut", () => {
  it.each([{}, { path: "a" }])("has no call at its end, whole or streamed, of input %j", async (input) => {
    const call = { type: "tool_use", id: "toolu_1", name: "write", input };
    expect(reply([text, call], "max_tokens").content).toMatchObject([text]);
    const events = [
      { type: "message_start", message: { model, content: [], usage: {} } },
      { type: "content_block_start", index: 0, content_block: { ...call, input: {} } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
      },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: {} },
    ];
    const streamed = await anthropicStream(eventsFrom(events), { model }).message();
    expect([streamed.stopReason, streamed.content]).toEqual(["length", []]);
    const toolUse = { toolUseId: "t1", name: "write", input };
    const converse = { output: { message: { content: [{ toolUse }] } }, stopReason: "max_tokens" };
    expect(readBedrockReply(converse, { model }).content).toEqual([]);
  });
});

describe("cache writes of Bedrock with a lifetime of an hour", () => {
  it("are counted apart, and priced as such", () => {
    const usage = {
      ...{ inputTokens: 0, outputTokens: 0, totalTokens: 1000, cacheWriteInputTokens: 1000 },
      cacheDetails: [
        { ttl: "1h", inputTokens: 600 },
        { ttl: "5m", inputTokens: 400 },
      ],
    };
    const id = "us.anthropic.claude-opus-4-8-v1:0";
    const read = (details: object) =>
      readBedrockReply(
        { output: { message: { content: [] } }, stopReason: "end_turn", usage: { ...usage, ...details } },
        { model: id },
      );
    const hour = read({});
    expect(hour.usage).toMatchObject({ cacheWrite: 1000, cacheWrite1h: 600 });
    const [dear, cheap] = [hour, read({ cacheDetails: [] })].map(
      (message) => usageCost(message.usage as Usage, id)?.total ?? 0,
    );
    expect((dear as number) / (cheap as number)).toBeCloseTo((0.6 * 2 + 0.4 * 1.25) / 1.25, 5);
  });
});

describe("a stream whose indexes are not those of its blocks", () => {
  const start = { type: "message_start", message: { model, content: [], usage: {} } };
  const end = [
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: {} },
    { type: "message_stop" },
  ];
  const call = (id: string) => ({ type: "tool_use", id, name: "read", input: {} });
  const begin = (index: number | undefined, content_block: object) => ({
    type: "content_block_start",
    index,
    content_block,
  });
  const piece = (index: number | undefined, delta: object) => ({ type: "content_block_delta", index, delta });
  const json = (partial_json: string) => ({ type: "input_json_delta", partial_json });
  const words = (said: string) => ({ type: "text_delta", text: said });
  const stop = (index: number | undefined) => ({ type: "content_block_stop", index });
  const a = { type: "toolCall", id: "a", name: "read", arguments: { path: "x" } };
  const b = { ...a, id: "b" };
  const cases: Readonly<Record<string, readonly [readonly object[], readonly object[]]>> = {
    "an index left out": [[begin(2, call("a")), piece(2, json('{"path":"x"}')), stop(2)], [a]],
    "a text at index 1 alone": [
      [begin(1, { type: "text", text: "" }), piece(1, words("ok")), stop(1)],
      [{ type: "text", text: "ok" }],
    ],
    "one index for two calls": [
      [
        begin(0, call("a")),
        piece(0, json('{"path":"x"}')),
        stop(0),
        begin(0, call("b")),
        piece(0, json('{"path":"x"}')),
        stop(0),
      ],
      [a, b],
    ],
    "another index for the arguments": [
      [begin(0, call("a")), piece(1, json('{"path":')), piece(1, json('"x"}')), stop(0)],
      [a],
    ],
    "no index": [[begin(undefined, call("a")), piece(undefined, json('{"path":"x"}')), stop(undefined)], [a]],
    "a text that never began": [[piece(0, words("ok")), stop(0)], [{ type: "text", text: "ok" }]],
    "a call that begins twice": [
      [begin(0, call("a")), begin(0, call("a")), piece(0, json('{"path":"x"}')), stop(0)],
      [a],
    ],
  };

  it.each(Object.entries(cases))("loses nothing: %s", async (_, [events, content]) => {
    const message = await anthropicStream(eventsFrom([start, ...events, ...end] as { type: string }[]), {
      model,
    }).message();
    expect(message.content).toEqual(content);
  });

  it("loses nothing of a delta that is not known", async () => {
    const events = [
      begin(0, { type: "holo", note: "a" }),
      piece(0, { type: "holo_delta", note: "b", list: [1], of: { x: "y" } }),
      piece(0, { type: "holo_delta", list: [2], of: { x: "z" } }),
    ];
    const message = await anthropicStream(eventsFrom([start, ...events, ...end]), { model }).message();
    expect(message.content).toEqual([
      { type: "opaque", data: { type: "holo", note: "ab", list: [1, 2], of: { x: "yz" } } },
    ]);
  });

  it("loses no call of Converse whose index is used twice", async () => {
    const of = (toolUseId: string) => ({
      contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { toolUseId, name: "read" } } },
    });
    const input = {
      contentBlockDelta: { contentBlockIndex: 0, delta: { toolUse: { input: '{"path":"x"}' } } },
    };
    const events = [of("a"), input, of("b"), input, { messageStop: { stopReason: "tool_use" } }];
    expect((await bedrockStream(eventsFrom(events), { model }).message()).content).toEqual([a, b]);
  });
});

describe("a reason to stop in odd chunks", () => {
  const stop = { chat: "stop", gemini: "STOP" };
  const limit = { chat: "length", gemini: "MAX_TOKENS" };
  type Reason = typeof stop | undefined;
  const chat = (chunks: readonly (readonly [string, Reason])[]) =>
    openaiChatStream(
      eventsFrom(
        chunks.map(([content, reason], at) => ({
          ...{ id: "c", model: "m", created: 1, usage: { prompt_tokens: 1, completion_tokens: at } },
          choices: [{ index: 0, delta: { content }, finish_reason: reason?.chat ?? null }],
        })),
      ),
    ).message();
  const gemini = (chunks: readonly (readonly [string, Reason])[]) =>
    geminiStream(
      eventsFrom(
        chunks.map(([text, reason], at) => ({
          ...{ modelVersion: "g", usageMetadata: { promptTokenCount: 1, candidatesTokenCount: at } },
          candidates: [
            {
              index: null as unknown as number,
              content: { parts: text === "" ? [] : [{ text }] },
              ...(reason && { finishReason: reason.gemini }),
            },
          ],
        })),
      ),
    ).message();
  const cases: readonly (readonly [string, readonly (readonly [string, Reason])[], string, string])[] = [
    [
      "with each chunk",
      [
        ["a", stop],
        ["b", stop],
        ["c", limit],
      ],
      "abc",
      "length",
    ],
    [
      "with each chunk, of the same words",
      [
        ["a", stop],
        ["a", stop],
        ["a", stop],
        ["", stop],
      ],
      "aaa",
      "stop",
    ],
    [
      "before any content",
      [
        ["", stop],
        ["", stop],
        ["a", undefined],
        ["b", undefined],
        ["", stop],
      ],
      "ab",
      "stop",
    ],
    [
      "before any content, and then an abort",
      [
        ["", stop],
        ["a", undefined],
      ],
      "a",
      "aborted",
    ],
    [
      "once, and words behind it",
      [
        ["a", undefined],
        ["b", stop],
        ["c", undefined],
        ["d", stop],
      ],
      "ab",
      "stop",
    ],
    [
      "a limit, and words behind it",
      [
        ["a", limit],
        ["b", limit],
        ["", stop],
      ],
      "a",
      "length",
    ],
    [
      "a limit before any content",
      [
        ["", limit],
        ["b", stop],
      ],
      "",
      "length",
    ],
  ];
  it.each(cases)("%s", async (_, chunks, text, stopReason) => {
    for (const read of [chat, gemini]) {
      const { content, stopReason: ended, usage } = await read(chunks);
      const words = content.map((block) => (block.type === "text" ? block.text : "?")).join("");
      expect([words, ended]).toEqual([text, stopReason]);
      // Usage counts to the last chunk.
      expect(usage?.output).toBe(chunks.length - 1);
    }
  });

  it("each of parallel calls has one", async () => {
    const call = (index: number) => ({
      ...{ id: `call_${index}`, type: "function", index },
      function: { name: "read", arguments: "{}" },
    });
    const chunks = [0, 1].map((index) => ({
      model: "m",
      choices: [{ index: 0, delta: { tool_calls: [call(index)] }, finish_reason: "tool_calls" }],
    }));
    const { content } = await openaiChatStream(eventsFrom(chunks)).message();
    expect(content).toMatchObject([{ id: "call_0" }, { id: "call_1" }]);
  });
});

describe("the usage of a Chat stream", () => {
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const counts = { input: 7, output: 3, totalTokens: 10 };
  const said = { model: "m", choices: [{ index: 0, delta: { content: "a" } }] };
  const end = (more: object, outer: object = {}) => ({
    ...{ model: "m", ...outer },
    choices: [{ index: 0, delta: {}, finish_reason: "stop", ...more }],
  });
  it.each([
    ["of the choice, with the end", [said, end({ usage })]],
    [
      "of the choice, after the end",
      [said, end({}), { model: "m", choices: [{ index: 0, delta: {}, usage }] }],
    ],
    ["of the chunk, after the end", [said, end({}), { model: "m", choices: [], usage }]],
    ["of the chunk, before that of the choice", [said, end({ usage: { prompt_tokens: 99 } }, { usage })]],
  ])("%s", async (_, chunks) => {
    const message = await openaiChatStream(eventsFrom(chunks)).message();
    expect(message.usage).toMatchObject(counts);
    expect(message.providerFields).toEqual({ finish_reason: "stop" });
  });
});

describe("calls that a limit cut while others are whole", () => {
  const whole = '{"path":"a"}';
  it("Anthropic: the call before the half one stays, whole or streamed", async () => {
    const events = [whole, '{"pa'].flatMap((partial_json, index) => [
      {
        ...{ type: "content_block_start", index },
        content_block: { type: "tool_use", id: `t${index}`, name: "read", input: {} },
      },
      { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } },
      { type: "content_block_stop", index },
    ]);
    const stream = anthropicStream(
      eventsFrom([
        { type: "message_start", message: { model, content: [], usage: {} } },
        ...events,
        { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: {} },
        { type: "message_stop" },
      ]),
      { model },
    );
    const calls = [{ path: "a" }, {}].map((input, at) => ({
      type: "tool_use",
      id: `t${at}`,
      name: "read",
      input,
    }));
    const expected = reply(calls, "max_tokens").content;
    expect(expected).toMatchObject([{ id: "t0", arguments: { path: "a" } }]);
    expect((await stream.message()).content).toEqual(expected);
  });

  it("Anthropic and Bedrock: none of those that arrive at once is pending", async () => {
    const pieces: readonly (readonly [number, string])[] = [
      [1, whole],
      [2, "{}"],
      [0, '{"pa'],
    ];
    const anthropic = [
      { type: "message_start", message: { model, content: [], usage: {} } },
      ...[0, 1, 2].map((index) => ({
        ...{ type: "content_block_start", index },
        content_block: { type: "tool_use", id: `t${index}`, name: "read", input: {} },
      })),
      ...pieces.map(([index, partial_json]) => ({
        ...{ type: "content_block_delta", index },
        delta: { type: "input_json_delta", partial_json },
      })),
      { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: {} },
    ];
    const bedrock = [
      ...[0, 1, 2].map((contentBlockIndex) => ({
        contentBlockStart: {
          contentBlockIndex,
          start: { toolUse: { toolUseId: `t${contentBlockIndex}`, name: "read" } },
        },
      })),
      ...pieces.map(([contentBlockIndex, input]) => ({
        contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input } } },
      })),
      { messageStop: { stopReason: "max_tokens" } },
    ];
    for (const stream of [
      anthropicStream(eventsFrom(anthropic), { model }),
      bedrockStream(eventsFrom(bedrock), { model }),
    ]) {
      const { content, stopReason } = await stream.message();
      expect([stopReason, content]).toMatchObject(["length", [{ id: "t1", arguments: { path: "a" } }]]);
    }
  });

  it.each(["length", null])("Chat: none of those that were built at once is pending after %j", (reason) => {
    const call = (id: string, text: string) => ({
      id,
      type: "function",
      function: { name: "read", arguments: text },
    });
    const message = {
      content: null,
      tool_calls: [
        call("a", '{"pa'),
        call("b", ""),
        call("c", whole),
        call("d", reason === null ? whole : '{"'),
      ],
    };
    const { content } = readOpenaiChatReply({
      ...{ model: "m", created: 1 },
      choices: [{ finish_reason: reason, message }],
    });
    expect(content).toMatchObject([
      { id: "b", arguments: {} },
      { id: "c", arguments: { path: "a" } },
    ]);
  });
});

describe("names of Object's own members in events", () => {
  const names = ["__proto__", "constructor", "toString", "__defineGetter__", "hasOwnProperty"];
  /** An object with each of the names as a member of its own. */
  const hostile = (value: unknown, more: object): object =>
    Object.assign(Object.fromEntries(names.map((name) => [name, value])), more);
  it.each([{ stop_reason: "x", custom: {} }, "x", 5])("change nothing: %j", async (value) => {
    const of = (more: object) => hostile(value, more);
    const call = of({ index: 0, id: "a", function: of({ name: "read", arguments: "{}" }) });
    const delta = of({ content: "hi", tool_calls: [call] });
    const streams = [
      openaiChatStream(
        eventsFrom([of({ model: "m", choices: [of({ index: 0, delta, finish_reason: "tool_calls" })] })]),
      ),
      openaiResponsesStream(
        eventsFrom([
          of({
            type: "response.completed",
            response: of({
              ...{ model: "m", status: "completed" },
              output: [
                of({ type: "message", content: [of({ type: "output_text", text: "hi" })] }),
                of({ type: "function_call", call_id: "a", name: "read", arguments: "{}" }),
              ],
            }),
          }),
        ]) as AsyncIterable<{ type: string }>,
      ),
      anthropicStream(
        eventsFrom([
          of({ type: "message_start", message: of({ model, content: [], usage: of({}) }) }),
          of({ type: "content_block_start", index: 0, content_block: of({ type: "text", text: "" }) }),
          of({ type: "content_block_delta", index: 0, delta: of({ type: "text_delta", text: "hi" }) }),
          of({ type: "content_block_delta", index: 0, delta: of({ type: "toString" }) }),
          of({
            type: "content_block_start",
            index: 1,
            content_block: of({ type: "tool_use", id: "a", name: "read" }),
          }),
          of({ type: "message_delta", delta: of({ stop_reason: "tool_use" }), usage: of({}) }),
        ]) as AsyncIterable<{ type: string }>,
      ),
      bedrockStream(
        eventsFrom([
          of({ contentBlockDelta: of({ contentBlockIndex: 0, delta: of({ text: "hi" }) }) }),
          of({
            contentBlockStart: of({
              contentBlockIndex: 1,
              start: { toolUse: of({ toolUseId: "a", name: "read" }) },
            }),
          }),
          of({ messageStop: of({ stopReason: "tool_use" }) }),
          of({ metadata: of({ usage: of({}) }) }),
        ]),
        { model },
      ),
      geminiStream(
        eventsFrom([
          of({
            modelVersion: "g",
            candidates: [
              of({
                finishReason: "STOP",
                content: of({
                  parts: [of({ text: "hi" }), of({ functionCall: of({ id: "a", name: "read" }) })],
                }),
              }),
            ],
          }),
        ]),
      ),
    ];
    for (const stream of streams) {
      const message = await stream.message();
      expect(message).not.toHaveProperty("errorMessage");
      // Chat Completions keeps members that it does not know in a block of their own.
      expect(message.content.filter(({ type }) => type !== "opaque")).toMatchObject([
        { type: "text", text: "hi" },
        { type: "toolCall", name: "read", arguments: {} },
      ]);
    }
    expect(Object.hasOwn(Object.prototype, "custom")).toBe(false);
  });
});

describe("parts of one item of Responses", () => {
  const piece = (type: string, member: string, number: number, delta: string, output_index: number) => ({
    ...{ type: `response.${type}.delta`, output_index, delta },
    [member]: number,
  });
  const added = (output_index: number, type: string) => ({
    ...{ type: "response.output_item.added", output_index },
    item: { type, id: `${type}_1`, summary: [], content: [] },
  });
  it("are kept apart by their type and in the order of their numbers", async () => {
    const events = [
      added(0, "reasoning"),
      piece("reasoning_text", "content_index", 0, "raw", 0),
      piece("reasoning_summary_text", "summary_index", 0, "short", 0),
      added(1, "message"),
      piece("output_text", "content_index", 1, "B", 1),
      piece("output_text", "content_index", 0, "A", 1),
      piece("refusal", "content_index", 0, "No", 1),
      { type: "response.completed", response: { model: "m", status: "completed", output: [] } },
    ];
    const { content } = await openaiResponsesStream(eventsFrom(events) as never).message();
    const [reasoning, said] = content;
    expect(reasoning).toMatchObject({ type: "thinking", thinking: "short" });
    expect(JSON.parse((reasoning as { thinkingSignature: string }).thinkingSignature)).toMatchObject({
      summary: [{ text: "short" }],
      content: [{ type: "reasoning_text", text: "raw" }],
    });
    expect(said).toMatchObject({ type: "text", text: "ANoB" });
  });
});

describe("a reply that broke off", () => {
  it("has no raw reason of an end that never came", async () => {
    const chat = openaiChatStream(
      eventsFrom([{ model: "m", choices: [{ index: 0, delta: { content: "a" } }] }]),
    );
    const created = { type: "response.created", response: { id: "r", model: "m", status: "in_progress" } };
    const responses = openaiResponsesStream(eventsFrom([created]) as AsyncIterable<{ type: string }>);
    const { stopReason: ended, providerFields: members } = await chat.message();
    expect([ended, members]).toEqual(["aborted", {}]);
    const { stopReason, providerFields } = await responses.message();
    expect([stopReason, providerFields]).toEqual(["aborted", { id: "r" }]);
  });
});

describe("media beside the words of a block", () => {
  const url = `data:image/png;base64,iVBORw0KGgo${"A".repeat(2000)}`;
  it("keep it opaque, so that a session stores them as resources", () => {
    const message = {
      ...{ type: "message", id: "m", role: "assistant", status: "completed" },
      content: [
        { type: "output_text", text: "See", annotations: [] },
        { type: "output_image", image_url: url },
      ],
    };
    const piece = { type: "text", text: "See", preview: { url } };
    const replies = [
      readOpenaiResponsesReply({
        model: "m",
        created_at: 1,
        status: "completed",
        output: [message],
      } as never),
      readOpenaiChatReply({
        ...{ model: "m", created: 1 },
        choices: [{ finish_reason: "stop", message: { content: [piece] } }],
      } as never),
      readGeminiReply({
        ...{ modelVersion: "g" },
        candidates: [{ finishReason: "STOP", content: { parts: [{ text: "See", preview: { url } }] } }],
      } as never),
    ];
    for (const read of replies) {
      expect(read.content).toMatchObject([{ type: "opaque" }]);
      expect(messageText(read)).toBe("See");
    }
  });
});
