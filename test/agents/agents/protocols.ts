/** A scripted reply in the words of four protocols, whole and as a stream. The official clients read them in model.test.ts. */

import type { ScriptedReply } from "./script.js";

interface StreamEvent {
  readonly event?: string;
  readonly data: unknown;
}

export type Reply = { readonly json: unknown } | { readonly events: readonly StreamEvent[] };

type Request = Readonly<Record<string, unknown>>;

const outputTokens = 20;
const cachedTokens = 40;
const reasoningTokens = 5;

const inputOf = (reply: ScriptedReply): number => reply.inputTokens ?? 100;

/** An event whose name is the type of its data. */
const named = (data: { readonly type: string; readonly [member: string]: unknown }): StreamEvent => ({
  event: data.type,
  data,
});

/** Anthropic's messages. */
export function messagesReply(reply: ScriptedReply, request: Request, id: string): Reply {
  const calls = reply.calls ?? [];
  const blocks = [
    ...(reply.reasoning === undefined
      ? []
      : [{ type: "thinking", thinking: reply.reasoning, signature: `signature-${id}` }]),
    ...(reply.text === undefined ? [] : [{ type: "text", text: reply.text }]),
    ...calls.map((call) => ({ type: "tool_use", id: call.id, name: call.name, input: call.arguments })),
  ];
  const end = { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null };
  const usage = {
    input_tokens: inputOf(reply),
    cache_creation_input_tokens: 7,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
  };
  const message = { id: `msg_${id}`, type: "message", role: "assistant", model: request.model };
  if (request.stream !== true) return { json: { ...message, content: blocks, ...end, usage } };

  const open = { ...message, content: [], stop_reason: null, stop_sequence: null };
  const start = { ...open, usage: { ...usage, output_tokens: 1 } };
  return {
    events: [
      named({ type: "message_start", message: start }),
      ...blocks.flatMap((block, index) => {
        const delta = (change: object) => named({ type: "content_block_delta", index, delta: change });
        const opened = (empty: object) =>
          named({ type: "content_block_start", index, content_block: { ...block, ...empty } });
        const closed = named({ type: "content_block_stop", index });
        if ("thinking" in block) {
          const { thinking, signature } = block;
          const deltas = [
            delta({ type: "thinking_delta", thinking }),
            delta({ type: "signature_delta", signature }),
          ];
          return [opened({ thinking: "", signature: "" }), ...deltas, closed];
        }
        if ("text" in block) {
          return [opened({ text: "" }), delta({ type: "text_delta", text: block.text }), closed];
        }
        const partial = JSON.stringify("input" in block ? block.input : {});
        return [opened({ input: {} }), delta({ type: "input_json_delta", partial_json: partial }), closed];
      }),
      named({ type: "message_delta", delta: end, usage }),
      named({ type: "message_stop" }),
    ],
  };
}

/** OpenAI's Responses. */
export function responsesReply(reply: ScriptedReply, request: Request, id: string): Reply {
  const output = [
    ...(reply.reasoning === undefined
      ? []
      : [
          {
            type: "reasoning",
            id: `rs_${id}`,
            summary: [{ type: "summary_text", text: reply.reasoning }],
            encrypted_content: `encrypted-${id}`,
          },
        ]),
    ...(reply.text === undefined
      ? []
      : [
          {
            type: "message",
            id: `msg_${id}`,
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: reply.text, annotations: [] }],
          },
        ]),
    ...(reply.calls ?? []).map((call) => ({
      ...(typeof call.arguments === "string"
        ? { type: "custom_tool_call", id: `ctc_${id}${call.id}`, input: call.arguments }
        : { type: "function_call", id: `fc_${id}${call.id}`, arguments: JSON.stringify(call.arguments) }),
      call_id: call.id,
      name: call.name,
      status: "completed",
      ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
    })),
  ];
  const usage = {
    input_tokens: inputOf(reply),
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputOf(reply) + outputTokens,
  };
  const head = { id: `resp_${id}`, object: "response", created_at: 1, model: request.model };
  const response = { ...head, status: "completed", output, usage };
  if (request.stream !== true) return { json: response };
  let sequence_number = 0;
  const numbered = (data: { readonly type: string; readonly [member: string]: unknown }) =>
    named({ ...data, sequence_number: sequence_number++ });
  return {
    events: [
      numbered({ type: "response.created", response: { ...head, status: "in_progress", output: [] } }),
      ...output.flatMap((item, output_index) => [
        numbered({ type: "response.output_item.added", output_index, item }),
        numbered({ type: "response.output_item.done", output_index, item }),
      ]),
      numbered({ type: "response.completed", response }),
    ],
  };
}

/** OpenAI's Chat Completions. */
export function chatReply(reply: ScriptedReply, request: Request, id: string): Reply {
  const calls = (reply.calls ?? []).map((call, index) => ({
    index,
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
  const usage = {
    prompt_tokens: inputOf(reply),
    completion_tokens: outputTokens,
    total_tokens: inputOf(reply) + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
  const head = { id: `chatcmpl-${id}`, created: 1, model: request.model };
  const thought = reply.reasoning === undefined ? {} : { reasoning_content: reply.reasoning };
  const called = calls.length === 0 ? {} : { tool_calls: calls };
  if (request.stream !== true) {
    const message = { role: "assistant", content: reply.text ?? null, ...thought, ...called };
    const choices = [{ index: 0, message, finish_reason }];
    return { json: { ...head, object: "chat.completion", choices, usage } };
  }
  const chunk = (delta: object, finish: string | null = null): StreamEvent => ({
    data: {
      ...head,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: finish }],
    },
  });
  return {
    events: [
      chunk({ role: "assistant", content: "" }),
      ...(reply.reasoning === undefined ? [] : [chunk(thought)]),
      ...(reply.text === undefined ? [] : [chunk({ content: reply.text })]),
      ...(calls.length === 0 ? [] : [chunk(called)]),
      chunk({}, finish_reason),
      { data: { ...head, object: "chat.completion.chunk", choices: [], usage } },
      { data: "[DONE]" },
    ],
  };
}

/** Gemini's generateContent. */
export function geminiReply(reply: ScriptedReply, stream: boolean, id: string): Reply {
  const parts = [
    ...(reply.reasoning === undefined ? [] : [{ text: reply.reasoning, thought: true }]),
    ...(reply.text === undefined ? [] : [{ text: reply.text }]),
    ...(reply.calls ?? []).map((call) => ({
      functionCall: { id: call.id, name: call.name, args: call.arguments },
      // Base64 of "SIG".
      thoughtSignature: "U0lH",
    })),
  ];
  const value = {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: {
      promptTokenCount: inputOf(reply),
      cachedContentTokenCount: cachedTokens,
      candidatesTokenCount: outputTokens,
      thoughtsTokenCount: reasoningTokens,
      totalTokenCount: inputOf(reply) + outputTokens + reasoningTokens,
    },
    modelVersion: "scripted",
    responseId: `response-${id}`,
  };
  return stream ? { events: [{ data: value }] } : { json: value };
}
