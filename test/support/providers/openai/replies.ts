import type OpenAI from "openai";

type ChatCompletion = OpenAI.Chat.ChatCompletion;
type ChatMessage = OpenAI.Chat.ChatCompletionMessage;
type Response = OpenAI.Responses.Response;

/** A completion with this message. */
export function chatReply(message: Partial<ChatMessage>, more: Partial<ChatCompletion> = {}): ChatCompletion {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_790_000_000,
    model: "gpt-5.6-2026-06-01",
    choices: [
      {
        index: 0,
        finish_reason: message.tool_calls === undefined ? "stop" : "tool_calls",
        logprobs: null,
        message: { role: "assistant", content: null, refusal: null, ...message },
      },
    ],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 5 },
    },
    ...more,
  };
}

/** Text and two calls at once. */
export const chatCallsReply = (): ChatCompletion =>
  chatReply({
    content: "Let me look.",
    tool_calls: [
      { id: "call_a", type: "function", function: { name: "read", arguments: '{"path":"a.ts"}' } },
      { id: "call_b", type: "function", function: { name: "list", arguments: "{}" } },
    ],
  });

/** A response with these items. */
export function responsesReply(
  output: OpenAI.Responses.ResponseOutputItem[],
  more: Partial<Response> = {},
): Response {
  return {
    id: "resp_1",
    object: "response",
    access_programs: null,
    created_at: 1_790_000_000,
    output_text: "",
    status: "completed",
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: "gpt-5.6-2026-06-01",
    output,
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 120,
    },
    ...more,
  };
}

/** Reasoning, a search that the API did, commentary and two calls at once. */
export const responsesCallsReply = (): Response =>
  responsesReply([
    {
      type: "reasoning",
      id: "rs_a",
      summary: [
        { type: "summary_text", text: "**Looking**" },
        { type: "summary_text", text: "Both files." },
      ],
      encrypted_content: "gAAAAAreasoning",
    },
    {
      type: "web_search_call",
      id: "ws_a",
      status: "completed",
      action: { type: "search", query: "sessile", queries: ["sessile"] },
    },
    {
      type: "message",
      id: "msg_a",
      role: "assistant",
      status: "completed",
      phase: "commentary",
      content: [{ type: "output_text", text: "Let me look.", annotations: [] }],
    },
    {
      type: "function_call",
      id: "fc_a",
      call_id: "call_a",
      name: "read",
      arguments: '{"path":"a.ts"}',
      status: "completed",
    },
    {
      type: "function_call",
      id: "fc_b",
      call_id: "call_b",
      name: "list",
      arguments: "{}",
      status: "completed",
    },
  ]);
