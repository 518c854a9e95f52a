import fc from "fast-check";
import type OpenAI from "openai";
import { contextFrom, project, toolCalls, toolResult, userMessage } from "sessile";
import { type OpenaiResponsesReply, openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { responsesOutput } from "../../arbitraries/openai-output.js";
import { responsesCallsReply, responsesReply } from "../../support/providers/openai/replies.js";
import { responsesBreaches } from "../../support/providers/openai/responses/rules.js";
import { model } from "./samples.js";

type Output = OpenAI.Responses.ResponseOutputItem[];

const contentOf = (...output: Output) => readOpenaiResponsesReply(responsesReply(output)).content;
const message = { type: "message", id: "msg_1", role: "assistant", status: "completed" } as const;

describe("readOpenaiResponsesReply", () => {
  test("keeps items as pi does: calls by both ids, reasoning by its item, text by its message's id and phase", () => {
    const reply = responsesCallsReply();
    expect(readOpenaiResponsesReply(reply)).toEqual({
      role: "assistant",
      content: [
        {
          type: "thinking",
          thinking: "**Looking**\n\nBoth files.",
          thinkingSignature: JSON.stringify(reply.output[0]),
        },
        { type: "opaque", data: reply.output[1] },
        { type: "text", text: "Let me look.", textSignature: '{"v":1,"id":"msg_a","phase":"commentary"}' },
        { type: "toolCall", id: "call_a|fc_a", name: "read", arguments: { path: "a.ts" } },
        { type: "toolCall", id: "call_b|fc_b", name: "list", arguments: {} },
      ],
      api: "openai-responses",
      provider: "openai",
      model: "gpt-5.6-2026-06-01",
      usage: { input: 30, output: 20, cacheRead: 60, cacheWrite: 10, totalTokens: 120 },
      stopReason: "toolUse",
      providerFields: {
        id: "resp_1",
        status: "completed",
        usage: { output_tokens_details: { reasoning_tokens: 5 } },
      },
      timestamp: 1_790_000_000_000,
    });
  });

  test("reads what servers of this protocol leave out", () => {
    const before = Date.now();
    const reply = { model: "m", output: [], usage: { output_tokens: 2 } } as unknown as OpenaiResponsesReply;
    const read = readOpenaiResponsesReply(reply);
    expect(read.timestamp).toBeGreaterThanOrEqual(before);
    expect(read.usage).toMatchObject({ input: 0, output: 2, totalTokens: 2 });
  });

  test("keeps nothing of the reply itself", () => {
    const action = { type: "search" as const, query: "a", queries: ["a"] };
    const [block] = contentOf({ type: "web_search_call", id: "ws_1", status: "completed", action });
    action.query = "b";
    expect(block).toMatchObject({ data: { action: { query: "a" } } });
  });

  const notReplies: readonly unknown[] = [undefined, null, "text", { error: { message: "No." } }];
  test.each(notReplies)("%j is no reply", (reply) => {
    expect(() => readOpenaiResponsesReply(reply as OpenaiResponsesReply)).toThrow(
      expect.objectContaining({ code: "INVALID_MESSAGE" }),
    );
  });

  test("takes the reasoning's own text where there is no summary", () => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [] } as const;
    const content = [{ type: "reasoning_text" as const, text: "Hm." }];
    expect(contentOf({ ...reasoning, summary: [], content })[0]).toMatchObject({ thinking: "Hm." });
    expect(contentOf({ ...reasoning, summary: [] })[0]).toMatchObject({ thinking: "" });
  });

  test("joins the parts of a message, and keeps one without words whole", () => {
    const texts = ["One", "", "two"].map((text) => ({ type: "output_text" as const, text, annotations: [] }));
    const refusal = { type: "refusal" as const, refusal: "!" };
    expect(contentOf({ ...message, content: [...texts, refusal] })).toMatchObject([{ text: "Onetwo!" }]);
    expect(contentOf({ ...message, content: [] })).toEqual([
      { type: "opaque", data: { ...message, content: [] } },
    ]);
  });

  test("keeps members that it does not know, but none that the client adds and no log probabilities", () => {
    const logprobs = [{ token: "x", bytes: [1], logprob: 0, top_logprobs: [] }];
    const part = { type: "output_text" as const, text: "x", annotations: [], logprobs, parsed: null };
    const call = {
      type: "function_call" as const,
      call_id: "call_1",
      name: "read",
      arguments: "{}",
      parsed_arguments: {},
      created_by: "me",
    };
    const content = contentOf({ ...message, content: [part] }, call);
    expect(JSON.stringify(content)).not.toMatch(/logprob|parsed/);
    const providerFields = { created_by: "me" };
    expect(content[1]).toEqual({
      type: "toolCall",
      id: "call_1",
      name: "read",
      arguments: {},
      providerFields,
    });
  });

  test.each([
    [{ status: "completed" }, "stop", undefined],
    [{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }, "length", undefined],
    [{ status: "incomplete", incomplete_details: { reason: "content_filter" } }, "error", /content filter/],
    [{ status: "failed", error: { code: "server_error", message: "no" } }, "error", /^server_error: no$/],
    [{ status: "cancelled" }, "aborted", undefined],
    [{ status: "queued" }, "error", /^the response is queued$/],
  ] as const)("reads %j as %s", (more, stopReason, errorMessage) => {
    const read = readOpenaiResponsesReply(responsesReply([], more));
    expect(read.stopReason).toBe(stopReason);
    if (errorMessage === undefined) expect(read.errorMessage).toBeUndefined();
    else expect(read.errorMessage).toMatch(errorMessage);
  });

  test("takes a response that is in progress for an aborted one, and a call that was cut for one that never began", () => {
    const call = (name: string, status: "completed" | "in_progress" | "incomplete", json: string) =>
      ({
        type: "function_call",
        id: `fc_${name}`,
        call_id: `call_${name}`,
        name,
        arguments: json,
        status,
      }) as const;
    const names = (more: Partial<OpenAI.Responses.Response>, ...output: ReturnType<typeof call>[]) =>
      readOpenaiResponsesReply(responsesReply(output, more)).content.map(
        (block) => "name" in block && block.name,
      );
    const whole = call("whole", "completed", "{}");
    const half = [
      call("a", "in_progress", "{}"),
      call("b", "incomplete", '{"a'),
      call("c", "completed", '{"a'),
    ];
    for (const status of ["in_progress", "incomplete", "cancelled"] as const) {
      expect(names({ status }, whole, ...half)).toEqual(["whole"]);
    }
    expect(readOpenaiResponsesReply(responsesReply([], { status: "in_progress" })).stopReason).toBe(
      "aborted",
    );
    expect(names({ status: "completed" }, whole, call("c", "completed", '{"a'))).toEqual(["whole", "c"]);
  });
});

describe("items that name no id, as Codex stores and sends them,", () => {
  const bare = (...output: object[]) => readOpenaiResponsesReply(responsesReply(output as Output));
  const content = [{ type: "output_text", text: "Yes.", annotations: [] }];

  test("are read as what they are, and go back without one", async () => {
    const output = [
      { type: "reasoning", summary: [], encrypted_content: "gAAAone" },
      { type: "message", role: "assistant", phase: "commentary", content },
      { type: "function_call", call_id: "call_1", name: "read", arguments: "{}" },
    ];
    const reply = bare(...output);
    expect(reply.content.map(({ type }) => type)).toEqual(["thinking", "text", "toolCall"]);
    expect(reply.stopReason).toBe("toolUse");
    const results = toolCalls(reply).map((call) => toolResult(call, "ok"));
    const context = contextFrom([userMessage("Go"), reply, ...results]);
    const { value, losses } = await project(context, openaiResponses({ model }));
    expect(losses).toEqual([]);
    expect(value.input.slice(1, 4)).toEqual([
      output[0],
      { role: "assistant", content: "Yes.", phase: "commentary" },
      output[2],
    ]);
    expect(responsesBreaches({ model, store: false, ...value })).toEqual([]);
  });

  test("keep the ids of hosted items beside them", async () => {
    const search = {
      type: "web_search_call",
      id: "ws_1",
      status: "completed",
      action: { type: "search", query: "x" },
    };
    for (const said of [
      { type: "message", role: "assistant", content },
      { type: "function_call", call_id: "call_1", name: "read", arguments: "{}" },
    ]) {
      const reply = bare(search, said);
      const results = toolCalls(reply).map((call) => toolResult(call, "ok"));
      const context = contextFrom([userMessage("Go"), reply, ...results]);
      const { value, losses } = await project(context, openaiResponses({ model }));
      expect(losses).toEqual([]);
      expect(value.input[1]).toEqual(search);
    }
    expect(bare({ type: "message", role: "assistant", content }).content).toEqual([
      { type: "text", text: "Yes." },
    ]);
  });

  test("by the API's own tools, searches without an action among them, go back as Codex sends them", async () => {
    const reasoning = { type: "reasoning", summary: [], content: null, encrypted_content: "gAAAone" };
    const answer = { type: "message", role: "assistant", content };
    const hosted = [
      {
        type: "web_search_call",
        status: "completed",
        action: { type: "open_page", url: "https://a.example" },
      },
      { type: "web_search_call", status: "completed" },
      { type: "image_generation_call", status: "completed", result: "iVBORw0KGgo=" },
    ];
    for (const item of hosted) {
      for (const output of [[reasoning, item, answer], [item, answer], [item]]) {
        const { value, losses } = await project(
          contextFrom([userMessage("Go"), bare(...output), userMessage("On")]),
          openaiResponses({ model }),
        );
        expect(losses).toEqual([]);
        expect(value.input.slice(1, -1)).toEqual(
          output.map((one) =>
            one === reasoning
              ? { type: "reasoning", summary: [], encrypted_content: "gAAAone" }
              : one === answer
                ? { role: "assistant", content: "Yes." }
                : item,
          ),
        );
      }
    }
  });

  test("of the local shell are calls, with the output of a function as their answer", async () => {
    const item = {
      type: "local_shell_call",
      call_id: "call_1",
      status: "completed",
      action: { type: "exec", command: ["ls"], timeout_ms: 1000 },
    };
    const reply = bare({ type: "reasoning", summary: [], encrypted_content: "gAAAone" }, item);
    const [call] = toolCalls(reply);
    expect(call).toMatchObject({ id: "call_1", name: "local_shell", arguments: { action: item.action } });
    const { value, losses } = await project(
      contextFrom([userMessage("Go"), reply, ...toolCalls(reply).map((one) => toolResult(one, "a.txt"))]),
      openaiResponses({ model }),
    );
    expect(losses).toEqual([]);
    expect(value.input.slice(2)).toEqual([
      item,
      { type: "function_call_output", call_id: "call_1", output: "a.txt" },
    ]);
  });

  test("of reasoning go back one behind the other", async () => {
    const one = { type: "reasoning", summary: [], encrypted_content: "gAAAone" };
    const two = { type: "reasoning", summary: [], encrypted_content: "gAAAtwo" };
    const reply = bare(one, two, { type: "message", role: "assistant", content });
    const { value, losses } = await project(
      contextFrom([userMessage("Go"), reply]),
      openaiResponses({ model }),
    );
    expect(losses).toEqual([]);
    expect(value.input.slice(1, 3)).toEqual([one, two]);
    expect(responsesBreaches({ model, store: false, ...value })).toEqual([]);
  });
});

describe("a search for tools", () => {
  const found = { type: "function", name: "weather", parameters: {}, strict: true };
  const sent = async (output: object[], result: string) => {
    const reply = readOpenaiResponsesReply(responsesReply(output as Output));
    const results = toolCalls(reply).map((call) => toolResult(call, result));
    const context = contextFrom([userMessage("Go"), reply, ...results]);
    const { value, losses } = await project(context, openaiResponses({ model }));
    return { reply, input: value.input.slice(1), losses };
  };

  test("by the API goes back with what it found", async () => {
    const output = [
      {
        type: "tool_search_call",
        id: "tsc_1",
        execution: "server",
        call_id: null,
        status: "completed",
        arguments: { paths: ["a"] },
      },
      {
        type: "tool_search_output",
        id: "tso_1",
        execution: "server",
        call_id: null,
        status: "completed",
        tools: [found],
      },
    ];
    for (const more of [
      [],
      [
        {
          type: "function_call",
          id: "fc_1",
          call_id: "call_1",
          name: "weather",
          arguments: "{}",
          status: "completed",
        },
      ],
    ]) {
      const { reply, input, losses } = await sent([...output, ...more], "ok");
      expect(reply.content.slice(0, 2)).toEqual(output.map((data) => ({ type: "opaque", data })));
      expect(input.slice(0, 2 + more.length)).toEqual([...output, ...more]);
      expect(losses).toEqual([]);
    }
  });

  test("by the client is a call, whose result is the list of tools", async () => {
    const item = {
      type: "tool_search_call",
      id: "tsc_1",
      execution: "client",
      call_id: "call_1",
      status: "completed",
      arguments: { goal: "x" },
    };
    for (const result of [JSON.stringify([found]), JSON.stringify({ tools: [found] })]) {
      const { reply, input, losses } = await sent([item], result);
      expect(reply.stopReason).toBe("toolUse");
      expect(toolCalls(reply)).toMatchObject([
        { id: "call_1", name: "tool_search", arguments: { goal: "x" } },
      ]);
      const output = {
        type: "tool_search_output",
        call_id: "call_1",
        execution: "client",
        status: "completed",
      };
      expect(input).toEqual([item, { ...output, tools: [found] }]);
      expect(losses).toEqual([]);
    }
    const failed = await sent([item], "no such tool");
    expect(failed.input[1]).toMatchObject({ type: "tool_search_output", tools: [] });
    expect(failed.losses).toMatchObject([{ code: "unsupported", by: "target" }]);
    expect((await sent([{ ...item, id: undefined }], "[]")).input[0]).toEqual({ ...item, id: undefined });
    const cut = responsesReply([{ ...item, status: "in_progress" }] as Output, { status: "incomplete" });
    expect(readOpenaiResponsesReply(cut).content).toEqual([]);
  });
});

test("items of other providers go back with the ids that they gave", async () => {
  const output = [
    { type: "reasoning", id: "4ffa2f22-7283", summary: [], encrypted_content: "x" },
    {
      type: "message",
      id: "6d66799f-6b2b",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "So.", annotations: [] }],
    },
    {
      type: "x_search_call",
      id: "fc_1",
      call_id: "",
      name: "x_search",
      arguments: "{}",
      status: "completed",
    },
    { type: "reasoning", id: "msg_95d4", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] },
    {
      type: "function_call",
      id: "item_1",
      call_id: "call_1",
      name: "read",
      arguments: "{}",
      status: "completed",
    },
  ];
  const back = async (provider: string) => {
    const reply = readOpenaiResponsesReply(responsesReply(output as Output), { provider, model });
    const context = contextFrom([
      userMessage("Go"),
      reply,
      ...toolCalls(reply).map((call) => toolResult(call, "ok")),
    ]);
    return await project(context, openaiResponses({ model, provider }));
  };
  const own = await back("xai");
  expect(own.value.input.slice(1, 6)).toEqual(output);
  expect(own.losses).toEqual([]);
  const strict = await back("openai");
  expect(strict.losses.map(({ code }) => code)).toEqual(["reasoning", "opaque", "reasoning"]);
  expect(JSON.stringify(strict.value)).not.toMatch(/4ffa2f22|6d66799f|item_1/);
});

test("whatever a model of OpenAI puts out goes back as it came", async () => {
  await fc.assert(
    fc.asyncProperty(responsesOutput, async (output) => {
      const reply = readOpenaiResponsesReply(responsesReply(output));
      const results = toolCalls(reply).map((call) => toolResult(call, "ok"));
      const context = contextFrom([userMessage("Go"), reply, ...results]);
      const { value, losses } = await project(context, openaiResponses({ model }));
      expect(value.input.slice(1, 1 + output.length)).toEqual(output);
      expect(losses).toEqual([]);
      expect(responsesBreaches({ model, store: false, ...value })).toEqual([]);
    }),
    { numRuns: 150 },
  );
});
