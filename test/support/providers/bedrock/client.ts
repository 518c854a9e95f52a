import { request as httpRequest } from "node:http";
import { BedrockRuntime } from "@aws-sdk/client-bedrock-runtime";

interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/**
 * The official client, signing with made-up credentials, for a local server. By default it speaks HTTP/2, which servers
 * without TLS seldom do; so it gets a handler that speaks HTTP/1.1.
 */
export function bedrockClient(url: string): BedrockRuntime {
  // Node 20 is among the versions that are tested here, and the client says on every start that it will be dropped.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = "true";
  const { hostname, port } = new URL(url);
  return new BedrockRuntime({
    region: "us-east-1",
    endpoint: url,
    credentials: { accessKeyId: "none", secretAccessKey: "none" },
    maxAttempts: 1,
    requestHandler: {
      handle: ({ method, path, headers, body }: Outgoing) =>
        new Promise((resolve, reject) => {
          const outgoing = httpRequest({ hostname, port, method, path, headers }, (incoming) =>
            resolve({
              response: { statusCode: incoming.statusCode, headers: incoming.headers, body: incoming },
            }),
          );
          outgoing.on("error", reject);
          outgoing.end(typeof body === "string" || body instanceof Uint8Array ? body : undefined);
        }),
    },
  });
}
