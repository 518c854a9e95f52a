import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { LocalReply } from "./local-provider.js";

/**
 * A reply as the Messages API streams it, word by word, until the client goes.
 *
 * @see RawMessageStreamEvent in resources/messages/messages.d.ts of @anthropic-ai/sdk 1.11.0 (read 2026-11-22)
 */
export async function streamReply(
  outgoing: ServerResponse,
  { content, stop_reason, usage, ...rest }: LocalReply,
  paceMs: number,
): Promise<void> {
  outgoing.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  for (const [type, data] of eventsOf({ content, stop_reason, usage, ...rest })) {
    if (outgoing.destroyed) return;
    const taken = outgoing.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
    if (!taken) await Promise.race([once(outgoing, "drain"), once(outgoing, "close")]);
    if (type === "content_block_delta" && paceMs > 0) await setTimeout(paceMs);
  }
  if (!outgoing.destroyed) outgoing.end();
}

function* eventsOf({ content, stop_reason, usage, ...rest }: LocalReply): Generator<[string, object]> {
  const { input_tokens, output_tokens } = usage;
  const begun = { ...rest, content: [], stop_reason: null, usage: { input_tokens, output_tokens: 1 } };
  yield ["message_start", { message: begun }];
  for (const [index, block] of content.entries()) {
    if (block.type === "text") {
      yield ["content_block_start", { index, content_block: { ...block, text: "" } }];
      for (const text of block.text.match(/\S*\s*/g) ?? []) {
        if (text !== "") yield ["content_block_delta", { index, delta: { type: "text_delta", text } }];
      }
    } else {
      yield ["content_block_start", { index, content_block: { ...block, input: {} } }];
      const partial_json = JSON.stringify(block.input);
      yield ["content_block_delta", { index, delta: { type: "input_json_delta", partial_json } }];
    }
    yield ["content_block_stop", { index }];
  }
  yield ["message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } }];
  yield ["message_stop", {}];
}
