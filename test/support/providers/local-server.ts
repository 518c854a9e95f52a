import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Breach } from "./rule.js";

/** What came over the wire. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** The body as it came. */
  readonly bytes: Uint8Array;
  /** The body as JSON. */
  readonly body: unknown;
}

/** A provider's side of the conversation, for its official client to speak with. */
export interface ProviderBehaviour {
  /** The rules that a request breaks. */
  readonly breaches: (request: ReceivedRequest) => readonly Breach[];
  /** The answer to a request that breaks none: JSON, or text with its content type. */
  readonly reply: (request: ReceivedRequest) => Answer;
  /** The answer to one that does, as this provider says it. */
  readonly refuse: (breach: Breach, request: ReceivedRequest) => Answer;
}

/** An answer; `json` becomes the body unless `text` or `bytes` is there. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
  readonly bytes?: Uint8Array;
  /** Whether more seems to come: the answer is sent, and does not end. */
  readonly isOpen?: boolean;
}

/** A server on 127.0.0.1 that validates what arrives. */
export interface ProviderServer extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40001`. */
  readonly url: string;
  /** All requests so far, in order. */
  readonly requests: readonly ReceivedRequest[];
}

/** Events as a streamed answer. */
export function serverSentEvents(events: readonly object[]): Answer {
  const text = events.map((event) => {
    const { event_type } = event as { readonly event_type?: unknown };
    const name = typeof event_type === "string" ? `event: ${event_type}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  return { headers: { "content-type": "text/event-stream" }, text: text.join("") };
}

const maxBodyBytes = 256 * 2 ** 20;

/** Starts a server that answers as the provider does; dispose of it to stop it. */
export async function startProvider(behaviour: ProviderBehaviour): Promise<ProviderServer> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const request = await receive(incoming);
    requests.push(request);
    const [breach] = behaviour.breaches(request);
    const answer = breach === undefined ? behaviour.reply(request) : behaviour.refuse(breach, request);
    const status = answer.status ?? (breach === undefined ? 200 : 400);
    outgoing.writeHead(status, { "content-type": "application/json", ...answer.headers });
    const body = answer.text ?? answer.bytes ?? JSON.stringify(answer.json);
    if (answer.isOpen === true) outgoing.write(body);
    else outgoing.end(body);
  });
  // Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
  server.keepAliveTimeout = 65_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function receive(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming) {
    size += part.length;
    if (size > maxBodyBytes) throw new RangeError(`a request of more than ${maxBodyBytes} bytes`);
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  const { method = "", url: path = "", headers } = incoming;
  return {
    method,
    path,
    headers,
    bytes,
    body: bytes.length === 0 ? undefined : JSON.parse(bytes.toString("utf8")),
  };
}
