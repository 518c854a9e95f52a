/** A round-robin in front of the processes, for the demo and the tests. In production the platform has one. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";

/** A round-robin over processes on this machine. */
export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** The ports of the processes; add and remove them at any time. */
  readonly ports: Set<number>;
}

export async function startBalancer(): Promise<Balancer> {
  const ports = new Set<number>();
  let turn = 0;

  function forward(request: IncomingMessage, response: ServerResponse): void {
    const port = [...ports][turn++ % ports.size];
    const { method, url, headers } = request;
    const forwarded = send(
      { host: "127.0.0.1", port, method, path: url, headers, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        pipeline(answer, response, () => {});
      },
    );
    forwarded.on("error", () => badGateway(response));
    response.once("close", () => forwarded.destroy());
    pipeline(request, forwarded, () => {});
  }

  const server = createServer((request, response) => {
    if (ports.size === 0) badGateway(response);
    else forward(request, response);
  });
  // Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
  server.keepAliveTimeout = 65_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ports,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The process refused the connection, or died before its answer was complete. */
function badGateway(response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const error = { code: "BAD_GATEWAY", message: "no process answered; send the same request again" };
  response.writeHead(502, { "content-type": "application/json", "retry-after": "1" });
  response.end(JSON.stringify({ error }));
}
