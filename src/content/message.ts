/** Messages, their blocks and the descriptors of their attachments; made by functions, or from untrusted JSON. */

import { describe } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import { resourceShape } from "../core/message-shapes.js";
import { isRecord } from "../core/shape.js";
import { oneLine } from "../core/text.js";

/** Text. With `resource` the block is an attachment, and the text is its descriptor. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
  /** The attachment; see {@link describeResource}. */
  readonly resource?: Resource;
  /** A provider's opaque signature of this text, sent back verbatim. */
  readonly textSignature?: string;
  /**
   * Members of the provider's block that this one does not represent, such as citations. JSON. Sent back
   * verbatim to the model that made it.
   */
  readonly providerFields?: Readonly<Record<string, unknown>>;
}

/**
 * An inline image. Accepted on load, since other writers use it. On append a session stores its bytes in
 * `blobs`; without `blobs` it refuses more than 1 KiB.
 */
export interface ImageBlock {
  readonly type: "image";
  /** Base64 as RFC 4648 section 4, without a data URL prefix. */
  readonly data: string;
  readonly mimeType: string;
}

/** A model's reasoning. The signature is sent back verbatim to the provider and model that made it. */
export interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  readonly thinkingSignature?: string;
  /** As of a text. */
  readonly providerFields?: Readonly<Record<string, unknown>>;
  /** The provider withheld the text. `thinkingSignature` is its encrypted form. */
  readonly redacted?: boolean;
}

/** A request by the model to run a tool. */
export interface ToolCall {
  readonly type: "toolCall";
  /** Pairs the call with its result. */
  readonly id: string;
  readonly name: string;
  /** A JSON value, usually an object. */
  readonly arguments: unknown;
  /** The group of tools that the name belongs to, for providers that have groups. */
  readonly namespace?: string;
  readonly thoughtSignature?: string;
  /** As of a text. */
  readonly providerFields?: Readonly<Record<string, unknown>>;
}

/** A block of a type that this version does not know, such as a provider's own, kept unchanged. */
export interface OpaqueBlock {
  readonly type: "opaque";
  /** The block, unchanged but for its media: `{ $resource: id }` replaces the base64 of each. */
  readonly data: unknown;
  /** The media of the block, such as an image that the model made. On append a session stores them. */
  readonly resources?: readonly StoredResource[];
}

/** Tokens of one provider call, and their cost in the provider's currency; `cost` is absent if unknown. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` with a lifetime of one hour, if the provider counts it. */
  readonly cacheWrite1h?: number;
  readonly totalTokens?: number;
  readonly cost?: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
    readonly total: number;
  };
}

/**
 * Why a model stopped. `length`: a limit cut the reply. `pause`: the provider continues the reply in the next
 * request. Other writers have more values, such as pi's `deferred` for a reply that the provider makes later.
 * A message with an unlisted one is read as complete.
 */
export type StopReason =
  | "stop"
  | "length"
  | "pause"
  | "toolUse"
  | "error"
  | "aborted"
  | (string & Record<never, never>);

/** A message of the user, or of a program in the user's place. */
export interface UserMessage {
  readonly role: "user";
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /** The author, if several people speak. Untrusted text, which a projection puts before the content. */
  readonly name?: string;
  /**
   * The model chosen for the answer. Only a record: the latest model_change or reply sets the current model.
   */
  readonly model?: { readonly provider: string; readonly modelId: string };
  /** A variant of that model, such as `high` or `fast`. */
  readonly variant?: string;
  /** The user's working directory, and the root of its project. */
  readonly path?: { readonly cwd: string; readonly root?: string };
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** A model's answer. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly (TextBlock | ImageBlock | ThinkingBlock | ToolCall | OpaqueBlock)[];
  readonly provider: string;
  /**
   * The requested model, to which reasoning is sent back. If the writer does not know it, the model that
   * answered.
   */
  readonly model: string;
  /**
   * The model that answered, if its name differs, as a snapshot of an alias or a router's choice. Only a
   * record.
   */
  readonly responseModel?: string;
  /** The provider's wire protocol, such as `anthropic-messages`. */
  readonly api?: string;
  readonly usage?: Usage;
  readonly stopReason?: StopReason;
  readonly errorMessage?: string;
  /**
   * Whether the model, or a filter of the provider, declined. A projection to it leaves out the whole turn, which
   * would be declined again.
   */
  readonly refused?: boolean;
  /**
   * Members of the provider's reply that the message does not represent, such as its id, its container and its
   * own stop reason. JSON.
   */
  readonly providerFields?: Readonly<Record<string, unknown>>;
  /** Whether the message is a compaction summary that a model wrote as its own message. */
  readonly summary?: boolean;
  /** The agent's mode at the time, such as `plan`. */
  readonly mode?: string;
  /** The provider's account, if the harness has several. Only that account can decrypt encrypted state. */
  readonly account?: string;
  /**
   * The digest of the request that the reply answered, by which `project` knows if its reasoning still counts. A
   * session records it with a reply to a projection of its context. In a history that you keep yourself it is
   * `prefix.digest` of the projection. Never sent to a model.
   */
  readonly prefix?: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** The result of one tool call. */
export interface ToolResultMessage {
  readonly role: "toolResult";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  /** For programs; never sent to a model. */
  readonly details?: unknown;
  /**
   * Calls of the tool to other tools, as pi writes them since 1.5: `{ calls: [{ id, name, arguments?, status
   * }], complete }`. For the file ledger; never sent to a model, and never checked.
   */
  readonly nestedCalls?: unknown;
  /** Tokens of models that the tool itself called, as pi writes them. Not part of the context's tokens. */
  readonly usage?: Usage;
  readonly isError: boolean;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** A shell command that the user ran outside the conversation. */
export interface BashExecutionMessage {
  readonly role: "bashExecution";
  readonly command: string;
  readonly output: string;
  /** Absent or null if the command was killed. */
  readonly exitCode?: number | null;
  readonly cancelled: boolean;
  readonly truncated: boolean;
  readonly fullOutputPath?: string;
  /** Whether the user hides it from models. */
  readonly excludeFromContext?: boolean;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** A message that an extension added to the conversation. */
export interface CustomMessage {
  readonly role: "custom";
  readonly customType: string;
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /** Whether user interfaces show it. */
  readonly display: boolean;
  /** For programs; never sent to a model. */
  readonly details?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/**
 * Instructions and tools declared to the model. Later messages patch `sections` by name; null removes one.
 */
export interface SystemMessage {
  readonly role: "system";
  readonly content: string | readonly TextBlock[];
  readonly sections?: Readonly<Record<string, string | null>>;
  readonly toolsAdded?: readonly unknown[];
  readonly toolsRemoved?: readonly unknown[];
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Any message that a session entry can contain. */
export type Message =
  | UserMessage
  | AssistantMessage
  | ToolResultMessage
  | BashExecutionMessage
  | CustomMessage
  | SystemMessage;

/** Replaces the history before a compaction in a context. Never stored as a message. */
export interface CompactionSummaryMessage {
  readonly role: "compactionSummary";
  readonly summary: string;
  readonly tokensBefore: number;
  /** The `details` of the compaction's entry; never sent to a model. */
  readonly details?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Represents an abandoned branch in a context. Never stored as a message. */
export interface BranchSummaryMessage {
  readonly role: "branchSummary";
  readonly summary: string;
  /** The leaf of the abandoned branch, or `root`. */
  readonly fromId: string;
  /** The `details` of the entry; never sent to a model. */
  readonly details?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Any message that a context can contain. */
export type ContextMessage = Message | CompactionSummaryMessage | BranchSummaryMessage;

/** A part of a message: text, an attachment, or a text block. */
export type MessagePart = string | Resource | TextBlock;

/**
 * Makes a user message. A single string stays a string; other parts become blocks. An attachment becomes a
 * text block with its descriptor, so that readers that do not know resources still see its name.
 *
 * @throws TypeError for a part of another type, with its index
 * @example
 * ```ts
 * userMessage("What is wrong here?", screenshot);
 * ```
 */
export function userMessage(...parts: readonly MessagePart[]): UserMessage {
  const [only] = parts;
  const content = parts.length === 1 && typeof only === "string" ? only : parts.map(partBlock);
  return { role: "user", content, timestamp: Date.now() };
}

/** The fields of {@link assistantMessage}; only the model is required. */
interface AssistantMessageInit {
  readonly provider: string;
  readonly model: string;
  readonly responseModel?: string;
  readonly api?: string;
  readonly usage?: Usage;
  readonly stopReason?: StopReason;
  readonly errorMessage?: string;
}

/**
 * Makes an assistant message. Defaults for fields that other readers of the file expect: `api` "unknown", a
 * usage of zeros, and the stop reason "toolUse" if there are calls, else "stop".
 *
 * @throws TypeError for a part that is neither text nor a block, and without provider or model
 * @example
 * ```ts
 * assistantMessage({ provider: "anthropic", model: "m" }, "Let me look.", {
 *   type: "toolCall", id: "c1", name: "read", arguments: { path: "README.md" },
 * });
 * ```
 */
export function assistantMessage(
  init: AssistantMessageInit,
  ...parts: readonly (string | AssistantMessage["content"][number])[]
): AssistantMessage {
  if (typeof init?.provider !== "string" || typeof init.model !== "string")
    throw new TypeError(`init: expected { provider, model }, got ${describe(init)}`);
  const content = parts.map((part, index) => {
    if (typeof part === "string") return { type: "text" as const, text: part };
    if (typeof part === "object" && part !== null && typeof part.type === "string") return part;
    throw new TypeError(`parts[${index}]: expected a string or a block, got ${describe(part)}`);
  });
  return {
    role: "assistant",
    content,
    api: init.api ?? "unknown",
    provider: init.provider,
    model: init.model,
    ...(init.responseModel === undefined ? {} : { responseModel: init.responseModel }),
    usage: init.usage ?? noUsage,
    stopReason: init.stopReason ?? (content.some((block) => block.type === "toolCall") ? "toolUse" : "stop"),
    ...(init.errorMessage === undefined ? {} : { errorMessage: init.errorMessage }),
    timestamp: Date.now(),
  };
}

const noUsage: Usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/**
 * Makes the result of a tool call. For a failure, spread it: `{ ...toolResult(call, text), isError: true }`.
 *
 * @throws TypeError for a part of another type, with its index, and for a call without id or name
 */
export function toolResult(
  call: Pick<ToolCall, "id" | "name">,
  ...parts: readonly MessagePart[]
): ToolResultMessage {
  if (typeof call?.id !== "string" || typeof call.name !== "string")
    throw new TypeError(`call: expected the call, with its id and name, got ${describe(call)}`);
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: parts.map(partBlock),
    isError: false,
    timestamp: Date.now(),
  };
}

function partBlock(part: MessagePart, index: number): TextBlock {
  if (typeof part === "string") return { type: "text", text: part };
  if (typeof part === "object" && part !== null) {
    if ("resourceId" in part) return { type: "text", text: describeResource(part), resource: part };
    if (part.type === "text" && typeof part.text === "string") return part;
  }
  throw new TypeError(
    `parts[${index}]: expected a string, a resource or a text block, got ${describe(part)}`,
  );
}

/** The texts of blocks of text. */
export function blockTexts(blocks: readonly { readonly type: string }[]): readonly string[] {
  return blocks.flatMap((block) => (block.type === "text" ? [(block as TextBlock).text] : []));
}

/** The content of a message: a single text as a string, else the blocks. */
export function plainContent<B extends { readonly type: string }>(
  blocks: readonly B[],
): string | readonly B[] {
  const [only] = blocks;
  return blocks.length === 1 && only?.type === "text" ? (only as unknown as TextBlock).text : blocks;
}

// Resources: the descriptors of attachments that messages carry, and their text for models.

/** The name of stored bytes: the digest algorithm and 64 lower-case hexadecimal digits. */
export type BlobRef = `${"sha256" | "blake3"}:${string}`;

interface ResourceBase {
  /** `res_` and 16 hexadecimal digits; unique in the session. */
  readonly resourceId: string;
  /** A name for people, such as a file's base name. Untrusted text. */
  readonly name?: string;
  /** How the resource came into the session. Other writers have values of their own. */
  readonly source: "upload" | "tool" | "model" | "link" | "import" | (string & Record<never, never>);
  /** The sender's claims. Recorded, never trusted. */
  readonly declared?: { readonly mediaType?: string; readonly size?: number };
}

/** A resource whose bytes are in a blob store. */
export interface StoredResource extends ResourceBase {
  readonly kind: "image" | "file";
  /** As sniffed from the bytes, such as `image/png`. */
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  readonly blob: BlobRef;
  /** 64 lower-case hexadecimal digits, also if the blob is named by another algorithm. */
  readonly contentSha256: string;
  /** Pixels. */
  readonly width?: number;
  /** Pixels. */
  readonly height?: number;
  /** Pages of a PDF, if they can be counted. */
  readonly pages?: number;
  /** A PDF is encrypted, if only to restrict printing or copying. */
  readonly encrypted?: boolean;
  /** The address of its origin, if known. */
  readonly uri?: string;
}

/** A link, which is never fetched and has no bytes. */
export interface LinkResource extends ResourceBase {
  readonly kind: "link";
  readonly uri: string;
}

/**
 * An attachment of a message in the log: its descriptor, without the bytes. A descriptor from outside is a
 * bearer capability for the blob that it names; see {@link asUserMessage}.
 */
export type Resource = StoredResource | LinkResource;

const maxShownNameLength = 80;

/**
 * The descriptor of a resource as text, such as `[image screen.png, image/png, 14 kB, res_0123456789abcdef]`.
 * One line. The name is safe in a prompt: no brackets, control characters or line breaks, and at most 80
 * characters.
 *
 * @example
 * ```ts
 * const resourceId = "res_0123456789abcdef";
 * describeResource({ resourceId, kind: "link", source: "link", uri: "https://a.example" });
 * // "[link https://a.example, res_0123456789abcdef]"
 * ```
 */
export function describeResource(resource: Resource): string {
  const name = resource.name === undefined ? "" : safeName(resource.name);
  const id = safeName(resource.resourceId);
  if (resource.kind === "link")
    return `[link ${name === "" ? "" : `${name}, `}${safeName(resource.uri)}, ${id}]`;
  const title = name === "" ? resource.kind : `${resource.kind} ${name}`;
  return `[${title}, ${safeName(resource.mediaType)}, ${byteCount(resource.size)}, ${id}]`;
}

/** The descriptor of an inline image or file, which has neither a name nor an id. */
export function describeImage({
  kind = "image",
  ...image
}: Pick<StoredResource, "mediaType" | "size"> & Partial<Pick<StoredResource, "kind">>): string {
  return `[${kind}, ${safeName(image.mediaType)}, ${byteCount(image.size)}]`;
}

/** Whether a value is a well-formed resource descriptor. Does not look for its blob. */
export function isResource(value: unknown): value is Resource {
  return resourceShape(value) === undefined;
}

/** The resource of a block; undefined for a plain block. */
export function blockResource(block: {
  readonly type: string;
  readonly resource?: Resource;
}): Resource | undefined {
  return block.type === "text" ? block.resource : undefined;
}

function safeName(name: string): string {
  const clean = oneLine(name).replace(/[[\]]/g, "_");
  const characters = Array.from(clean.slice(0, 2 * maxShownNameLength + 2));
  if (characters.length <= maxShownNameLength) return clean;
  return `${characters.slice(0, maxShownNameLength - 1).join("")}…`;
}

function byteCount(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 999_500) return `${Math.round(size / 1000)} kB`;
  return `${(size / 1_000_000).toFixed(1)} MB`;
}

// User messages from untrusted JSON.

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
