import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import type Anthropic from "@anthropic-ai/sdk";
import { followScript, type ScriptPart } from "./script.js";

/** A provider on this machine, so that an example needs neither a key nor a network. */
export interface LocalProvider extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40001`. */
  readonly url: string;
  /** The requests, oldest first. */
  readonly requests: readonly Anthropic.MessageCreateParams[];
}

/** Options of {@link startLocalProvider}. */
export interface LocalProviderOptions {
  /** The replies. Default {@link followScript}. */
  readonly script?: (request: Anthropic.MessageCreateParams) => readonly ScriptPart[];
  /** Milliseconds between two words of a streamed reply. Default 0. */
  readonly paceMs?: number;
}

/** Serves the part of Anthropic's Messages API that the official client uses, with replies from a script. */
export async function startLocalProvider(options: LocalProviderOptions = {}): Promise<LocalProvider> {
  const { script = followScript, paceMs = 0 } = options;
  const requests: Anthropic.MessageCreateParams[] = [];
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const request = JSON.parse(await text(incoming)) as Anthropic.MessageCreateParams;
    requests.push(request);
    const reply = replyTo(request, requests.length, script);
    if (request.stream === true) {
      await streamReply(outgoing, reply, paceMs);
    } else {
      outgoing.writeHead(200, { "content-type": "application/json" });
      outgoing.end(JSON.stringify(reply));
    }
  };
  // A client that disconnects must not end the process.
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  // Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
  server.keepAliveTimeout = 65_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The fields of a reply that this provider makes. */
export interface LocalReply {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly stop_sequence: null;
  readonly content: readonly LocalBlock[];
  readonly stop_reason: "tool_use" | "end_turn";
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

type LocalBlock =
  | { readonly type: "text"; readonly text: string; readonly citations: null }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };

function replyTo(
  request: Anthropic.MessageCreateParams,
  number: number,
  script: NonNullable<LocalProviderOptions["script"]>,
): LocalReply {
  const content = script(request).map(
    (part, at): LocalBlock =>
      typeof part === "string"
        ? { type: "text", text: part, citations: null }
        : // The id is unique in the history.
          { type: "tool_use", id: `toolu_${request.messages.length}_${at}`, ...part },
  );
  return {
    id: `msg_${number}`,
    type: "message",
    role: "assistant",
    model: request.model,
    content,
    stop_reason: content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: JSON.stringify(request.messages).length >> 2, output_tokens: 20 },
  };
}

/**
 * Streams a reply as the Messages API does, word by word, until the client disconnects.
 *
 * @see RawMessageStreamEvent in resources/messages/messages.d.ts of @anthropic-ai/sdk 1.11.0 (read
 *   2026-11-22)
 */
async function streamReply(
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
