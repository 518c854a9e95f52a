import type Anthropic from "@anthropic-ai/sdk";

/** A message as the server-sent events of a stream, block by block, without the last `unsaid` of them. */
export function eventsOf(message: Anthropic.Message, unsaid = 0): string {
  const { content, stop_reason, stop_sequence, stop_details, usage } = message;
  const events = [
    { type: "message_start", message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
    ...content.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: started(block) },
      ...deltas(block).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason, stop_sequence, stop_details }, usage },
    { type: "message_stop" },
  ];
  const said = events.slice(0, events.length - unsaid);
  return said.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** The block as it begins, without what deltas bring. */
function started(block: Anthropic.ContentBlock): object {
  switch (block.type) {
    case "text":
      return { ...block, text: "", citations: block.citations === null ? null : [] };
    case "thinking":
      return { ...block, thinking: "", signature: "" };
    case "tool_use":
    case "server_tool_use":
      return { ...block, input: {} };
    default:
      return block;
  }
}

function deltas(block: Anthropic.ContentBlock): readonly object[] {
  switch (block.type) {
    case "text":
      return [
        { type: "text_delta", text: block.text },
        ...(block.citations ?? []).map((citation) => ({ type: "citations_delta", citation })),
      ];
    case "thinking":
      return [
        ...(block.thinking === "" ? [] : [{ type: "thinking_delta", thinking: block.thinking }]),
        { type: "signature_delta", signature: block.signature },
      ];
    case "tool_use":
    case "server_tool_use":
      return [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }];
    default:
      return [];
  }
}
