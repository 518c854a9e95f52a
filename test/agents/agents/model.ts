/** A scripted model on 127.0.0.1: it records each request and answers in the protocol of the request. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isRecord } from "../../support/plain-values.js";
import { chatReply, geminiReply, messagesReply, type Reply, responsesReply } from "./protocols.js";
import type { RecordedRequest, Script, ScriptedReply } from "./script.js";

export interface ScriptedModel extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** The index of the command to which the next requests belong. */
  command: number;
}

/** Starts a model on a free port. */
export async function startModel(script: Script = {}): Promise<ScriptedModel> {
  const requests: RecordedRequest[] = [];
  let turns = 0;
  const turn = (): ScriptedReply => {
    const index = turns++;
    return script.replies?.[index] ?? { text: `done ${index + 1}` };
  };
  const aside = script.aside ?? { text: "title" };

  const answer = (url: string, body: unknown): Reply | undefined => {
    const request = isRecord(body) ? body : {};
    const next = () => (Array.isArray(request.tools) && request.tools.length > 0 ? turn() : aside);
    const id = `${requests.length}`;
    const [path = ""] = url.split("?");
    if (/\/(?:messages\/count_tokens|[^/]+:countTokens)$/.test(path)) {
      return { json: { input_tokens: 100, totalTokens: 100 } };
    }
    if (path.endsWith("/responses/compact")) {
      // The reply of the remote compaction: a new history, whose summary only the provider can read.
      return { json: { output: [{ type: "compaction", encrypted_content: `compaction-${id}` }] } };
    }
    // Codex asks without tools for nothing but turns.
    if (path.endsWith("/responses")) return responsesReply(turn(), request, id);
    if (path.endsWith("/messages")) return messagesReply(next(), request, id);
    if (path.endsWith("/chat/completions")) return chatReply(next(), request, id);
    const generate = /:(stream)?generateContent$/i.exec(path);
    if (generate) return geminiReply(next(), generate[1] !== undefined, id);
    if (path.endsWith("/models")) return { json: { object: "list", data: [], models: [] } };
    return undefined;
  };

  const server = createServer((request, response) => {
    void read(request).then((text) => {
      const body = parsed(text);
      const reply = answer(request.url ?? "", body);
      requests.push({
        method: request.method ?? "",
        url: request.url ?? "",
        body,
        command: model.command,
      });
      send(response, reply);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const model: ScriptedModel = {
    url: `http://127.0.0.1:${port}`,
    requests,
    command: 0,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return model;
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function send(response: ServerResponse, reply: Reply | undefined): void {
  if (reply === undefined) {
    response.writeHead(404, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "the scripted model has no such path" } }));
  } else if ("json" in reply) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(reply.json));
  } else {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const { event, data } of reply.events) {
      const name = event === undefined ? "" : `event: ${event}\n`;
      response.write(`${name}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
    }
    response.end();
  }
}
