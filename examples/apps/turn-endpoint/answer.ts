import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpFailure } from "./http-failure.js";
import type { TurnLimits } from "./limits.js";

/** What every answer has. Nothing of it may be kept by a cache, shown in a frame, or taken for another type. */
export const commonHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, jsonHeaders(body));
  response.end(body);
}

/** Answers with a failure, or ends the connection where an answer has begun already. */
export async function sendFailure(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body, headers }: HttpFailure,
  limits: TurnLimits,
): Promise<void> {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const bytes = Buffer.from(JSON.stringify({ error: body }));
  const unread = !request.complete;
  const closing = unread ? { connection: "close" } : {};
  response.writeHead(status, { ...jsonHeaders(bytes), ...headers, ...closing });
  if (unread) {
    // Closing a connection with bytes in it that nobody has read resets it, and the client would not come to read the answer.
    response.write(bytes);
    await drain(request, limits);
    response.end();
    return;
  }
  response.end(bytes);
}

function jsonHeaders(body: Uint8Array): Readonly<Record<string, string | number>> {
  return {
    ...commonHeaders,
    "content-type": "application/json; charset=utf-8",
    "content-length": body.length,
  };
}

/** Throws the rest of a body away, for as long and as far as a well-meaning client may need to notice. */
function drain(request: IncomingMessage, { lingerBytes, lingerMs }: TurnLimits): Promise<void> {
  return new Promise((resolve) => {
    let left = lingerBytes;
    const done = () => {
      clearTimeout(timer);
      request.pause();
      resolve();
    };
    const timer = setTimeout(done, lingerMs);
    request.on("data", (chunk: Uint8Array) => {
      left -= chunk.length;
      if (left < 0) done();
    });
    request.once("end", done).once("close", done).once("error", done);
    // Whoever read it before has stopped it.
    setImmediate(() => request.resume());
  });
}
