import type { IncomingMessage } from "node:http";
import { badRequest, Failure } from "./local-failure.js";

/** A file as it was uploaded. */
export interface ReceivedFile {
  readonly field: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** The largest file that is taken, and what stands around it. https://core.telegram.org/bots/api#senddocument, read 2026-11-22. */
const maxBodyBytes = 50e6 + 100_000;

export async function readBody(incoming: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes)
      throw new Failure({ error_code: 413, description: "Request Entity Too Large" });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The parameters of a call, from its query, JSON, a form or multipart. */
export async function parametersOf(
  incoming: IncomingMessage,
  body: Uint8Array,
): Promise<{ readonly params: Readonly<Record<string, unknown>>; readonly file?: ReceivedFile }> {
  const query = Object.fromEntries(new URL(incoming.url ?? "/", "http://localhost").searchParams);
  const type = incoming.headers["content-type"] ?? "";
  if (body.length === 0) return { params: query };
  if (type.startsWith("application/json")) {
    return { params: { ...query, ...jsonOf(new TextDecoder().decode(body)) } };
  }
  const response = new Response(Uint8Array.from(body), { headers: { "content-type": type } });
  const params: Record<string, unknown> = query;
  let file: ReceivedFile | undefined;
  for (const [field, value] of await response.formData()) {
    if (typeof value === "string") params[field] = value;
    else {
      const bytes = new Uint8Array(await value.arrayBuffer());
      file = { field, name: value.name, mediaType: value.type, bytes };
    }
  }
  return file === undefined ? { params } : { params, file };
}

function jsonOf(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    throw badRequest("can't parse JSON");
  }
}
