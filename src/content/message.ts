/** Messages and their blocks, and functions that make them. */
import { describe } from "../core/arguments.js";
import { describeResource, type Resource, type StoredResource } from "./resource.js";

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
export interface AssistantMessageInit {
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
 * @throws TypeError for a part that is neither text nor a block
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
 * @throws TypeError for a part of another type, with its index
 */
export function toolResult(
  call: Pick<ToolCall, "id" | "name">,
  ...parts: readonly MessagePart[]
): ToolResultMessage {
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
