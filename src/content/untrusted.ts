import { SessileError } from "../errors/index.js";
import { describe } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import type { ImageBlock, TextBlock, UserMessage } from "./message.js";
import { isResource, type LinkResource, type Resource, type StoredResource } from "./resource.js";

/** Options of {@link asUserMessage}. */
export interface AsUserMessageOptions {
  /** The JSON comes from this program's own storage, so that its resource descriptors may stay. Default false. */
  readonly trusted?: boolean;
}

/**
 * A user message from JSON that came from outside, such as a request's body: known fields only, in fresh objects.
 * Unless the source is trusted, resource descriptors are dropped, since whoever can name a blob could read it, while the
 * descriptor's text stays; and so are the name, the model, its variant and the path, since who is speaking and where is not for the request to say. Inline images stay: a
 * session with `blobs` stores them when the message is appended, and one without refuses them over 1 KiB.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first wrong place.
 * @example
 * ```ts
 * const message = asUserMessage(await request.json());
 * ```
 */
export function asUserMessage(json: unknown, options: AsUserMessageOptions = {}): UserMessage {
  if (!isRecord(json)) throw invalid("message", "an object", json);
  if (json.role !== undefined && json.role !== "user") throw invalid("message.role", '"user"', json.role);
  const { content, name, timestamp } = json;
  if (timestamp !== undefined && !(typeof timestamp === "number" && Number.isFinite(timestamp))) {
    throw invalid("message.timestamp", "a finite number", timestamp);
  }
  if (name !== undefined && typeof name !== "string") throw invalid("message.name", "a string", name);
  if (typeof content !== "string" && !Array.isArray(content)) {
    throw invalid("message.content", "a string or an array of blocks", content);
  }
  return {
    role: "user",
    content:
      typeof content === "string" ? content : content.map((block, index) => asBlock(block, index, options)),
    ...(name === undefined || options.trusted !== true ? {} : { name }),
    ...(options.trusted === true ? asChoices(json) : {}),
    timestamp: timestamp ?? Date.now(),
  };
}

/** What the message was sent with. Of a client these are words only: what it asks for is the server's to decide. */
function asChoices({
  model,
  variant,
  path,
}: Readonly<Record<string, unknown>>): Pick<UserMessage, "model" | "variant" | "path"> {
  if (variant !== undefined && typeof variant !== "string")
    throw invalid("message.variant", "a string", variant);
  return {
    ...(model === undefined
      ? {}
      : {
          model: { provider: textIn("model", model, "provider"), modelId: textIn("model", model, "modelId") },
        }),
    ...(variant === undefined ? {} : { variant }),
    ...(path === undefined
      ? {}
      : {
          path: {
            cwd: textIn("path", path, "cwd"),
            ...(isRecord(path) && path.root !== undefined ? { root: textIn("path", path, "root") } : {}),
          },
        }),
  };
}

function textIn(field: string, value: unknown, key: string): string {
  const text = isRecord(value) ? value[key] : undefined;
  if (typeof text !== "string") throw invalid(`message.${field}.${key}`, "a string", text);
  return text;
}

function asBlock(block: unknown, index: number, options: AsUserMessageOptions): TextBlock | ImageBlock {
  const path = `message.content[${index}]`;
  if (!isRecord(block)) throw invalid(path, "an object", block);
  if (block.type === "text") {
    if (typeof block.text !== "string") throw invalid(`${path}.text`, "a string", block.text);
    if (options.trusted !== true || block.resource === undefined) return { type: "text", text: block.text };
    if (!isResource(block.resource))
      throw invalid(`${path}.resource`, "a resource descriptor", block.resource);
    return { type: "text", text: block.text, resource: asResource(block.resource) };
  }
  if (block.type === "image") {
    if (typeof block.data !== "string") throw invalid(`${path}.data`, "a base64 string", block.data);
    if (typeof block.mimeType !== "string") throw invalid(`${path}.mimeType`, "a media type", block.mimeType);
    return { type: "image", data: block.data, mimeType: block.mimeType };
  }
  throw invalid(`${path}.type`, '"text" or "image"', block.type);
}

const linkFields = ["resourceId", "kind", "name", "uri", "source", "declared"] as const;
const storedFields = [
  ...linkFields,
  "mediaType",
  "size",
  "blob",
  "contentSha256",
  "width",
  "height",
] as const satisfies readonly (keyof StoredResource)[];

function asResource(resource: Resource): Resource {
  const declared = resource.declared && pick(resource.declared, ["mediaType", "size"]);
  const fresh =
    resource.kind === "link"
      ? pick<LinkResource>(resource, linkFields)
      : pick<StoredResource>(resource, storedFields);
  return declared === undefined ? fresh : { ...fresh, declared };
}

function pick<T extends object>(from: T, keys: readonly (keyof T)[]): T {
  return Object.fromEntries(
    keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]]),
  ) as T;
}

function invalid(path: string, expected: string, value: unknown): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}, got ${describe(value)}`, {
    details: { path, expected },
  });
}
