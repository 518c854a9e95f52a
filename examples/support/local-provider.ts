import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type Anthropic from "@anthropic-ai/sdk";
import { followScript } from "./script.js";

/** A provider on this machine, so that an example needs neither a key nor a network. */
export interface LocalProvider extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40001`. */
  readonly url: string;
  /** What it was asked, oldest first. */
  readonly requests: readonly Anthropic.MessageCreateParams[];
}

/** Speaks as much of Anthropic's Messages API as an official client needs, and says what the script says. */
export async function startLocalProvider(): Promise<LocalProvider> {
  const requests: Anthropic.MessageCreateParams[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const request = JSON.parse(await text(incoming)) as Anthropic.MessageCreateParams;
    requests.push(request);
    outgoing.writeHead(200, { "content-type": "application/json" });
    outgoing.end(JSON.stringify(replyTo(request, requests.length)));
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

function replyTo(request: Anthropic.MessageCreateParams, number: number): object {
  const content = followScript(request).map((part, at) =>
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
