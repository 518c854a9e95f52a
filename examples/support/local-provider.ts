import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type Anthropic from "@anthropic-ai/sdk";
import { followScript, type ScriptPart } from "./script.js";
import { streamReply } from "./stream-reply.js";

/** A provider on this machine, so that an example needs neither a key nor a network. */
export interface LocalProvider extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40001`. */
  readonly url: string;
  /** What it was asked, oldest first. */
  readonly requests: readonly Anthropic.MessageCreateParams[];
}

/** Options of {@link startLocalProvider}. */
export interface LocalProviderOptions {
  /** What it says. Default the script of the coding agent. */
  readonly script?: (request: Anthropic.MessageCreateParams) => readonly ScriptPart[];
  /** Milliseconds between two words where a reply is streamed. Default 0. */
  readonly paceMs?: number;
}

/** Speaks as much of Anthropic's Messages API as an official client needs, and says what the script says. */
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
  // A client that goes away is no reason to end.
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
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

/** A reply as far as it is made here. */
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
        : // An id that no call of the history has.
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
