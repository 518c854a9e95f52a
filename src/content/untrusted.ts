/** User messages from untrusted JSON. */

import { describe } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import { isRecord } from "../core/shape.js";
import type { ImageBlock, TextBlock, UserMessage } from "./message.js";
import { isResource, type LinkResource, type Resource, type StoredResource } from "./resource.js";

/** Options of {@link asUserMessage}. */
export interface AsUserMessageOptions {
  /**
   * Whether the JSON comes from the program's own storage, so that resource descriptors are kept. Default
   * false.
   */
  readonly trusted?: boolean;
}

/**
 * Makes a user message from outside JSON, such as the body of a request: known fields only, in new objects.
 * Unless the source is trusted, resource descriptors are removed and their text stays, since a descriptor
 * grants access to its blob. Name, model, variant and path are removed too: a request cannot set identity.
 * Inline images stay. On append a session stores them in `blobs`; without `blobs` it refuses more than 1 KiB.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first error
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

/** The model, variant and path of a message from trusted JSON. */
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
  "pages",
  "encrypted",
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
