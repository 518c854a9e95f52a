import fc from "fast-check";
import type OpenAI from "openai";
import { contextOf, toolCalls, toolResult, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import {
  type OpenaiResponsesReply,
  openaiResponses,
  readOpenaiResponsesReply,
} from "sessile/projections/openai";
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

  test("joins the parts of a message, and drops one that is empty", () => {
    const texts = ["One", "", "two"].map((text) => ({ type: "output_text" as const, text, annotations: [] }));
    const refusal = { type: "refusal" as const, refusal: "!" };
    expect(contentOf({ ...message, content: [...texts, refusal] })).toMatchObject([{ text: "Onetwo!" }]);
    expect(contentOf({ ...message, content: [] })).toEqual([]);
  });

  test("leaves out what the client adds and what is for people", () => {
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
    expect(JSON.stringify(content)).not.toMatch(/logprob|parsed|created_by/);
    expect(content[1]).toEqual({ type: "toolCall", id: "call_1", name: "read", arguments: {} });
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

test("whatever a model of OpenAI puts out goes back as it came", async () => {
  await fc.assert(
    fc.asyncProperty(responsesOutput, async (output) => {
      const reply = readOpenaiResponsesReply(responsesReply(output));
      const results = toolCalls(reply).map((call) => toolResult(call, "ok"));
      const context = contextOf([userMessage("Go"), reply, ...results]);
      const { value, losses } = await project(context, openaiResponses({ model }));
      expect(value.input.slice(1, 1 + output.length)).toEqual(output);
      expect(losses).toEqual([]);
      expect(responsesBreaches({ model, store: false, ...value })).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
