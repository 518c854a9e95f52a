import type Anthropic from "@anthropic-ai/sdk";

/** What the model is to say; the rest of the message is filled in. */
export type ScriptedReply = Partial<Omit<Anthropic.Message, "content" | "usage">> & {
  readonly content: readonly Anthropic.ContentBlock[];
  readonly usage?: Partial<Anthropic.Usage>;
  /** Whether the stream stops behind the content of the last block, and stays open. */
  readonly isStalled?: boolean;
};

/** A whole message as the API sends it, number `index` of its conversation. */
export function messageOf(reply: ScriptedReply, model: string, index: number): Anthropic.Message {
  const { content, usage, isStalled: _, ...rest } = reply;
  return {
    id: `msg_${String(index).padStart(4, "0")}`,
    type: "message",
    role: "assistant",
    model,
    container: null,
    diagnostics: null,
    stop_details: null,
    stop_reason: content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
    stop_sequence: null,
    ...rest,
    content: [...content],
    usage: {
      cache_creation: null,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      inference_geo: null,
      input_tokens: 10,
      output_tokens: 5,
      output_tokens_details: null,
      server_tool_use: null,
      service_tier: "standard",
      speed: null,
      ...usage,
    },
  };
}

const direct = { type: "direct" } as const;

/** Reasoning, withheld reasoning, text and two calls at once. */
export const callingReply: ScriptedReply = {
  content: [
    { type: "thinking", thinking: "Both files, then.", signature: "c2lnbmVkLTE=" },
    { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" },
    { type: "text", text: "I read both. ", citations: null },
    { type: "tool_use", id: "toolu_A", name: "read", input: { path: "a.txt" }, caller: direct },
    { type: "thinking", thinking: "", signature: "b21pdHRlZA==" },
    {
      type: "tool_use",
      id: "toolu_B",
      name: "screenshot",
      input: {},
      caller: direct,
      toolset_name: "browser",
    },
  ],
  usage: {
    input_tokens: 120,
    output_tokens: 40,
    cache_creation_input_tokens: 900,
    cache_read_input_tokens: 300,
  },
};

/** A search by the provider, its result, and text with citations. */
export const searchingReply: ScriptedReply = {
  content: [
    { type: "thinking", thinking: "A search.", signature: "c2lnbmVkLTI=" },
    {
      type: "server_tool_use",
      id: "srvtoolu_A",
      name: "web_search",
      input: { query: "sky" },
      caller: direct,
    },
    {
      type: "web_search_tool_result",
      tool_use_id: "srvtoolu_A",
      caller: direct,
      content: [
        {
          type: "web_search_result",
          encrypted_content: "RW5jcnlwdGVk",
          page_age: null,
          title: "Sky",
          url: "https://example.com/sky",
        },
      ],
    },
    { type: "text", text: "The sky is ", citations: null },
    {
      type: "text",
      text: "blue",
      citations: [
        {
          type: "web_search_result_location",
          cited_text: "blue sky",
          encrypted_index: "RWluZGV4",
          title: "Sky",
          url: "https://example.com/sky",
        },
      ],
    },
    { type: "text", text: ".\n", citations: null },
  ],
};
