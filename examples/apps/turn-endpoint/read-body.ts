import type { IncomingMessage } from "node:http";
import { HttpFailure } from "./http-failure.js";

/**
 * The body of a request in chunks, never more than `maxBytes` of it. The request is not destroyed when reading stops, so that
 * it can still be answered.
 *
 * @throws HttpFailure 413, before the first chunk where the client says how much it will send; 415 for a body that is encoded
 */
export async function* bodyOf(request: IncomingMessage, maxBytes: number): AsyncGenerator<Uint8Array> {
  // To decode it could make any number of bytes of a few.
  if (request.headers["content-encoding"] !== undefined) {
    throw new HttpFailure(415, {
      code: "ENCODED_BODY",
      message: "a body is taken as it is, without encoding",
    });
  }
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  let total = 0;
  const chunks: AsyncIterable<Uint8Array> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A body of JSON. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const [type = ""] = (request.headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") {
    throw new HttpFailure(415, { code: "NOT_JSON", message: "content-type: expected application/json" });
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of bodyOf(request, maxBytes)) chunks.push(chunk);
  try {
    return JSON.parse(decoder.decode(Buffer.concat(chunks)));
  } catch {
    throw new HttpFailure(400, { code: "INVALID_BODY", message: "the body is no JSON in UTF-8" });
  }
}

function tooLarge(maxBytes: number): HttpFailure {
  return new HttpFailure(413, { code: "TOO_LARGE", message: `at most ${maxBytes} bytes are taken` });
}
