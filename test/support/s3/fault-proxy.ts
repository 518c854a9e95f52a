import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AwsClient } from "aws4fetch";
import { testKeys } from "./signature.js";

/** A proxy in front of an S3 server that signs, and that breaks chosen requests and replies. */

/** What happens to one request. */
export type Fault =
  /** The proxy answers itself; the server sees nothing. */
  | { readonly kind: "answer"; readonly status: number; readonly code?: string; readonly retryAfter?: string }
  /** The connection ends before the server sees the request. */
  | { readonly kind: "dropBefore" }
  /** The server acts, and its answer is lost. */
  | { readonly kind: "dropAfter" }
  /** The body of the reply ends after so many bytes, with the connection. */
  | { readonly kind: "cut"; readonly bytes: number }
  /** The body of the reply ends after so many bytes, and its Content-Length says so. */
  | { readonly kind: "shorten"; readonly bytes: number }
  /** A byte of the reply's body changes. */
  | { readonly kind: "change" }
  /** A byte of the request's body changes. */
  | { readonly kind: "changeRequest" };

/** A request before it is forwarded. */
export interface ProxiedRequest {
  /** Counts from 0. */
  readonly index: number;
  readonly method: string;
  /** With the bucket, and the query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

/** A running proxy. */
export interface FaultProxy {
  /** The endpoint: the same paths as those of the server. */
  readonly endpoint: string;
  /** Chooses the fault of a request. */
  fault: (request: ProxiedRequest) => Fault | undefined;
  /** Whether conditions of writes are taken out of the requests, as by a store that ignores them. */
  ignoresConditions: boolean;
  /** Requests that arrived. */
  readonly seen: readonly ProxiedRequest[];
  /** Resolves when no request is under way, those too whose client has gone. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a proxy in front of a server, such as `http://127.0.0.1:7480`. */
export async function startFaultProxy(server: string): Promise<FaultProxy> {
  const aws = new AwsClient({ ...testKeys, service: "s3", region: "us-east-1", retries: 0 });
  const seen: ProxiedRequest[] = [];

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "GET", url: path = "/" } = request;
    const proxied: ProxiedRequest = { index: seen.length, method, path, headers: request.headers };
    seen.push(proxied);
    const fault = proxy.fault(proxied);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (fault?.kind === "dropBefore") return void response.destroy();
    if (fault?.kind === "answer") {
      const { status, code = "Injected", retryAfter } = fault;
      const text = method === "HEAD" ? "" : `<Error><Code>${code}</Code><Message>injected</Message></Error>`;
      response.writeHead(status, {
        "content-type": "application/xml",
        ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
      });
      return void response.end(text);
    }
    if (fault?.kind === "changeRequest" && body.length > 0) flip(body);
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(request.headers)) {
      // Others are of this connection, such as those that fetch adds.
      const isSent = /^(x-amz-.*|content-type|range|if-match|if-none-match)$/.test(name);
      const isCondition = name === "if-none-match" || (name === "if-match" && method !== "GET");
      if (isSent && !(isCondition && proxy.ignoresConditions)) headers[name] = String(value);
    }
    const hasBody = method === "PUT" || method === "POST";
    const reply = await aws.fetch(server + path, { method, headers, ...(hasBody ? { body } : {}) });
    const bytes = Buffer.from(await reply.arrayBuffer());
    if (fault?.kind === "dropAfter") return void response.destroy();
    if (fault?.kind === "change" && bytes.length > 0) flip(bytes);
    const told = Object.fromEntries(
      [...reply.headers].filter(
        ([name]) => !["connection", "transfer-encoding", "keep-alive"].includes(name),
      ),
    );
    if (method !== "HEAD") told["content-length"] = String(bytes.length);
    if (fault?.kind === "shorten") {
      told["content-length"] = String(Math.min(fault.bytes, bytes.length));
      response.writeHead(reply.status, told);
      return void response.end(bytes.subarray(0, fault.bytes));
    }
    response.writeHead(reply.status, told);
    if (fault?.kind === "cut" && fault.bytes < bytes.length) {
      response.write(bytes.subarray(0, fault.bytes), () => response.destroy());
      return;
    }
    response.end(method === "HEAD" ? undefined : bytes);
  };

  const answers = new Set<Promise<void>>();
  const http = createServer((request, response) => {
    const answered = answer(request, response)
      .catch((error) => void response.destroy(error))
      .finally(() => answers.delete(answered));
    answers.add(answered);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const proxy: FaultProxy = {
    endpoint: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    fault: () => undefined,
    ignoresConditions: false,
    seen,
    async idle() {
      while (answers.size > 0) await Promise.all(answers);
    },
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return proxy;
}

function flip(bytes: Buffer): void {
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] as number) ^ 1;
}
