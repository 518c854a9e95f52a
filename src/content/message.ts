import { describe } from "../internal/arguments.js";
import { describeResource, type Resource } from "./resource.js";

/** Text. With `resource` it is an attachment's place in the message, and the text is its descriptor. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
  /** What this block stands for; see {@link describeResource}. */
  readonly resource?: Resource;
  /** A provider's opaque mark on this text, sent back verbatim. */
  readonly textSignature?: string;
}

/**
 * An image inline as base64. Accepted on load, since other writers use it. A session that it is appended to stores it in its
 * `blobs`, or refuses it over 1 KiB.
 */
export interface ImageBlock {
  readonly type: "image";
  /** Base64 as RFC 4648 section 4, without a data URL prefix. */
  readonly data: string;
  readonly mimeType: string;
}

/** A model's reasoning. The signature goes back verbatim to the provider and model that made it. */
export interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  readonly thinkingSignature?: string;
  /** The provider withheld the text; `thinkingSignature` carries its encrypted form. */
  readonly redacted?: boolean;
}

/** A request by the model to run a tool. */
export interface ToolCall {
  readonly type: "toolCall";
  /** Pairs the call with its result. */
  readonly id: string;
  readonly name: string;
  /** A JSON value, by custom an object. */
  readonly arguments: unknown;
  /** The group of tools that the name is one of, where a provider has such groups. */
  readonly namespace?: string;
  readonly thoughtSignature?: string;
}

/** A block that this version does not know, kept as it came. */
export interface OpaqueBlock {
  readonly type: "opaque";
  /** The block as the provider or another writer made it. */
  readonly data: unknown;
}

/** Tokens of one provider call, and their cost in the provider's currency; `cost` is absent where it is not known. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour, where the provider counts it. */
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
 * Why a model stopped. Other writers have more of them, such as pi's `deferred` for a reply that the provider makes later:
 * one that is not listed reads as text, and its message as a complete one.
 */
export type StopReason =
  | "stop"
  | "length"
  | "toolUse"
  | "error"
  | "aborted"
  | (string & Record<never, never>);

/** What a person, or a program in a person's place, said. */
export interface UserMessage {
  readonly role: "user";
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /** Who said it, where several people speak. Untrusted text; a projection puts it before what was said. */
  readonly name?: string;
  /** The model that was chosen for the answer. A record: the model in force is that of the latest model_change or reply. */
  readonly model?: { readonly provider: string; readonly modelId: string };
  /** A variant of that model, such as `high` or `fast`. */
  readonly variant?: string;
  /** Where the person was: the working directory, and the root of the project around it. */
  readonly path?: { readonly cwd: string; readonly root?: string };
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** What a model answered. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly (TextBlock | ThinkingBlock | ToolCall | OpaqueBlock)[];
  readonly provider: string;
  /** The model that was asked, if the writer knows it: reasoning goes back to this one. Else the one that answered. */
  readonly model: string;
  /** The model that answered, if it names itself otherwise: a snapshot of an alias, a router's choice. A record. */
  readonly responseModel?: string;
  /** The provider's wire protocol, such as `anthropic-messages`. */
  readonly api?: string;
  readonly usage?: Usage;
  readonly stopReason?: StopReason;
  readonly errorMessage?: string;
  /** The message is a compaction summary that a model wrote as a message of its own. */
  readonly summary?: boolean;
  /** The agent's mode when it was made, such as `plan`. */
  readonly mode?: string;
  /** The provider's account that it was made with, where the harness has several: encrypted state is of use to that one alone. */
  readonly account?: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** What a tool gave back for one call. */
export interface ToolResultMessage {
  readonly role: "toolResult";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  /** For programs; never sent to a model. */
  readonly details?: unknown;
  /**
   * Calls that the tool made to other tools while it ran, as pi writes them since 1.5: `{ calls: [{ id, name, arguments?,
   * status }], complete }`. For the ledger of files; never sent to a model, and never checked.
   */
  readonly nestedCalls?: unknown;
  /** Of models that the tool called itself, as pi writes it; no part of the context's tokens. */
  readonly usage?: Usage;
  readonly isError: boolean;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** A shell command that the user ran beside the conversation. */
export interface BashExecutionMessage {
  readonly role: "bashExecution";
  readonly command: string;
  readonly output: string;
  /** Absent or null when the command was killed. */
  readonly exitCode?: number | null;
  readonly cancelled: boolean;
  readonly truncated: boolean;
  readonly fullOutputPath?: string;
  /** The user asked that no model sees it. */
  readonly excludeFromContext?: boolean;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** A message that an extension put into the conversation. */
export interface CustomMessage {
  readonly role: "custom";
  readonly customType: string;
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /** Whether a person is shown it. */
  readonly display: boolean;
  /** For programs; never sent to a model. */
  readonly details?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Instructions and tools declared to the model; later ones patch `sections` by name, where null removes one. */
export interface SystemMessage {
  readonly role: "system";
  readonly content: string | readonly TextBlock[];
  readonly sections?: Readonly<Record<string, string | null>>;
  readonly toolsAdded?: readonly unknown[];
  readonly toolsRemoved?: readonly unknown[];
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Every message that a session entry can hold. */
export type Message =
  | UserMessage
  | AssistantMessage
  | ToolResultMessage
  | BashExecutionMessage
  | CustomMessage
  | SystemMessage;

/** Stands in a context for the history that a compaction replaced. Never stored as a message. */
export interface CompactionSummaryMessage {
  readonly role: "compactionSummary";
  readonly summary: string;
  readonly tokensBefore: number;
  /** What the compaction's entry says for programs; never sent to a model. */
  readonly details?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Stands in a context for a branch that was left. Never stored as a message. */
export interface BranchSummaryMessage {
  readonly role: "branchSummary";
  readonly summary: string;
  /** The leaf of the branch that was left, or `root`. */
  readonly fromId: string;
  /** What the entry says for programs; never sent to a model. */
  readonly details?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Every message that a context can hold. */
export type ContextMessage = Message | CompactionSummaryMessage | BranchSummaryMessage;

/** A piece of a message: text, an attachment, or a finished text block. */
export type MessagePart = string | Resource | TextBlock;

/**
 * A user message of these parts in this order. One string stays a string; anything else becomes blocks, where an
 * attachment is a text block with its descriptor, so that a reader who knows nothing of resources still sees a name.
 *
 * @throws TypeError when a part is none of the three, naming its index.
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

/** What {@link assistantMessage} takes: a model's name, and whatever of the rest is known. */
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
 * An assistant message of these parts. What is not given is filled so that other readers of the file find what they
 * expect: `api` "unknown", a usage of zeros, and a stop reason of "toolUse" where there are calls, else "stop".
 *
 * @throws TypeError when a part is neither text nor a block.
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
 * The result of a tool call. For a failure, spread it: `{ ...toolResult(call, text), isError: true }`.
 *
 * @throws TypeError when a part is none of the three, naming its index.
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
